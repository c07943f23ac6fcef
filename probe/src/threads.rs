//! Figures that the kernel keeps for each thread only: switches and waiting for a CPU. Reading
//! them is dear where threads are many, so each look reads a bounded number of threads in turn,
//! and the last value that was seen of each counts.

use crate::output::ThreadTold;
use crate::tree::{ProcFs, Process};
use std::collections::{HashMap, HashSet};

/// Threads that one look reads.
const MOST_PER_LOOK: usize = 48;
/// Threads that a time line keeps apart, and of how many the end tells the name.
const MOST_KEPT: usize = 4096;
const MOST_TOLD: usize = 64;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub run_queue_ns: u64,
}

#[derive(Default)]
pub struct Threads {
    processes: HashMap<i32, Tasks>,
    total: Figures,
    look: u64,
    /// For a time line: what each thread has had, those that have ended among them.
    told: Option<HashMap<i32, Told>>,
}

#[derive(Default)]
struct Told {
    name: String,
    cpu_ns: u64,
    /// Since it was last told.
    changed: bool,
}

#[derive(Default)]
struct Tasks {
    start_ticks: u64,
    look: u64,
    last: HashMap<i32, Figures>,
    /// Thread numbers that are still to be read before they are listed again.
    waiting: Vec<i32>,
}

impl Threads {
    /// Keeps the CPU time of each thread by itself too.
    pub fn for_timeline() -> Threads {
        Threads {
            told: Some(HashMap::new()),
            ..Threads::default()
        }
    }

    /// Reads as many threads as one look may, and gives the sums over all that were ever seen.
    pub fn look(&mut self, procfs: &mut ProcFs, processes: &[Process]) -> Figures {
        self.look += 1;
        let mut budget = MOST_PER_LOOK;
        // Each look starts with another process, so that all get their turn.
        let turn = self.look as usize % processes.len().max(1);
        let (later, first) = processes.split_at(turn.min(processes.len()));
        for process in first.iter().chain(later) {
            if !process.alive {
                continue;
            }
            let tasks = self.processes.entry(process.pid).or_default();
            if tasks.start_ticks != process.start_ticks {
                *tasks = Tasks {
                    start_ticks: process.start_ticks,
                    ..Tasks::default()
                };
            }
            tasks.look = self.look;
            if budget > 0 {
                budget -= tasks.read(procfs, process, budget, &mut self.total, self.told.as_mut());
            }
        }
        // What ended threads had is in the sums already.
        let look = self.look;
        self.processes.retain(|_, tasks| tasks.look == look);
        self.total
    }

    pub fn total(&self) -> Figures {
        self.total
    }

    /// CPU times by thread, of those that have changed since the last call.
    pub fn changed(&mut self) -> Vec<(i32, u64)> {
        let told = self.told.iter_mut().flatten();
        let mut found: Vec<_> = told
            .filter_map(|(&tid, one)| {
                let changed = std::mem::take(&mut one.changed);
                changed.then_some((tid, one.cpu_ns))
            })
            .collect();
        found.sort_unstable();
        found
    }

    /// The busiest threads of a time line.
    pub fn busiest(&self) -> Vec<ThreadTold> {
        let told = self.told.iter().flatten();
        let mut found: Vec<_> = told
            .map(|(&tid, one)| ThreadTold {
                tid,
                name: one.name.clone(),
                cpu_ns: one.cpu_ns,
            })
            .collect();
        found.sort_unstable_by_key(|one| (std::cmp::Reverse(one.cpu_ns), one.tid));
        found.truncate(MOST_TOLD);
        found
    }
}

impl Tasks {
    fn read(
        &mut self,
        procfs: &mut ProcFs,
        process: &Process,
        budget: usize,
        total: &mut Figures,
        mut told: Option<&mut HashMap<i32, Told>>,
    ) -> usize {
        let pid = process.pid;
        if self.waiting.is_empty() {
            if process.threads <= 1 {
                self.waiting.push(pid);
            } else {
                procfs.numbers(format_args!("{pid}/task"), &mut self.waiting);
                if self.last.len() > self.waiting.len() {
                    let listed: HashSet<i32> = self.waiting.iter().copied().collect();
                    self.last.retain(|tid, _| listed.contains(tid));
                }
            }
        }
        let take = self.waiting.len().min(budget);
        for tid in self.waiting.split_off(self.waiting.len() - take) {
            let status = procfs.read(format_args!("{pid}/task/{tid}/status"));
            let switches = status.and_then(parse_status);
            let name = match told {
                Some(_) => status.and_then(parse_name),
                None => None,
            };
            let schedstat = procfs.read(format_args!("{pid}/task/{tid}/schedstat"));
            let (cpu_ns, run_queue_ns) = schedstat.and_then(parse_schedstat).unwrap_or((0, 0));
            if let (Some(told), Some(name)) = (&mut told, name) {
                note(told, tid, name, cpu_ns);
            }
            let (voluntary_switches, involuntary_switches) = switches.unwrap_or((0, 0));
            let now = Figures {
                voluntary_switches,
                involuntary_switches,
                run_queue_ns,
            };
            let before = self.last.insert(tid, now).unwrap_or_default();
            let add = |sum: &mut u64, before: u64, now: u64| {
                *sum = sum.saturating_add(now.saturating_sub(before))
            };
            add(
                &mut total.voluntary_switches,
                before.voluntary_switches,
                now.voluntary_switches,
            );
            add(
                &mut total.involuntary_switches,
                before.involuntary_switches,
                now.involuntary_switches,
            );
            add(
                &mut total.run_queue_ns,
                before.run_queue_ns,
                now.run_queue_ns,
            );
        }
        take
    }
}

