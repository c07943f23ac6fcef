//! One trial: a loop on one thread that waits for the program's end, its output, signals and
//! the time, until one of them ends the trial.

use crate::clock::{self, timespec};
use crate::cpus::Cpus;
use crate::driving::Driving;
use crate::evidence::Seen;
use crate::lines::{Event, Lines, Parsed};
use crate::output::{Answer, Ending, Output, Pressure, ReaderGone, Sample, Verdict, Writer};
use crate::pin;
use crate::pressure;
use crate::request::{Request, PROTOCOL};
use crate::sample::{Excess, Limits, Sampler};
use crate::service::{self, Service};
use crate::stream::Stream;
use crate::stub::background::Background;
use crate::stub::Stub;
use crate::supervise::{Remains, Streams, Supervisor};
use crate::sys::{self, Step};
use crate::tree::ProcFs;
use crate::verdict::{verdict, Cause, Facts};
use rustix::event::{poll, PollFd, PollFlags};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::io::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

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
    stdout: Stream,
    stderr: Stream,
    lines: Lines,
    cpus: Cpus,
    pressure: Pressure,
    reference_ns: Option<u64>,
    service: Option<Service>,
    driving: Driving<'a>,
    stub: Option<Background>,
    port: Option<u16>,
    result: Option<BTreeMap<String, String>>,
    paused_ns: u64,
    /// How many processes there were, when they were too many.
    crowd: Option<u64>,
    cause: Option<Cause>,
}

/// What the wait found.
struct Ready {
    signals: bool,
    ended: bool,
    reader_gone: bool,
    report: bool,
    stdout: bool,
    stderr: bool,
    /// Places of the loads that have ended, the last first.
    loads: Vec<usize>,
}

/// How long a server may take to die after its load has failed.
const DYING: Duration = Duration::from_secs(2);

/// What an argument of the program holds where the URLs of its upstreams are to stand.
const UPSTREAMS: &str = "{upstreams}";

/// Lets the upstreams listen, and tells the program where: nothing is answered yet.
pub fn upstreams(request: &mut Request) -> Result<Option<Stub>, String> {
    let plan = request.service.as_ref().and_then(|one| one.stub.as_ref());
    let plan = match plan {
        Some(plan) => plan,
        None => return Ok(None),
    };
    pin::check("stub: cpus", &plan.cpus)?;
    let stub = Stub::listen(plan).map_err(|error| format!("stub: cannot listen: {error}"))?;
    let urls = stub.ports().iter();
    let urls: Vec<_> = urls
        .map(|port| format!("http://127.0.0.1:{port}/"))
        .collect();
    for argument in &mut request.argv {
        *argument = argument.replace(UPSTREAMS, &urls.join(","));
    }
    Ok(Some(stub))
}

/// What was made ready before the trial.
pub struct Before {
    pub stub: Option<Stub>,
    /// What could not be had so far.
    pub missing: Vec<String>,
    /// The CPUs that the probe itself was given.
    pub inherited: Vec<usize>,
    /// How long the fixed computation took.
    pub reference_ns: Option<u64>,
}

