//! Samples the tree while it runs: its memory, CPU time, processes and threads.

mod file_memory;
mod process_times;
mod pss;
pub mod schedule;

use crate::leave::shared_memory::SharedMemory;
use crate::sample::budget::SamplingBudget;
use crate::sample::high_water::Peaks;
use crate::sample::host::kernel_memory;
use crate::sample::threads::Threads;
use crate::tree::cgroup::Cgroup;
use crate::tree::processes::{walk, ScanMode, MANY_THREADS};
use crate::tree::procfs::{ProcFs, Process};
use file_memory::FileMemory;
use process_times::ProcessTimes;
use pss::{PssReader, Resident};
use schedule::Schedule;
use std::sync::Arc;
use wire::clock::{cpu_ns_of, thread_cpu_ns};
use wire::messages::Sample;
use wire::os::{self, sched_getaffinity, CpuSet};
use wire::sys::{self, scheduling_of, Scheduling, Usage};

// Inverse shares of one core: 0.8 % together with that of PSS, of 1 % for the whole probe.
const TREE_SHARE: u64 = 250;
const THREADS_SHARE: u64 = 500;

// Maximum rests: the first bounds the delay of the limit on processes.
const TREE_REST_NS: u64 = 200_000_000;
const THREADS_REST_NS: u64 = 10_000_000_000;

/// A tree of this many processes that grows by a quarter from sample to sample may be a fork bomb.
const GROWING_PROCESSES: usize = 32;

/// Samples between two readings of all parents, where a tree has too many threads to read each.
const SAMPLES_PER_SCAN: u64 = 8;

pub struct Limits {
    pub memory_bytes: u64,
    pub processes: u64,
    pub threads: u64,
    /// The CPUs that the program was given; None: any.
    pub cpus: Option<CpuSet>,
    /// The schedule that it was given; None: it may choose another.
    pub scheduling: Option<Scheduling>,
}

impl Limits {
    /// Whether a thread may use other CPUs; not once it has ended.
    fn has_other_cpus(&self, thread: i32) -> bool {
        let given = self.cpus.as_ref();
        given.is_some_and(|cpus| sched_getaffinity(thread).is_ok_and(|own| own.exceeds(cpus)))
    }

    fn has_priority(&self, thread: i32) -> bool {
        let given = self.scheduling.as_ref();
        given.is_some_and(|given| scheduling_of(thread).is_ok_and(|own| own.is_preferred_to(given)))
    }
}

/// A limit that a sample exceeds, with its value.
#[derive(Debug)]
pub enum Excess {
    Memory(u64),
    Processes(u64),
    Threads(u64),
    /// A thread has allowed itself other CPUs than the program was given.
    Cpus,
}

/// A sample, and the limit that it exceeds.
pub type TakenSample = (Sample, Option<Excess>);

pub struct Sampler {
    procfs: ProcFs,
    probe: i32,
    /// The schedule of regular samples.
    pub schedule: Schedule,
    limits: Limits,
    pub threads: Threads,
    tree_budget: SamplingBudget,
    threads_budget: SamplingBudget,
    pss: PssReader,
    pub files: FileMemory,
    known: Vec<i32>,
    /// The tree has processes whose children are not read thread by thread.
    wide: bool,
    /// Processes of the last sample, and whether their number grows quickly.
    processes: usize,
    growing: bool,
    samples: u64,
    /// A sample has seen a process.
    has_seen: bool,
    /// CPU time of the tree up to the last sample.
    pub last_cpu_ns: u64,
    process_times: ProcessTimes,
    /// Page faults until memory was seen last.
    faults: ProcessTimes,
    /// Whether a sample saw a process outside the trial's cgroup.
    pub left_cgroup: bool,
    /// Whether a sample saw a thread with a higher priority than the program was given.
    pub took_priority: bool,
    page_bytes: u64,
    tick_ns: u64,
    timeline: bool,
    /// CPU time of the children of earlier trials.
    before: Usage,
    /// CPU time of this trial's children that were waited for before the last walk of the tree.
    waited_for: Usage,
    pub peaks: Peaks,
}

