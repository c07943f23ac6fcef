//! The loads of a service: step after step, each with its loads at the same time.

use crate::clock::now_ns;
use crate::load::engine::{Engine, Outcome, Prepared};
use crate::load::plan::{nanoseconds, Plan, Protocol};
use crate::load::record::{Kind, Record, Times, KINDS};
use crate::load::report;
use crate::output::{ReaderGone, Writer};
use crate::request::{NamedLoad, Step};
use crate::stub::calls::Ledger;
use crate::verdict::Cause;
use serde_json::{json, Value};
use std::net::SocketAddr;
use std::os::unix::io::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Requests are named by this header, which a gateway passes on to its upstreams.
const ID_HEADER: &str = "x-request-id";

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
}

pub struct Driving<'a> {
    steps: &'a [Step],
    step: usize,
    begin_ns: u64,
    /// Marks of the step that have been taken.
    marks: usize,
    running: Vec<Running>,
    finished: Vec<Finished>,
}

impl<'a> Driving<'a> {
    pub fn new(steps: &'a [Step]) -> Driving<'a> {
        Driving {
            steps,
            step: 0,
            begin_ns: 0,
            marks: 0,
            running: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// Starts the loads of a step; `t_ns` is the trial's own time. The error is why they cannot begin.
    pub fn begin(&mut self, step: usize, port: u16, t_ns: u64) -> Result<&str, String> {
        self.step = step;
        self.begin_ns = t_ns;
        self.marks = 0;
        let mut prepared = Vec::new();
        for (load, NamedLoad { plan, .. }) in self.steps[step].loads.iter().enumerate() {
            let plan = Arc::new(plan.at(SocketAddr::from(([127, 0, 0, 1], port))));
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
        Ok(&self.steps[step].name)
    }

    /// When the next mark of the step that runs is due, and its name.
    pub fn next_mark(&self) -> Option<(u64, &'a str)> {
        let steps: &'a [Step] = self.steps;
        let mark = steps.get(self.step)?.marks.get(self.marks)?;
        let due_ns = self.begin_ns + nanoseconds(mark.at_s);
        (!self.running.is_empty()).then_some((due_ns, mark.name.as_str()))
    }

    pub fn mark_taken(&mut self) {
        self.marks += 1;
    }

    /// Each becomes readable when its load has ended.
    pub fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.running.iter().map(|one| one.engine.done.as_fd())
    }

    /// Takes in a load that has ended, by its place in `files`. Gives the step's name when it was the last.
    pub fn ended(&mut self, place: usize, t_ns: u64) -> Option<&str> {
        let one = self.running.remove(place);
        self.finished.push(Finished {
            step: self.step,
            load: one.load,
            plan: one.plan,
            io: one.io,
            begin_ns: self.begin_ns,
            end_ns: t_ns,
            outcome: one.engine.finish(),
        });
        self.running
            .is_empty()
            .then(|| self.steps[self.step].name.as_str())
    }

    /// Ends what runs, and keeps what it saw.
    pub fn interrupt(&mut self, t_ns: u64) {
        for one in &mut self.running {
            one.engine.interrupt();
        }
        while !self.running.is_empty() {
            self.ended(0, t_ns);
        }
    }

    /// Whether the last step allows another, or ends the trial.
    pub fn judge(&self) -> Result<bool, Cause> {
        let step = &self.steps[self.step];
        let mut go_on = true;
        for one in self.finished.iter().filter(|one| one.step == self.step) {
            let name = &step.loads[one.load].name;
            let record = &one.outcome.record;
            let found = match one.plan.protocol {
                Protocol::Stream => feeds(&step.name, name, &one.plan, record),
                Protocol::Http | Protocol::Tcp => answers(&step.name, name, record),
            };
            if let Some(cause) = found {
                return Err(cause);
            }
            let (word, why) = report::verdict(&one.plan, &one.outcome);
            if word == "load-failed" {
                let why = format!("{}, {name}: {why}", step.name);
                return Err(Cause::LoadFailed(why));
            }
            if let (0, Some(most_s)) = (one.load, step.last_above_p99_s) {
                let p99 = record.latency.0.value_at_quantile(0.99) as f64 / 1e9;
                let kept = record.requests as f64 >= 0.9 * record.intended as f64;
                go_on = p99 <= most_s && kept;
            }
        }
        Ok(go_on)
    }

    /// What the upstreams say of the requests that were answered: a wrong number of calls for one, or
    /// calls that came one after another. The first kind of error.
    pub fn check_calls(&self, ledger: &Ledger, upstreams: usize) -> Result<(), String> {
        let (mut apart, mut total) = (0u64, 0u64);
        for one in &self.finished {
            for (id, _) in one.ids() {
                let (count, overlapped, _) = ledger.of(&id).unwrap_or_default();
                if count as usize != upstreams {
                    return Err(format!(
                        "request {id} made {count} calls that the upstreams answered, not {upstreams}"
                    ));
                }
                total += 1;
                apart += u64::from(!overlapped);
            }
        }
        // A machine that stands still may hold back some, not most.
        match apart * 2 > total {
            true => Err(format!(
                "the calls of {apart} of {total} requests came one after another, not at the same time"
            )),
            false => Ok(()),
        }
    }

    /// A line for each load.
    pub fn tell(&self, ledger: Option<&Ledger>, writer: &mut Writer) -> Result<(), ReaderGone> {
        for one in &self.finished {
            let step = &self.steps[one.step];
            let mut line = report::document(&one.plan, &one.outcome);
            line["type"] = "load".into();
            line["step"] = step.name.as_str().into();
            line["name"] = step.loads[one.load].name.as_str().into();
            line["io"] = one.io.clone();
            line["begin_ns"] = one.begin_ns.into();
            line["end_ns"] = one.end_ns.into();
            if let Some(ledger) = ledger {
                line["upstreams"] = one.overhead(ledger);
            }
            writer.answer(&line, false)?;
        }
        Ok(())
    }
}

/// How many answers were wrong, if any.
fn answers(step: &str, name: &str, record: &Record) -> Option<Cause> {
    let wrong = [
        Kind::Content,
        Kind::Status,
        Kind::Unsolicited,
        Kind::Protocol,
    ];
    let wrong: u64 = wrong.iter().map(|&kind| record.errors[kind as usize]).sum();
    let all = record.requests + record.late_requests + wrong;
    (wrong > 0).then(|| {
        Cause::WrongEvidence(format!(
            "{step}, {name}: {wrong} of {all} answers were not what was expected"
        ))
    })
}

/// What is wrong with feeds that were to be held open: all of it, with counts.
fn feeds(step: &str, name: &str, plan: &Plan, record: &Record) -> Option<Cause> {
    let named = |counts: &[(&str, u64)]| {
        let found = counts.iter().filter(|(_, count)| *count > 0);
        let texts: Vec<_> = found
            .map(|(kind, count)| format!("{kind} {count}"))
            .collect();
        texts.join(", ")
    };
    let faults = named(&record.sequence.named());
    let fed = format!(
        "{} of {} connections were fed",
        record.fed, plan.connections
    );
    if !faults.is_empty() {
        let chunks = record.chunks;
        let why = format!("{step}, {name}: {faults}, in {chunks} chunks; {fed}");
        return Some(Cause::WrongEvidence(why));
    }
    let errors: Vec<_> = KINDS.iter().copied().zip(record.errors).collect();
    // A connect that failed was tried again: no matter when all were fed in the end.
    let lost = &errors[Kind::Send as usize..];
    if record.fed < plan.connections as u64 || lost.iter().any(|(_, count)| *count > 0) {
        let why = format!("{step}, {name}: {fed}; errors: {}", named(&errors));
        return Some(Cause::LoadFailed(why));
    }
    if record.silent > 0 {
        let why = format!(
            "{step}, {name}: {} of {} connections had fallen silent",
            record.silent, plan.connections
        );
        return Some(Cause::LoadFailed(why));
    }
    None
}

impl Finished {
    /// The ids of requests that were answered and have a name of their own, with their service times.
    fn ids(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        let headers = self.plan.request.as_ref().map(|request| &request.headers);
        let name = headers
            .into_iter()
            .flatten()
            .find(|(name, value)| name.eq_ignore_ascii_case(ID_HEADER) && value.contains("{n}"));
        let numbered = &self.outcome.record.numbered;
        name.into_iter().flat_map(move |(_, value)| {
            let id = move |&(number, service_ns): &(u64, u64)| {
                (value.replace("{n}", &number.to_string()), service_ns)
            };
            numbered.iter().map(id)
        })
    }

    /// What the requests took beyond the slowest of their upstreams, and how many overlapped.
    fn overhead(&self, ledger: &Ledger) -> Value {
        let (mut overhead, mut slowest) = (Times::default(), Times::default());
        let (mut requests, mut overlapped) = (0u64, 0u64);
        for (id, service_ns) in self.ids() {
            if let Some((_, together, slowest_ns)) = ledger.of(&id) {
                requests += 1;
                overlapped += u64::from(together);
                slowest.add(slowest_ns);
                overhead.add(service_ns.saturating_sub(slowest_ns));
            }
        }
        json!({
            "requests": requests, "overlapped": overlapped,
            "overhead": report::summary(&overhead), "slowest": report::summary(&slowest),
        })
    }
}
