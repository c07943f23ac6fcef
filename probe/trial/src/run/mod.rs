//! One trial: a loop on one thread that waits for the program's end, its output, signals and
//! the time, until one of them ends the trial.

mod end;
mod ending;
mod events;
mod outcome;
mod program_output;
mod samples;
mod serving;
mod setup;
mod wait;

use crate::interference::Interference;
use crate::leave::places::Places;
use crate::loads::Loads;
use crate::reference;
use crate::sample::counters::Counters;
use crate::sample::host::{HostBaseline, KernelFiles};
use crate::sample::sampler::schedule::Schedule;
use crate::sample::sampler::{Limits, Sampler};
use crate::sample::sampling::{self, Sampling};
use crate::says::verdict::{signal_name, Cause};
use crate::service::Service;
use crate::session::Session;
use crate::start::launch::{launch, Launched};
use crate::start::launcher::Launcher;
use crate::tree::cgroup::Cgroup;
use crate::tree::namespace;
use crate::tree::supervise::Supervisor;
use end::End;
use program_output::ProgramOutput;
pub use setup::Setup;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::io::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use wire::clock;
use wire::messages::{Started, Verdict};
use wire::os::{parent_id, CpuSet};
use wire::pin;
use wire::request::{Request, PROTOCOL};
use wire::requests::Requests;
use wire::sys::{self, Received, Sender};
use wire::units::nanoseconds;
use wire::writer::{ReaderGone, Writer};

/// How long the start of a program takes.
const START_NS: u64 = 2_000_000;

struct Trial<'a, 'w> {
    request: &'a Request,
    writer: &'a mut Writer<'w>,
    /// The driver's lines, for as long as engines elsewhere have the loads.
    notices: Option<&'a mut Requests>,
    supervisor: Supervisor<'a>,
    sampling: Sampling,
    places: &'a mut Places,
    launcher: &'a Launcher,
    files: Rc<KernelFiles>,
    /// The zero of all times, by the monotonic clock.
    start_ns: u64,
    /// None: the program's stdin is a file.
    stdin: Option<OwnedFd>,
    /// When the first message is written, unless the program ends before.
    started_due_ns: Option<u64>,
    output: ProgramOutput,
    /// None: nothing is compared.
    host: Option<HostBaseline>,
    cpus: CpuSet,
    reference: Option<reference::Times>,
    counters: Option<Counters>,
    service: Option<Service>,
    /// None: the program is not driven, and has no upstreams.
    loads: Option<Box<dyn Loads>>,
    port: Option<u16>,
    result: Option<BTreeMap<String, String>>,
    paused_ns: u64,
    /// The part of the pauses that is wall time, because the program worked.
    worked_ns: u64,
    /// Sockets that listened at the port, and perhaps were not the program's.
    unknown_listeners: Vec<u64>,
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
    /// Once the program has ended, or the trial.
    end: Option<End>,
}

