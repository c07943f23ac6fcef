//! The messages at the end of a load: histograms, then the outcome.

use super::course::{TimeSlot, Timeline};
use super::engine::Outcome;
use super::error::ErrorKind;
use super::histogram::Histogram;
use super::plan::{Pacing, Plan, Protocol};
use super::record::Record;
use super::warnings::warnings;
use serde_json::{json, Map, Value};
use wire::writer::{ReaderGone, Writer};

/// Two suffice to show that bodies vary.
const MAX_BODIES: usize = 2;

/// Writes the last messages of a load by itself; of an engine's part the whole record takes the place of histograms.
pub fn write(plan: &Plan, outcome: &Outcome, writer: &mut Writer) -> Result<(), ReaderGone> {
    if plan.part.is_some() {
        let mut line = serde_json::to_value(outcome).expect("keys of records are text");
        line["type"] = "record".into();
        writer.send(&line, false)?;
    } else {
        let histograms = outcome.record.histograms().into_iter();
        for (name, histogram) in histograms.filter(|(_, histogram)| !histogram.is_empty()) {
            let counts: Vec<_> = histogram.buckets().collect();
            writer.send(&json!({"type": "histogram", "name": name, "counts": counts}), false)?;
        }
    }
    let mut line = document(plan, outcome);
    line["type"] = "outcome".into();
    writer.send(&line, false)
}

/// The outcome of a load; histograms are summarised.
pub fn document(plan: &Plan, outcome: &Outcome) -> Value {
    let record = &outcome.record;
    let histograms = record.histograms();
    let histograms = histograms.iter().filter(|(_, histogram)| !histogram.is_empty());
    let summaries: Map<String, Value> =
        histograms.map(|(name, histogram)| ((*name).into(), summary(histogram))).collect();
    let seconds = record.series.iter().enumerate().map(|(t_s, second)| {
        let mut line = json!(second);
        line["t_s"] = t_s.into();
        line
    });
    let series: Vec<Value> = seconds.collect();
    let open_loop = plan.open_loop();
    let streams = plan.protocol == Protocol::Stream;
    let answered = if streams { record.messages as f64 } else { record.answered(open_loop) };
    let (word, detail) = verdict(plan, outcome);
    json!({
        "outcome": word, "detail": detail,
        "duration_ns": outcome.duration_ns,
        "intended": open_loop.then_some(record.intended),
        "intended_rate_per_s": intended_rate_per_s(plan, outcome),
        "requests": record.replies.requests,
        "achieved_rate_per_s": achieved_rate_per_s(plan, outcome, answered),
        "late_requests": record.replies.late_requests,
        "unfinished": record.replies.unfinished,
        "unsent": record.unsent,
        "connects_timed_out": record.connects_timed_out,
        "errors": record.replies.errors,
        "statuses": record.replies.statuses,
        "histograms": summaries,
        "counts": counts(plan, record),
        "bytes_in": record.bytes_in,
        "bytes_out": record.bytes_out,
        "reads": record.reads,
        "stamped_reads": record.stamped_reads,
        "connections": {
            "opened": record.opened, "most_open": record.most_open, "open_at_end": record.open_at_end,
            "idle_closes": record.idle_closes, "resumed": record.layers.resumed,
        },
        "security": record.layers.security,
        "first_wrong": first_wrong(record),
        "bodies": bodies(record),
        "concurrency": record.concurrency(),
        "targets": targets(record),
        "messages": record.messages,
        "streams": streams.then(|| json!({
            "fed": record.fed, "chunks": record.chunks, "behind": record.behind,
            "silent": record.silent, "slowed": record.paused, "vanished": record.reset,
        })),
        "sequence": record.sequence,
        "cpu_ns": record.cpu_ns,
        "cpu_share_most": outcome.per_s(record.max_thread_cpu_ns as f64) / 1e9,
        "busy_share_most": outcome.busy_share(),
        "peak_memory_bytes": outcome.peak_memory_bytes,
        "series": series,
        "course": timeline(&record.course),
        "warnings": warnings(plan, outcome),
        "log": outcome.log,
    })
}

