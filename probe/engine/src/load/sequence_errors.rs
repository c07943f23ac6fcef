//! Errors in the sequences of streams' messages, and their counts.

use serde::{Deserialize, Serialize};

/// An error in the sequence of a stream's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceError {
    /// So many numbers were skipped.
    Gap(u64),
    Repeated,
    Reordered,
    /// The message belongs to another connection.
    Misrouted,
    Malformed,
}

/// Counts of messages with an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceErrors {
    pub gaps: u64,
    pub repeated: u64,
    pub reordered: u64,
    pub misrouted: u64,
    pub malformed: u64,
    pub early: u64,
}

impl SequenceErrors {
    /// Counts a message's error, and whether it came too early.
    pub fn count(&mut self, error: Option<SequenceError>, early: bool) {
        self.early += u64::from(early);
        match error {
            None => {}
            Some(SequenceError::Gap(count)) => self.gaps = self.gaps.saturating_add(count),
            Some(SequenceError::Repeated) => self.repeated += 1,
            Some(SequenceError::Reordered) => self.reordered += 1,
            Some(SequenceError::Misrouted) => self.misrouted += 1,
            Some(SequenceError::Malformed) => self.malformed += 1,
        }
    }

    pub fn merge(&mut self, other: &SequenceErrors) {
        self.gaps = self.gaps.saturating_add(other.gaps);
        self.repeated += other.repeated;
        self.reordered += other.reordered;
        self.misrouted += other.misrouted;
        self.malformed += other.malformed;
        self.early += other.early;
    }

    /// The counts with their names in messages.
    pub fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("gaps", self.gaps),
            ("repeats", self.repeated),
            ("swaps", self.reordered),
            ("foreign", self.misrouted),
            ("malformed", self.malformed),
            ("early", self.early),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_kind() {
        let mut errors = SequenceErrors::default();
        for (kind, count) in [
            (SequenceError::Gap(2), 1),
            (SequenceError::Repeated, 3),
            (SequenceError::Reordered, 4),
            (SequenceError::Misrouted, 5),
            (SequenceError::Malformed, 6),
        ] {
            (0..count).for_each(|_| errors.count(Some(kind), false));
        }
        errors.count(None, false);
        (0..7).for_each(|_| errors.count(None, true));
        let mut sum = errors;
        sum.merge(&errors);
        let right = [
            ("gaps", 4),
            ("repeats", 6),
            ("swaps", 8),
            ("foreign", 10),
            ("malformed", 12),
            ("early", 14),
        ];
        assert_eq!(sum.named(), right);
        // A number near the largest must not wrap around.
        errors.count(Some(SequenceError::Gap(u64::MAX)), false);
        errors.merge(&sum);
        assert_eq!(errors.gaps, u64::MAX);
    }
}
