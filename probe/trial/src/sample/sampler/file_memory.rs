//! Memory in files that no process maps (memfd, shared memory): the PSS of no process has it.

use crate::leave::shared_memory::SharedMemory;
use crate::sample::budget::SamplingBudget;
use crate::tree::procfs::{ProcFs, Process};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::io::OwnedFd;
use std::sync::Arc;
use wire::clock::thread_cpu_ns;
use wire::os::{self, fstatfs, openat, statat, Dir};
use wire::sys;

// The inverse share of one core, and the maximum rest.
const SHARE: u64 = 1000;
const REST_NS: u64 = 1_000_000_000;

/// The sampler does not look for less than this.
const LEAST_BYTES: u64 = 16 << 20;

pub struct FileMemory {
    /// The probe's own, which has only files of its programs.
    shared: Option<Arc<SharedMemory>>,
    /// The least and the most of shared memory that the host had since the trial began: others may free some of theirs
    /// while the program takes as much.
    least: u64,
    most: u64,
    /// When the trial began, by the clock of the kernel's files. What has not changed since is an input.
    began: (i64, i64),
    budget: SamplingBudget,
    /// The result of the last reading.
    last: u64,
    /// The most that no process mapped; None for less than 16 MiB.
    pub peak: Option<u64>,
}

impl FileMemory {
    pub fn new(shared: Option<Arc<SharedMemory>>) -> FileMemory {
        let now = sys::shared_bytes();
        FileMemory {
            shared,
            least: now,
            most: now,
            began: file_time(),
            budget: SamplingBudget::new(SHARE, REST_NS),
            last: 0,
            peak: None,
        }
    }

    /// Whether these processes have much memory in files, mapped or not. Mostly the host's shared memory has hardly
    /// changed, which is cheap to see.
    pub fn exceeds_floor(&mut self, now_ns: u64, procfs: &ProcFs, tree: &[Process]) -> bool {
        let now = sys::shared_bytes();
        (self.least, self.most) = (self.least.min(now), self.most.max(now));
        if (self.most - self.least).max(self.own_bytes()) < LEAST_BYTES {
            self.last = 0;
            return false;
        }
        if !self.budget.allows(now_ns) {
            return false;
        }
        let before = thread_cpu_ns();
        let exceeds_floor = self.of_tree(procfs, tree) >= LEAST_BYTES;
        if !exceeds_floor {
            self.last = 0;
        }
        self.spent(now_ns, before);
        exceeds_floor
    }

    /// The memory in files that no process maps. `mapped`: the part that these processes mapped just before.
    pub fn unmapped(&mut self, now_ns: u64, procfs: &ProcFs, tree: &[Process], mapped: u64) -> u64 {
        let before = thread_cpu_ns();
        // After `mapped` was read: a process that has ended since maps none of it.
        let bytes = self.of_tree(procfs, tree);
        self.spent(now_ns, before);
        self.lasting(bytes.saturating_sub(mapped))
    }

    /// Only what two readings in a row found: between a process's end and the removal of its files, nothing maps them.
    fn lasting(&mut self, unmapped: u64) -> u64 {
        let lasting = unmapped.min(std::mem::replace(&mut self.last, unmapped));
        if lasting < LEAST_BYTES {
            return 0;
        }
        self.peak = self.peak.max(Some(lasting));
        lasting
    }

    fn spent(&mut self, now_ns: u64, before: u64) {
        let cost = thread_cpu_ns().saturating_sub(before);
        self.budget.spent(now_ns, cost);
    }

    fn own_bytes(&self) -> u64 {
        self.shared.as_deref().map_or(0, SharedMemory::bytes)
    }

    fn of_tree(&self, procfs: &ProcFs, tree: &[Process]) -> u64 {
        let mut files = HashSet::new();
        let alive = tree.iter().filter(|process| process.alive);
        let bytes = alive.filter_map(|process| self.of_process(procfs, process.living_thread, &mut files));
        self.own_bytes() + bytes.sum::<u64>()
    }

    /// Memory in open files of a process that are on no disk, nor the probe's own shared memory, and have changed since the
    /// trial began; each file once.
    fn of_process(&self, procfs: &ProcFs, thread: i32, files: &mut HashSet<(u64, u64)>) -> Option<u64> {
        let device = self.shared.as_ref().map(|shared| shared.device);
        let folder = procfs.open_files(thread)?;
        let mut bytes = 0;
        for name in Dir::read_from(&folder).ok()?.flatten() {
            // It may have been closed meanwhile.
            let Ok(file) = statat(&folder, &name, 0) else { continue };
            let is_new = Some(file.st_dev) != device && !files.contains(&(file.st_dev, file.st_ino));
            let has_changed = (file.st_ctime, file.st_ctime_nsec) >= self.began;
            if is_new && has_changed && is_in_memory(&folder, &name, &file) {
                files.insert((file.st_dev, file.st_ino));
                bytes += file.st_blocks as u64 * 512;
            }
        }
        Some(bytes)
    }
}

/// Seconds and nanoseconds of the clock with which the kernel says when a file was changed.
fn file_time() -> (i64, i64) {
    os::clock_time(libc::CLOCK_REALTIME_COARSE)
}

/// Whether a file is one of a tmpfs, as memfds are.
fn is_in_memory(folder: &OwnedFd, name: &OsStr, file: &libc::stat) -> bool {
    let may_be =
        file.st_mode & libc::S_IFMT == libc::S_IFREG && file.st_blocks > 0 && libc::major(file.st_dev) == 0;
    // Not opened itself, which could have effects.
    let place = || openat(folder, name, libc::O_PATH);
    may_be && place().and_then(fstatfs).is_ok_and(|system| system.f_type == libc::TMPFS_MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{memfd_create, MemfdFlags};
    use rustix::io::write;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_file_counts_once_and_only_what_is_in_memory() {
        let mut procfs = ProcFs::open().unwrap();
        let tree = [procfs.process(std::process::id() as i32).unwrap()];
        let mut memory = FileMemory::new(None);
        let before = memory.of_tree(&procfs, &tree);
        let file = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        for _ in 0..20 {
            write(&file, &vec![1; MIB as usize]).unwrap();
        }
        let _same = file.try_clone().unwrap();
        let _on_disk = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        // Other tests may have files as well.
        let grown = memory.of_tree(&procfs, &tree) - before;
        assert!((20 * MIB..24 * MIB).contains(&grown), "{grown}");
        memory.least = 0;
        assert!(memory.exceeds_floor(0, &procfs, &tree));
        assert!(!memory.exceeds_floor(1, &procfs, &tree), "it has to rest");
        // Memory from before the trial does not belong to its program.
        memory.began = (file_time().0 + 60, 0);
        assert!(!memory.exceeds_floor(REST_NS, &procfs, &tree));
        memory.began = (0, 0);
        // Others have freed as much as it took.
        memory.least = sys::shared_bytes();
        memory.most = memory.least + 20 * MIB;
        assert!(memory.exceeds_floor(3 * REST_NS, &procfs, &tree));
    }

    #[test]
    fn what_is_much_and_was_found_twice_is_certain() {
        let mut memory = FileMemory::new(None);
        assert_eq!(memory.lasting(70 * MIB), 0);
        assert_eq!(memory.lasting(50 * MIB), 50 * MIB);
        assert_eq!(memory.lasting(10 * MIB), 0);
        assert_eq!(memory.lasting(70 * MIB), 0);
        assert_eq!(memory.peak, Some(50 * MIB));
    }
}
