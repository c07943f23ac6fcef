//! The messages of a trial, as docs/PROBE.md specifies them.

use crate::json::{to_json, ToJson};
use std::collections::BTreeMap;
use std::fmt::{self, Formatter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Ok,
    WrongEvidence,
    Crashed,
    TimedOut,
    OutOfMemory,
    Flooded,
    NeverReady,
    LoadFailed,
    Interrupted,
}

/// A verdict, and why.
pub type Failure = (Verdict, String);

impl ToJson for Verdict {
    fn write(&self, to: &mut Formatter) -> fmt::Result {
        let name = match self {
            Verdict::Ok => "ok",
            Verdict::WrongEvidence => "wrong-evidence",
            Verdict::Crashed => "crashed",
            Verdict::TimedOut => "timed-out",
            Verdict::OutOfMemory => "out-of-memory",
            Verdict::Flooded => "flooded",
            Verdict::NeverReady => "never-ready",
            Verdict::LoadFailed => "load-failed",
            Verdict::Interrupted => "interrupted",
        };
        name.write(to)
    }
}

to_json! {
    #[derive(Debug)]
    pub struct Started as "started" {
        pub version: u64,
        /// None in a namespace of the probe's own.
        pub pid: Option<i32>,
        pub t_ns: u64,
        pub cgroup: Option<String>,
        pub missing: Vec<String>,
    }

    #[derive(Debug)]
    pub struct ServiceReady as "ready" {
        pub t_ns: u64,
        pub port: Option<u16>,
    }

    #[derive(Debug)]
    pub struct ProgramPhase as "phase" {
        pub t_ns: u64,
        pub name: String,
        pub ns: u64,
    }

    /// Engines elsewhere are to carry out a step of loads.
    #[derive(Debug)]
    pub struct DriveStep as "drive" {
        pub t_ns: u64,
        pub step: usize,
        pub port: u16,
    }

    /// A unit was busy with one piece of work, by the program's own clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Span as "span" {
        pub unit: u64,
        pub begin_ns: u64,
        pub end_ns: u64,
    }

    #[derive(Debug, Default)]
    pub struct Sample as "sample" {
        pub t_ns: u64,
        pub mark: Option<String>,
        pub processes: u64,
        pub threads: u64,
        pub cpu_ns: u64,
        pub rss_bytes: u64,
        pub pss_bytes: Option<u64>,
        pub voluntary_switches: u64,
        pub involuntary_switches: u64,
        pub run_queue_ns: u64,
        /// `(thread, cpu_ns)` of threads whose CPU time changed since threads were read last; None if this
        /// sample did not read them, and but for time lines.
        pub cpu_by_thread: Option<Vec<(i32, u64)>>,
        /// The whole host's slabs (sockets, files and their data), stacks of threads, page tables. This and
        /// the next one are None except for marks and time lines, and if the kernel does not report them.
        pub kernel_bytes: Option<u64>,
        /// The whole host's TCP buffers.
        pub tcp_bytes: Option<u64>,
    }

    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ThreadCpu {
        pub tid: i32,
        pub name: String,
        pub cpu_ns: u64,
    }

    #[derive(Debug)]
    pub struct TrialOutcome as "outcome" {
        pub number: Option<String>,
        pub outcome: Verdict,
        pub detail: String,
        pub exit_status: Option<i32>,
        pub signal: Option<i32>,
        pub wall_ns: u64,
        pub paused_ns: u64,
        pub cpu_user_ns: u64,
        pub cpu_system_ns: u64,
        pub cpu_source: &'static str,
        pub peak_pss_bytes: Option<u64>,
        /// For all processes together, or why it is not known.
        pub peak_memory_bytes: Option<u64>,
        pub peak_memory_unknown: String,
        /// For the largest process.
        pub peak_process_bytes: Option<u64>,
        /// The most memory in files that no process maps; None for little of it.
        pub unmapped_bytes: Option<u64>,
        /// The memory of the whole host's kernel, before the program was started.
        pub kernel_bytes: Option<u64>,
        pub peak_threads: Option<u64>,
        pub peak_processes: Option<u64>,
        pub voluntary_switches: u64,
        pub involuntary_switches: u64,
        pub minor_faults: u64,
        pub major_faults: u64,
        pub run_queue_ns: u64,
        pub result: Option<BTreeMap<String, String>>,
        pub output: Output,
        pub stdout_tail: String,
        pub stderr_tail: String,
        pub left_behind: u64,
        /// In its temporary folder and in shared memory.
        pub left_files: u64,
        /// The program's interference with the probe.
        pub interference: Vec<String>,
        pub probe_cpu_ns: u64,
        /// The part of it that may have been on the program's CPUs.
        pub probe_shared_cpu_ns: u64,
        /// The part of it for the program's output while it ran.
        pub reading_ns: u64,
        pub samples: u64,
        pub sample_interval_ns: Option<u64>,
        /// For a time line: the threads with most CPU time, the busiest first.
        pub threads: Vec<ThreadCpu>,
        /// The CPUs that the program was given, over the whole trial.
        pub cpus: Vec<CpuTime>,
        pub pressure: Pressure,
        /// Times of the reference computations, where the request asked for them.
        pub reference_ns: Option<u64>,
        pub memory_reference_ns: Option<u64>,
        /// By name; none if the request did not ask for them.
        pub counters: BTreeMap<&'static str, Counter>,
    }

    /// A counter of the CPU or of the kernel.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Counter {
        pub count: Option<u64>,
        /// The part of the time in which it was counted; the count is scaled to all of it.
        pub share: f64,
        /// Why there is no count, or none of the kernel.
        pub why: String,
    }

    /// Time in which some thread of the host waited for a CPU, for memory, for I/O (Linux PSI); None if the kernel
    /// does not report it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Pressure {
        pub cpu_ns: Option<u64>,
        pub memory_ns: Option<u64>,
        pub io_ns: Option<u64>,
    }

    /// Time of a CPU, for all processes of the host; the kernel counts in ticks.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct CpuTime {
        pub cpu: usize,
        pub busy_ns: u64,
        pub idle_ns: u64,
        /// Taken by the hypervisor.
        pub stolen_ns: u64,
    }

    #[derive(Debug)]
    pub struct Output {
        pub stdout_bytes: u64,
        pub stderr_bytes: u64,
        /// Without protocol lines; 0 for a plain command, whose lines are not counted.
        pub lines: u64,
        pub starting: BTreeMap<char, u64>,
        /// The hash of a plain command's stdout.
        pub xxh3: Option<String>,
    }
}
