//! Runs the loads of a service: one step after another, the loads of a step at the same time.

use crate::wire::cause::Cause;
use crate::wire::clock::now_ns;
use crate::engine::load::engine::{Engine, Outcome, Prepared};
use crate::engine::load::error::{ErrorKind, Judgement};
use crate::engine::load::histogram::Histogram;
use crate::engine::load::plan::{Plan, Protocol};
use crate::engine::load::record::Record;
use crate::engine::load::report;
use crate::engine::load::service_times::ServiceTimes;
use crate::engine::load::warnings::{warnings, GENERATOR_BOUND};
use crate::engine::remote::{Awaited, Begun, PartRecord, Sharing};
use crate::wire::request::{NamedLoad, Step};
use crate::engine::stub::calls::{Ledger, Orphans};
use crate::wire::units::nanoseconds;
use crate::wire::writer::{ReaderGone, Writer};
use serde_json::{json, Value};
use std::net::SocketAddr;
use std::os::unix::io::{AsFd, BorrowedFd};
use std::sync::Arc;

/// With a larger share of requests without an answer, percentiles of the others say nothing.
const MAX_UNANSWERED_SHARE: f64 = 0.001;

/// With fewer in a window of a warm-up, its rate says nothing, and another takes too long.
const MIN_ANSWERS: u64 = 10;

struct Running {
    load: usize,
    plan: Arc<Plan>,
    io: Value,
    engine: Engine,
}

/// A load that has ended.
struct Finished {
    step: usize,
    load: usize,
    plan: Arc<Plan>,
    io: Value,
    begin_ns: u64,
    end_ns: u64,
    outcome: Outcome,
    /// Of engines elsewhere.
    sharing: Option<Sharing>,
}

pub struct LoadRunner<'a> {
    steps: &'a [Step],
    /// The program has upstreams, whose calls are joined with requests.
    has_upstreams: bool,
    step: usize,
    begin_ns: u64,
    marks_taken: usize,
    running: Vec<Running>,
    /// Loads of engines elsewhere.
    awaited: Vec<Awaited>,
    finished: Vec<Finished>,
}