impl Sampler {
    /// `schedule`: of regular samples. `timeline`: all samples have threads and the kernel's memory. `shared`: the probe's
    /// own shared memory.
    pub fn new(
        procfs: ProcFs,
        schedule: Schedule,
        limits: Limits,
        timeline: bool,
        shared: Option<Arc<SharedMemory>>,
    ) -> Sampler {
        Sampler {
            procfs,
            probe: std::process::id() as i32,
            schedule,
            limits,
            threads: if timeline { Threads::for_timeline() } else { Threads::default() },
            tree_budget: SamplingBudget::new(TREE_SHARE, TREE_REST_NS),
            threads_budget: SamplingBudget::new(THREADS_SHARE, THREADS_REST_NS),
            pss: PssReader::new(timeline),
            files: FileMemory::new(shared),
            known: Vec::new(),
            wide: false,
            processes: 0,
            growing: false,
            samples: 0,
            has_seen: false,
            last_cpu_ns: 0,
            process_times: ProcessTimes::default(),
            faults: ProcessTimes::default(),
            left_cgroup: false,
            took_priority: false,
            page_bytes: os::page_bytes() as u64,
            tick_ns: sys::tick_ns(),
            timeline,
            before: sys::children_usage(),
            waited_for: Usage::default(),
            peaks: Peaks { threads: 1, processes: 1, ..Peaks::default() },
        }
    }

    /// The kernel's account of all children that were waited for in this trial.
    pub fn children_usage(&self) -> Usage {
        sys::children_usage().since(&self.before)
    }

    /// Whether there were samples, none of which saw a process.
    pub fn saw_nothing(&self) -> bool {
        self.samples > 0 && !self.has_seen
    }

    pub fn regular(&mut self, now_ns: u64, cgroup: Option<&Cgroup>) -> TakenSample {
        let before = thread_cpu_ns();
        let sample = self.sample(now_ns, None, cgroup);
        let cost = thread_cpu_ns().saturating_sub(before);
        let free_at_ns = self.tree_budget.free_at_ns;
        self.schedule.took(now_ns, cost, self.growing, free_at_ns);
        sample
    }