/// Carries out the trial. Returns whether the probe can carry out another, and the cgroup for it. The outer error: the
/// trial could not begin, or the probe itself has failed.
pub fn run(
    request: &Request,
    mut setup: Setup,
    session: &mut Session,
    notices: &mut Requests,
    writer: &mut Writer,
) -> io::Result<Result<(bool, Option<Cgroup>), ReaderGone>> {
    let probe_cpu_ns = clock::process_cpu_ns();
    let program_cpus = pin::program_cpus(request, &setup.inherited_cpus);
    let host = setup.is_compared.then(|| HostBaseline::read(&session.files, &program_cpus));
    // Before there is a program that could change what it finds.
    let interference = Interference::watch(Rc::clone(&session.files), request.plain, setup.is_compared);
    let counters = request.counters.then(Counters::open);
    let kept = session.cgroup.take();
    let Launched { mut started, cgroup, stdin, stdout, stderr } =
        launch(request, &setup.inherited_cpus, &mut session.launcher, kept, &mut setup.missing)?;
    let (start_ns, failure) = (started.start_ns, started.failure.take());
    session.procfs.launcher = session.launcher.pid();
    let procfs = session.procfs.clone();
    let supervisor = Supervisor::new(started, cgroup, setup.signals, &mut session.procfs);
    // Not before the program was started: until then this process must have one thread.
    let service = request.service.as_ref();
    if let Some(loads) = &mut setup.loads {
        loads.serve_upstreams()?;
    }
    let interval_ns = request.sample_interval().map(|interval| interval.as_nanos() as u64);
    let limits = Limits {
        memory_bytes: request.limits.memory_bytes,
        processes: request.limits.processes,
        threads: request.limits.threads,
        cpus: (!request.cpus.is_empty()).then(|| pin::set_of(&request.cpus)),
        // A plain command may be `nice` itself.
        scheduling: (!request.plain).then(|| sys::scheduling_of(0).ok()).flatten(),
    };
    let mut trial = Trial {
        request,
        writer,
        notices: service.is_some_and(|service| service.remote).then_some(notices),
        supervisor,
        sampling: Sampling::new(Sampler::new(
            procfs,
            // A plain command that ends before the first sample has no thread beside it.
            Schedule::new(interval_ns, !request.plain),
            limits,
            request.timeline,
            session.places.shared.clone(),
        )),
        places: &mut session.places,
        launcher: &session.launcher,
        files: Rc::clone(&session.files),
        start_ns,
        stdin,
        started_due_ns: None,
        output: ProgramOutput::new(stdout, stderr, setup::parser(request), request.limits.output_bytes),
        host,
        cpus: pin::set_of(&program_cpus),
        reference: setup.reference,
        counters,
        service: service.map(Service::new),
        loads: setup.loads,
        port: None,
        result: None,
        paused_ns: 0,
        worked_ns: 0,
        unknown_listeners: Vec::new(),
        probe_cpu_ns,
        excess_processes: None,
        parent: parent_id(),
        interference,
        awaited: Vec::new(),
        cause: None,
        end: None,
    };
    let begun = match failure {
        None => trial.write_started(setup.missing),
        Some((step, error)) => {
            trial.cause = Some(Cause::NotStarted(setup::start_error(request, step, &error)));
            Ok(())
        }
    };
    match begun.and_then(|()| trial.carry_out()) {
        Ok(done) => Ok(Ok(done)),
        Err(Abort::ReaderGone) => Ok(Err(ReaderGone)),
        Err(Abort::Failed(why)) => Err(why),
    }
}

/// Why a trial has no outcome.
enum Abort {
    ReaderGone,
    Failed(io::Error),
}

impl From<ReaderGone> for Abort {
    fn from(_: ReaderGone) -> Abort {
        Abort::ReaderGone
    }
}

