//! Settings that programs inherit from the process that starts them. Any process of the same user may change
//! them.

use wire::os::{sched_getaffinity, CpuSet};
use wire::sys::{self, scheduling_of, Scheduling};

/// All but the size of core dumps, which each program is given.
const RESOURCES: [(u32, &str); 15] = [
    (libc::RLIMIT_NOFILE, "open files"),
    (libc::RLIMIT_AS, "address space"),
    (libc::RLIMIT_DATA, "data"),
    (libc::RLIMIT_STACK, "stack"),
    (libc::RLIMIT_FSIZE, "file size"),
    (libc::RLIMIT_CPU, "CPU time"),
    (libc::RLIMIT_NPROC, "processes"),
    (libc::RLIMIT_MEMLOCK, "locked memory"),
    (libc::RLIMIT_SIGPENDING, "pending signals"),
    (libc::RLIMIT_MSGQUEUE, "message queues"),
    (libc::RLIMIT_LOCKS, "file locks"),
    (libc::RLIMIT_RSS, "resident memory"),
    (libc::RLIMIT_NICE, "priority"),
    (libc::RLIMIT_RTPRIO, "real-time priority"),
    (libc::RLIMIT_RTTIME, "real-time CPU time"),
];

/// The settings that a process hands on. Values that the kernel does not report never count as a difference.
#[derive(PartialEq)]
pub struct Inherited {
    pub scheduling: Option<Scheduling>,
    pub cpus: Option<CpuSet>,
    pub limits: Limits,
}

impl Inherited {
    /// From a process; 0 is this one.
    pub fn of(pid: i32) -> Inherited {
        Inherited {
            scheduling: scheduling_of(pid).ok(),
            cpus: sched_getaffinity(pid).ok(),
            limits: Limits::of(pid),
        }
    }
}

/// The soft and the hard limit of each resource; none if the kernel does not say.
#[derive(PartialEq)]
pub struct Limits([Option<(u64, u64)>; RESOURCES.len()]);

impl Limits {
    /// The limits of a process; 0 is this one. Zombies keep their limits until reaped.
    pub fn of(pid: i32) -> Limits {
        Limits(RESOURCES.map(|(resource, _)| sys::limit_of(pid, resource)))
    }

    /// The limits that are lower in `now`, in words.
    pub fn lowered_to(&self, now: &Limits) -> Option<String> {
        let limits = RESOURCES.iter().zip(self.0.iter().zip(now.0));
        let lowered = limits.filter_map(|((_, name), (before, now))| {
            let ((soft, hard), (now_soft, now_hard)) = ((*before)?, now?);
            (now_soft < soft || now_hard < hard).then_some(*name)
        });
        let names: Vec<_> = lowered.collect();
        (!names.is_empty()).then(|| format!("the probe's limits were lowered: {}", names.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lowered_is_named() {
        let limits = |files: (u64, u64), size: (u64, u64)| {
            let mut limits = [Some((8, 9)); RESOURCES.len()];
            (limits[0], limits[4]) = (Some(files), Some(size));
            Limits(limits)
        };
        let before = limits((8, 9), (8, 9));
        let words = |now: Limits| before.lowered_to(&now);
        assert_eq!(words(limits((9, 9), (8, 10))), None);
        let both = "the probe's limits were lowered: open files, file size";
        assert_eq!(words(limits((7, 9), (8, 8))).as_deref(), Some(both));
    }

    #[test]
    fn those_of_this_process_are_known() {
        assert!(Limits::of(0).0.iter().all(Option::is_some));
    }
}
