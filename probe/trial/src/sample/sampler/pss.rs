//! Decides when to read the tree's PSS, which is expensive, and sums it.

use crate::sample::budget::SamplingBudget;
use crate::tree::procfs::{kib_field, ProcFs, Process};
use std::cmp::Ordering;
use wire::sys::compare_memory;

// The inverse share of one core, and the maximum rest, which bounds the delay of the limit on memory.
const SHARE: u64 = 500;
const REST_NS: u64 = 2_000_000_000;

/// A sample of the tree before its PSS is read.
pub struct Resident {
    pub rss_bytes: u64,
    pub processes: u64,
    /// PSS is never more than RSS: at or below the limit it need not be read.
    pub exceeds_limit: bool,
}

pub struct PssReader {
    budget: SamplingBudget,
    timeline: bool,
    /// The sum of RSS when PSS was read last.
    rss_bytes: u64,
}

impl PssReader {
    /// `timeline`: PSS is read where RSS has changed at all.
    pub fn new(timeline: bool) -> PssReader {
        PssReader { budget: SamplingBudget::new(SHARE, REST_NS), timeline, rss_bytes: 0 }
    }

    /// Whether a regular sample at `now_ns` has to read PSS.
    pub fn is_due(&self, now_ns: u64, resident: &Resident) -> bool {
        let rss = resident.rss_bytes;
        let in_doubt = resident.exceeds_limit;
        let grown = rss > self.rss_bytes.saturating_add(self.rss_bytes / 50);
        // Processes that share memory may write to it: PSS grows then, and RSS does not.
        let shared = resident.processes > 1;
        // A time line shows memory that falls, too.
        let changed = self.timeline && rss != self.rss_bytes;
        (grown && in_doubt) || ((grown || in_doubt || shared || changed) && self.budget.allows(now_ns))
    }

    /// PSS was read by the sample that began at `now_ns`, which took `cpu_ns`.
    pub fn was_read(&mut self, now_ns: u64, resident: &Resident, cpu_ns: u64) {
        self.rss_bytes = resident.rss_bytes;
        self.budget.spent(now_ns, cpu_ns);
    }
}

/// The memory of a tree, as the kernel counts it for each process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pss {
    pub bytes: u64,
    /// The part of it in files that are on no disk.
    pub shared_bytes: u64,
    /// Each page once: what the processes have alone, and what the one that shares most shares.
    pub resident_bytes: u64,
}

/// None when the memory of a process that is alive cannot be read.
pub fn of_tree(procfs: &mut ProcFs, tree: &[Process]) -> Option<Pss> {
    let mut sum = Pss::default();
    let mut shared = 0;
    for process in with_own_memory(tree) {
        let (pss, private) = of_process(procfs, process)?;
        sum.bytes += pss.bytes;
        sum.shared_bytes += pss.shared_bytes;
        sum.resident_bytes += private;
        shared = shared.max(pss.resident_bytes - private);
    }
    sum.resident_bytes += shared;
    Some(sum)
}

/// The processes that are alive, but only one of those that share all of their memory (CLONE_VM, as a vfork until its
/// exec).
fn with_own_memory(tree: &[Process]) -> Vec<&Process> {
    let mut known: Vec<&Process> = Vec::new();
    for process in tree.iter().filter(|process| process.alive) {
        let order = |other: &&Process| {
            // A process that ends meanwhile no longer compares with any, so it is not found.
            compare_memory(other.living_thread, process.living_thread).unwrap_or(Ordering::Less)
        };
        if let Err(place) = known.binary_search_by(order) {
            known.insert(place, process);
        }
    }
    known
}

/// The second value is what no other process shares.
fn of_process(procfs: &mut ProcFs, process: &Process) -> Option<(Pss, u64)> {
    let (pid, mut thread) = (process.pid, process.living_thread);
    // A process in the middle of an exec cannot be read for a moment.
    for _ in 0..3 {
        let text = procfs.read(format_args!("{thread}/smaps_rollup"));
        if let Some(pss) = text.and_then(parse) {
            return Some(pss);
        }
        // A process that is ending releases its memory some time before it is a zombie.
        match procfs.process(pid) {
            Some(process) if process.alive && process.rss_pages > 0 => {
                thread = process.living_thread;
            }
            _ => return Some((Pss::default(), 0)),
        }
    }
    None
}

fn parse(text: &[u8]) -> Option<(Pss, u64)> {
    let text = std::str::from_utf8(text).ok()?;
    let bytes = kib_field(text, "Pss:")?;
    let field = |key| kib_field(text, key).unwrap_or(0);
    let resident_bytes = field("Rss:");
    let private = field("Private_Clean:").checked_add(field("Private_Dirty:"))?;
    let pss = Pss {
        bytes,
        resident_bytes,
        // Kernels before 5.4 do not say how much: all may be.
        shared_bytes: kib_field(text, "Pss_Shmem:").unwrap_or(bytes),
    };
    Some((pss, private.min(resident_bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_smaps_rollup() {
        let text = b"00400000-7ff [rollup]\nRss:     1234 kB\nPss:      567 kB\nPss_Dirty: 9 kB\nPrivate_Clean: 30 kB\nPrivate_Dirty: 4 kB\n";
        let pss = |bytes, shared_bytes, resident_bytes, private| {
            let pss = Pss { bytes, shared_bytes, resident_bytes };
            Some((pss, private))
        };
        assert_eq!(parse(text), pss(567 * 1024, 567 * 1024, 1234 * 1024, 34 * 1024));
        let text = b"Pss:   567 kB\nPss_Anon:   1 kB\nPss_Shmem:     12 kB\n";
        assert_eq!(parse(text), pss(567 * 1024, 12 * 1024, 0, 0));
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"Pss: 18446744073709551615 kB"), None);
    }

    fn resident(rss_bytes: u64, processes: u64, exceeds_limit: bool) -> Resident {
        Resident { rss_bytes, processes, exceeds_limit }
    }

    /// A reader that has read a tree of 1000 bytes at 0 and has to rest until 500.
    fn reader(timeline: bool) -> PssReader {
        let mut reader = PssReader::new(timeline);
        reader.was_read(0, &resident(1000, 1, false), 1);
        reader
    }

    #[test]
    fn pss_is_read_where_rss_has_grown() {
        assert!(PssReader::new(false).is_due(0, &resident(1, 1, false)));
        let reader = reader(false);
        assert!(!reader.is_due(500, &resident(1020, 1, false)));
        assert!(reader.is_due(500, &resident(1021, 1, false)));
        assert!(!reader.is_due(499, &resident(1021, 1, false)));
    }

    #[test]
    fn the_budget_does_not_delay_the_limit_on_memory_that_grows() {
        assert!(reader(false).is_due(499, &resident(1021, 1, true)));
        assert!(!reader(false).is_due(499, &resident(1020, 1, true)));
        assert!(reader(false).is_due(500, &resident(1000, 1, true)));
    }

    #[test]
    fn pss_is_read_again_where_it_changes_without_rss() {
        assert!(reader(false).is_due(500, &resident(1000, 2, false)));
        assert!(!reader(false).is_due(499, &resident(1000, 2, false)));
    }

    #[test]
    fn a_time_line_shows_memory_that_falls() {
        assert!(reader(true).is_due(500, &resident(999, 1, false)));
        assert!(!reader(false).is_due(500, &resident(999, 1, false)));
        assert!(!reader(true).is_due(500, &resident(1000, 1, false)));
    }
}