impl<'a> LoadRunner<'a> {
    pub fn new(steps: &'a [Step], has_upstreams: bool) -> LoadRunner<'a> {
        LoadRunner {
            steps,
            has_upstreams,
            step: 0,
            begin_ns: 0,
            marks_taken: 0,
            running: Vec::new(),
            awaited: Vec::new(),
            finished: Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub fn step_name(&self, step: usize) -> &'a str {
        &self.steps[step].name
    }

    /// Starts the loads of a step; `t_ns` is the time of the trial. The error is why they cannot begin.
    pub fn begin(&mut self, step: usize, address: SocketAddr, t_ns: u64) -> Result<(), String> {
        self.step = step;
        self.begin_ns = t_ns;
        self.marks_taken = 0;
        let mut prepared = Vec::new();
        for (load, NamedLoad { plan, .. }) in self.steps[step].loads.iter().enumerate() {
            let plan = self.at_own_rate(plan)?.at(address);
            plan.check()?;
            let plan = Arc::new(plan);
            prepared.push((load, Arc::clone(&plan), Prepared::new(plan)?));
        }
        let start_ns = now_ns();
        for (load, plan, prepared) in prepared {
            let io = prepared.io_name().into();
            let engine = prepared.start(start_ns);
            let engine = engine.map_err(|error| format!("load: cannot start a thread: {error}"))?;
            self.running.push(Running {
                load,
                plan,
                io,
                engine,
            });
        }
        Ok(())
    }

    /// A plan whose rates are multiples of what an earlier step showed, with the rates themselves.
    fn at_own_rate(&self, plan: &Plan) -> Result<Plan, String> {
        let Some(name) = plan.rates_of() else {
            return Ok(plan.clone());
        };
        let mut finished = self.finished.iter();
        let first = finished.find(|load| self.step_name(load.step) == name && load.load == 0);
        let outcome = first.map(|load| &load.outcome);
        let rate_per_s = outcome.map_or(0.0, |outcome| {
            outcome.per_s(outcome.record.replies.requests as f64)
        });
        match rate_per_s > 0.0 {
            true => Ok(plan.at_rate(rate_per_s)),
            false => Err(format!(
                "step {name} had no answer: no rate follows from it"
            )),
        }
    }

    /// Has engines elsewhere carry out the loads of a step.
    pub fn await_engines(&mut self, step: usize, address: SocketAddr) {
        self.step = step;
        self.marks_taken = 0;
        let loads = self.steps[step].loads.iter().enumerate();
        self.awaited = loads
            .map(|(load, named)| {
                let plan = Arc::new(named.plan.at(address));
                Awaited::new(load, plan, self.has_upstreams)
            })
            .collect();
    }

    /// The engines have begun; `t_ns` is the time of the trial. The error: the driver said what cannot be.
    pub fn engines_begun(&mut self, begun: &Begun, t_ns: u64) -> Result<(), String> {
        let is_first = self.awaited.iter().all(|load| load.sharing.is_none());
        if self.awaited.is_empty() || !is_first {
            return Err("the driver began a step that is not awaited".into());
        }
        if begun.engines.len() != self.awaited.len() || begun.engines.contains(&0) {
            let loads = self.awaited.len();
            return Err(format!("the driver must name the engines of {loads} loads"));
        }
        self.begin_ns = t_ns;
        for (load, &engines) in self.awaited.iter_mut().zip(&begun.engines) {
            load.sharing = Some(Sharing {
                engines,
                within_ns: begun.within_ns,
            });
        }
        Ok(())
    }

    /// An engine has ended its part of a load. Returns the step's name when it was the last one. The error: the
    /// driver said what cannot be.
    pub fn engine_ended(
        &mut self,
        part: &PartRecord,
        t_ns: u64,
    ) -> Result<Option<&'a str>, String> {
        let mut loads = self.awaited.iter_mut();
        let load = loads.find(|load| load.load == part.load);
        load.ok_or_else(|| format!("the driver ended load {}, which is not awaited", part.load))?
            .add(part)?;
        if self.awaited.iter().any(Awaited::is_missing_a_part) {
            return Ok(None);
        }
        for load in self.awaited.drain(..) {
            let (number, plan, sharing) = (load.load, Arc::clone(&load.plan), load.sharing);
            let (io, outcome) = load.whole();
            self.finished.push(Finished {
                step: self.step,
                load: number,
                plan,
                io: io.into(),
                begin_ns: self.begin_ns,
                end_ns: t_ns,
                outcome,
                sharing,
            });
        }
        Ok(Some(self.step_name(self.step)))
    }

    /// When the next mark of the running step is due, and its name.
    pub fn next_mark(&self) -> Option<(u64, &'a str)> {
        let mark = self.steps.get(self.step)?.marks.get(self.marks_taken)?;
        let due_ns = self.begin_ns + nanoseconds(mark.at_s);
        let has_begun = |load: &Awaited| load.sharing.is_some();
        let runs = !self.running.is_empty() || self.awaited.iter().any(has_begun);
        runs.then_some((due_ns, mark.name.as_str()))
    }

    pub fn mark_taken(&mut self) {
        self.marks_taken += 1;
    }

    /// Each becomes readable when its load has ended.
    pub fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.running.iter().map(|load| load.engine.done.as_fd())
    }

