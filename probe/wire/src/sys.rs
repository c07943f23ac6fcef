//! System calls about processes as safe functions: signals as a file, waiting for any child, accounting; and about the
//! page cache, System V objects and keys.
#![allow(unsafe_code)]

use crate::os::{self, done, opened, page_bytes, written};
use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::unix::io::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::ptr;

pub const SIGNALS: [i32; 5] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGCHLD, libc::SIGCONT];

/// Blocks `SIGNALS` and gives a file from which they can be read.
pub fn signal_file() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised by sigemptyset before it is read, and lives on this stack.
    unsafe {
        let mut set = zeroed::<libc::sigset_t>();
        libc::sigemptyset(&mut set);
        for signal in SIGNALS {
            libc::sigaddset(&mut set, signal);
        }
        done(libc::sigprocmask(libc::SIG_BLOCK, &set, ptr::null_mut()))?;
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        Ok(opened(libc::signalfd(-1, &set, flags))?)
    }
}

/// A signal that was sent to the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    pub signal: i32,
    pub sender: Sender,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    Process(i32),
    /// A process outside of this one's PID namespace.
    Outside,
    /// The kernel, at the request of an unknown process (F_SETOWN), or a sender that chose its own number
    /// (rt_sigqueueinfo).
    Unknown,
}

impl Received {
    /// Whether such a signal asks the probe to end.
    pub fn asks_for_the_end(&self) -> bool {
        !matches!(self.signal, libc::SIGCHLD | libc::SIGCONT)
    }
}

/// The most signals that are taken at once: a process that sends signals faster than the probe reads them must not keep
/// it from enforcing limits.
const MAX_SIGNALS: usize = 64;

/// Pending signals, from the file of `signal_file`; others may be left, and make it readable again.
pub fn pending_signals(signals: BorrowedFd<'_>) -> impl Iterator<Item = Received> + '_ {
    std::iter::from_fn(move || next_signal(signals)).take(MAX_SIGNALS)
}

fn next_signal(signals: BorrowedFd) -> Option<Received> {
    let mut buffer = [0; size_of::<libc::signalfd_siginfo>()];
    os::read(signals, &mut buffer).ok().filter(|&count| count >= 16)?;
    // ssi_signo, ssi_errno, ssi_code and ssi_pid stand first, four bytes each.
    let number = |at: usize| {
        let bytes = [buffer[at], buffer[at + 1], buffer[at + 2], buffer[at + 3]];
        i32::from_ne_bytes(bytes)
    };
    let (signal, code, pid) = (number(0), number(8), number(12));
    // Only with these two does the kernel itself enter the sender.
    let sender = match code {
        libc::SI_USER | libc::SI_TKILL if pid > 0 => Sender::Process(pid),
        libc::SI_USER | libc::SI_TKILL => Sender::Outside,
        _ => Sender::Unknown,
    };
    Some(Received { signal, sender })
}

/// Whether one of the pending signals, which are taken, asks for the end.
pub fn end_requested(signals: &OwnedFd) -> bool {
    let asks = |asked, received: Received| asked | received.asks_for_the_end();
    pending_signals(signals.as_fd()).fold(false, asks)
}

/// A child that has ended.
pub struct Reaped {
    pub pid: i32,
    pub status: i32,
    /// The largest resident size of it, or of a descendant that was waited for. Before it executed a program it had
    /// that of the process that it was cloned from.
    pub max_rss_bytes: u64,
}

/// One child that has ended, or None when all that are left still run. Only children whose end sends SIGCHLD count: the
/// kernel makes it so for each that executes a program, and for orphans.
/// The error is ECHILD when there is none.
pub fn reap() -> io::Result<Option<Reaped>> {
    wait(-1, libc::WNOHANG)
}

/// Waits for the end of a child, whatever its signal.
pub fn wait_for(pid: i32) -> io::Result<()> {
    wait(pid, libc::__WALL).map(drop)
}

fn wait(pid: i32, flags: i32) -> io::Result<Option<Reaped>> {
    let mut status = 0;
    // SAFETY: a zeroed rusage is valid; it and `status` outlive the call.
    let (pid, usage) = unsafe {
        let mut usage = zeroed::<libc::rusage>();
        (libc::wait4(pid, &mut status, flags, &mut usage), usage)
    };
    let reaped = |pid| Reaped { pid, status, max_rss_bytes: usage.ru_maxrss as u64 * 1024 };
    match pid {
        0 => Ok(None),
        pid if pid > 0 => Ok(Some(reaped(pid))),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The kernel's account of this process, or of its children.
fn usage_of(whom: i32) -> libc::rusage {
    // SAFETY: the value outlives the call, and zeroes are valid for it.
    written(|to| unsafe { libc::getrusage(whom, to) }).unwrap_or_else(|_| unsafe { zeroed() })
}

/// The largest resident size that this process has had.
pub fn own_max_rss_bytes() -> u64 {
    usage_of(libc::RUSAGE_SELF).ru_maxrss as u64 * 1024
}

/// Exit status and signal of a wait status.
pub fn exit_of(status: i32) -> (Option<i32>, Option<i32>) {
    let status = ExitStatus::from_raw(status);
    (status.code(), status.signal())
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    pub user_ns: u64,
    pub system_ns: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

impl Usage {
    /// By how much each figure grew.
    pub fn since(&self, before: &Usage) -> Usage {
        let growth = |now: u64, before: u64| now.saturating_sub(before);
        Usage {
            user_ns: growth(self.user_ns, before.user_ns),
            system_ns: growth(self.system_ns, before.system_ns),
            voluntary_switches: growth(self.voluntary_switches, before.voluntary_switches),
            involuntary_switches: growth(self.involuntary_switches, before.involuntary_switches),
            minor_faults: growth(self.minor_faults, before.minor_faults),
            major_faults: growth(self.major_faults, before.major_faults),
        }
    }
}

/// The kernel's account of all children that were waited for, and of theirs.
pub fn children_usage() -> Usage {
    let usage = usage_of(libc::RUSAGE_CHILDREN);
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    Usage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
    }
}

/// Whether files of this process below /proc belong to the user. If not, it hides these and its memory from processes
/// without privileges, and is closed to tracers.
pub fn set_dumpable(dumpable: bool) -> io::Result<()> {
    let dumpable = libc::c_ulong::from(dumpable);
    // SAFETY: the call takes numbers only.
    Ok(done(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, dumpable, 0, 0, 0) })?)
}

/// How the kernel schedules a thread: `struct sched_attr`, and its priority of I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduling([u64; 7], i32);

/// The scheduling of a thread; 0 is the calling one.
pub fn scheduling_of(thread: i32) -> os::Result<Scheduling> {
    const IOPRIO_WHO_PROCESS: i32 = 1;
    let mut attributes = [0; 7];
    let bytes = size_of_val(&attributes);
    // SAFETY: the kernel writes this many bytes at most; the other call takes numbers only.
    let io_priority = unsafe {
        os::done(libc::syscall(libc::SYS_sched_getattr, thread, attributes.as_mut_ptr(), bytes, 0) as i32)?;
        os::checked(libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, thread) as i32)?
    };
    Ok(Scheduling(attributes, io_priority))
}