impl Trial<'_, '_> {
    fn carry_out(&mut self) -> Result<(bool, Option<Cgroup>), Abort> {
        match self.watch() {
            // The outcome says that the program took what the probe needs.
            Err(Abort::Failed(_)) if self.interference.lowered_limits().is_some() => {}
            ended => ended?,
        }
        self.note_end(self.now_ns());
        let end = self.end.take().expect("noted");
        // While the probe has all its threads.
        let is_alone = self.loads.is_none() && self.sampling.file().is_none();
        self.interference.compare_threads(&self.thread_cpus(), is_alone);
        if let Some(loads) = &mut self.loads {
            loads.interrupt();
        }
        let outlived = match self.cause {
            Some(Cause::Exited) => self.follow(&end)?,
            _ => None,
        };
        self.sampling.stop();
        // Before the wait for the loads and for a sample: a program must not be able to keep them busy.
        let leftover = self.supervisor.end(self.excess_processes, outlived);
        if matches!(self.cause, None | Some(Cause::Exited)) && leftover.unkillable == 0 {
            self.check_unknown_listeners();
        }
        if let Some(why) = self.interference.lowered_limits() {
            // Samples and the other reasons may then be incomplete.
            if !matches!(self.cause, Some(Cause::Failed((Verdict::Interrupted, _)))) {
                self.cause = Some(Cause::Failed((Verdict::WrongEvidence, why)));
            }
        }
        // When nothing of the trial runs that could do it once more.
        if self.launcher.was_changed() {
            self.interference.add("the probe's launcher was changed: the next command would suffer".into());
        }
        if self.parent.is_some_and(|pid| self.files.resume_parent(pid)) {
            self.interference.add("ringside was stopped by a signal".into());
        }
        if let Some(loads) = &mut self.loads {
            loads.join(end.ns);
        }
        let finished = self.sampling.finish(sampling::SAMPLE_TIMEOUT);
        let (sampler, last_samples) = finished.map_err(Abort::Failed)?;
        for taken in last_samples {
            self.write_sample(taken)?;
        }
        let (last_line_error, late_output) = self.drain(end.ns)?;
        if let Some(loads) = &mut self.loads {
            loads.stop_upstreams();
        }
        // When no process is left that could write more.
        let left_files = self.places.clear();
        let mut outcome =
            self.assemble(end, &leftover, left_files, &sampler, last_line_error.as_deref(), late_output);
        if let Some(loads) = &self.loads {
            if let Some((verdict, why)) = loads.fault(outcome.outcome) {
                (outcome.outcome, outcome.detail) = (verdict, why);
            }
            loads.report(self.writer)?;
        }
        // Otherwise the program may have changed the probe.
        let is_good =
            outcome.outcome == Verdict::Ok && outcome.interference.is_empty() && outcome.left_files == 0;
        // None also while another owner still holds it.
        let cgroup = self.supervisor.cgroup.take().and_then(|cgroup| Arc::try_unwrap(cgroup).ok());
        // A contender with rights there could have frozen or slowed it for the next one.
        let cgroup = cgroup.filter(|_| is_good && self.request.plain);
        // Dropped before the outcome, whose reader then finds no cgroup of a probe that ends.
        let cgroup = cgroup.filter(Cgroup::can_be_used_again);
        self.writer.send(&outcome, false)?;
        Ok((is_good, cgroup))
    }

    /// The CPUs that threads of the probe may have besides those of its first thread.
    fn thread_cpus(&self) -> Vec<CpuSet> {
        self.loads.as_ref().map_or(Vec::new(), |loads| loads.cpus())
    }

    /// Whether the program is driven by loads, here or elsewhere.
    fn is_driven(&self) -> bool {
        let service = self.request.service.as_ref();
        service.is_some_and(|service| !service.steps.is_empty())
    }

    /// When the next mark of a step is due.
    fn mark_due_ns(&self) -> Option<u64> {
        self.loads.as_ref().and_then(|loads| loads.next_mark_ns())
    }

    fn now_ns(&self) -> u64 {
        clock::now_ns().saturating_sub(self.start_ns)
    }