    /// Collects a load that has ended, by its index in `files`. Returns the step's name when it was the last one.
    pub fn finish(&mut self, index: usize, t_ns: u64) -> Option<&'a str> {
        let running = self.running.remove(index);
        self.finished.push(Finished {
            step: self.step,
            load: running.load,
            plan: running.plan,
            io: running.io,
            begin_ns: self.begin_ns,
            end_ns: t_ns,
            outcome: running.engine.finish(),
            sharing: None,
        });
        self.running.is_empty().then(|| self.step_name(self.step))
    }

    /// Asks the running loads to end.
    pub fn interrupt(&mut self) {
        for running in &mut self.running {
            running.engine.interrupt();
        }
    }

    /// Waits for the loads that were asked to end, and keeps what they recorded.
    pub fn join(&mut self, t_ns: u64) {
        while !self.running.is_empty() {
            self.finish(0, t_ns);
        }
    }

    /// The step that follows the last one; None where that allows no other. The error ends the trial.
    pub fn judge(&self) -> Result<Option<usize>, Cause> {
        let step = &self.steps[self.step];
        let mut go_on = true;
        let finished = self.finished.iter();
        for load in finished.filter(|load| load.step == self.step) {
            let name = &step.loads[load.load].name;
            let record = &load.outcome.record;
            let cause = match load.plan.protocol {
                Protocol::Stream => judge_streams(&step.name, name, &load.plan, record),
                Protocol::Http | Protocol::Tcp | Protocol::Ws => judge_requests(step, load),
            };
            if let Some(cause) = cause {
                return Err(cause);
            }
            let (word, why) = report::verdict(&load.plan, &load.outcome);
            if word == "load-failed" {
                let why = format!("{}: {why}", place(&step.name, name));
                return Err(Cause::LoadFailed(why));
            }
            if let (0, Some(max_s)) = (load.load, step.last_above_p99_s) {
                let p99 = record.replies.latency.quantile(0.99) as f64 / 1e9;
                let kept = record.replies.requests as f64 >= 0.9 * record.intended as f64;
                go_on = p99 <= max_s && kept && !too_many_unanswered(record);
            }
        }
        Ok(go_on.then(|| self.following()))
    }

    /// The next step that is taken: of a warm-up no more, once the server does not get faster.
    fn following(&self) -> usize {
        let is_left_out = |step: &Step| {
            step.while_faster
                .is_some_and(|share| self.is_settled(share))
        };
        let later = &self.steps[self.step + 1..];
        let taken = later.iter().position(|step| !is_left_out(step));
        self.step + 1 + taken.unwrap_or(later.len())
    }

    fn is_settled(&self, share: f64) -> bool {
        let warms_up =
            |load: &&Finished| load.load == 0 && self.steps[load.step].while_faster.is_some();
        let windows = || self.finished.iter().filter(warms_up);
        let answers = |load: &Finished| load.outcome.record.replies.requests;
        if windows().any(|load| answers(load) < MIN_ANSWERS) {
            return true;
        }
        let rate = |load: &Finished| load.outcome.per_s(answers(load) as f64);
        let rates: Vec<f64> = windows().map(rate).collect();
        let (before, last) = rates.split_at(rates.len().saturating_sub(2));
        if before.is_empty() {
            return false;
        }
        let best = before.iter().copied().fold(0.0, f64::max);
        last.iter().all(|rate| *rate <= best * (1.0 + share))
    }

    /// Checks the upstreams' record of the answered requests. The error: a request with a wrong number of calls, or
    /// calls that came one after another in nearly all requests.
    pub fn check_calls(&self, ledger: &Ledger, upstreams: usize) -> Result<(), String> {
        let (mut sequential, mut total) = (0u64, 0u64);
        // Once clients hang up, a gateway may be so busy with calls for nobody that those of a request are far apart.
        let leaves = |step: &Step| {
            let mut loads = step.loads.iter();
            loads.any(|load| load.plan.patience_s.is_some())
        };
        let calm = self.steps.iter().position(leaves);
        let calm = calm.unwrap_or(self.steps.len());
        for load in &self.finished {
            for (id, _) in load.request_ids() {
                let (count, overlapped, _) = ledger.calls_of(&id).unwrap_or_default();
                if count as usize != upstreams {
                    return Err(format!(
                        "request {id} made {count} calls that the upstreams answered, not {upstreams}"
                    ));
                }
                if load.step < calm {
                    total += 1;
                    sequential += u64::from(!overlapped);
                }
            }
        }
        // A stall of the host, or a loop that is busy, sets the calls of some requests apart, not of nearly all.
        match sequential * 10 > total * 9 {
            true => Err(format!(
                "the calls of {sequential} of {total} requests came one after another, not at the same time"
            )),
            false => Ok(()),
        }
    }

    /// Checks that clients hung up on a server that was at work. The error: it had asked no upstream for them.
    pub fn check_hang_ups(&self, ledger: &Ledger) -> Result<(), String> {
        for load in &self.finished {
            let (mut begun, mut all) = (0u64, 0u64);
            for (id, _) in load.ids(&load.outcome.record.hung_up_ns) {
                all += 1;
                begun += u64::from(ledger.calls_of(&id).is_some());
            }
            if all > 0 && begun == 0 {
                return Err(format!(
                    "the clients of all {all} requests hung up before the server had called an upstream for them: \
                     what it does for nobody was not seen"
                ));
            }
        }
        Ok(())
    }

    /// Writes a message for each load.
    pub fn report(&self, ledger: Option<&Ledger>, writer: &mut Writer) -> Result<(), ReaderGone> {
        for load in &self.finished {
            let step = &self.steps[load.step];
            let mut line = report::document(&load.plan, &load.outcome);
            line["type"] = "load".into();
            line["step"] = step.name.as_str().into();
            line["name"] = step.loads[load.load].name.as_str().into();
            line["io"] = load.io.clone();
            line["begin_ns"] = load.begin_ns.into();
            line["end_ns"] = load.end_ns.into();
            if let Some(sharing) = load.sharing {
                line["engines"] = sharing.engines.into();
                line["started_within_ns"] = sharing.within_ns.into();
            }
            if let Some(ledger) = ledger {
                line["upstreams"] = load.overhead(ledger);
            }
            writer.send(&line, false)?;
        }
        Ok(())
    }
}