fn parse_status(status: &[u8]) -> Option<(u64, u64)> {
    // The two lines stand at the end; the name at the beginning is the program's own choice,
    // but the kernel escapes newlines in it.
    let number = |key: &[u8]| {
        let at = memchr::memmem::rfind(status, key)? + key.len();
        let line = &status[at..];
        let end = memchr::memchr(b'\n', line).unwrap_or(line.len());
        std::str::from_utf8(&line[..end]).ok()?.trim().parse().ok()
    };
    Some((
        number(b"\nvoluntary_ctxt_switches:")?,
        number(b"\nnonvoluntary_ctxt_switches:")?,
    ))
}

/// The name that a program gave its thread: untrusted text of 15 bytes at most.
fn parse_name(status: &[u8]) -> Option<String> {
    let line = status.strip_prefix(b"Name:\t")?;
    let end = memchr::memchr(b'\n', line)?;
    Some(String::from_utf8_lossy(&line[..end]).into_owned())
}

/// Nanoseconds on a CPU and on the run queue: the first two numbers.
fn parse_schedstat(text: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(text).ok()?;
    let mut numbers = text.split_ascii_whitespace();
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn note(told: &mut HashMap<i32, Told>, tid: i32, name: String, cpu_ns: u64) {
    if told.len() >= MOST_KEPT && !told.contains_key(&tid) {
        return;
    }
    let one = told.entry(tid).or_default();
    // The number of a thread that has ended may be given to another.
    let cpu_ns = cpu_ns.max(one.cpu_ns);
    one.changed |= cpu_ns > one.cpu_ns;
    one.cpu_ns = cpu_ns;
    one.name = name;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_status_and_schedstat() {
        let status = b"Name:\tx\\nvoluntary_ctxt_switches:\t9\nState:\tR\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(parse_status(status), Some((150, 545)));
        assert_eq!(parse_status(b"Name:\tx\n"), None);
        assert_eq!(
            parse_name(status).as_deref(),
            Some("x\\nvoluntary_ctxt_switches:\t9")
        );
        assert_eq!(parse_name(b"Name:\tx"), None);
        assert_eq!(parse_schedstat(b"64875 50200 2\n"), Some((64_875, 50_200)));
        assert_eq!(parse_schedstat(b"1"), None);
    }

    #[test]
    fn a_time_line_tells_threads_apart() {
        let (release, gate) = std::sync::mpsc::channel::<()>();
        let busy = std::thread::Builder::new().name("busy-one".into());
        let busy = busy.spawn(move || {
            let mut turns = 0u64;
            while gate.try_recv() != Err(std::sync::mpsc::TryRecvError::Disconnected) {
                turns = std::hint::black_box(turns + 1);
            }
        });
        let mut procfs = ProcFs::open().unwrap();
        let process = procfs.process(std::process::id() as i32).unwrap();
        let mut threads = Threads::for_timeline();
        let of_busy = |threads: &Threads| {
            let mut found = threads.busiest().into_iter();
            found.rfind(|one| one.name == "busy-one")
        };
        let mut seen = None;
        // Others of these tests have threads too: they are read in turn.
        for _ in 0..1000 {
            threads.look(&mut procfs, &[process]);
            let told = threads.changed();
            seen = of_busy(&threads)
                .filter(|one| told.contains(&(one.tid, one.cpu_ns)) && one.cpu_ns > 0);
            if seen.is_some() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let first = seen.expect("its time has grown");
        drop(release);
        busy.unwrap().join().unwrap();
        threads.look(&mut procfs, &[]);
        assert!(of_busy(&threads).unwrap().cpu_ns >= first.cpu_ns);
        assert!(Threads::default().changed().is_empty());
    }

    #[test]
    fn a_number_that_is_given_again_does_not_fall() {
        let mut told = HashMap::new();
        note(&mut told, 7, "old".into(), 100);
        note(&mut told, 7, "new".into(), 5);
        assert_eq!((told[&7].cpu_ns, told[&7].name.as_str()), (100, "new"));
        for tid in 0..2 * MOST_KEPT as i32 {
            note(&mut told, tid, String::new(), 1);
        }
        assert_eq!(told.len(), MOST_KEPT);
    }

    #[test]
    fn many_threads_are_read_in_turn() {
        let (release, gate) = std::sync::mpsc::channel::<()>();
        let gate = std::sync::Arc::new(std::sync::Mutex::new(gate));
        let wait = || {
            let gate = gate.clone();
            std::thread::spawn(move || drop(gate.lock().map(|gate| gate.recv())))
        };
        let handles: Vec<_> = (0..MOST_PER_LOOK * 2).map(|_| wait()).collect();
        let mut procfs = ProcFs::open().unwrap();
        let process = procfs.process(std::process::id() as i32).unwrap();
        let mut threads = Threads::default();
        threads.look(&mut procfs, &[process]);
        let tasks = &threads.processes[&process.pid];
        assert_eq!(tasks.last.len(), MOST_PER_LOOK);
        for _ in 0..3 {
            threads.look(&mut procfs, &[process]);
        }
        assert!(threads.processes[&process.pid].last.len() > MOST_PER_LOOK * 2);
        assert!(threads.total().voluntary_switches > 0);
        threads.look(&mut procfs, &[]);
        assert!(threads.processes.is_empty() && threads.total().voluntary_switches > 0);
        drop(release);
        for handle in handles {
            handle.join().unwrap();
        }
    }
}