impl Scheduling {
    /// Whether the kernel prefers its threads to others: by a real-time policy, or a lower nice value.
    pub fn is_preferred_to(&self, other: &Scheduling) -> bool {
        self.rank() > other.rank()
    }

    fn rank(&self) -> (bool, i64) {
        // Of `struct sched_attr`: size and policy, flags, nice and priority.
        let (policy, nice, priority) = ((self.0[0] >> 32) as i32, self.0[2] as i32, self.0[2] >> 32);
        match policy {
            libc::SCHED_FIFO | libc::SCHED_RR => (true, priority as i64),
            libc::SCHED_DEADLINE => (true, i64::MAX),
            _ => (false, -i64::from(nice)),
        }
    }
}

/// The soft and the hard limit of a process, one that has ended included; 0 is this one.
pub fn limit_of(pid: i32, resource: u32) -> Option<(u64, u64)> {
    let none = ptr::null::<libc::rlimit64>();
    // SAFETY: the value outlives the call; without a new limit none is set.
    let limit = written(|to: *mut libc::rlimit64| unsafe {
        libc::syscall(libc::SYS_prlimit64, pid, resource, none, to) as i32
    });
    limit.ok().map(|limit| (limit.rlim_cur, limit.rlim_max))
}

/// A clock tick, the unit of CPU times in /proc.
pub fn tick_ns() -> u64 {
    1_000_000_000 / os::setting(libc::_SC_CLK_TCK, 100)
}

pub fn online_cpus() -> u64 {
    os::setting(libc::_SC_NPROCESSORS_ONLN, 1)
}

/// The share of a file's pages that are in the page cache; None for an empty file, or where the kernel does not
/// report it.
pub fn cached_share(file: &std::fs::File, bytes: u64) -> Option<f64> {
    let bytes = usize::try_from(bytes).ok().filter(|&bytes| bytes > 0)?;
    let mut pages = vec![0u8; (bytes + 4095) / 4096];
    // SAFETY: the mapping is never read, only passed to mincore and unmapped again; `pages` has a byte for each
    // of its pages, which have 4 KiB at least.
    unsafe {
        let (kind, fd) = (libc::MAP_SHARED, file.as_raw_fd());
        let start = libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ, kind, fd, 0);
        if start == libc::MAP_FAILED {
            return None;
        }
        let done = libc::mincore(start, bytes, pages.as_mut_ptr());
        libc::munmap(start, bytes);
        if done != 0 {
            return None;
        }
    }
    pages.truncate((bytes + page_bytes() - 1) / page_bytes());
    let cached = pages.iter().filter(|&&page| page & 1 == 1).count();
    Some(cached as f64 / pages.len() as f64)
}

