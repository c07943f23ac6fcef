//! The time line of a load: what became of the requests of each slot of time, by their intended instants.

use super::histogram::Histogram;
use super::plan::StepPlan;
use serde::{Deserialize, Serialize};
use wire::units::nanoseconds;

/// Of a slot: how many requests were due, and the latencies of those that were answered as expected.
#[derive(Serialize, Deserialize)]
pub struct TimeSlot {
    pub due: u64,
    pub latency: Histogram,
}

impl Default for TimeSlot {
    fn default() -> TimeSlot {
        TimeSlot { due: 0, latency: Histogram::compact() }
    }
}

/// The slots from the start of the load on. Without a length and ends there are none.
#[derive(Default, Serialize, Deserialize)]
pub struct Timeline {
    pub slot_ns: u64,
    /// In place of slots of this length: where each ends, from the start.
    #[serde(default)]
    pub ends_ns: Vec<u64>,
    pub slots: Vec<TimeSlot>,
}

impl Timeline {
    pub fn new(slot_ns: u64) -> Timeline {
        Timeline { slot_ns, ..Timeline::default() }
    }

    /// The steps of a staircase.
    pub fn of_steps(steps: &[StepPlan]) -> Timeline {
        let mut end_ns = 0;
        let end = |step: &StepPlan| {
            end_ns += nanoseconds(step.duration_s);
            end_ns
        };
        Timeline { ends_ns: steps.iter().map(end).collect(), ..Timeline::default() }
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
        self.slot_ns = self.slot_ns.max(other.slot_ns);
        if self.ends_ns.is_empty() {
            self.ends_ns.clone_from(&other.ends_ns);
        }
        let count = self.slots.len().max(other.slots.len());
        self.slots.resize_with(count, TimeSlot::default);
        for (own, others) in self.slots.iter_mut().zip(&other.slots) {
            own.due += others.due;
            own.latency.merge(&others.latency);
        }
    }

    #[inline]
    fn slot(&mut self, at_ns: u64) -> Option<&mut TimeSlot> {
        let index = match self.ends_ns.len() {
            0 => at_ns.checked_div(self.slot_ns)? as usize,
            steps => self.ends_ns.partition_point(|&end| end <= at_ns).min(steps - 1),
        };
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, TimeSlot::default);
        }
        Some(&mut self.slots[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_belong_to_the_slot_in_which_they_were_due() {
        let mut course = Timeline::new(100);
        for at_ns in [0, 99, 100, 350] {
            course.due(at_ns);
        }
        course.answered(99, 5000);
        let mut other = Timeline::new(100);
        other.due(420);
        other.answered(420, 7);
        course.merge(&other);
        let slots = course.slots.iter();
        let slots: Vec<_> = slots.map(|slot| (slot.due, slot.latency.len())).collect();
        assert_eq!(slots, [(2, 1), (1, 0), (0, 0), (1, 0), (1, 1)]);
        let step = |rate_per_s, duration_s| StepPlan { rate_per_s, duration_s, to_per_s: None };
        let mut steps = Timeline::of_steps(&[step(5.0, 1.0), step(9.0, 0.5)]);
        for at_ns in [0, 999_999_999, 1_000_000_000, 1_500_000_000] {
            steps.due(at_ns);
        }
        let mut merged = Timeline::default();
        merged.merge(&steps);
        merged.due(7);
        let due: Vec<_> = merged.slots.iter().map(|slot| slot.due).collect();
        assert_eq!(due, [3, 2]);
        let mut none = Timeline::default();
        none.due(5);
        assert!(none.slots.is_empty());
    }
}
