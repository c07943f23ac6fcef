//! The peak of a program's memory, as far as the kernel knows it: the largest resident size (RSS) of each process,
//! which it keeps until the end. It keeps none of a tree.

use wire::refuse;
use wire::sys::Reaped;

/// The memory that one page fault may add to a process: the kernel maps up to sixteen pages of a file at
/// once, in the start of programs some three.
const FAULT_BYTES: u64 = 12 << 10;

/// A figure may be too small by one part in this many.
const TOLERANCE: u64 = 20;

/// The kernel counts the size of a running process in batches for each CPU.
const INEXACT_BYTES: u64 = 64 << 10;

#[derive(Default)]
pub struct HighWater {
    /// The size of the process that the program was cloned from.
    floor_bytes: u64,
    largest_bytes: u64,
    ended: u64,
    /// Page faults of children that the program has waited for; None if unknown.
    pub child_faults: Option<u64>,
}

/// The most that one of the samples saw.
#[derive(Debug, Default)]
pub struct Peaks {
    pub pss_bytes: Option<u64>,
    /// Each page once, however many processes share it.
    pub resident_bytes: u64,
    pub threads: u64,
    pub processes: u64,
    /// Page faults of all processes until the last sample that saw their memory.
    pub faults: u64,
}

impl HighWater {
    pub fn new(floor_bytes: u64) -> HighWater {
        HighWater { floor_bytes, ..HighWater::default() }
    }

    /// A process of the tree has ended.
    pub fn add(&mut self, reaped: &Reaped) {
        self.ended += 1;
        self.largest_bytes = self.largest_bytes.max(reaped.max_rss_bytes);
    }

    /// The largest size of one process; None if it is not above that of the start.
    pub fn largest_bytes(&self) -> Option<u64> {
        let floor = self.floor_bytes + INEXACT_BYTES;
        Some(self.largest_bytes).filter(|&bytes| bytes > floor)
    }

    /// The peak of all memory. For one process it is the process's own. For several it lies between the peak of the
    /// largest and the samples' sum with all that they cannot have seen. `all_faults`: page faults of all processes. The
    /// error is why there is no figure.
    pub fn peak(&self, seen: &Peaks, all_faults: u64) -> Result<u64, String> {
        refuse!(self.ended == 0, "no process has ended");
        let Some(largest) = self.largest_bytes() else {
            let kib = (self.floor_bytes + INEXACT_BYTES) >> 10;
            return Err(format!("not above {kib} KiB, which the start of any program takes"));
        };
        if self.ended == 1 && self.child_faults == Some(0) && seen.processes <= 1 {
            return Ok(largest);
        }
        let Peaks { resident_bytes, faults, .. } = seen;
        let low = largest.max(*resident_bytes);
        // With large pages a fault brings more.
        let usual = 2 * largest / all_faults.max(1);
        let unseen = all_faults.saturating_sub(*faults) * FAULT_BYTES.max(usual);
        if resident_bytes + unseen <= low + low / TOLERANCE {
            return Ok(low);
        }
        Err(format!("several processes, and samples saw {faults} of their {all_faults} page faults"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn of(sizes: &[u64], child_faults: Option<u64>) -> HighWater {
        let mut high_water = HighWater::new(MIB);
        for &max_rss_bytes in sizes {
            high_water.add(&Reaped { pid: 7, status: 0, max_rss_bytes });
        }
        high_water.child_faults = child_faults;
        high_water
    }

    fn seen(processes: u64, resident_bytes: u64, faults: u64) -> Peaks {
        Peaks { processes, resident_bytes, faults, ..Peaks::default() }
    }

    #[test]
    fn one_process_has_its_own_mark_whatever_samples_saw() {
        let alone = of(&[50 * MIB], Some(0));
        assert_eq!(alone.peak(&seen(1, MIB, 9), 9000), Ok(50 * MIB));
        assert_eq!(alone.peak(&Peaks::default(), 0), Ok(50 * MIB));
    }

    #[test]
    fn less_than_the_start_takes_is_no_figure() {
        let small = of(&[MIB + INEXACT_BYTES], Some(0));
        assert!(small.peak(&Peaks::default(), 0).is_err());
        assert_eq!(small.largest_bytes(), None);
        assert!(of(&[], None).peak(&Peaks::default(), 0).is_err());
    }

    #[test]
    fn the_sum_of_several_has_to_have_been_seen() {
        let unseen = seen(1, 20 * MIB, 5000);
        for tree in [of(&[50 * MIB, 50 * MIB], Some(0)), of(&[50 * MIB], Some(3)), of(&[50 * MIB], None)] {
            let why = tree.peak(&unseen, 50_000).unwrap_err();
            assert!(why.starts_with("several processes"), "{why}");
            let all = seen(3, 150 * MIB, 49_900);
            assert_eq!(tree.peak(&all, 50_000), Ok(150 * MIB));
            // Each page once: the others are small.
            assert_eq!(tree.peak(&seen(2, 49 * MIB, 50_000), 50_000), Ok(50 * MIB));
        }
        let second = of(&[50 * MIB], Some(0));
        assert!(second.peak(&seen(2, 20 * MIB, 5000), 50_000).is_err());
    }

    #[test]
    fn large_pages_hide_growth_in_few_faults() {
        let tree = of(&[200 * MIB], Some(9));
        assert!(tree.peak(&seen(2, 200 * MIB, 900), 1000).is_err());
    }
}
