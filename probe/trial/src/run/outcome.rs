//! The outcome of a trial, assembled from its parts after all its processes have ended.

use super::end::{late_work, End};
use super::Trial;
use crate::sample::counters::Counters;
use crate::sample::sampler::Sampler;
use crate::says::evidence::Observed;
use crate::says::verdict::{verdict, Cause, Facts};
use crate::tree::supervise::Leftover;
use std::collections::BTreeMap;
use wire::clock;
use wire::messages::{Output, TrialOutcome};
use wire::os::sched_getaffinity;
use wire::sys;
use wire::text::quoted;

/// The account of children lacks those whose parent ignores SIGCHLD; samples have what they used until then. Smaller
/// differences may come from clocks.
const UNACCOUNTED_NS: u64 = 10_000_000;

/// Both accounts are in microseconds, and that of children is a difference of two, for user and system.
const ROUNDING_NS: u64 = 4_000;

impl Trial<'_, '_> {
    /// `last_line_error`: that of a last line without a newline. `late_output`: other processes wrote to stdout when the
    /// program had ended.
    pub(super) fn assemble(
        &mut self,
        end: End,
        leftover: &Leftover,
        left_files: u64,
        sampler: &Sampler,
        last_line_error: Option<&str>,
        late_output: bool,
    ) -> TrialOutcome {
        // Whether a thread of the probe may have run on a CPU of the program.
        let mut probe_cpus = self.thread_cpus().into_iter().chain(sched_getaffinity(0).ok());
        let shares_cpus = probe_cpus.any(|set| set.overlaps(&self.cpus));
        let cause = self.cause.as_ref().unwrap_or(&Cause::Exited);
        let is_hidden = sampler.saw_nothing() && self.supervisor.procfs.hides_processes();
        let supervisor = &self.supervisor;
        let cgroup = supervisor.cgroup.as_deref();
        let usage = sampler.children_usage();
        let interference = &mut self.interference;
        // cpu.stat misses processes that left the cgroup, perhaps between two samples; rusage of reaped children does not.
        let cpu = supervisor.cpu();
        let inside_ns = cpu.map_or(0, |cpu| cpu.total_ns);
        let waited_ns = usage.user_ns + usage.system_ns;
        let lacks = |tolerance| cpu.is_some_and(|cpu| cpu.total_ns + tolerance < waited_ns);
        let has_left = sampler.left_cgroup || lacks(UNACCOUNTED_NS);
        let escaped = cgroup.filter(|_| has_left);
        if let Some(cgroup) = escaped {
            let path = quoted(&cgroup.path.display().to_string());
            interference.add(format!("a process left the trial's cgroup {path}"));
        }
        if sampler.took_priority {
            interference.add("a thread took a higher priority than the program was given".into());
        }
        let cpu = cpu.filter(|_| escaped.is_none() && !lacks(ROUNDING_NS));
        let (mut cpu_user_ns, cpu_system_ns) =
            cpu.map_or((usage.user_ns, usage.system_ns), |cpu| (cpu.user_ns, cpu.system_ns));
        // CPU time of children whose parent ignored SIGCHLD: the cgroup has it, and samples have the part
        // that they saw.
        let lost_ns = sampler.last_cpu_ns.max(inside_ns).saturating_sub(waited_ns);
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
            _ => supervisor.status.map_or((None, None), sys::exit_of),
        };
        let used_ns = cpu_user_ns + cpu_system_ns;
        let request = self.request;
        let cpus = || match request.cpus.len() {
            // The program may allow itself all CPUs.
            0 => sys::online_cpus(),
            count => count as u64,
        };
        let late = late_work(&end, late_output, used_ns, cpus);
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
            last_line_error,
            late: late.as_deref(),
            plain: self.request.plain,
            service: self.service.as_ref().map(|service| service.phase),
            expect: self.request.expect.as_ref(),
            observed: &observed,
        });
        if leftover.unkillable > 0 {
            let count = leftover.unkillable;
            detail = format!("{detail} ({count} processes could not be ended)");
        }
        let (samples, sample_interval_ns) = sampler.schedule.taken();
        let peaks = &sampler.peaks;
        let peak = match has_lost_children {
            // Nor did the kernel keep their peaks.
            true => Err("children ended that nobody waited for".into()),
            false => supervisor.high_water.peak(peaks, usage.minor_faults + usage.major_faults),
        };
        let largest = supervisor.high_water.largest_bytes();
        let probe_cpu_ns = clock::process_cpu_ns().saturating_sub(self.probe_cpu_ns);
        TrialOutcome {
            number: self.request.number.clone(),
            outcome,
            detail,
            exit_status,
            signal,
            wall_ns: (end.ns + self.worked_ns).saturating_sub(self.paused_ns),
            paused_ns: self.paused_ns,
            cpu_user_ns,
            cpu_system_ns,
            cpu_source: cpu.map_or("rusage", |_| "cgroup"),
            peak_pss_bytes: peaks.pss_bytes,
            peak_memory_bytes: peak.as_ref().ok().copied(),
            peak_memory_unknown: peak.err().unwrap_or_default(),
            peak_process_bytes: largest.filter(|_| !has_lost_children),
            unmapped_bytes: sampler.files.peak,
            kernel_bytes: end.kernel_bytes,
            peak_threads: (!is_hidden).then_some(peaks.threads),
            peak_processes: (!is_hidden).then_some(peaks.processes),
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            minor_faults: usage.minor_faults,
            major_faults: usage.major_faults,
            run_queue_ns: sampler.threads.total.run_queue_ns,
            result: observed.result,
            output: Output {
                stdout_bytes: self.output.stdout.bytes,
                stderr_bytes: self.output.stderr.bytes,
                lines: observed.lines,
                starting: observed.starting,
                xxh3: self.output.parser.plain_hash(),
            },
            stdout_tail: self.output.stdout.tail(),
            stderr_tail: self.output.stderr.tail(),
            left_behind: leftover.left_behind,
            left_files,
            interference: interference.finish(),
            probe_cpu_ns,
            probe_shared_cpu_ns: if shares_cpus { probe_cpu_ns } else { 0 },
            reading_ns: self.output.reading_ns,
            samples,
            sample_interval_ns,
            threads: sampler.threads.busiest(),
            cpus: end.cpus,
            pressure: end.pressure,
            reference_ns: self.reference.map(|times| times.computing_ns),
            memory_reference_ns: self.reference.map(|times| times.memory_ns),
            counters: self.counters.as_ref().map_or_else(BTreeMap::new, Counters::read),
        }
    }
}
