//! One trial: a loop on one thread that waits for the program's end, its output, signals and
//! the time, until one of them ends the trial.

mod outcome;
mod program_output;
mod setup;
mod wait;

use crate::cause::Cause;
use crate::cgroup::Cgroup;
use crate::clock;
use crate::host::HostBaseline;
use crate::interference::Interference;
use crate::listener::Owner;
use crate::load_runner::LoadRunner;
use crate::messages::{Message, Sample, Verdict};
use crate::pin;
use crate::procfs::ProcFs;
use crate::protocol_line::{Event, Parsed};
use crate::reference;
use crate::request::{Request, PROTOCOL};
use crate::sampler::{Excess, Limits, Sampler};
use crate::service::{self, Service};
use crate::spawn::{SpawnStep, REPORT_BYTES};
use crate::stub::background::Background;
use crate::stub::Stub;
use crate::supervise::{Pipes, Supervisor};
use crate::sys::Received;
use crate::text::quoted;
use crate::units::nanoseconds;
use crate::writer::{ReaderGone, Writer};
use outcome::Parts;
use program_output::ProgramOutput;
use rustix::process::getppid;
pub use setup::{listen_upstreams, Condition, Setup};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::io::{AsFd, OwnedFd};
use std::time::{Duration, Instant};
use wait::{Files, Ready};

struct Trial<'a, 'w> {
    request: &'a Request,
    writer: &'a mut Writer<'w>,
    supervisor: Supervisor,
    sampler: Sampler,
    start: Instant,
    missing: Vec<String>,
    stdin: OwnedFd,
    /// Open until the program has been executed.
    report: Option<OwnedFd>,
    output: ProgramOutput,
    host: HostBaseline,
    reference: Option<reference::Times>,
    service: Option<Service>,
    loads: LoadRunner<'a>,
    stub: Option<Background>,
    port: Option<u16>,
    result: Option<BTreeMap<String, String>>,
    paused_ns: u64,
    /// The probe's own CPU time when the trial began.
    probe_cpu_ns: u64,
    /// The number of processes, where it exceeded its limit.
    excess_processes: Option<u64>,
    /// The process that started the probe: it may end the trial by a signal.
    parent: Option<i32>,
    interference: Interference,
    /// The names of `::await` so far.
    awaited: Vec<String>,
    cause: Option<Cause>,
}

/// A server that ends within this time after its load has failed counts as crashed.
const CRASH_DELAY: Duration = Duration::from_secs(2);

/// Carries out the trial. Returns whether the probe can carry out another, and the cgroup for it. The outer error:
/// the trial could not begin.
pub fn run(
    request: &Request,
    setup: Setup,
    signals: OwnedFd,
    writer: &mut Writer,
) -> io::Result<Result<(Condition, Option<Cgroup>), ReaderGone>> {
    let probe_cpu_ns = clock::process_cpu_ns();
    let Setup {
        stub,
        mut missing,
        inherited_cpus,
        reference,
        cgroup,
    } = setup;
    let mut procfs = ProcFs::open()?;
    if !procfs.lists_children {
        missing.push("children in /proc: the kernel does not list them".into());
    }
    if rustix::fs::access("/proc/self/smaps_rollup", rustix::fs::Access::READ_OK).is_err() {
        missing.push("PSS: /proc/self/smaps_rollup cannot be read".into());
    }
    let program_cpus = pin::program_cpus(request, &inherited_cpus);
    let host = HostBaseline::read(&mut procfs, &program_cpus);
    let (supervisor, pipes, start) =
        Supervisor::start(request, &inherited_cpus, signals, cgroup, &mut missing)?;
    let Pipes {
        stdin,
        stdout,
        stderr,
        report,
    } = pipes;
    // Not before the program was started: until then this process must have one thread.
    let service = request.service.as_ref();
    let plan = service.and_then(|service| service.stub.as_ref());
    let stub = match stub.zip(plan) {
        Some((stub, plan)) => Some(Background::start(stub, plan)?),
        None => None,
    };
    let interval = request.sample_interval();
    let limits = Limits {
        memory_bytes: request.limits.memory_bytes,
        processes: request.limits.processes,
        threads: request.limits.threads,
        cpus: (!request.cpus.is_empty()).then(|| pin::set_of(&request.cpus)),
    };
    let mut trial = Trial {
        request,
        writer,
        supervisor,
        sampler: Sampler::new(
            procfs,
            interval.map(|interval| interval.as_nanos() as u64),
            limits,
            request.timeline,
        ),
        start,
        missing,
        stdin,
        report: Some(report),
        output: ProgramOutput::new(
            stdout,
            stderr,
            setup::parser(request),
            request.limits.output_bytes,
        ),
        host,
        reference,
        service: service.map(Service::new),
        loads: LoadRunner::new(service.map_or(&[][..], |service| &service.steps)),
        stub,
        port: None,
        result: None,
        paused_ns: 0,
        probe_cpu_ns,
        excess_processes: None,
        parent: getppid().map(|pid| pid.as_raw_nonzero().get()),
        interference: Interference::watch(),
        awaited: Vec::new(),
        cause: None,
    };
    Ok(trial.carry_out())
}

