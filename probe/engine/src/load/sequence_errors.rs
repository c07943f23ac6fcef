//! Errors in the sequences of streams' messages, and their counts.

use serde::{Deserialize, Serialize};

/// An error in the sequence of a stream's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceError {
    /// This many numbers were skipped.
    Gap(u64),
    Repeated,
    Reordered,
    /// The message belongs to another connection.
    Misrouted,
    Malformed,
}

const NAMES: [&str; 6] = ["gaps", "repeats", "swaps", "foreign", "malformed", "early"];

/// Counts of messages with an error, by their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceErrors([u64; NAMES.len()]);

impl SequenceErrors {
    /// Counts a message's error, and whether it came too early.
    pub fn count(&mut self, error: Option<SequenceError>, early: bool) {
        self.0[5] += u64::from(early);
        let (kind, count) = match error {
            None => return,
            Some(SequenceError::Gap(count)) => (0, count),
            Some(SequenceError::Repeated) => (1, 1),
            Some(SequenceError::Reordered) => (2, 1),
            Some(SequenceError::Misrouted) => (3, 1),
            Some(SequenceError::Malformed) => (4, 1),
        };
        self.0[kind] = self.0[kind].saturating_add(count);
    }

    pub fn merge(&mut self, other: &SequenceErrors) {
        let counts = self.0.iter_mut().zip(other.0);
        counts.for_each(|(own, count)| *own = own.saturating_add(count));
    }

    /// The counts with their names in messages.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        NAMES.into_iter().zip(self.0)
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
        let counts: Vec<_> = sum.named().map(|(_, count)| count).collect();
        assert_eq!(counts, [4, 6, 8, 10, 12, 14]);
        // A number near the largest must not wrap around.
        errors.count(Some(SequenceError::Gap(u64::MAX)), false);
        errors.merge(&sum);
        assert_eq!(errors.named().next(), Some(("gaps", u64::MAX)));
    }
}
