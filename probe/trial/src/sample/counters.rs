//! Counters of the CPU and of the kernel over a program and all that it starts (perf_event_open).

use std::collections::BTreeMap;
use std::io;
use std::os::unix::io::OwnedFd;
use wire::messages::Counter;
use wire::os::{self, perf_counter};

/// Kinds of the kernel's (linux/perf_event.h).
const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;

/// The name of each in the outcome, its kind, its number there, and whether it counts outside of the kernel too.
const COUNTERS: [(&str, u32, u64, bool); 8] = [
    ("instructions", HARDWARE, 1, true),
    ("cycles", HARDWARE, 0, true),
    ("cache_misses", HARDWARE, 3, true),
    ("branch_misses", HARDWARE, 5, true),
    ("task_clock_ns", SOFTWARE, 1, true),
    ("page_faults", SOFTWARE, 2, true),
    ("context_switches", SOFTWARE, 3, false),
    ("cpu_migrations", SOFTWARE, 4, false),
];

/// A file of the kernel's, and whether it counts in the kernel as well.
type Open = (OwnedFd, bool);

/// Counters that begin with the next program that a child of this thread executes.
pub struct Counters(Vec<(&'static str, Result<Open, String>)>);

impl Counters {
    pub fn open() -> Counters {
        let open = |&(name, kind, number, is_outside): &(_, _, _, bool)| {
            let counter = match perf_counter(kind, number, true) {
                Ok(file) => Ok((file, true)),
                // Without privileges most kernels count programs alone.
                Err(error) if !is_outside => Err(refusal(error)),
                Err(error) => {
                    perf_counter(kind, number, false).map(|file| (file, false)).map_err(|_| refusal(error))
                }
            };
            (name, counter)
        };
        Counters(COUNTERS.iter().map(open).collect())
    }

    /// The counts, once all processes have ended.
    pub fn read(&self) -> BTreeMap<&'static str, Counter> {
        let read = |(name, counter): &(&'static str, Result<Open, String>)| {
            let counter = match counter {
                Ok((file, with_kernel)) => counted(file, *with_kernel),
                Err(why) => absent(why.clone()),
            };
            (*name, counter)
        };
        self.0.iter().map(read).collect()
    }
}

fn counted(file: &OwnedFd, with_kernel: bool) -> Counter {
    let mut bytes = [0; 24];
    if let Err(error) = os::read(file, &mut bytes) {
        return absent(refusal(error));
    }
    let words = bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_ne_bytes));
    let [count, wanted_ns, counted_ns] = [0, 1, 2].map(|at| words.clone().nth(at).unwrap_or(0));
    if counted_ns == 0 {
        return absent("it was never counted: other programs use the counters".into());
    }
    let (count, share) = scaled(count, wanted_ns, counted_ns);
    Counter {
        count: Some(count),
        share,
        why: if with_kernel { String::new() } else { format!("outside of the kernel alone: {}", paranoid()) },
    }
}

/// Scales a count from a part of the time to all of it; also returns that part, which is 1 for the whole.
fn scaled(count: u64, wanted_ns: u64, counted_ns: u64) -> (u64, f64) {
    if counted_ns >= wanted_ns {
        return (count, 1.0);
    }
    let whole = u128::from(count) * u128::from(wanted_ns) / u128::from(counted_ns);
    let share = counted_ns as f64 / wanted_ns as f64;
    (i64::try_from(whole).unwrap_or(i64::MAX) as u64, share)
}

fn absent(why: String) -> Counter {
    Counter { count: None, share: 1.0, why }
}

/// Why the kernel gives no counter.
fn refusal(error: impl Into<io::Error>) -> String {
    let error = error.into();
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => format!("not permitted: {}", paranoid()),
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            "this machine has no PMU that its programs can use".into()
        }
        Some(libc::ENOSYS) => "this kernel has no perf_event_open".into(),
        _ => error.to_string(),
    }
}

fn paranoid() -> String {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let level = level.as_deref().map_or("unknown", str::trim);
    format!("kernel.perf_event_paranoid is {level}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_count_of_a_part_of_the_time_is_scaled() {
        assert_eq!(scaled(70, 100, 100), (70, 1.0));
        assert_eq!(scaled(70, 100, 101), (70, 1.0));
        assert_eq!(scaled(70, 200, 50), (280, 0.25));
        assert_eq!(scaled(u64::MAX, 200, 50).0, i64::MAX as u64);
    }

    /// Children, and theirs, count from their first program on; the process that opened them does not.
    #[test]
    fn the_whole_tree_is_counted() {
        let counts = |line: Option<&str>| {
            let counters = Counters::open();
            vec![1u8; 8 << 20].iter().for_each(|byte| assert_eq!(*byte, 1));
            if let Some(line) = line {
                assert!(Command::new("sh").args(["-c", line]).status().unwrap().success());
            }
            counters.read()
        };
        let none = counts(None);
        assert_eq!(none.len(), COUNTERS.len());
        assert!(none.values().all(|each| each.count.is_none() && !each.why.is_empty()));
        let one = counts(Some("true"));
        let many = counts(Some("(sh -c 'true; /bin/true'); /bin/true; sh -c '/bin/true; true'"));
        for (name, each) in &one {
            match (each.count, many[name].count) {
                (None, None) => assert!(!each.why.is_empty(), "{name}"),
                (Some(_), Some(_)) => assert!(each.share > 0.0 && each.share <= 1.0),
                counts => panic!("{name}: {counts:?}"),
            }
        }
        for name in ["task_clock_ns", "page_faults"] {
            if let (Some(one), Some(many)) = (one[name].count, many[name].count) {
                assert!(one > 0 && many > one, "{name}: {one} {many}");
            }
        }
    }

    #[test]
    fn the_reason_is_named() {
        let why = |errno| refusal(io::Error::from_raw_os_error(errno));
        assert!(why(libc::EACCES).contains("perf_event_paranoid is"));
        assert!(why(libc::ENOENT).contains("no PMU"));
        assert!(why(libc::ENOSYS).contains("perf_event_open"));
        assert!(why(libc::EMFILE).contains("files"));
    }
}
