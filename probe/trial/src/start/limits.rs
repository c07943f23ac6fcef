//! The kernel's limits on the probe. Any process of its user may lower them, and raise them again only with privileges.

use wire::sys;

const RESOURCES: [(u32, &str); 8] = [
    (libc::RLIMIT_NOFILE, "open files"),
    (libc::RLIMIT_AS, "address space"),
    (libc::RLIMIT_DATA, "data"),
    (libc::RLIMIT_STACK, "stack"),
    (libc::RLIMIT_FSIZE, "file size"),
    (libc::RLIMIT_CPU, "CPU time"),
    (libc::RLIMIT_NPROC, "processes"),
    (libc::RLIMIT_MEMLOCK, "locked memory"),
];

/// The soft and the hard limit of each resource; none where the kernel does not say.
pub struct Limits([Option<(u64, u64)>; RESOURCES.len()]);

impl Limits {
    /// Those of a process; 0 is this one. Zombies keep their limits until reaped.
    pub fn of(pid: i32) -> Limits {
        Limits(RESOURCES.map(|(resource, _)| sys::limit_of(pid, resource)))
    }

    /// Which of them are lower in `now`, in words.
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
