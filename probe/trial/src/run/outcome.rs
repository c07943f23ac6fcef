//! The outcome of a trial, assembled from its parts after all its processes have ended.

use super::end::{late_work, End};
use super::Trial;
use crate::sample::counters::Counters;
use crate::sample::sampler::Sampler;
use crate::says::evidence::Observed;
use crate::says::verdict::{verdict, Facts};
use crate::service::Service;
use crate::tree::supervise::Leftover;
use std::collections::BTreeMap;
use wire::cause::Cause;
use wire::clock;
use wire::messages::{Output, TrialOutcome};
use wire::sys;
use wire::text::quoted;

/// The account of children lacks those whose parent ignores SIGCHLD; samples have what they used until then. Smaller
/// differences may come from clocks.
const UNACCOUNTED_NS: u64 = 10_000_000;

/// Both accounts are in microseconds, and that of children is a difference of two, for user and system.
const ROUNDING_NS: u64 = 4_000;

/// The findings after the program's end.
pub struct Findings<'a> {
    pub end: End,
    pub leftover: &'a Leftover,
    pub left_files: u64,
    pub sampler: &'a Sampler,
    /// The error of a last line without a newline.
    pub last_line_error: Option<String>,
    /// Other processes wrote to stdout when the program had ended.
    pub late_output: bool,
}

impl Trial<'_, '_> {
    pub(super) fn assemble(&mut self, findings: Findings) -> TrialOutcome {
        let shares_cpus = self.shares_cpus();
        let cause = self.cause.as_ref().unwrap_or(&Cause::Exited);
        let procfs = self.supervisor.procfs();
        let is_hidden = findings.sampler.saw_nothing() && procfs.hides_processes();
        let supervisor = &self.supervisor;
        let cgroup = supervisor.cgroup.as_deref();
        let usage = findings.sampler.children_usage();
        let interference = &mut self.interference;
        // cpu.stat misses processes that left the cgroup, perhaps between two samples; rusage of reaped children does not.
        let cpu = supervisor.cpu();
        let inside_ns = cpu.map_or(0, |cpu| cpu.total_ns);
        let waited_ns = usage.user_ns + usage.system_ns;
        let lacks = |tolerance| cpu.is_some_and(|cpu| cpu.total_ns + tolerance < waited_ns);
        let has_left = findings.sampler.left_cgroup || lacks(UNACCOUNTED_NS);
        let escaped = cgroup.filter(|_| has_left);
        if let Some(cgroup) = escaped {
            let path = quoted(&cgroup.path().display().to_string());
            interference.add(format!("a process left the trial's cgroup {path}"));
        }
        if findings.sampler.took_priority {
            interference.add("a thread took a higher priority than the program was given".into());
        }
        let cpu = cpu.filter(|_| escaped.is_none() && !lacks(ROUNDING_NS));
        let (mut cpu_user_ns, cpu_system_ns) =
            cpu.map_or((usage.user_ns, usage.system_ns), |cpu| (cpu.user_ns, cpu.system_ns));
        // CPU time of children whose parent ignored SIGCHLD: the cgroup has it, and samples have the part
        // that they saw.
        let lost_ns = findings.sampler.last_cpu_ns.max(inside_ns).saturating_sub(waited_ns);
        let has_lost_children = lost_ns > UNACCOUNTED_NS;
        if cpu.is_none() {
            // Samples do not divide it into user and system time.
            cpu_user_ns += lost_ns;
            if has_lost_children {
                let ms = lost_ns / 1_000_000;
                interference.add(format!("children ended that nobody waited for: {ms} ms of their CPU time are those of the last sample"));
            }
        }
        let (exit_status, signal) = match cause {
            // The process that ended was not yet the program.
            Cause::NotStarted(_) => (None, None),
            _ => supervisor.exit(),
        };
        let used_ns = cpu_user_ns + cpu_system_ns;
        let request = self.request;
        let cpus = || match request.cpus.len() {
            // The program may allow itself all CPUs.
            0 => sys::online_cpus(),
            count => count as u64,
        };
        let late = late_work(&findings.end, findings.late_output, used_ns, cpus);
        let observed = Observed {
            result: self.result.take(),
            lines: self.output.parser.total,
            starting: self.output.parser.starting(),
            hash: self.output.parser.hash(),
        };
        let (outcome, mut detail) = verdict(&Facts {
            cause,
            exit_status,
            signal,
            out_of_memory: cgroup.is_some_and(|cgroup| cgroup.out_of_memory()),
            last_line_error: findings.last_line_error.as_deref(),
            late: late.as_deref(),
            plain: self.request.plain,
            service: self.service.as_ref().map(Service::phase),
            expect: self.request.expect.as_ref(),
            observed: &observed,
        });
        if findings.leftover.unkillable > 0 {
            let count = findings.leftover.unkillable;
            detail = format!("{detail} ({count} processes could not be ended)");
        }
        let (samples, sample_interval_ns) = findings.sampler.schedule.taken();
        let peaks = &findings.sampler.peaks;
        let peak = match has_lost_children {
            // Nor did the kernel keep their peaks.
            true => Err("children ended that nobody waited for".into()),
            false => supervisor.high_water.peak(&findings.sampler.seen()),
        };
        let largest = supervisor.high_water.largest_bytes();
        let probe_cpu_ns = clock::process_cpu_ns().saturating_sub(self.probe_cpu_ns);
        TrialOutcome {
            number: self.request.number.clone(),
            outcome,
            detail,
            exit_status,
            signal,
            wall_ns: (findings.end.ns + self.worked_ns).saturating_sub(self.paused_ns),
            paused_ns: self.paused_ns,
            cpu_user_ns,
            cpu_system_ns,
            cpu_source: cpu.map_or("rusage", |_| "cgroup"),
            peak_pss_bytes: peaks.pss_bytes,
            peak_memory_bytes: peak.as_ref().ok().copied(),
            peak_memory_unknown: peak.err().unwrap_or_default(),
            peak_process_bytes: largest.filter(|_| !has_lost_children),
            unmapped_bytes: findings.sampler.files.peak,
            kernel_bytes: findings.end.kernel_bytes,
            peak_threads: (!is_hidden).then_some(peaks.threads),
            peak_processes: (!is_hidden).then_some(peaks.processes),
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            minor_faults: usage.minor_faults,
            major_faults: usage.major_faults,
            run_queue_ns: findings.sampler.threads.total.run_queue_ns,
            result: observed.result,
            output: Output {
                stdout_bytes: self.output.stdout.bytes(),
                stderr_bytes: self.output.stderr.bytes(),
                lines: observed.lines,
                starting: observed.starting,
                xxh3: self.output.parser.plain_hash(),
            },
            stdout_tail: self.output.stdout.tail(),
            stderr_tail: self.output.stderr.tail(),
            left_behind: findings.leftover.left_behind,
            left_files: findings.left_files,
            interference: interference.finish(),
            probe_cpu_ns,
            probe_shared_cpu_ns: match shares_cpus {
                true => probe_cpu_ns,
                false => 0,
            },
            reading_ns: self.output.reading_ns,
            samples,
            sample_interval_ns,
            threads: findings.sampler.threads.busiest(),
            cpus: findings.end.cpus,
            pressure: findings.end.pressure,
            reference_ns: self.reference.map(|times| times.computing_ns),
            memory_reference_ns: self.reference.map(|times| times.memory_ns),
            counters: self.counters.as_ref().map_or_else(BTreeMap::new, Counters::read),
        }
    }
}