/// Carries out the trial. An error of the outer result: it could not even begin.
pub fn run(
    request: &Request,
    before: Before,
    signals: OwnedFd,
    writer: &mut Writer,
) -> io::Result<Result<(), ReaderGone>> {
    let Before {
        stub,
        mut missing,
        inherited,
        reference_ns,
    } = before;
    let mut procfs = ProcFs::open()?;
    if !procfs.lists_children {
        missing.push("children in /proc: the kernel does not list them".into());
    }
    if rustix::fs::access("/proc/self/smaps_rollup", rustix::fs::Access::READ_OK).is_err() {
        missing.push("PSS: /proc/self/smaps_rollup cannot be read".into());
    }
    let cpus = Cpus::new(&mut procfs, &pin::of_the_program(request, &inherited));
    let pressure = pressure::now(&mut procfs);
    let (supervisor, streams, start) =
        Supervisor::start(request, &inherited, signals, &mut missing)?;
    let Streams {
        stdin,
        stdout,
        stderr,
        report,
    } = streams;
    // Not before the program was started: until then this process must have one thread.
    let plan = request.service.as_ref().and_then(|one| one.stub.as_ref());
    let stub = match stub.zip(plan) {
        Some((stub, plan)) => Some(Background::start(stub, plan)?),
        None => None,
    };
    let steps = request.service.as_ref().map_or(&[][..], |one| &one.steps);
    let interval = request.sample_interval();
    let limits = Limits {
        memory_bytes: request.limits.memory_bytes,
        processes: request.limits.processes,
    };
    let lines = request.expect.iter().flat_map(|expect| &expect.lines);
    let prefixes = lines.flat_map(|lines| lines.starting.keys().copied());
    let mut lines = request.expect.iter().flat_map(|expect| &expect.lines);
    let hashed = lines.any(|lines| lines.sha256.is_some());
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
        stdout: Stream::new(stdout),
        stderr: Stream::new(stderr),
        lines: if request.plain {
            Lines::plain()
        } else {
            Lines::new(prefixes, hashed)
        },
        cpus,
        pressure,
        reference_ns,
        service: request.service.as_ref().map(Service::new),
        driving: Driving::new(steps),
        stub,
        port: None,
        result: None,
        paused_ns: 0,
        crowd: None,
        cause: None,
    };
    Ok(trial.carry_out())
}

impl Trial<'_, '_> {
    fn carry_out(&mut self) -> Result<(), ReaderGone> {
        let ended_ns = self.watch()?;
        self.driving.interrupt(ended_ns);
        let remains = self.supervisor.end(self.crowd);
        let cut_off = self.drain(ended_ns)?;
        let stub = self.stub.take().and_then(Background::finish);
        let mut ending = self.ending(ended_ns, &remains, cut_off.as_deref());
        if let (Verdict::Ok, Some(stub)) = (ending.outcome, &stub) {
            let checked = self.driving.check_calls(stub.ledger(), stub.ports().len());
            if let Err(why) = checked {
                (ending.outcome, ending.detail) = (Verdict::WrongEvidence, why);
            }
        }
        self.driving
            .tell(stub.as_ref().map(Stub::ledger), self.writer)?;
        self.supervisor.clean();
        self.writer
            .answer(&Answer::Outcome(Box::new(ending)), false)
    }

    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Until something ends the trial; gives the time at which it was seen.
    fn watch(&mut self) -> Result<u64, ReaderGone> {
        let wall_ns = (self.request.limits.wall_s * 1e9) as u64;
        loop {
            let now = self.now_ns();
            self.serve(now)?;
            if now >= wall_ns {
                let limit = self.request.limits.wall_s;
                self.stop(Cause::TimedOut(format!("still ran after {limit} s")));
            }
            while let Some((_, name)) = self.driving.next_mark().filter(|(due, _)| now >= *due) {
                self.driving.mark_taken();
                self.mark(name)?;
            }
            let due = self.sampler.due_ns().filter(|_| self.report.is_none());
            if due.map_or(false, |due| now >= due) {
                let seen = self.sampler.regular(now, self.supervisor.cgroup.as_ref());
                self.sampled(seen)?;
            }
            if self.cause.is_some() {
                return Ok(now);
            }

            let due = self.sampler.due_ns().filter(|_| self.report.is_none());
            let service = self.service.as_ref().map(Service::due_ns);
            let quiet = [&self.stdout, &self.stderr].map(|stream| stream.quiet_until_ns(now));
            let mark = self.driving.next_mark().map(|(due, _)| due);
            let times = [due, service, mark].into_iter().chain(quiet).flatten();
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
            if (ready.ended || reaped) && self.cause.is_none() {
                self.cause = Some(Cause::Ended);
                return Ok(now);
            }
            for place in ready.loads {
                self.load_ended(place, now)?;
            }
            if ready.stdout {
                self.read_stdout(now, true)?;
            }
            if ready.stderr {
                self.stderr.read(now, &mut |_| {});
            }
            self.check_output();
        }
    }

    /// The first cause is the one that counts.
    fn stop(&mut self, cause: Cause) {
        self.cause.get_or_insert(cause);
    }