/// Each slot of a time line; null where the plan asks for none.
fn timeline(line: &Timeline) -> Option<Value> {
    let slot = |slot: &TimeSlot| {
        json!({
            "due": slot.due, "answered": slot.latency.len(),
            "p50_ns": slot.latency.quantile(0.5), "p99_ns": slot.latency.quantile(0.99),
            "max_ns": slot.latency.max(),
        })
    };
    let slots = || line.slots.iter().map(slot).collect();
    (!line.ends_ns.is_empty()).then(slots)
}

/// The first answer that was not as expected, or else why the first connection or stream failed, if that is known.
fn first_wrong(record: &Record) -> &str {
    let fault = if record.replies.errors.total() > 0 { &record.layers.fault } else { "" };
    [record.first_wrong.as_str(), fault].into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

/// Length and hash of some bodies.
fn bodies(record: &Record) -> Vec<(u64, String)> {
    let first = record.bodies.iter().take(MAX_BODIES);
    first.map(|(bytes, hash)| (*bytes, format!("{hash:016x}"))).collect()
}

/// The curves of what users wait for, where the plan asks for them: latency, of streams lateness.
fn counts(plan: &Plan, record: &Record) -> Map<String, Value> {
    let main = [("latency", &record.replies.latency), ("lateness", &record.lateness)];
    main.into_iter()
        .filter(|(_, histogram)| plan.counts && !histogram.is_empty())
        .map(|(name, histogram)| (name.into(), histogram.curve().into()))
        .collect()
}

/// The figures of each of several targets; empty if there is only one.
fn targets(record: &Record) -> Vec<Value> {
    let each = record.targets.iter().map(|target| {
        json!({
            "requests": target.requests, "late_requests": target.late_requests,
            "unfinished": target.unfinished, "errors": target.errors,
            "statuses": target.statuses,
            "latency": summary(&target.latency), "service": summary(&target.service),
        })
    });
    each.collect()
}

/// The rate that was asked for. Of a constant rate it is no quotient: a short load may have one burst only, which would
/// seem to be more. None in a closed loop.
fn intended_rate_per_s(plan: &Plan, outcome: &Outcome) -> Option<f64> {
    match plan.pacing {
        Pacing::Closed {} => None,
        Pacing::Constant { rate_per_s, .. } => Some(plan.own_rate(rate_per_s)),
        Pacing::Poisson { .. } | Pacing::Staircase { .. } => {
            Some(outcome.per_s(outcome.record.intended as f64))
        }
    }
}

/// Answers per second. Each request of a constant rate stands for the time until the next is due: two at one per second
/// make two seconds, though the load is over after one. Not so with bursts: there the time of the load counts.
fn achieved_rate_per_s(plan: &Plan, outcome: &Outcome, answered: f64) -> f64 {
    match plan.pacing {
        Pacing::Constant { rate_per_s, burst: 0 | 1 } if outcome.duration_ns > 0 => {
            let due_s = outcome.record.intended as f64 / plan.own_rate(rate_per_s);
            answered / outcome.seconds().max(due_s)
        }
        _ => outcome.per_s(answered),
    }
}

/// The word of the outcome, and why.
pub fn verdict(plan: &Plan, outcome: &Outcome) -> (&'static str, String) {
    let record = &outcome.record;
    if let Some(why) = &outcome.failed {
        return ("load-failed", why.clone());
    }
    if outcome.interrupted {
        return ("interrupted", String::new());
    }
    let errors = &record.replies.errors;
    let ended = errors.of(ErrorKind::Ended);
    if ended > 0 && record.held == 0 && record.reset == 0 {
        let why = format!("the server held no response open: it ended {ended} of them");
        return ("load-failed", why);
    }
    let answered = match plan.protocol {
        Protocol::Stream => record.messages,
        _ => record.replies.requests + record.replies.late_requests,
    };
    if answered > 0 {
        return ("ok", String::new());
    }
    if !plan.open_loop() && plan.patience_s.is_some() && errors.of(ErrorKind::HungUp) > 0 {
        // They were to hang up.
        return ("ok", String::new());
    }
    let refused = errors.of(ErrorKind::ConnectRefused);
    if record.opened == 0 && refused > 0 && refused == errors.total() {
        let addresses = plan.addresses.iter().map(ToString::to_string);
        let addresses: Vec<_> = addresses.chain(plan.unix.clone()).collect();
        let why = format!("connections are refused: nothing listens at {}", addresses.join(" or "));
        return ("load-failed", why);
    }
    let untrusted = errors.of(ErrorKind::Certificate);
    if untrusted > 0 && untrusted == errors.total() {
        let why = format!(
            "the server's certificate is not accepted: {}; --cacert FILE names who signed it, --insecure accepts any",
            record.layers.fault
        );
        return ("load-failed", why);
    }
    let why = match errors.iter().max_by_key(|(_, count)| *count) {
        Some((kind, count)) => {
            let first = [&record.layers.fault, &record.first_wrong];
            let first = first.into_iter().find(|text| !text.is_empty());
            let fault = first.map_or_else(String::new, |fault| format!("; the first of them: {fault}"));
            format!("nothing was answered as expected: {count} × {kind}{fault}")
        }
        _ if record.opened == 0 => {
            "nothing was answered: no connection was ready before the end, since the server did not \
             accept one or did not answer its handshake"
                .into()
        }
        _ => "nothing was answered".into(),
    };
    ("load-failed", why)
}

pub fn summary(histogram: &Histogram) -> Value {
    json!({
        "count": histogram.len(), "mean_ns": histogram.mean(), "stdev_ns": histogram.stdev(),
        "min_ns": histogram.min(), "p50_ns": histogram.quantile(0.5), "p90_ns": histogram.quantile(0.9),
        "p95_ns": histogram.quantile(0.95), "p99_ns": histogram.quantile(0.99),
        "p99_9_ns": histogram.quantile(0.999), "max_ns": histogram.max(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records one of the events of a request or a stream, by number, with times of all sizes.
    fn happen(record: &mut Record, random: &mut fastrand::Rng) {
        let ns = 1u64 << random.u64(0..36) | random.u64(0..1000);
        let target = random.usize(0..2);
        record.targets.resize_with(2, Default::default);
        record.replies.latency.add(ns);
        record.replies.service.add(ns / 2);
        record.targets[target].latency.add(ns);
        record.targets[target].service.add(ns / 2);
        match random.u8(0..8) {
            0 => record.replies.errors.add(ErrorKind::ALL[random.usize(0..ErrorKind::ALL.len())], 1),
            1 => record.queue.add(ns),
            2 => record.lateness.add(ns),
            3 => record.replies.unfinished += 1,
            4 => {
                record.replies.late_requests += 1;
                record.late_shares += 0.25;
            }
            5 => record.targets[target].requests += 1,
            6 => record.connect.add(ns),
            _ => record.first_byte.add(ns),
        }
        record.replies.requests += 1;
        record.intended += 1;
        record.bytes_in += ns;
        record.schedule_error.add(ns % 10_000);
        record.replies.statuses.add(200 + ns as u16 % 3, 1);
        let second = record.second(ns % 5_000_000_000);
        second.requests += 1;
        second.max_ns = second.max_ns.max(ns);
    }

    /// The figures of several threads are those of one that had done all of it.
    #[test]
    fn the_figures_of_shards_are_those_of_the_whole() {
        let plan = r#"{"protocol": "http", "addresses": ["127.0.0.1:1"], "duration_s": 5,
            "request": {"headers": [["Host", "h"]]}, "pacing": {"kind": "constant", "rate_per_s": 9}}"#;
        let plan: Plan = serde_json::from_str(plan).unwrap();
        let outcome = |record| Outcome { record, duration_ns: 5_000_000_000, ..Outcome::default() };
        for shards in 1..=5 {
            let mut whole = Record::default();
            let mut parts: Vec<Record> = (0..shards).map(|_| Record::default()).collect();
            for seed in 0..3000 {
                happen(&mut whole, &mut fastrand::Rng::with_seed(seed));
                let part = &mut parts[fastrand::Rng::with_seed(seed).usize(0..shards)];
                happen(part, &mut fastrand::Rng::with_seed(seed));
            }
            let mut merged = Record::default();
            parts.iter().for_each(|part| merged.merge(part));
            let whole = document(&plan, &outcome(whole));
            assert_eq!(whole, document(&plan, &outcome(merged)));
            assert_eq!(whole["requests"], 3000);
            // The same where each came from a process of its own.
            let mut sent = Outcome::default();
            for part in parts {
                let line = serde_json::to_vec(&outcome(part)).unwrap();
                sent.merge(&serde_json::from_slice(&line).unwrap());
            }
            assert_eq!(whole, document(&plan, &sent));
        }
    }
}