/// Asks for large pages for the room of a vector, where they fit; without effect where the kernel has none.
pub fn advise_large_pages(words: &mut Vec<u64>) {
    const LARGE: usize = 2 << 20;
    let room = words.spare_capacity_mut();
    let start = room.as_mut_ptr().cast::<u8>();
    let inset = start.align_offset(LARGE);
    let bytes = size_of_val(room).saturating_sub(inset);
    // SAFETY: the range lies within the vector's own allocation; the advice changes no content.
    unsafe {
        if bytes >= LARGE {
            libc::madvise(start.add(inset).cast(), bytes, libc::MADV_HUGEPAGE);
        }
    }
}

/// System V objects of this process's namespace of IPC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemV {
    /// Segments of shared memory, sets of semaphores, queues of messages.
    pub objects: u64,
    /// Memory of the segments, attached or not.
    pub resident_bytes: u64,
}

/// Nothing if the kernel does not have them.
pub fn system_v() -> SystemV {
    // The kernel's own numbers and structs, which libc has not for all C libraries.
    const MSG_INFO: i32 = 12;
    const SHM_INFO: i32 = 14;
    const SEM_INFO: i32 = 19;
    /// `struct shm_info`: how many segments, then pages in all, those in memory, those in swap, two counters.
    #[repr(C)]
    #[derive(Default)]
    struct Segments {
        count: i32,
        pages: libc::c_ulong,
        resident: libc::c_ulong,
        rest: [libc::c_ulong; 3],
    }
    let mut segments = Segments::default();
    // `struct seminfo` is ten ints, the eighth how many sets there are; `struct msginfo` seven ints and a short, the
    // first how many queues.
    let (mut sets, mut queues) = ([0i32; 10], [0i32; 8]);
    // SAFETY: each buffer has the size of what the kernel writes, and outlives the call. One that fails leaves the zeroes.
    unsafe {
        libc::shmctl(0, SHM_INFO, (&mut segments as *mut Segments).cast());
        libc::semctl(0, 0, SEM_INFO, sets.as_mut_ptr());
        libc::msgctl(0, MSG_INFO, queues.as_mut_ptr().cast());
    }
    let counts = [segments.count, sets[7], queues[0]];
    SystemV {
        objects: counts.into_iter().map(|count| count as u64).sum(),
        resident_bytes: segments.resident * page_bytes() as u64,
    }
}

/// How the memory of two processes compares, in an order of the kernel's: equal where they share all of it. None if
/// that is not known.
pub fn compare_memory(one: i32, other: i32) -> Option<std::cmp::Ordering> {
    const KCMP_VM: i32 = 1;
    // SAFETY: the call takes numbers only.
    match unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_VM, 0, 0) } {
        0 => Some(std::cmp::Ordering::Equal),
        1 => Some(std::cmp::Ordering::Less),
        2 => Some(std::cmp::Ordering::Greater),
        _ => None,
    }
}

/// The keyring of this process's user, and that of the user's sessions.
const USER_KEYRINGS: [i32; 2] = [-4, -5];

/// Gives this process, and those that it starts, an empty keyring in place of that of its session. Nothing if the
/// kernel has no keys, or the user too many.
pub fn join_new_session_keyring() {
    const JOIN_SESSION_KEYRING: i32 = 1;
    let anonymous = ptr::null::<libc::c_char>();
    // SAFETY: a null pointer is allowed, and means a keyring without a name.
    unsafe {
        libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, anonymous);
    }
}

/// The numbers of the keys in the user's keyrings; the first thousand of each. Nothing if the kernel has no keys.
pub fn user_keys() -> Vec<i32> {
    const READ: i32 = 11;
    let mut keys = Vec::new();
    for keyring in USER_KEYRINGS {
        let mut own = [0i32; 1000];
        let bytes = size_of_val(&own);
        // SAFETY: the kernel writes this many bytes at most, all of which are numbers of keys.
        let used = unsafe { libc::syscall(libc::SYS_keyctl, READ, keyring, own.as_mut_ptr(), bytes) };
        let count = usize::try_from(used).unwrap_or(0).min(bytes) / size_of::<i32>();
        keys.extend(&own[..count]);
    }
    keys
}

/// Memory of the whole host in files that have none on a disk: shared memory, memfd, tmpfs.
pub fn shared_bytes() -> u64 {
    // SAFETY: the value outlives the call, and zeroes are valid for it.
    let info = written(|to| unsafe { libc::sysinfo(to) });
    let info: libc::sysinfo = info.unwrap_or_else(|_| unsafe { zeroed() });
    info.sharedram * u64::from(info.mem_unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_signals_is_taken_in_parts() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        // As signalfd writes it: SIGTERM, then the other fields.
        let mut signal = [0u8; size_of::<libc::signalfd_siginfo>()];
        signal[0] = libc::SIGTERM as u8;
        for _ in 0..2 * MAX_SIGNALS {
            rustix::io::write(&write, &signal).unwrap();
        }
        for _ in 0..2 {
            assert_eq!(pending_signals(read.as_fd()).count(), MAX_SIGNALS);
        }
    }
}
