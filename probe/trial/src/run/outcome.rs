//! The outcome of a trial, assembled from its parts after all its processes have ended.

use super::end::{late_work, End};
use super::program_output::ProgramOutput;
use crate::interference::Interference;
use crate::reference;
use crate::sample::sampler::Sampler;
use crate::says::evidence::Observed;
use crate::says::verdict::{verdict, Facts};
use crate::service::Service;
use crate::tree::supervise::{Leftover, Supervisor};
use std::collections::BTreeMap;
use wire::cause::Cause;
use wire::clock;
use wire::messages::{Output, TrialOutcome};
use wire::request::Request;

/// The account of children lacks those whose parent ignores SIGCHLD; samples have what they used until then. Smaller
/// differences may be those of clocks.
const UNACCOUNTED_NS: u64 = 10_000_000;

/// Both accounts are in microseconds, and that of children is a difference of two, for user and system.
const ROUNDING_NS: u64 = 4_000;

pub struct Parts<'a> {
    pub request: &'a Request,
    pub cause: &'a Cause,
    pub supervisor: &'a mut Supervisor,
    pub leftover: &'a Leftover,
    pub left_files: u64,
    pub sampler: &'a Sampler,
    pub service: Option<&'a Service>,
    pub output: &'a ProgramOutput,
    /// The pairs of `::result`.
    pub result: Option<BTreeMap<String, String>>,
    /// The error of a last line without a newline.
    pub last_line_error: Option<&'a str>,
    /// Other processes wrote to stdout when the program had ended.
    pub late_output: bool,
    pub end: End,
    pub paused_ns: u64,
    pub worked_ns: u64,
    pub probe_cpu_ns: u64,
    /// Threads of the probe could run on the program's CPUs.
    pub shares_cpus: bool,
    /// How many CPUs the program could use at once.
    pub cpus: u64,
    pub interference: &'a mut Interference,
    pub reference: Option<reference::Times>,
}

pub fn assemble(parts: Parts) -> TrialOutcome {
    let procfs = parts.supervisor.procfs();
    let is_hidden = parts.sampler.saw_nothing() && procfs.hides_processes();
    let supervisor = &*parts.supervisor;
    let cgroup = supervisor.cgroup.as_deref();
    let usage = parts.sampler.children_usage();
    let interference = parts.interference;
    // cpu.stat misses processes that left the cgroup, perhaps between two samples; rusage of reaped children does not.
    let cpu = supervisor.cpu();
    let waited_ns = usage.user_ns + usage.system_ns;
    let lacks = |tolerance| cpu.is_some_and(|cpu| cpu.total_ns + tolerance < waited_ns);
    let has_left = parts.sampler.left_cgroup().is_some() || lacks(UNACCOUNTED_NS);
    let escaped = cgroup.filter(|_| has_left);
    if let Some(cgroup) = escaped {
        interference.left_cgroup(&cgroup.path().display().to_string());
    }
    let cpu = cpu.filter(|_| escaped.is_none() && !lacks(ROUNDING_NS));
    let (mut cpu_user_ns, cpu_system_ns) = cpu.map_or((usage.user_ns, usage.system_ns), |cpu| {
        (cpu.user_ns, cpu.system_ns)
    });
    if cpu.is_none() {
        // Samples do not say of which kind it was. The cgroup has children that nobody waited for.
        let inside_ns = supervisor.cpu().map_or(0, |cpu| cpu.total_ns);
        let sampled_ns = parts.sampler.sampled_cpu_ns().max(inside_ns);
        let lost_ns = sampled_ns.saturating_sub(cpu_user_ns + cpu_system_ns);
        cpu_user_ns += lost_ns;
        if lost_ns > UNACCOUNTED_NS {
            interference.unaccounted(lost_ns);
        }
    }
    let (exit_status, signal) = match parts.cause {
        // The process that ended was not yet the program.
        Cause::NotStarted(_) => (None, None),
        _ => supervisor.exit(),
    };
    let used_ns = cpu_user_ns + cpu_system_ns;
    let late = late_work(&parts.end, parts.late_output, used_ns, parts.cpus);
    let observed = Observed {
        result: parts.result,
        lines: parts.output.parser.total(),
        starting: parts.output.parser.starting(),
        hash: parts.output.parser.hash(),
    };
    let (outcome, mut detail) = verdict(&Facts {
        cause: parts.cause,
        exit_status,
        signal,
        out_of_memory: cgroup.is_some_and(|cgroup| cgroup.out_of_memory()),
        last_line_error: parts.last_line_error,
        late: late.as_deref(),
        plain: parts.request.plain,
        service: parts.service.map(Service::phase),
        expect: parts.request.expect.as_ref(),
        observed: &observed,
    });
    if parts.leftover.unkillable > 0 {
        let count = parts.leftover.unkillable;
        detail = format!("{detail} ({count} processes could not be ended)");
    }
    let (samples, sample_interval_ns) = parts.sampler.regular_samples();
    let peaks = &parts.sampler.peaks;
    let peak = supervisor.high_water.peak(&parts.sampler.seen());
    let terminated_ns = parts.service.and_then(Service::terminated_ns);
    let ending_ns = terminated_ns.filter(|_| *parts.cause == Cause::Exited);
    let probe_cpu_ns = clock::process_cpu_ns().saturating_sub(parts.probe_cpu_ns);
    TrialOutcome {
        number: parts.request.number.clone(),
        outcome,
        detail,
        exit_status,
        signal,
        wall_ns: (parts.end.ns + parts.worked_ns).saturating_sub(parts.paused_ns),
        paused_ns: parts.paused_ns,
        ending_ns: ending_ns.map(|since| parts.end.ns.saturating_sub(since)),
        cpu_user_ns,
        cpu_system_ns,
        cpu_source: cpu.map_or("rusage", |_| "cgroup"),
        peak_pss_bytes: peaks.pss_bytes,
        pss_readings: peaks.pss_readings,
        memory_peak_bytes: cgroup.and_then(|cgroup| cgroup.memory_peak()),
        peak_memory_bytes: peak.as_ref().ok().copied(),
        peak_memory_unknown: peak.err(),
        peak_process_bytes: supervisor.high_water.largest_bytes(),
        unmapped_bytes: parts.sampler.unmapped_bytes(),
        kernel_bytes: parts.end.kernel_bytes,
        peak_threads: (!is_hidden).then_some(peaks.threads),
        peak_processes: (!is_hidden).then_some(peaks.processes),
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
        minor_faults: usage.minor_faults,
        major_faults: usage.major_faults,
        run_queue_ns: parts.sampler.run_queue_ns(),
        result: observed.result,
        output: Output {
            stdout_bytes: parts.output.stdout.bytes(),
            stderr_bytes: parts.output.stderr.bytes(),
            lines: observed.lines,
            starting: observed.starting,
            xxh3: parts.output.parser.plain_hash(),
        },
        stdout_tail: parts.output.stdout.tail(),
        stderr_tail: parts.output.stderr.tail(),
        left_behind: parts.leftover.left_behind,
        left_files: parts.left_files,
        interference: interference.finish(),
        probe_cpu_ns,
        probe_shared_cpu_ns: match parts.shares_cpus {
            true => probe_cpu_ns,
            false => 0,
        },
        reading_ns: parts.output.reading_ns(),
        samples,
        sample_interval_ns,
        threads: parts.sampler.busiest(),
        cpus: parts.end.cpus,
        pressure: parts.end.pressure,
        reference_ns: parts.reference.map(|times| times.computing_ns),
        memory_reference_ns: parts.reference.map(|times| times.memory_ns),
    }
}
