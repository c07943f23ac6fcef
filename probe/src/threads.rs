//! Figures that the kernel keeps for each thread only: switches and waiting for a CPU. Reading
//! them is dear where threads are many, so each look reads a bounded number of threads in turn,
//! and the last value that was seen of each counts.

use crate::tree::{ProcFs, Process};
use std::collections::{HashMap, HashSet};

/// Threads that one look reads.
const MOST_PER_LOOK: usize = 48;

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
                budget -= tasks.read(procfs, process, budget, &mut self.total);
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
}

impl Tasks {
    fn read(
        &mut self,
        procfs: &mut ProcFs,
        process: &Process,
        budget: usize,
        total: &mut Figures,
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
            let schedstat = procfs.read(format_args!("{pid}/task/{tid}/schedstat"));
            let (voluntary_switches, involuntary_switches) = switches.unwrap_or((0, 0));
            let now = Figures {
                voluntary_switches,
                involuntary_switches,
                run_queue_ns: schedstat.and_then(parse_schedstat).unwrap_or(0),
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

/// Nanoseconds on the run queue: the second number.
fn parse_schedstat(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_status_and_schedstat() {
        let status = b"Name:\tx\\nvoluntary_ctxt_switches:\t9\nState:\tR\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(parse_status(status), Some((150, 545)));
        assert_eq!(parse_status(b"Name:\tx\n"), None);
        assert_eq!(parse_schedstat(b"64875 50200 2\n"), Some(50_200));
        assert_eq!(parse_schedstat(b"1"), None);
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