impl Trial<'_, '_> {
    fn carry_out(&mut self) -> Result<(Condition, Option<Cgroup>), ReaderGone> {
        let ended_ns = self.watch()?;
        self.loads.interrupt();
        // Before the wait for the loads: a server must not be able to keep them busy.
        let leftover = self.supervisor.end(self.excess_processes);
        self.loads.join(ended_ns);
        let last_line_error = self.drain(ended_ns)?;
        let stub = self.stub.take().and_then(Background::finish);
        let mut outcome = outcome::assemble(Parts {
            request: self.request,
            cause: self.cause.as_ref().unwrap_or(&Cause::Exited),
            supervisor: &mut self.supervisor,
            leftover: &leftover,
            sampler: &self.sampler,
            host: &self.host,
            service: self.service.as_ref(),
            output: &self.output,
            result: self.result.take(),
            last_line_error: last_line_error.as_deref(),
            ended_ns,
            paused_ns: self.paused_ns,
            probe_cpu_ns: self.probe_cpu_ns,
            interference: &mut self.interference,
            reference: self.reference,
        });
        if let (Verdict::Ok, Some(stub)) = (outcome.outcome, &stub) {
            let checked = self.loads.check_calls(stub.ledger(), stub.ports().len());
            if let Err(why) = checked {
                (outcome.outcome, outcome.detail) = (Verdict::WrongEvidence, why);
            }
        }
        self.loads
            .report(stub.as_ref().map(Stub::ledger), self.writer)?;
        let is_good = outcome.outcome == Verdict::Ok && outcome.interference.is_empty();
        let cgroup = self.supervisor.take_cgroup().filter(|_| is_good);
        // Dropped before the outcome: whoever reads it finds no cgroup of a probe that ends.
        let cgroup = cgroup.filter(Cgroup::can_be_used_again);
        self.writer
            .send(&Message::Outcome(Box::new(outcome)), false)?;
        let condition = match is_good {
            true => Condition::Good,
            false => Condition::Spent,
        };
        Ok((condition, cgroup))
    }

    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Runs until something ends the trial; returns the time at which that was observed.
    fn watch(&mut self) -> Result<u64, ReaderGone> {
        let wall_ns = nanoseconds(self.request.limits.wall_s);
        loop {
            let now = self.now_ns();
            self.serve(now)?;
            if now >= wall_ns {
                let limit = self.request.limits.wall_s;
                self.stop(Cause::TimedOut(format!("still ran after {limit} s")));
            }
            while let Some((_, name)) = self.loads.next_mark().filter(|(due, _)| now >= *due) {
                self.loads.mark_taken();
                self.mark(name)?;
            }
            let due = self.sampler.due_ns().filter(|_| self.report.is_none());
            if due.map_or(false, |due| now >= due) {
                let sample = self.sampler.regular(now, self.supervisor.cgroup.as_ref());
                self.write_sample(sample)?;
            }
            if self.cause.is_some() {
                return Ok(now);
            }

            let due = self.sampler.due_ns().filter(|_| self.report.is_none());
            let service = self.service.as_ref().map(Service::due_ns);
            let mark = self.loads.next_mark().map(|(due, _)| due);
            let times = [due, service, mark].into_iter().flatten();
            let times = times.chain(self.output.paused_until_ns(now));
            let next = times.fold(wall_ns, u64::min);
            let ready = self.wait(now, next);
            let now = self.now_ns();

            if ready.reader_gone {
                return Err(ReaderGone);
            }
            if ready.report {
                self.read_report(now)?;
            }
            let reaped = ready.signals && self.read_signals();
            if (ready.exited || reaped) && self.cause.is_none() {
                self.cause = Some(Cause::Exited);
                return Ok(now);
            }
            for index in ready.loads {
                self.load_ended(index, now)?;
            }
            if ready.stdout {
                for event in self.output.read_stdout(now).0 {
                    self.handle(event, now, true)?;
                }
            }
            if ready.stderr {
                self.output.read_stderr(now);
            }
            self.check_output();
        }
    }

    /// Ends the trial. The first cause counts.
    fn stop(&mut self, cause: Cause) {
        self.cause.get_or_insert(cause);
    }

