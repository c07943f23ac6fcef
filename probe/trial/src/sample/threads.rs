//! Figures that the kernel keeps for each thread only: switches and run-queue wait. Reading them is expensive where
//! threads are many, so each sample reads a bounded number of threads in turn, and the last value of each counts.

use crate::tree::procfs::{ProcFs, Process};
use std::collections::{HashMap, HashSet};
use wire::messages::ThreadCpu;
use wire::os::find_byte;

/// Threads read in one sample.
const MAX_PER_SAMPLE: usize = 48;
/// Threads that a time line keeps apart, and how many of them the outcome lists.
const MAX_KEPT: usize = 4096;
const MAX_LISTED: usize = 64;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub run_queue_ns: u64,
}

#[derive(Default)]
pub struct Threads {
    processes: HashMap<i32, Tasks>,
    pub total: Figures,
    round: u64,
    /// For a time line: the CPU time of each thread, including those that have ended.
    timeline: Option<HashMap<i32, ThreadTime>>,
}

#[derive(Default)]
struct ThreadTime {
    name: String,
    cpu_ns: u64,
    /// Since the last call of `changed`.
    changed: bool,
}

#[derive(Default)]
struct Tasks {
    start_ticks: u64,
    round: u64,
    last: HashMap<i32, Figures>,
    /// Thread numbers that are still to be read before they are listed again.
    waiting: Vec<i32>,
}

impl Threads {
    /// Keeps the CPU time of each thread as well.
    pub fn for_timeline() -> Threads {
        Threads { timeline: Some(HashMap::new()), ..Threads::default() }
    }

    /// Reads the next threads in turn, and returns their numbers.
    pub fn read_next(&mut self, procfs: &mut ProcFs, processes: &[Process]) -> Vec<i32> {
        self.round += 1;
        let mut read = Vec::new();
        // Each sample starts with another process, so that all get their turn.
        let turn = self.round as usize % processes.len().max(1);
        let (later, first) = processes.split_at(turn.min(processes.len()));
        for process in first.iter().chain(later).filter(|process| process.alive) {
            self.read(procfs, process, &mut read);
        }
        // The sums already include threads that have ended.
        let round = self.round;
        self.processes.retain(|_, tasks| tasks.round == round);
        read
    }

    /// Reads threads of a process, as many as the sample has room for, and adds their numbers.
    fn read(&mut self, procfs: &mut ProcFs, process: &Process, read: &mut Vec<i32>) {
        let pid = process.pid;
        let tasks = self.processes.entry(pid).or_default();
        if tasks.start_ticks != process.start_ticks {
            *tasks = Tasks { start_ticks: process.start_ticks, ..Tasks::default() };
        }
        tasks.round = self.round;
        let room = MAX_PER_SAMPLE - read.len();
        if tasks.waiting.is_empty() && room > 0 {
            if process.threads <= 1 {
                tasks.waiting.push(pid);
            } else {
                procfs.numbers(format_args!("{pid}/task"), &mut tasks.waiting);
                if tasks.last.len() > tasks.waiting.len() {
                    let listed: HashSet<i32> = tasks.waiting.iter().copied().collect();
                    tasks.last.retain(|tid, _| listed.contains(tid));
                }
            }
        }
        for tid in tasks.waiting.split_off(tasks.waiting.len().saturating_sub(room)) {
            read.push(tid);
            let status = procfs.read(format_args!("{pid}/task/{tid}/status"));
            let switches = status.and_then(parse_status);
            let name = status.filter(|_| self.timeline.is_some()).and_then(parse_name);
            let schedstat = procfs.read(format_args!("{pid}/task/{tid}/schedstat"));
            let (cpu_ns, run_queue_ns) = schedstat.and_then(parse_schedstat).unwrap_or((0, 0));
            if let (Some(times), Some(name)) = (&mut self.timeline, name) {
                note(times, tid, name, cpu_ns);
            }
            let (voluntary_switches, involuntary_switches) = switches.unwrap_or((0, 0));
            let now = Figures { voluntary_switches, involuntary_switches, run_queue_ns };
            let before = tasks.last.insert(tid, now).unwrap_or_default();
            let total = &mut self.total;
            for (sum, before, now) in [
                (&mut total.voluntary_switches, before.voluntary_switches, now.voluntary_switches),
                (&mut total.involuntary_switches, before.involuntary_switches, now.involuntary_switches),
                (&mut total.run_queue_ns, before.run_queue_ns, now.run_queue_ns),
            ] {
                *sum = sum.saturating_add(now.saturating_sub(before));
            }
        }
    }

    /// CPU times by thread, of those that have changed since the last call.
    pub fn changed(&mut self) -> Vec<(i32, u64)> {
        let times = self.timeline.iter_mut().flatten();
        let mut changed: Vec<_> = times
            .filter_map(|(&tid, time)| {
                let changed = std::mem::take(&mut time.changed);
                changed.then_some((tid, time.cpu_ns))
            })
            .collect();
        changed.sort_unstable();
        changed
    }