/// Where in a trial a load was: its step, and its own name where a step has several.
fn place(step: &str, name: &str) -> String {
    match name {
        "all" => format!("step {step}"),
        name => format!("step {step}, load {name}"),
    }
}

/// The number of errors of these kinds.
fn errors(record: &Record, judgement: Judgement) -> u64 {
    let kinds = ErrorKind::ALL.iter().zip(record.replies.errors);
    kinds
        .filter(|(kind, _)| kind.judgement() == judgement)
        .map(|(_, count)| count)
        .sum()
}

/// The cause to end the trial where replies were wrong.
fn judge_replies(step: &str, name: &str, record: &Record) -> Option<Cause> {
    let wrong = errors(record, Judgement::WrongAnswer);
    let all = record.replies.requests + record.replies.late_requests + wrong;
    (wrong > 0).then(|| {
        let first = match record.first_wrong.as_str() {
            "" => format!("; errors: {}", named_errors(record)),
            first => format!("; the first: {first}"),
        };
        Cause::WrongEvidence(format!(
            "{}: {wrong} of {all} answers were not what was expected{first}",
            place(step, name)
        ))
    })
}

/// The cause to end the trial where requests had wrong answers, had none, or are not those that were asked for.
fn judge_requests(step: &Step, load: &Finished) -> Option<Cause> {
    let NamedLoad { name, plan } = &step.loads[load.load];
    let record = &load.outcome.record;
    // At the last of rising rates a server may fail, and so it may where clients lose their patience.
    let may_fail = step.last_above_p99_s.is_some() || plan.patience_s.is_some();
    judge_replies(&step.name, name, record)
        .or_else(|| {
            plan.rates_of()
                .and_then(|_| judge_generator(&step.name, name, load))
        })
        .or_else(|| {
            (!may_fail)
                .then(|| judge_unanswered(&step.name, name, record))
                .flatten()
        })
}

/// The cause to end the trial where the engine could not send at the rates that the server's own rate asks for: what
/// is seen then is its own limit.
fn judge_generator(step: &str, name: &str, load: &Finished) -> Option<Cause> {
    let weak = warnings(&load.plan, &load.outcome);
    let weak = weak.iter().find(|each| each.code == GENERATOR_BOUND)?;
    Some(Cause::LoadFailed(format!(
        "{}: the load engine cannot send as fast as this server's rate asks for: {}; let each request take the \
         server longer, or give the engine more CPUs",
        place(step, name),
        weak.text
    )))
}

