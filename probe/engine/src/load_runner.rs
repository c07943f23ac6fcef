//! Runs the loads of a service, one step after another, the loads of a step at the same time; and its upstreams.

mod judgement;

use crate::from_json;
use crate::load::engine::{Engine, Outcome, PreparedLoad};
use crate::load::histogram::Histogram;
use crate::load::plan::{Plan, Protocol};
use crate::load::report;
use crate::remote::{Awaited, Begun, DriverNotice, PartRecord, StartedEngines};
use crate::stub::background::Background;
use crate::stub::calls::{Ledger, Orphans};
use crate::stub::{self, Stub};
use judgement::{judge_requests, judge_streams, place, too_many_unanswered};
use serde::Deserialize;
use serde_json::{json, Value};
use std::io;
use std::net::SocketAddr;
use std::os::unix::io::{AsFd, BorrowedFd};
use std::sync::Arc;
use trial::loads::{Loads, Notice};
use wire::clock::now_ns;
use wire::messages::{Failure, Verdict};
use wire::os::CpuSet;
use wire::pin;
use wire::refuse;
use wire::request::{seconds, Service};
use wire::text::failed;
use wire::units::nanoseconds;
use wire::writer::{ReaderGone, Writer};

/// With fewer in each of two windows of a warm-up, rates say nothing, and more windows take too long.
const MIN_ANSWERS: u64 = 10;
/// Two for each half: fewer show no trend.
const MIN_WINDOWS: usize = 4;

