//! Checks that the loads of a step went as planned; if not, returns the failure that ends the trial.

use super::{FinishedLoad, LoadStep};
use crate::load::error::{ErrorKind, Judgement};
use crate::load::plan::Plan;
use crate::load::record::Record;
use crate::load::warnings::{warnings, GENERATOR_BOUND};
use wire::messages::{Failure, Verdict};

/// With a larger share of requests without an answer, percentiles of the others say nothing.
const MAX_UNANSWERED_SHARE: f64 = 0.001;

/// The position of a load in a trial: its step, and its own name if a step has several.
pub fn place(step: &str, name: &str) -> String {
    match name {
        "all" => format!("step {step}"),
        name => format!("step {step}, load {name}"),
    }
}

/// The number of errors of these kinds.
fn errors(record: &Record, judgement: Judgement) -> u64 {
    let errors = record.replies.errors.iter();
    errors.filter(|(kind, _)| kind.judgement() == judgement).map(|(_, count)| count).sum()
}

/// The failure of the trial where replies were wrong.
pub fn judge_replies(place: &str, record: &Record) -> Option<Failure> {
    let wrong = errors(record, Judgement::WrongAnswer);
    let all = record.replies.requests + record.replies.late_requests + wrong;
    (wrong > 0).then(|| {
        let first = match record.first_wrong.as_str() {
            "" => format!("; errors: {}", record.replies.errors),
            first => format!("; the first: {first}"),
        };
        let why = format!("{place}: {wrong} of {all} answers were not what was expected{first}");
        (Verdict::WrongEvidence, why)
    })
}

/// The failure of the trial where requests had wrong answers, had none, or were not sent at the planned rates.
pub fn judge_requests(place: &str, step: &LoadStep, load: &FinishedLoad) -> Option<Failure> {
    let plan = &step.loads[load.load].plan;
    let record = &load.outcome.record;
    // A server may fail at the last of rising rates, and where clients hang up.
    let may_fail = step.last_above_p99_s.is_some() || plan.patience_s.is_some();
    judge_replies(place, record)
        .or_else(|| plan.rates_of().and_then(|_| judge_generator(place, load)))
        .or_else(|| (!may_fail).then(|| judge_unanswered(place, record)).flatten())
}

/// The failure of the trial where the engine could not send at the rates that follow from the server's own rate: the
/// figures would show the engine's limit.
fn judge_generator(place: &str, load: &FinishedLoad) -> Option<Failure> {
    let weak = warnings(&load.plan, &load.outcome);
    let weak = weak.iter().find(|each| each.code == GENERATOR_BOUND)?;
    let why = format!(
        "{place}: the load engine cannot send as fast as this server's rate asks for: {}; let each request take the \
         server longer, or give the engine more CPUs",
        weak.text
    );
    Some((Verdict::LoadFailed, why))
}

pub fn too_many_unanswered(record: &Record) -> bool {
    let unanswered = errors(record, Judgement::Unanswered);
    let all = record.replies.requests + unanswered;
    unanswered as f64 > MAX_UNANSWERED_SHARE * all as f64
}

/// The failure of the trial where requests had no answer: perhaps those that would have been slow.
pub fn judge_unanswered(place: &str, record: &Record) -> Option<Failure> {
    too_many_unanswered(record).then(|| {
        let unanswered = errors(record, Judgement::Unanswered);
        let (all, kinds) = (record.replies.requests + unanswered, &record.replies.errors);
        let why = format!("{place}: {unanswered} of {all} requests had no answer; errors: {kinds}");
        (Verdict::LoadFailed, why)
    })
}

/// The failure of the trial where streams that were to be held open were not, with counts of all errors.
pub fn judge_streams(place: &str, plan: &Plan, record: &Record) -> Option<Failure> {
    let fed = format!("{} of {} connections were fed", record.fed, plan.connections);
    if !record.sequence.is_empty() {
        let why = format!("{place}: {}, in {} chunks; {fed}", record.sequence, record.chunks);
        return Some((Verdict::WrongEvidence, why));
    }
    // A failed connect is retried: it does not matter when all were fed in the end.
    let errors = &record.replies.errors;
    let is_lost = errors.iter().any(|(kind, _)| kind >= ErrorKind::Send);
    if record.fed < plan.connections as u64 || is_lost {
        let why = match errors.is_empty() {
            true => format!("{place}: {fed}; the others got nothing until the end"),
            false => format!("{place}: {fed}; errors: {errors}"),
        };
        return Some((Verdict::LoadFailed, why));
    }
    if record.silent > 0 {
        let why = format!("{place}: {} of {} connections had fallen silent", record.silent, plan.connections);
        return Some((Verdict::LoadFailed, why));
    }
    None
}