    fn wait(&self, now_ns: u64, until_ns: u64) -> Ready {
        let files = Files {
            signals: self.supervisor.signals(),
            program: self.supervisor.pidfd(),
            messages: self.writer.file(),
            report: self.report.as_ref().map(AsFd::as_fd),
            stdout: self.output.stdout.waiting(now_ns),
            stderr: self.output.stderr.waiting(now_ns),
        };
        let timeout_ns = until_ns.saturating_sub(self.now_ns());
        wait::wait(&files, self.loads.files(), timeout_ns)
    }

    fn serve(&mut self, now_ns: u64) -> Result<(), ReaderGone> {
        let step = self.service.as_mut().map(|service| service.step(now_ns));
        match step {
            None | Some(service::Step::Wait) => {}
            Some(service::Step::GiveUp(cause)) => self.stop(cause),
            Some(service::Step::Terminate) => {
                if self.loads.is_empty() {
                    self.mark("idle")?;
                }
                self.supervisor.terminate();
            }
            Some(service::Step::Drive(step)) => {
                if step == 0 {
                    self.mark("idle")?;
                }
                self.drive(step)?;
            }
        }
        Ok(())
    }

    fn drive(&mut self, step: usize) -> Result<(), ReaderGone> {
        let Some(port) = self.port else {
            self.stop(Cause::WrongEvidence("::ready names no port".into()));
            return Ok(());
        };
        self.mark(&format!("begin {}", self.loads.step_name(step)))?;
        let now = self.now_ns();
        if let Err(why) = self.loads.begin(step, port, now) {
            self.stop(Cause::LoadFailed(why));
        }
        Ok(())
    }

    fn load_ended(&mut self, index: usize, now_ns: u64) -> Result<(), ReaderGone> {
        let Some(step) = self.loads.finish(index, now_ns) else {
            return Ok(());
        };
        let mark = format!("end {step}");
        self.mark(&mark)?;
        match self.loads.judge() {
            Err(cause) => {
                // A server that crashes closes its connections some time before its process has ended.
                let crashed = matches!(cause, Cause::LoadFailed(_))
                    && self.supervisor.ends_within(CRASH_DELAY);
                self.stop(if crashed { Cause::Exited } else { cause });
            }
            Ok(go_on) => {
                let now = self.now_ns();
                if let Some(service) = &mut self.service {
                    service.driven(now, go_on);
                }
            }
        }
        Ok(())
    }

