//! The time line of a load: the outcomes of the requests in each slot of time, by their intended instants.

use super::histogram::Histogram;
use super::plan::{Pacing, Plan};
use super::record::{add, add_each, merged};
use serde::{Deserialize, Serialize};
use wire::units::nanoseconds;

merged! {
/// A slot: how many requests were due, and the latencies of those that were answered as expected.
#[derive(Serialize, Deserialize)]
pub struct TimeSlot {
    due: u64, add;
    latency: Histogram, Histogram::merge;
}
}

impl Default for TimeSlot {
    fn default() -> TimeSlot {
        TimeSlot { due: 0, latency: Histogram::compact() }
    }
}

/// The slots from the start of the load to that of the last request. Without ends there are none.
#[derive(Default, Serialize, Deserialize)]
pub struct Timeline {
    /// The end of each slot, from the start.
    pub ends_ns: Vec<u64>,
    pub slots: Vec<TimeSlot>,
}

impl Timeline {
    /// The slots of a plan: all of one length where it names that, else the steps of a staircase.
    pub fn new(plan: &Plan) -> Timeline {
        let ends_ns = match (plan.course_s.map(nanoseconds), &plan.pacing) {
            (Some(slot_ns), _) => {
                let count = plan.duration_ns().unwrap_or(0) / slot_ns.max(1) + 1;
                (1..=count).map(|number| number * slot_ns).collect()
            }
            (None, Pacing::Staircase { steps, .. }) => {
                let steps = steps.iter().scan(0, |end_ns, step| {
                    *end_ns += nanoseconds(step.duration_s);
                    Some(*end_ns)
                });
                steps.collect()
            }
            _ => Vec::new(),
        };
        Timeline { ends_ns, slots: Vec::new() }
    }

    /// A request was due at this time from the start.
    pub fn due(&mut self, at_ns: u64) {
        if let Some(slot) = self.slot(at_ns) {
            slot.due += 1;
        }
    }

    /// The request that was due then was answered.
    pub fn answered(&mut self, at_ns: u64, latency_ns: u64) {
        if let Some(slot) = self.slot(at_ns) {
            slot.latency.add(latency_ns);
        }
    }

    pub fn merge(&mut self, other: &Timeline) {
        if self.ends_ns.is_empty() {
            self.ends_ns.clone_from(&other.ends_ns);
        }
        add_each(&mut self.slots, &other.slots, TimeSlot::merge);
    }

    #[inline]
    fn slot(&mut self, at_ns: u64) -> Option<&mut TimeSlot> {
        let last = self.ends_ns.len().checked_sub(1)?;
        let index = self.ends_ns.partition_point(|&end| end <= at_ns).min(last);
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, TimeSlot::default);
        }
        Some(&mut self.slots[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(keys: &str) -> Timeline {
        let plan = format!(r#"{{"protocol": "tcp", "duration_s": 5, {keys}}}"#);
        Timeline::new(&serde_json::from_str(&plan).unwrap())
    }

    #[test]
    fn requests_belong_to_the_slot_in_which_they_were_due() {
        const MS: u64 = 1_000_000;
        let mut course = timeline(r#""course_s": 0.1"#);
        for at_ms in [0, 99, 100, 350] {
            course.due(at_ms * MS);
        }
        course.answered(99 * MS, 5000);
        let mut other = timeline(r#""course_s": 0.1"#);
        other.due(420 * MS);
        other.answered(420 * MS, 7);
        course.merge(&other);
        let slots = course.slots.iter();
        let slots: Vec<_> = slots.map(|slot| (slot.due, slot.latency.len())).collect();
        assert_eq!(slots, [(2, 1), (1, 0), (0, 0), (1, 0), (1, 1)]);
        let steps = r#"[{"rate_per_s": 5, "duration_s": 1}, {"rate_per_s": 9, "duration_s": 0.5}]"#;
        let mut steps = timeline(&format!(r#""pacing": {{"kind": "staircase", "steps": {steps}}}"#));
        for at_ms in [0, 999, 1000, 1500] {
            steps.due(at_ms * MS);
        }
        let mut merged = Timeline::default();
        merged.merge(&steps);
        merged.due(7);
        let due: Vec<_> = merged.slots.iter().map(|slot| slot.due).collect();
        assert_eq!(due, [3, 2]);
        let mut none = timeline(r#""line": "x""#);
        none.due(5);
        assert!(none.slots.is_empty());
    }
}
