//! CPU time of processes from samples alone. After their end the kernel has no account of children whose parent ignores
//! SIGCHLD: all that is known is what their last sample showed.

use std::collections::HashMap;

/// A process: its number, which may be used again, and its start.
pub type Key = (i32, u64);

#[derive(Default)]
pub struct ProcessTimes {
    /// The processes of the last sample.
    alive: HashMap<Key, u64>,
    /// The sum of those that have ended since they were sampled.
    ended_ns: u64,
}

impl ProcessTimes {
    /// Takes the CPU times that a sample has read, and returns the sum of all processes that were ever sampled.
    /// `exists`: whether a process that the sample lacks still exists; a walk may miss one whose parent ended
    /// meanwhile.
    pub fn update(
        &mut self,
        sample: impl Iterator<Item = (Key, u64)>,
        mut exists: impl FnMut(Key) -> bool,
    ) -> u64 {
        let mut now: HashMap<Key, u64> = sample.collect();
        for (key, before_ns) in self.alive.drain() {
            match now.get_mut(&key) {
                // The time of one that has just ended cannot be read.
                Some(own_ns) => *own_ns = before_ns.max(*own_ns),
                None if exists(key) => drop(now.insert(key, before_ns)),
                None => self.ended_ns += before_ns,
            }
        }
        self.alive = now;
        self.ended_ns + self.alive.values().sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_ended_counts_as_it_was_sampled_last() {
        let mut times = ProcessTimes::default();
        let gone = |_: Key| false;
        let mut sum = |sample: &[(Key, u64)]| times.update(sample.iter().copied(), gone);
        assert_eq!(sum(&[((7, 1), 10), ((8, 1), 5)]), 15);
        assert_eq!(sum(&[((7, 1), 11), ((8, 1), 0)]), 16);
        assert_eq!(sum(&[((7, 1), 12)]), 17);
        // Another process with a number of before.
        assert_eq!(sum(&[((7, 1), 12), ((8, 2), 3)]), 20);
        assert_eq!(sum(&[]), 20);
    }

    #[test]
    fn one_that_a_sample_missed_counts_once() {
        let mut times = ProcessTimes::default();
        assert_eq!(times.update([((7, 1), 10)].into_iter(), |_| false), 10);
        assert_eq!(times.update([].into_iter(), |key| key == (7, 1)), 10);
        assert_eq!(times.update([((7, 1), 12)].into_iter(), |_| false), 12);
    }
}