    /// The pipe for reports: its end means that the program has been executed.
    fn read_report(&mut self, now_ns: u64) -> Result<(), ReaderGone> {
        let Some(file) = &self.report else {
            return Ok(());
        };
        let mut buffer = [0; REPORT_BYTES];
        match rustix::io::read(file, &mut buffer) {
            Ok(0) => {
                self.report = None;
                let cgroup = self.supervisor.cgroup.as_ref();
                let cgroup = cgroup.map(|cgroup| cgroup.path().to_string_lossy().into_owned());
                let started = Message::Started {
                    version: PROTOCOL,
                    pid: self.supervisor.pid(),
                    t_ns: now_ns,
                    cgroup: cgroup.as_deref(),
                    missing: &self.missing,
                };
                self.writer.send(&started, true)
            }
            Ok(count) => {
                match SpawnStep::parse(&buffer[..count]) {
                    // The program runs all the same, outside.
                    Some((SpawnStep::Cgroup, error)) => {
                        self.missing
                            .push(format!("cgroup: cannot move the program into it: {error}"));
                        drop(self.supervisor.take_cgroup());
                    }
                    failure => {
                        let why = setup::start_error(self.request, failure);
                        self.stop(Cause::NotStarted(why));
                    }
                }
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    /// True when the program itself has ended.
    fn read_signals(&mut self) -> bool {
        let mut ended = false;
        while let Some(Received { signal, sender }) = self.supervisor.next_signal() {
            let name = match signal {
                libc::SIGCHLD => {
                    ended |= self.supervisor.reap_some();
                    continue;
                }
                libc::SIGINT => "SIGINT",
                libc::SIGHUP => "SIGHUP",
                _ => "SIGTERM",
            };
            // Nobody knows whose a process was that has ended: Ctrl-C and ringside itself come from others.
            let foreign = sender.filter(|&sender| Some(sender) != self.parent);
            match foreign.map(|sender| (sender, self.supervisor.is_of_trial(sender))) {
                None | Some((_, Some(false))) => self.stop(Cause::Interrupted(name.into())),
                Some((sender, of_trial)) => {
                    self.interference.signal(name, sender, of_trial.is_none());
                }
            }
        }
        ended
    }

    fn handle(&mut self, event: Parsed, t_ns: u64, alive: bool) -> Result<(), ReaderGone> {
        match event {
            Err(why) => self.stop(Cause::WrongEvidence(why)),
            Ok(Event::Phase { name, ns }) => {
                let name = name.as_str();
                self.writer
                    .send(&Message::Phase { t_ns, name, ns }, false)?;
            }
            Ok(Event::Ready { port }) => {
                self.writer.send(&Message::Ready { t_ns, port }, true)?;
                // Without a load nobody calls there.
                if let (Some(port), true) = (port.filter(|_| !self.loads.is_empty()), alive) {
                    self.check_listener(port);
                }
                self.port = self.port.or(port);
                let service = self.service.as_mut();
                if service.map_or(false, |service| service.ready(t_ns)) && alive {
                    self.mark("ready")?;
                }
            }
            Ok(Event::Span(span)) => self.writer.send(&Message::Span(span), false)?,
            Ok(Event::Result(pairs)) => {
                self.result = Some(pairs);
                if alive {
                    self.mark("result")?;
                }
            }
            Ok(Event::Await { name }) => {
                // The wait is no part of the wall time: it must not hold work that nobody asked for.
                let asked = self.request.awaits.contains(&name);
                if !asked || self.awaited.contains(&name) {
                    let again = if asked { "once more" } else { "unasked" };
                    let why = format!("::await name={} {again}", quoted(&name));
                    self.stop(Cause::WrongEvidence(why));
                } else if alive {
                    self.awaited.push(name.clone());
                    self.mark(&name)?;
                    // A program that has closed its stdin waits for nothing.
                    let _ = rustix::io::write(&self.stdin, b"\n");
                    self.paused_ns += self.now_ns() - t_ns;
                }
            }
        }
        Ok(())
    }

    /// Ends the trial where the port is not the program's.
    fn check_listener(&mut self, port: u16) {
        let why = match self.supervisor.listener(port) {
            Owner::Trial | Owner::Unknown => return,
            Owner::Other => "is another program's",
            Owner::Nobody => "has no listener",
        };
        self.stop(Cause::WrongEvidence(format!(
            "::ready names port {port}, which {why}"
        )));
    }

    fn mark(&mut self, name: &str) -> Result<(), ReaderGone> {
        let now = self.now_ns();
        let cgroup = self.supervisor.cgroup.as_ref();
        let sample = self.sampler.mark(now, name, cgroup);
        self.write_sample(sample)
    }

    fn write_sample(
        &mut self,
        (sample, excess): (Sample, Option<Excess>),
    ) -> Result<(), ReaderGone> {
        let limits = &self.request.limits;
        match excess {
            None => {}
            Some(Excess::Memory(bytes)) => {
                let limit = limits.memory_bytes;
                self.stop(Cause::OutOfMemory(format!(
                    "{bytes} bytes, the limit is {limit}"
                )));
            }
            Some(Excess::Threads(count)) => {
                let limit = limits.threads;
                self.stop(Cause::Flooded(format!(
                    "{count} threads, the limit is {limit}"
                )));
            }
            Some(Excess::Cpus) => {
                let cpus = &self.request.cpus;
                self.stop(Cause::WrongEvidence(format!(
                    "a thread took other CPUs than the {cpus:?} it was given"
                )));
            }
            Some(Excess::Processes(count)) => {
                let limit = limits.processes;
                self.excess_processes = Some(count);
                self.stop(Cause::Flooded(format!(
                    "{count} processes, the limit is {limit}"
                )));
            }
        }
        self.writer.send(&Message::Sample(&sample), false)
    }

    fn check_output(&mut self) {
        if self.output.exceeds_limit() {
            let limit = self.request.limits.output_bytes;
            self.stop(Cause::Flooded(format!("more than {limit} bytes of output")));
        }
    }

    /// Reads what the program wrote before its end. Returns the error of a last line that has no newline, which
    /// matters only when the program ended by itself.
    fn drain(&mut self, now_ns: u64) -> Result<Option<String>, ReaderGone> {
        if self.cause == Some(Cause::Exited) {
            // What was written before the end counts as if it had been read before it.
            self.cause = None;
        }
        let (events, last) = self.output.drain(now_ns);
        for event in events {
            self.handle(event, now_ns, false)?;
        }
        self.check_output();
        let mut last_line_error = None;
        match last {
            Some(Err(why)) => {
                last_line_error = Some(format!("{why} (the last line has no newline)"));
            }
            Some(event) => self.handle(event, now_ns, false)?,
            None => {}
        }
        self.stop(Cause::Exited);
        Ok(last_line_error)
    }
}
