//! The time line of a load: what became of the requests of each slot of time, by their intended instants.

use super::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// Of a slot: how many requests were due, and the latencies of those that were answered as expected.
#[derive(Serialize, Deserialize)]
pub struct TimeSlot {
    pub due: u64,
    pub latency: Histogram,
}

impl Default for TimeSlot {
    fn default() -> TimeSlot {
        TimeSlot {
            due: 0,
            latency: Histogram::coarse(),
        }
    }
}

/// The slots from the start of the load on. With a length of 0 there are none.
#[derive(Default, Serialize, Deserialize)]
pub struct Timeline {
    pub slot_ns: u64,
    pub slots: Vec<TimeSlot>,
}

impl Timeline {
    pub fn new(slot_ns: u64) -> Timeline {
        Timeline {
            slot_ns,
            slots: Vec::new(),
        }
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

    /// A request that was due is to be sent again, and is due then.
    pub fn uncount_intended(&mut self, at_ns: u64) {
        if let Some(slot) = self.slot(at_ns) {
            slot.due = slot.due.saturating_sub(1);
        }
    }

    pub fn merge(&mut self, other: &Timeline) {
        self.slot_ns = self.slot_ns.max(other.slot_ns);
        let count = self.slots.len().max(other.slots.len());
        self.slots.resize_with(count, TimeSlot::default);
        for (own, others) in self.slots.iter_mut().zip(&other.slots) {
            own.due += others.due;
            own.latency.merge(&others.latency);
        }
    }

    #[inline]
    fn slot(&mut self, at_ns: u64) -> Option<&mut TimeSlot> {
        let index = at_ns.checked_div(self.slot_ns)? as usize;
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
        other.due(410);
        other.uncount_intended(410);
        other.answered(420, 7);
        course.merge(&other);
        let slots = course.slots.iter();
        let slots: Vec<_> = slots.map(|slot| (slot.due, slot.latency.len())).collect();
        assert_eq!(slots, [(2, 1), (1, 0), (0, 0), (1, 0), (1, 1)]);
        let mut none = Timeline::default();
        none.due(5);
        assert!(none.slots.is_empty());
    }
}