fn too_many_unanswered(record: &Record) -> bool {
    let unanswered = errors(record, Judgement::Unanswered);
    let all = record.replies.requests + unanswered;
    unanswered as f64 > MAX_UNANSWERED_SHARE * all as f64
}

/// The cause to end the trial where requests had no answer: perhaps those that would have been slow.
fn judge_unanswered(step: &str, name: &str, record: &Record) -> Option<Cause> {
    too_many_unanswered(record).then(|| {
        let unanswered = errors(record, Judgement::Unanswered);
        Cause::LoadFailed(format!(
            "{}: {unanswered} of {} requests had no answer; errors: {}",
            place(step, name),
            record.replies.requests + unanswered,
            named_errors(record)
        ))
    })
}

/// Each kind of error with its count.
fn named_errors(record: &Record) -> String {
    named(ErrorKind::NAMES.iter().copied().zip(record.replies.errors))
}

/// Names with their counts, without those that are 0.
fn named<'a>(counts: impl IntoIterator<Item = (&'a str, u64)>) -> String {
    let counted = counts.into_iter().filter(|(_, count)| *count > 0);
    let texts: Vec<_> = counted
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    texts.join(", ")
}

/// The cause to end the trial where streams that were to be held open were not, with counts of all errors.
fn judge_streams(step: &str, name: &str, plan: &Plan, record: &Record) -> Option<Cause> {
    let place = place(step, name);
    let sequence = named(record.sequence.named());
    let fed = format!(
        "{} of {} connections were fed",
        record.fed, plan.connections
    );
    if !sequence.is_empty() {
        let chunks = record.chunks;
        let why = format!("{place}: {sequence}, in {chunks} chunks; {fed}");
        return Some(Cause::WrongEvidence(why));
    }
    // A failed connect is retried: it does not matter when all were fed in the end.
    let lost = &record.replies.errors[ErrorKind::Send as usize..];
    if record.fed < plan.connections as u64 || lost.iter().any(|count| *count > 0) {
        let errors = named_errors(record);
        let why = match errors.is_empty() {
            true => format!("{place}: {fed}; the others got nothing until the end"),
            false => format!("{place}: {fed}; errors: {errors}"),
        };
        return Some(Cause::LoadFailed(why));
    }
    if record.silent > 0 {
        let why = format!(
            "{place}: {} of {} connections had fallen silent",
            record.silent, plan.connections
        );
        return Some(Cause::LoadFailed(why));
    }
    None
}

impl Finished {
    /// Ids and service times of the answered requests that have an id.
    fn request_ids(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.ids(&self.outcome.record.service_times)
    }

    /// Ids of requests, where they have one, and their times.
    fn ids<'a>(&'a self, times: &'a ServiceTimes) -> impl Iterator<Item = (String, u64)> + 'a {
        let request = self.plan.request.as_ref();
        let id = request.and_then(|request| request.id());
        id.into_iter().flat_map(move |id| {
            let times = times.iter();
            times.map(move |(number, service_ns)| (id(number), service_ns))
        })
    }

    /// Service times beyond the slowest upstream of each request, and the number of requests with overlapping calls.
    fn overhead(&self, ledger: &Ledger) -> Value {
        let (mut overhead, mut slowest) = (Histogram::default(), Histogram::default());
        let (mut requests, mut overlapped) = (0u64, 0u64);
        for (id, service_ns) in self.request_ids() {
            if let Some((_, overlap, slowest_ns)) = ledger.calls_of(&id) {
                requests += 1;
                overlapped += u64::from(overlap);
                slowest.add(slowest_ns);
                overhead.add(service_ns.saturating_sub(slowest_ns));
            }
        }
        let mut orphans = Orphans::default();
        for (id, hung_up_ns) in self.ids(&self.outcome.record.hung_up_ns) {
            ledger.count_orphans(&id, hung_up_ns, &mut orphans);
        }
        json!({
            "requests": requests, "overlapped": overlapped,
            "overhead": report::summary(&overhead), "slowest": report::summary(&slowest),
            "orphans": orphans,
        })
    }
}

#[cfg(test)]
mod tests;