    fn wait(&self, now_ns: u64, until_ns: u64) -> Ready {
        let signals = self.supervisor.signals();
        // A file that is not to be waited for is replaced by one that is asked for nothing.
        let file = |file: Option<BorrowedFd<'_>>| match file {
            Some(_) => PollFlags::IN,
            None => PollFlags::empty(),
        };
        let report = self.report.as_ref().map(AsFd::as_fd);
        let stdout = self.stdout.waiting(now_ns);
        let stderr = self.stderr.waiting(now_ns);
        let mut files = vec![
            PollFd::from_borrowed_fd(signals, PollFlags::IN),
            PollFd::from_borrowed_fd(self.supervisor.pidfd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.writer.file(), PollFlags::empty()),
            PollFd::from_borrowed_fd(report.unwrap_or(signals), file(report)),
            PollFd::from_borrowed_fd(stdout.unwrap_or(signals), file(stdout)),
            PollFd::from_borrowed_fd(stderr.unwrap_or(signals), file(stderr)),
        ];
        let loads = self.driving.files();
        files.extend(loads.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)));
        let time = until_ns.saturating_sub(self.now_ns());
        // An error is a signal that came between, or want of memory: the loop comes again.
        let _ = poll(&mut files, Some(&timespec(time)));
        let seen: Vec<_> = files
            .iter()
            .map(|file| !file.revents().is_empty())
            .collect();
        Ready {
            signals: seen[0],
            ended: seen[1],
            reader_gone: seen[2],
            report: seen[3],
            stdout: seen[4],
            stderr: seen[5],
            loads: (0..seen.len() - 6)
                .rev()
                .filter(|load| seen[load + 6])
                .collect(),
        }
    }

    fn serve(&mut self, now_ns: u64) -> Result<(), ReaderGone> {
        let step = self.service.as_mut().map(|service| service.step(now_ns));
        match step {
            None | Some(service::Step::Wait) => {}
            Some(service::Step::GiveUp(cause)) => self.stop(cause),
            Some(service::Step::Terminate) => {
                if self
                    .request
                    .service
                    .as_ref()
                    .map_or(true, |one| one.steps.is_empty())
                {
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
        let port = match self.port {
            Some(port) => port,
            None => {
                self.stop(Cause::WrongEvidence("::ready names no port".into()));
                return Ok(());
            }
        };
        let name = &self
            .request
            .service
            .as_ref()
            .map_or("", |one| &one.steps[step].name);
        self.mark(&format!("begin {name}"))?;
        let now = self.now_ns();
        if let Err(why) = self.driving.begin(step, port, now) {
            self.stop(Cause::LoadFailed(why));
        }
        Ok(())
    }

    fn load_ended(&mut self, place: usize, now_ns: u64) -> Result<(), ReaderGone> {
        let mark = match self.driving.ended(place, now_ns) {
            Some(step) => format!("end {step}"),
            None => return Ok(()),
        };
        self.mark(&mark)?;
        match self.driving.judge() {
            Err(cause) => {
                // A server that dies closes its connections some time before its end can be seen.
                let dies =
                    matches!(cause, Cause::LoadFailed(_)) && self.supervisor.ends_within(DYING);
                self.stop(if dies { Cause::Ended } else { cause });
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
        let file = match &self.report {
            Some(file) => file,
            None => return Ok(()),
        };
        let mut buffer = [0; sys::REPORT_BYTES];
        match rustix::io::read(file, &mut buffer) {
            Ok(0) => {
                self.report = None;
                let cgroup = self.supervisor.cgroup.as_ref();
                let cgroup = cgroup.map(|cgroup| cgroup.path().to_string_lossy().into_owned());
                let started = Answer::Started {
                    version: PROTOCOL,
                    pid: self.supervisor.pid(),
                    t_ns: now_ns,
                    cgroup: cgroup.as_deref(),
                    missing: &self.missing,
                };
                self.writer.answer(&started, true)
            }
            Ok(count) => {
                match Step::parse(&buffer[..count]) {
                    // It runs all the same, outside.
                    Some((Step::Cgroup, error)) => {
                        self.missing
                            .push(format!("cgroup: cannot move the program into it: {error}"));
                        self.supervisor.clean();
                    }
                    failed => self.stop(Cause::NotStarted(not_started(self.request, failed))),
                }
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    /// True when the program itself has ended.
    fn read_signals(&mut self) -> bool {
        let mut ended = false;
        while let Some(signal) = self.supervisor.next_signal() {
            match signal {
                libc::SIGCHLD => ended |= self.supervisor.reap_some(),
                libc::SIGINT => self.stop(Cause::Interrupted("SIGINT".into())),
                libc::SIGHUP => self.stop(Cause::Interrupted("SIGHUP".into())),
                _ => self.stop(Cause::Interrupted("SIGTERM".into())),
            }
        }
        ended
    }

    /// Reads and handles what the program printed. True when there may be more at once.
    fn read_stdout(&mut self, now_ns: u64, alive: bool) -> Result<bool, ReaderGone> {
        let mut events = Vec::new();
        let lines = &mut self.lines;
        let more = self.stdout.read(now_ns, &mut |piece| {
            lines.feed(piece, &mut |event| events.push(event));
        });
        for event in events {
            self.handle(event, now_ns, alive)?;
        }
        Ok(more)
    }

    fn handle(&mut self, event: Parsed, t_ns: u64, alive: bool) -> Result<(), ReaderGone> {
        match event {
            Err(why) => self.stop(Cause::WrongEvidence(why)),
            Ok(Event::Phase { name, ns }) => {
                let name = name.as_str();
                self.writer
                    .answer(&Answer::Phase { t_ns, name, ns }, false)?;
            }
            Ok(Event::Ready { port }) => {
                self.writer.answer(&Answer::Ready { t_ns, port }, true)?;
                self.port = self.port.or(port);
                let service = self.service.as_mut();
                if service.map_or(false, |service| service.ready(t_ns)) && alive {
                    self.mark("ready")?;
                }
            }
            Ok(Event::Span(span)) => self.writer.answer(&Answer::Span(span), false)?,
            Ok(Event::Result(pairs)) => {
                self.result = Some(pairs);
                if alive {
                    self.mark("result")?;
                }
            }
            Ok(Event::Await { name }) => {
                if alive {
                    self.mark(&name)?;
                    // A program that has closed its stdin waits for nothing.
                    let _ = rustix::io::write(&self.stdin, b"\n");
                    self.paused_ns += self.now_ns() - t_ns;
                }
            }
        }
        Ok(())
    }

    fn mark(&mut self, name: &str) -> Result<(), ReaderGone> {
        let now = self.now_ns();
        let seen = self
            .sampler
            .mark(now, name, self.supervisor.cgroup.as_ref());
        self.sampled(seen)
    }

    fn sampled(&mut self, (sample, excess): (Sample, Option<Excess>)) -> Result<(), ReaderGone> {
        let limits = &self.request.limits;
        match excess {
            None => {}
            Some(Excess::Memory(bytes)) => {
                let limit = limits.memory_bytes;
                self.stop(Cause::OutOfMemory(format!(
                    "{bytes} bytes, the limit is {limit}"
                )));
            }
            Some(Excess::Processes(count)) => {
                let limit = limits.processes;
                self.crowd = Some(count);
                self.stop(Cause::Flooded(format!(
                    "{count} processes, the limit is {limit}"
                )));
            }
        }
        self.writer.answer(&Answer::Sample(&sample), false)
    }

    fn check_output(&mut self) {
        let bytes = self.stdout.bytes() + self.stderr.bytes();
        let limit = self.request.limits.output_bytes;
        if bytes > limit {
            self.stop(Cause::Flooded(format!("more than {limit} bytes of output")));
        }
    }

    /// Takes what the program wrote before its end. Gives what is wrong with a last line that has
    /// no newline: no matter when the program did not end by itself.
    fn drain(&mut self, now_ns: u64) -> Result<Option<String>, ReaderGone> {
        if self.cause == Some(Cause::Ended) {
            // What was written before the end counts as much as what was read before it.
            self.cause = None;
        }
        let limit = self.request.limits.output_bytes;
        let mut more = true;
        while more && self.stdout.bytes() <= limit {
            more = self.read_stdout(now_ns, false)?;
        }
        more = true;
        while more && self.stderr.bytes() <= limit {
            more = self.stderr.read(now_ns, &mut |_| {});
        }
        self.check_output();
        let mut last = Vec::new();
        self.lines.finish(&mut |event| last.push(event));
        let mut cut_off = None;
        for event in last {
            match event {
                Err(why) => cut_off = Some(format!("{why} (the last line has no newline)")),
                event => self.handle(event, now_ns, false)?,
            }
        }
        self.stop(Cause::Ended);
        Ok(cut_off)
    }

    fn ending(&mut self, ended_ns: u64, remains: &Remains, cut_off: Option<&str>) -> Ending {
        let cpus = self.supervisor.cpus_since(&self.cpus);
        let pressure = self.supervisor.pressure_since(&self.pressure);
        let cgroup = self.supervisor.cgroup.as_ref();
        let usage = sys::children_usage();
        let cpu = self.supervisor.cpu();
        // What ended then was not yet the program.
        let (exit_status, signal) = match self.cause {
            Some(Cause::NotStarted(_)) => (None, None),
            _ => self.supervisor.ending(),
        };
        let hash = self.lines.hash();
        let sha256 = hash.clone().filter(|_| self.request.plain);
        let seen = Seen {
            result: self.result.take(),
            lines: self.lines.total(),
            starting: self.lines.starting(),
            hash,
        };
        let (outcome, mut detail) = verdict(&Facts {
            cause: self.cause.as_ref().unwrap_or(&Cause::Ended),
            exit_status,
            signal,
            out_of_memory: cgroup.map_or(false, |cgroup| cgroup.out_of_memory()),
            cut_off,
            service: self.service.as_ref().map(Service::phase),
            expect: self.request.expect.as_ref(),
            seen: &seen,
        });
        if remains.unkillable > 0 {
            let count = remains.unkillable;
            detail = format!("{detail} ({count} processes could not be ended)");
        }
        let (samples, sample_interval_ns) = self.sampler.kept();
        let peaks = &self.sampler.peaks;
        let terminated_ns = self.service.as_ref().and_then(Service::terminated_ns);
        let ending_ns = terminated_ns.filter(|_| self.cause == Some(Cause::Ended));
        Ending {
            outcome,
            detail,
            exit_status,
            signal,
            wall_ns: ended_ns.saturating_sub(self.paused_ns),
            paused_ns: self.paused_ns,
            ending_ns: ending_ns.map(|since| ended_ns.saturating_sub(since)),
            cpu_user_ns: cpu.map_or(usage.user_ns, |cpu| cpu.user_ns),
            cpu_system_ns: cpu.map_or(usage.system_ns, |cpu| cpu.system_ns),
            cpu_source: cpu.map_or("rusage", |_| "cgroup"),
            peak_pss_bytes: peaks.pss_bytes,
            memory_peak_bytes: cgroup.and_then(|cgroup| cgroup.memory_peak()),
            peak_threads: peaks.threads,
            peak_processes: peaks.processes,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            minor_faults: usage.minor_faults,
            major_faults: usage.major_faults,
            run_queue_ns: self.sampler.run_queue_ns(),
            result: seen.result,
            output: Output {
                stdout_bytes: self.stdout.bytes(),
                stderr_bytes: self.stderr.bytes(),
                lines: seen.lines,
                starting: seen.starting,
                sha256,
            },
            stdout_tail: self.stdout.tail(),
            stderr_tail: self.stderr.tail(),
            left_behind: remains.left_behind,
            probe_cpu_ns: clock::process_cpu_ns(),
            samples,
            sample_interval_ns,
            threads: self.sampler.busiest(),
            cpus,
            pressure,
            reference_ns: self.reference_ns,
        }
    }
}

fn not_started(request: &Request, failed: Option<(Step, io::Error)>) -> String {
    let program = crate::evidence::quoted(&request.argv[0]);
    match failed {
        Some((Step::Exec, error)) => format!("cannot run {program}: {error}"),
        Some((Step::Folder, error)) => {
            let cwd = crate::evidence::quoted(&request.cwd);
            format!("cannot run {program} in {cwd}: {error}")
        }
        Some((Step::Affinity, error)) => {
            format!(
                "cannot pin {program} to the CPUs {:?}: {error}",
                request.cpus
            )
        }
        Some((_, error)) => format!("cannot start {program}: {error}"),
        None => format!("cannot start {program}"),
    }
}