    /// The busiest threads of a time line.
    pub fn busiest(&self) -> Vec<ThreadCpu> {
        let times = self.timeline.iter().flatten();
        let mut threads: Vec<_> = times
            .map(|(&tid, time)| ThreadCpu { tid, name: time.name.clone(), cpu_ns: time.cpu_ns })
            .collect();
        threads.sort_unstable_by_key(|thread| (std::cmp::Reverse(thread.cpu_ns), thread.tid));
        threads.truncate(MAX_LISTED);
        threads
    }
}

fn parse_status(status: &[u8]) -> Option<(u64, u64)> {
    // The two lines stand at the end; the name at the beginning is the program's own choice,
    // but the kernel escapes newlines in it.
    let number = |key: &[u8]| {
        let mut lines = status.rsplit(|&byte| byte == b'\n');
        let number = lines.find_map(|line| line.strip_prefix(key))?;
        std::str::from_utf8(number).ok()?.trim().parse().ok()
    };
    Some((number(b"voluntary_ctxt_switches:")?, number(b"nonvoluntary_ctxt_switches:")?))
}

/// The name that a program gave its thread: untrusted text of 15 bytes at most.
fn parse_name(status: &[u8]) -> Option<String> {
    let line = status.strip_prefix(b"Name:\t")?;
    let end = find_byte(b'\n', line)?;
    Some(String::from_utf8_lossy(&line[..end]).into_owned())
}

/// Nanoseconds on a CPU and on the run queue: the first two numbers.
fn parse_schedstat(text: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(text).ok()?;
    let mut numbers = text.split_ascii_whitespace();
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn note(times: &mut HashMap<i32, ThreadTime>, tid: i32, name: String, cpu_ns: u64) {
    if times.len() >= MAX_KEPT && !times.contains_key(&tid) {
        return;
    }
    let time = times.entry(tid).or_default();
    // The number of a thread that has ended may be used again.
    let cpu_ns = cpu_ns.max(time.cpu_ns);
    time.changed |= cpu_ns > time.cpu_ns;
    time.cpu_ns = cpu_ns;
    time.name = name;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_status_and_schedstat() {
        let status = b"Name:\tx\\nvoluntary_ctxt_switches:\t9\nState:\tR\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(parse_status(status), Some((150, 545)));
        assert_eq!(parse_status(b"Name:\tx\n"), None);
        assert_eq!(parse_name(status).as_deref(), Some("x\\nvoluntary_ctxt_switches:\t9"));
        assert_eq!(parse_name(b"Name:\tx"), None);
        assert_eq!(parse_schedstat(b"64875 50200 2\n"), Some((64_875, 50_200)));
        assert_eq!(parse_schedstat(b"1"), None);
    }

    #[test]
    fn a_time_line_keeps_threads_apart() {
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
            let mut busiest = threads.busiest().into_iter();
            busiest.rfind(|thread| thread.name == "busy-one")
        };
        let mut first = None;
        // Other tests of this process have threads too: they are read in turn.
        for _ in 0..1000 {
            threads.read_next(&mut procfs, &[process]);
            let changed = threads.changed();
            first = of_busy(&threads)
                .filter(|thread| changed.contains(&(thread.tid, thread.cpu_ns)) && thread.cpu_ns > 0);
            if first.is_some() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let first = first.expect("its time has grown");
        drop(release);
        busy.unwrap().join().unwrap();
        threads.read_next(&mut procfs, &[]);
        assert!(of_busy(&threads).unwrap().cpu_ns >= first.cpu_ns);
        assert!(Threads::default().changed().is_empty());
    }

    #[test]
    fn cpu_time_does_not_fall_when_a_tid_is_used_again() {
        let mut times = HashMap::new();
        note(&mut times, 7, "old".into(), 100);
        note(&mut times, 7, "new".into(), 5);
        assert_eq!((times[&7].cpu_ns, times[&7].name.as_str()), (100, "new"));
        for tid in 0..2 * MAX_KEPT as i32 {
            note(&mut times, tid, String::new(), 1);
        }
        assert_eq!(times.len(), MAX_KEPT);
    }

    #[test]
    fn many_threads_are_read_in_turn() {
        let (release, gate) = std::sync::mpsc::channel::<()>();
        let gate = std::sync::Arc::new(std::sync::Mutex::new(gate));
        let wait = || {
            let gate = gate.clone();
            std::thread::spawn(move || drop(gate.lock().map(|gate| gate.recv())))
        };
        let handles: Vec<_> = (0..MAX_PER_SAMPLE * 2).map(|_| wait()).collect();
        let mut procfs = ProcFs::open().unwrap();
        let process = procfs.process(std::process::id() as i32).unwrap();
        let mut threads = Threads::default();
        threads.read_next(&mut procfs, &[process]);
        let tasks = &threads.processes[&process.pid];
        assert_eq!(tasks.last.len(), MAX_PER_SAMPLE);
        for _ in 0..3 {
            threads.read_next(&mut procfs, &[process]);
        }
        assert!(threads.processes[&process.pid].last.len() > MAX_PER_SAMPLE * 2);
        assert!(threads.total.voluntary_switches > 0);
        threads.read_next(&mut procfs, &[]);
        assert!(threads.processes.is_empty() && threads.total.voluntary_switches > 0);
        drop(release);
        for handle in handles {
            handle.join().unwrap();
        }
    }
}