    /// A sample; at a mark always with PSS, at any cost.
    pub fn sample(&mut self, now_ns: u64, mark: Option<&str>, cgroup: Option<&Cgroup>) -> TakenSample {
        let start = thread_cpu_ns();
        let tree = self.tree(cgroup);
        let mut sample = Sample { t_ns: now_ns, mark: mark.map(str::to_owned), ..Sample::default() };
        self.growing = tree.len() >= GROWING_PROCESSES && tree.len() > self.processes * 5 / 4;
        self.processes = tree.len();
        // Zombies that are not waited for fill the table of processes as well.
        let over = tree.len() as u64 > self.limits.processes;
        let mut excess = over.then_some(Excess::Processes(tree.len() as u64));
        for process in tree.iter().filter(|process| process.alive) {
            sample.processes += 1;
            sample.threads += process.threads;
            sample.rss_bytes += process.rss_pages * self.page_bytes;
        }
        self.has_seen |= sample.processes > 0;
        self.peaks.processes = self.peaks.processes.max(sample.processes);
        self.peaks.threads = self.peaks.threads.max(sample.threads);
        if sample.threads > self.limits.threads {
            excess.get_or_insert(Excess::Threads(sample.threads));
        }
        if excess.is_none() {
            self.find_escapes(&tree, cgroup);
            self.last_cpu_ns = self.last_cpu_ns.max(self.cpu_ns(&tree, cgroup));
        }
        // For a moment a process that has just ended may be counted nowhere; the sum must not fall then.
        sample.cpu_ns = self.last_cpu_ns;
        // Each sample of a time line reads it, so its cost counts as that of the tree.
        if self.timeline || mark.is_some() {
            (sample.kernel_bytes, sample.tcp_bytes) = kernel_memory(&mut self.procfs, self.page_bytes);
        }
        let after_tree = thread_cpu_ns();
        self.tree_budget.spent(now_ns, after_tree.saturating_sub(start));

        let mut after_threads = after_tree;
        let reads_threads = excess.is_none() && (mark.is_some() || self.threads_budget.allows(now_ns));
        if reads_threads {
            let read = self.threads.read_next(&mut self.procfs, &tree);
            if read.iter().any(|&thread| self.limits.has_other_cpus(thread)) {
                excess = Some(Excess::Cpus);
            }
            self.took_priority |= read.iter().any(|&thread| self.limits.has_priority(thread));
            after_threads = thread_cpu_ns();
            self.threads_budget.spent(now_ns, after_threads - after_tree);
        }
        let figures = self.threads.total;
        sample.voluntary_switches = figures.voluntary_switches;
        sample.involuntary_switches = figures.involuntary_switches;
        sample.run_queue_ns = figures.run_queue_ns;

        let resident = Resident {
            rss_bytes: sample.rss_bytes,
            processes: sample.processes,
            exceeds_limit: sample.rss_bytes > self.limits.memory_bytes,
        };
        // A tree that grows fast may be a fork bomb. The kernel holds a process's map of memory while it forks, so
        // reading PSS could wait for a minute; the next sample comes soon and sees a tree over its limit.
        let reads_memory = excess.is_none() && (mark.is_some() || !self.growing);
        let has_files = reads_memory && self.files.exceeds_floor(now_ns, &self.procfs, &tree);
        let reads_pss = mark.is_some() || has_files || self.pss.is_due(now_ns, &resident);
        if reads_memory && reads_pss {
            let pss = pss::of_tree(&mut self.procfs, &tree);
            sample.pss_bytes = pss.map(|pss| pss.bytes);
            let cost = thread_cpu_ns().saturating_sub(after_threads);
            self.pss.was_read(now_ns, &resident, cost);
            self.peaks.pss_bytes = self.peaks.pss_bytes.max(sample.pss_bytes);
            if let Some(pss) = pss {
                self.peaks.resident_bytes = self.peaks.resident_bytes.max(pss.resident_bytes);
                let own = tree.iter().map(|process| ((process.pid, process.start_ticks), process.faults));
                self.peaks.faults = self.faults.update(own, |_| false);
            }
            // If the probe may not read PSS, it uses RSS.
            let mut memory = sample.pss_bytes.unwrap_or(sample.rss_bytes);
            if has_files {
                let mapped = pss.map_or(sample.rss_bytes, |pss| pss.shared_bytes);
                memory += self.files.unmapped(now_ns, &self.procfs, &tree, mapped);
            }
            if memory > self.limits.memory_bytes {
                excess = Some(Excess::Memory(memory));
            }
        }
        sample.cpu_by_thread = (self.timeline && reads_threads).then(|| self.threads.changed());
        (sample, excess)
    }

    fn tree(&mut self, cgroup: Option<&Cgroup>) -> Vec<Process> {
        self.samples += 1;
        let blind = self.wide || !self.procfs.lists_children;
        let mode = match cgroup {
            Some(cgroup) if blind => {
                self.known.clear();
                cgroup.processes(&mut self.known);
                ScanMode::Known(&self.known)
            }
            None if blind && (self.samples % SAMPLES_PER_SCAN == 1 || !self.procfs.lists_children) => {
                ScanMode::All
            }
            _ => ScanMode::Known(&self.known),
        };
        let max = usize::try_from(self.limits.processes).unwrap_or(usize::MAX).saturating_add(1);
        // Before the walk: the time of a process that is waited for later, and of its children, is in the tree.
        self.waited_for = self.children_usage();
        let tree = walk(&mut self.procfs, self.probe, mode, max, &mut |_, _| {});
        self.wide = tree.iter().any(|process| process.threads > MANY_THREADS);
        self.known.clear();
        if self.wide {
            self.known.extend(tree.iter().map(|process| process.pid));
        }
        tree
    }

    /// Looks for a process outside the trial's cgroup.
    fn find_escapes(&mut self, tree: &[Process], cgroup: Option<&Cgroup>) {
        let Some(cgroup) = cgroup.filter(|_| !self.left_cgroup) else { return };
        // One file in place of one for each process. It lacks those of sub-groups, which are asked for their own.
        let mut inside = Vec::new();
        cgroup.processes(&mut inside);
        inside.sort_unstable();
        let others =
            tree.iter().filter(|process| process.alive && inside.binary_search(&process.pid).is_err());
        for process in others {
            let (pid, thread) = (process.pid, process.living_thread);
            // One that is being forked is seen before it is in the cgroup of its parent; until it is, it cannot run.
            let has_run = cpu_ns_of(pid) > 0;
            // Older kernels do not tell a path that is too long.
            let mut is_outside =
                || !self.procfs.read(format_args!("{thread}/cgroup")).is_some_and(|own| cgroup.holds(own));
            if has_run && is_outside() {
                // A thread that ended meanwhile was in no cgroup any more.
                let lives = |now: Process| now.alive && now.living_thread == thread;
                self.left_cgroup |= self.procfs.process(pid).is_some_and(lives);
            }
        }
    }