/// Loads that run at the same time.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadStep {
    pub name: String,
    pub loads: Vec<NamedLoad>,
    /// When the first load's p99 is above this, or a tenth of it was not answered in time, no
    /// further step is taken.
    pub last_above_p99_s: Option<f64>,
    /// A window of a warm-up. The rest are left out once, of four windows or more, the best of the later half and the
    /// best of the earlier half differ by at most this share in answers per second and in CPU time per answer, or once
    /// two or more windows all had fewer than ten answers.
    pub while_faster: Option<f64>,
    /// Samples taken while the loads run.
    #[serde(default)]
    pub marks: Vec<TimedMark>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedLoad {
    pub name: String,
    pub plan: Plan,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimedMark {
    pub name: String,
    /// Since the step began; in ascending order.
    pub at_s: f64,
}

struct RunningLoad {
    load: usize,
    plan: Arc<Plan>,
    engine: Engine,
}

struct FinishedLoad {
    step: usize,
    load: usize,
    plan: Arc<Plan>,
    begin_ns: u64,
    end_ns: u64,
    outcome: Outcome,
    /// For engines on other machines.
    started: Option<StartedEngines>,
}

#[derive(Default)]
pub struct LoadRunner {
    pub steps: Vec<LoadStep>,
    pub stub_plan: Option<stub::StubPlan>,
    stub: Option<Stub>,
    /// While upstreams answer.
    background: Option<Background>,
    step: usize,
    begin_ns: u64,
    marks_taken: usize,
    /// By step that has ended, the server's CPU time until then.
    cpu_ns: Vec<(usize, u64)>,
    running: Vec<RunningLoad>,
    /// Loads of engines elsewhere.
    awaited: Vec<Awaited>,
    finished: Vec<FinishedLoad>,
}

impl LoadRunner {
    /// The loads of a service. The error names the fault of their plans.
    pub fn parse(service: &Service) -> Result<LoadRunner, String> {
        let steps = service.steps.iter().map(|step| from_json(step.0.as_bytes()));
        let steps = steps.collect::<Result<Vec<LoadStep>, _>>()?;
        let stub = service.stub.as_ref().map(|plan| from_json::<stub::StubPlan>(plan.0.as_bytes()));
        let stub = stub.transpose()?;
        if let Some(plan) = &stub {
            plan.check()?;
        }
        for (index, step) in steps.iter().enumerate() {
            step.check()?;
            for load in &step.loads {
                check_plan(&load.plan, service, &steps[..index])?;
            }
        }
        Ok(LoadRunner { steps, stub_plan: stub, ..LoadRunner::default() })
    }

    /// A plan whose rates are multiples of what an earlier step showed, with the rates themselves.
    fn at_own_rate(&self, plan: &Plan) -> Result<Plan, String> {
        let Some(name) = plan.rates_of() else { return Ok(plan.clone()) };
        let mut finished = self.finished.iter();
        let first = finished.find(|load| self.steps[load.step].name == name && load.load == 0);
        let outcome = first.map(|load| &load.outcome);
        let rate_per_s = outcome.map_or(0.0, |outcome| outcome.per_s(outcome.record.replies.requests as f64));
        match rate_per_s > 0.0 {
            true => Ok(plan.at_rate(rate_per_s)),
            false => Err(format!("step {name} had no answer: no rate follows from it")),
        }
    }

    /// The engines have begun; `t_ns` is the time of the trial. The error: the driver's line does not fit the trial.
    fn engines_begun(&mut self, begun: &Begun, t_ns: u64) -> Result<(), String> {
        let is_first = self.awaited.iter().all(|load| load.started.is_none());
        refuse!(self.awaited.is_empty() || !is_first, "the driver began a step that is not awaited");
        let loads = self.awaited.len();
        let are_named = begun.engines.len() == loads && !begun.engines.contains(&0);
        refuse!(!are_named, "the driver must name the engines of {loads} loads");
        self.begin_ns = t_ns;
        for (load, &engines) in self.awaited.iter_mut().zip(&begun.engines) {
            load.started = Some(StartedEngines { engines, within_ns: begun.within_ns });
        }
        Ok(())
    }

    /// An engine has ended its part of a load. Returns the step when it was the last one. The error: the driver's line
    /// does not fit the trial.
    fn engine_ended(&mut self, part: &PartRecord, t_ns: u64) -> Result<Option<usize>, String> {
        let mut loads = self.awaited.iter_mut();
        let load = loads.find(|load| load.load == part.load);
        load.ok_or_else(|| format!("the driver ended load {}, which is not awaited", part.load))?
            .add(part)?;
        if self.awaited.iter().any(Awaited::is_missing_a_part) {
            return Ok(None);
        }
        let (step, begin_ns, end_ns) = (self.step, self.begin_ns, t_ns);
        for Awaited { load, plan, outcome, started, .. } in std::mem::take(&mut self.awaited) {
            self.finished.push(FinishedLoad { step, load, plan, begin_ns, end_ns, outcome, started });
        }
        Ok(Some(self.step))
    }

    /// The next step. Leaves out the rest of a warm-up once the server stops getting faster.
    fn following(&self) -> usize {
        let is_left_out = |step: &LoadStep| step.while_faster.is_some_and(|share| self.is_settled(share));
        let later = &self.steps[self.step + 1..];
        let taken = later.iter().position(|step| !is_left_out(step));
        self.step + 1 + taken.unwrap_or(later.len())
    }

    /// Whether a warm-up has settled: the best windows of its two halves differ by at most this share, in answers per
    /// second and in the server's CPU time for each answer. A stall makes a half slower, so they differ.
    fn is_settled(&self, share: f64) -> bool {
        let steps = self.cpu_ns.iter().zip(self.cpu_ns.iter().skip(1));
        let costs = steps.filter_map(|((_, begin_ns), (step, end_ns))| {
            self.steps[*step].while_faster?;
            let mut loads = self.finished.iter();
            let outcome = &loads.find(|load| (load.step, load.load) == (*step, 0))?.outcome;
            let answers = outcome.record.replies.requests;
            let cpu_ns = end_ns.saturating_sub(*begin_ns) as f64;
            Some((answers, cpu_ns / answers as f64, 1.0 / outcome.per_s(answers as f64)))
        });
        let costs: Vec<(u64, f64, f64)> = costs.collect();
        if costs.len() > 1 && costs.iter().all(|(answers, ..)| *answers < MIN_ANSWERS) {
            return true;
        }
        let halves = costs.split_at(costs.len() / 2);
        let are_alike = |cost: fn(&(u64, f64, f64)) -> f64| {
            let best = |half: &[(u64, f64, f64)]| half.iter().map(cost).fold(f64::INFINITY, f64::min);
            let (earlier, later) = (best(halves.0), best(halves.1));
            later <= earlier * (1.0 + share) && earlier <= later * (1.0 + share)
        };
        costs.len() >= MIN_WINDOWS && are_alike(|cost| cost.1) && are_alike(|cost| cost.2)
    }

    /// Checks the upstreams' record of the answered requests. The error: a request with a wrong number of calls, or
    /// calls that came one after another in nearly all requests.
    fn check_calls(&self, ledger: &Ledger, upstreams: usize) -> Result<(), String> {
        let (mut sequential, mut total) = (0u64, 0u64);
        // Once clients hang up, the gateway may be busy with calls for them, and set the calls of a request apart.
        let leaves = |step: &LoadStep| {
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
    fn check_hang_ups(&self, ledger: &Ledger) -> Result<(), String> {
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
}

impl Loads for LoadRunner {
    fn listen(&mut self) -> Result<Vec<u16>, String> {
        let Some(plan) = &self.stub_plan else { return Ok(Vec::new()) };
        pin::check("stub: cpus", &plan.cpus)?;
        let stub = Stub::listen(plan).map_err(failed("stub: cannot listen"))?;
        let ports = stub.ports.clone();
        self.stub = Some(stub);
        Ok(ports)
    }

    fn serve_upstreams(&mut self) -> io::Result<()> {
        self.background = self.stub.take().map(Background::start).transpose()?;
        Ok(())
    }

    fn cpus(&self) -> Vec<CpuSet> {
        let loads = self.steps.iter().flat_map(|step| &step.loads);
        let loads = loads.flat_map(|load| load.plan.cpus.iter().map(|&cpu| pin::set_of(&[cpu])));
        let stub = self.stub_plan.iter().map(|plan| pin::set_of(&plan.cpus));
        loads.chain(stub).collect()
    }

    fn step_name(&self, step: usize) -> String {
        self.steps[step].name.clone()
    }

    fn begin(&mut self, step: usize, address: SocketAddr, t_ns: u64) -> Result<(), String> {
        self.step = step;
        self.begin_ns = t_ns;
        self.marks_taken = 0;
        let mut prepared = Vec::new();
        for (load, NamedLoad { plan, .. }) in self.steps[step].loads.iter().enumerate() {
            let plan = self.at_own_rate(plan)?.at(address);
            plan.check()?;
            let plan = Arc::new(plan);
            prepared.push((load, Arc::clone(&plan), PreparedLoad::new(plan)?));
        }
        let start_ns = now_ns();
        for (load, plan, prepared) in prepared {
            let engine = prepared.start(start_ns);
            let engine = engine.map_err(failed("load: cannot start a thread"))?;
            self.running.push(RunningLoad { load, plan, engine });
        }
        Ok(())
    }

    fn await_engines(&mut self, step: usize, address: SocketAddr) {
        self.step = step;
        self.marks_taken = 0;
        let loads = self.steps[step].loads.iter().enumerate();
        self.awaited = loads
            .map(|(load, named)| {
                let plan = Arc::new(named.plan.at(address));
                Awaited::new(load, plan, self.stub_plan.is_some())
            })
            .collect();
    }

    fn notice(&mut self, line: &[u8], t_ns: u64) -> Result<Notice, String> {
        let ended = match DriverNotice::parse(line)? {
            DriverNotice::Begun(begun) => {
                self.engines_begun(&begun, t_ns)?;
                None
            }
            DriverNotice::Record(part) => self.engine_ended(&part, t_ns)?,
            DriverNotice::Failed(why) => return Ok(Notice::Failed(why)),
        };
        Ok(ended.map_or(Notice::Progress, Notice::StepEnded))
    }

    fn next_mark_ns(&self) -> Option<u64> {
        let mark = self.steps.get(self.step)?.marks.get(self.marks_taken)?;
        let has_begun = |load: &Awaited| load.started.is_some();
        let runs = !self.running.is_empty() || self.awaited.iter().any(has_begun);
        runs.then(|| self.begin_ns + nanoseconds(mark.at_s))
    }

    fn take_mark(&mut self) -> String {
        self.marks_taken += 1;
        self.steps[self.step].marks[self.marks_taken - 1].name.clone()
    }

    fn files(&self) -> Vec<BorrowedFd<'_>> {
        let running = self.running.iter();
        running.map(|load| load.engine.done.as_fd()).collect()
    }
    fn finish(&mut self, index: usize, end_ns: u64) -> Option<usize> {
        let RunningLoad { load, plan, engine } = self.running.remove(index);
        let (step, begin_ns, outcome) = (self.step, self.begin_ns, engine.finish());
        let started = None;
        self.finished.push(FinishedLoad { step, load, plan, begin_ns, end_ns, outcome, started });
        self.running.is_empty().then_some(self.step)
    }
    fn interrupt(&mut self) {
        for running in &mut self.running {
            running.engine.interrupt();
        }
    }
    fn join(&mut self, t_ns: u64) {
        while !self.running.is_empty() {
            self.finish(0, t_ns);
        }
    }

    fn judge(&mut self, cpu_ns: u64) -> Result<Option<usize>, Failure> {
        self.cpu_ns.push((self.step, cpu_ns));
        let step = &self.steps[self.step];
        let mut go_on = true;
        let finished = self.finished.iter();
        for load in finished.filter(|load| load.step == self.step) {
            let place = place(&step.name, &step.loads[load.load].name);
            let record = &load.outcome.record;
            let failure = match load.plan.protocol {
                Protocol::Stream => judge_streams(&place, &load.plan, record),
                Protocol::Http | Protocol::Tcp | Protocol::Ws => judge_requests(&place, step, load),
            };
            if let Some(failure) = failure {
                return Err(failure);
            }
            let (word, why) = report::verdict(&load.plan, &load.outcome);
            if word == "load-failed" {
                return Err((Verdict::LoadFailed, format!("{place}: {why}")));
            }
            if let (0, Some(max_s)) = (load.load, step.last_above_p99_s) {
                let p99 = record.replies.latency.quantile(0.99) as f64 / 1e9;
                let kept = record.replies.requests as f64 >= 0.9 * record.intended as f64;
                go_on = p99 <= max_s && kept && !too_many_unanswered(record);
            }
        }
        Ok(go_on.then(|| self.following()))
    }

    fn stop_upstreams(&mut self) {
        self.stub = self.background.take().and_then(Background::finish);
    }

    fn fault(&self, verdict: Verdict) -> Option<Failure> {
        let stub = self.stub.as_ref()?;
        if let (Verdict::Ok | Verdict::LoadFailed, Some(what)) = (verdict, stub.flood()) {
            let why = format!("the gateway floods its upstreams: {what}");
            return Some((Verdict::WrongEvidence, why));
        }
        if verdict != Verdict::Ok {
            return None;
        }
        let calls = self.check_calls(&stub.ledger, stub.ports.len());
        let wrong = calls.err().map(|why| (Verdict::WrongEvidence, why));
        wrong.or_else(|| {
            let hang_ups = self.check_hang_ups(&stub.ledger).err();
            hang_ups.map(|why| (Verdict::LoadFailed, why))
        })
    }

    fn report(&self, writer: &mut Writer) -> Result<(), ReaderGone> {
        for load in &self.finished {
            let step = &self.steps[load.step];
            let mut line = report::document(&load.plan, &load.outcome);
            line["type"] = "load".into();
            line["step"] = step.name.as_str().into();
            line["name"] = step.loads[load.load].name.as_str().into();
            line["begin_ns"] = load.begin_ns.into();
            line["end_ns"] = load.end_ns.into();
            if let Some(started) = load.started {
                line["engines"] = started.engines.into();
                line["started_within_ns"] = started.within_ns.into();
            }
            if let Some(ledger) = self.stub.as_ref().map(|stub| &stub.ledger) {
                line["upstreams"] = load.overhead(ledger);
            }
            writer.send(&line, false)?;
        }
        Ok(())
    }
}

impl LoadStep {
    fn check(&self) -> Result<(), String> {
        refuse!(self.loads.is_empty(), "service.steps: a step needs a load");
        let mut last_s = 0.0;
        for mark in &self.marks {
            seconds("service.steps: marks: at_s", mark.at_s)?;
            refuse!(mark.at_s < last_s, "service.steps: marks: name them in the order of their times");
            last_s = mark.at_s;
        }
        Ok(())
    }
}

/// Whether a load of a step is possible after these steps.
fn check_plan(plan: &Plan, service: &Service, before: &[LoadStep]) -> Result<(), String> {
    refuse!(plan.part.is_some(), "service.steps: leave `part` out: one engine has the whole load");
    let has_own = !plan.addresses.is_empty();
    refuse!(has_own, "service.steps: leave `addresses` out: loads go to the program's own address");
    let rates_of = plan.rates_of();
    let is_unknown = rates_of.is_some_and(|name| before.iter().all(|step| step.name != name));
    refuse!(is_unknown, "service.steps: `of` names no step before its own");
    let is_local = rates_of.is_some() || plan.patience_s.is_some();
    refuse!(service.remote && is_local, "service.steps: patience_s and `of` are not for engines elsewhere");
    plan.at(SocketAddr::new(service.host, 1)).check()?;
    match service.remote && service.stub.is_some() {
        true => plan.check_service_times(),
        false => Ok(()),
    }
}

impl FinishedLoad {
    /// Ids and service times of the answered requests that have an id.
    fn request_ids(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.ids(&self.outcome.record.service_times)
    }

    /// Ids of requests, where they have one, and their times.
    fn ids<'a>(&'a self, times: &'a [(u64, u64)]) -> impl Iterator<Item = (String, u64)> + 'a {
        let request = self.plan.request.as_ref();
        let id = request.and_then(|request| request.id());
        id.into_iter().flat_map(move |id| {
            let times = times.iter();
            times.map(move |&(number, ns)| (id(number), ns))
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