    /// Runs until something ends the trial.
    fn watch(&mut self) -> Result<(), Abort> {
        let wall_ns = nanoseconds(self.request.limits.wall_s);
        loop {
            let now = self.now_ns();
            self.serve(now)?;
            self.check_wall_time(now);
            while self.mark_due_ns().is_some_and(|due| now >= due) {
                if let Some(loads) = &mut self.loads {
                    let name = loads.take_mark();
                    self.mark(&name)?;
                }
            }
            if self.sampling.due_ns().is_some_and(|due| now >= due) {
                self.begin_sampling()?;
            }
            if self.started_due_ns.is_some_and(|due| now >= due) {
                self.started_due_ns = None;
                self.writer.flush()?;
            }
            if self.cause.is_some() {
                self.note_end(now);
                return Ok(());
            }

            let due = self.sampling.due_ns();
            let service = self.service.as_ref().map(|service| service.due_ns);
            let times = [due, service, self.mark_due_ns(), self.started_due_ns];
            let times = times.into_iter().flatten();
            let times = times.chain(self.output.paused_until_ns(now));
            let next = times.fold(wall_ns, u64::min);
            let (ready, loads) = self.wait(now, next).map_err(Abort::Failed)?;
            let [signals, exited, reader_gone, samples, stdout, stderr, notices] = ready;
            let now = self.now_ns();

            if reader_gone {
                return Err(ReaderGone.into());
            }
            let reaped = signals && self.read_signals();
            if (exited || reaped) && self.cause.is_none() {
                self.cause = Some(Cause::Exited);
                // A program that ended while the rest was read did not end before.
                self.note_end(if exited { now } else { self.now_ns() });
                return Ok(());
            }
            for index in loads {
                if let Some(step) = self.loads.as_mut().and_then(|loads| loads.finish(index, now)) {
                    self.step_ended(step)?;
                }
            }
            if samples {
                for taken in self.sampling.taken() {
                    self.write_sample(taken)?;
                }
            }
            if notices {
                self.read_notices(now)?;
            }
            if stdout {
                let start_ns = self.start_ns;
                let clock = || clock::now_ns().saturating_sub(start_ns);
                for (t_ns, event) in self.output.read_stdout(&clock) {
                    self.handle(event, t_ns, true)?;
                    // A line may take the probe some time, and there may be thousands of them.
                    self.check_wall_time(self.now_ns());
                    if self.cause.is_some() {
                        break;
                    }
                }
            }
            if stderr {
                self.output.read_stderr(now);
            }
            self.check_output();
        }
    }

    fn check_wall_time(&mut self, now_ns: u64) {
        let limit_s = self.request.limits.wall_s;
        if now_ns >= nanoseconds(limit_s) {
            self.stop(Verdict::TimedOut, format!("still ran after {limit_s} s"));
        }
    }

    /// Ends the trial. The first cause counts.
    fn stop(&mut self, verdict: Verdict, why: String) {
        self.cause.get_or_insert(Cause::Failed((verdict, why)));
    }

    /// The program has ended by itself, unless something else had ended the trial.
    fn exited(&mut self) {
        self.cause.get_or_insert(Cause::Exited);
    }

    fn write_started(&mut self, missing: Vec<String>) -> Result<(), Abort> {
        let cgroup = self.supervisor.cgroup.as_ref();
        let cgroup = cgroup.map(|cgroup| cgroup.path.to_string_lossy().into_owned());
        let t_ns = self.now_ns();
        let started = Started {
            version: PROTOCOL,
            // A number of the probe's own namespace means nothing to the reader.
            pid: (!namespace::is_own()).then_some(self.supervisor.pid),
            t_ns,
            cgroup,
            missing,
        };
        // Delays the message: reading it would compete with the program's start.
        self.started_due_ns = Some(t_ns + START_NS);
        Ok(self.writer.send(&started, false)?)
    }

    /// True when the program itself has ended.
    fn read_signals(&mut self) -> bool {
        let mut ended = false;
        let pending: Vec<_> = sys::pending_signals(self.supervisor.signals).collect();
        for Received { signal, sender } in pending {
            if signal == libc::SIGCHLD {
                ended |= self.supervisor.reap_some();
                continue;
            }
            let name = signal_name(signal).unwrap_or("a signal");
            // If the sender has ended, the probe cannot tell whether it was of the trial. Ctrl-C and ringside itself come
            // from others.
            let inside = match sender {
                Sender::Outside => None,
                Sender::Unknown => Some("a sender that the kernel does not name".into()),
                Sender::Process(sender) if Some(sender) == self.parent => None,
                Sender::Process(sender) => match self.supervisor.is_of_trial(sender) {
                    Some(true) => Some(format!("process {sender} of the trial")),
                    Some(false) => None,
                    None => Some("a process that has ended".into()),
                },
            };
            // A probe that is told to go on was stopped, and has measured nothing meanwhile.
            if inside.is_none() && signal != libc::SIGCONT {
                self.stop(Verdict::Interrupted, name.into());
                continue;
            }
            let by = inside.unwrap_or_else(|| "a process outside of the trial".into());
            self.interference.add(format!("{name} to the probe from {by}"));
        }
        ended
    }
}