    fn cpu_ns(&mut self, tree: &[Process], cgroup: Option<&Cgroup>) -> u64 {
        let complete = cgroup.filter(|_| !self.left_cgroup);
        if let Some(cpu) = complete.and_then(Cgroup::cpu) {
            return cpu.total_ns;
        }
        let gone = &self.waited_for;
        let own = |process: &Process| cpu_ns_of(process.pid);
        let own: Vec<u64> = tree.iter().map(own).collect();
        let children = |process: &Process| process.child_ticks * self.tick_ns;
        let accounted_ns =
            own.iter().sum::<u64>() + tree.iter().map(children).sum::<u64>() + gone.user_ns + gone.system_ns;
        let keys = tree.iter().map(|process| (process.pid, process.start_ticks));
        let procfs = &mut self.procfs;
        let exists = |(pid, start)| {
            let process = procfs.process(pid);
            process.is_some_and(|process| process.start_ticks == start)
        };
        let sampled_ns = self.process_times.update(keys.zip(own), exists);
        // Each may lack children that the other has: those that no process waited for, or that no sample saw.
        accounted_ns.max(sampled_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    fn sampler(memory_bytes: u64, processes: u64) -> Sampler {
        let limits = Limits { memory_bytes, processes, threads: u64::MAX, cpus: None, scheduling: None };
        let mut sampler =
            Sampler::new(ProcFs::open().unwrap(), Schedule::new(Some(50_000_000), true), limits, true, None);
        // The tree below the shell that runs the tests holds at least this process.
        sampler.probe = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        sampler
    }

    #[test]
    fn samples_a_tree() {
        let mut sampler = sampler(u64::MAX, 10_000);
        assert_eq!(sampler.schedule.due_ns, Some(2_000_000));
        let (sample, excess) = sampler.regular(2_000_000, None);
        assert!(excess.is_none());
        assert!(sample.processes >= 1 && sample.threads >= 1 && sample.cpu_ns > 0);
        assert!(sample.pss_bytes.unwrap() <= sample.rss_bytes * 2);
        assert!(sampler.schedule.due_ns.unwrap() >= 5_000_000);
        let (sample, _) = sampler.sample(3_000_000, Some("spawned"), None);
        assert_eq!(sample.mark.as_deref(), Some("spawned"));
        assert!(sample.pss_bytes.is_some());
        assert!(sample.kernel_bytes.is_some());
        assert!(sampler.threads.busiest().iter().any(|thread| thread.cpu_ns > 0));
        assert_eq!(sampler.schedule.taken(), (1, None));
    }

    /// A shell whose child has worked ends, and is waited for, between the walk of a sample and its sum.
    #[test]
    fn one_that_ends_while_a_sample_is_taken_counts_once() {
        let script = "(i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done); echo; read line";
        let mut shell = Command::new("sh");
        let mut shell =
            shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        shell.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        let mut sampler = sampler(u64::MAX, 10_000);
        sampler.probe = std::process::id() as i32;
        sampler.before = Usage::default();
        let pid = shell.id() as i32;
        sampler.known.push(pid);
        let mut tree = sampler.tree(None);
        tree.retain(|process| process.pid == pid);
        assert!(tree[0].child_ticks > 0);
        drop(shell.stdin.take());
        shell.wait().unwrap();
        let cpu_ns = sampler.cpu_ns(&tree, None);
        let usage = sampler.children_usage();
        assert!(cpu_ns <= usage.user_ns + usage.system_ns);
    }

    #[test]
    fn exceeded_limits_are_reported() {
        let (_, excess) = sampler(1, 10_000).regular(0, None);
        assert!(matches!(excess, Some(Excess::Memory(_))));
        let (_, excess) = sampler(u64::MAX, 0).regular(0, None);
        assert!(matches!(excess, Some(Excess::Processes(_))));
    }
}
