//! What a load leaves: histograms, then the outcome.

use super::plan::{Plan, Protocol};
use super::record::{Times, KINDS};
use super::{engine::Outcome, warn};
use crate::output::{ReaderGone, Writer};
use crate::tree::kernel_bytes;
use serde_json::{json, Map, Value};

/// Writes the last lines of a load by itself.
pub fn write(plan: &Plan, outcome: &Outcome, writer: &mut Writer) -> Result<(), ReaderGone> {
    for (name, times) in outcome.record.histograms() {
        if times.0.is_empty() {
            continue;
        }
        let counts: Vec<_> = times
            .0
            .iter_recorded()
            .map(|one| (one.value_iterated_to(), one.count_since_last_iteration()))
            .collect();
        writer.answer(
            &json!({"type": "histogram", "name": name, "counts": counts}),
            false,
        )?;
    }
    let mut line = document(plan, outcome);
    line["type"] = "outcome".into();
    writer.answer(&line, false)
}

/// All that a load showed, but for the counts of its histograms.
pub fn document(plan: &Plan, outcome: &Outcome) -> Value {
    let record = &outcome.record;
    let held = record.histograms();
    let held = held.iter().filter(|(_, times)| !times.0.is_empty());
    let summaries: Map<String, Value> = held
        .map(|(name, times)| ((*name).into(), summary(times)))
        .collect();
    let errors: Map<String, Value> = KINDS
        .iter()
        .zip(record.errors)
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| ((*kind).into(), count.into()))
        .collect();
    let statuses: Map<String, Value> = record
        .statuses
        .iter()
        .map(|(status, count)| (status.to_string(), (*count).into()))
        .collect();
    let series: Vec<Value> = record
        .series
        .iter()
        .enumerate()
        .map(|(t_s, second)| {
            json!({
                "t_s": t_s, "requests": second.requests, "errors": second.errors, "max_ns": second.max_ns,
                "open": second.open,
            })
        })
        .collect();
    let open_loop = plan.open_loop();
    let answered = match plan.protocol {
        Protocol::Stream => record.messages,
        _ => record.requests,
    };
    let streams = plan.protocol == Protocol::Stream;
    let (kind, detail) = verdict(plan, outcome);
    let sequence = record.sequence.named().into_iter();
    let sequence: Map<String, Value> = sequence
        .map(|(kind, count)| (kind.into(), count.into()))
        .collect();
    json!({
        "outcome": kind, "detail": detail,
        "duration_ns": outcome.duration_ns,
        "intended": open_loop.then_some(record.intended),
        "intended_rate_per_s": open_loop.then(|| outcome.per_s(record.intended)),
        "requests": record.requests,
        "achieved_rate_per_s": outcome.per_s(answered),
        "late_requests": record.late_requests,
        "unfinished": record.unfinished,
        "errors": errors,
        "statuses": statuses,
        "histograms": summaries,
        "largest_lag_ns": record.largest_lag_ns,
        "bytes_in": record.bytes_in,
        "bytes_out": record.bytes_out,
        "connections": {
            "opened": record.opened, "most_open": record.most_open, "open_at_end": record.open_at_end,
            "idle_closes": record.idle_closes,
        },
        "concurrency": record.concurrency(),
        "messages": record.messages,
        "streams": streams.then(|| json!({
            "fed": record.fed, "chunks": record.chunks, "behind": record.behind,
            "silent": record.silent, "slowed": record.slowed, "vanished": record.vanished,
        })),
        "sequence": sequence,
        "cpu_ns": record.cpu_ns,
        "cpu_share_most": outcome.cpu_share(),
        "busy_share_most": outcome.busy_share(),
        "peak_memory_bytes": peak_memory_bytes(),
        "series": series,
        "warnings": warn::warnings(plan, outcome),
    })
}

pub fn verdict(plan: &Plan, outcome: &Outcome) -> (&'static str, String) {
    let record = &outcome.record;
    if let Some(why) = &outcome.failed {
        return ("load-failed", why.clone());
    }
    if outcome.interrupted {
        return ("interrupted", String::new());
    }
    let answered = match plan.protocol {
        Protocol::Stream => record.messages,
        _ => record.requests + record.late_requests,
    };
    if answered > 0 {
        return ("ok", String::new());
    }
    let most = KINDS
        .iter()
        .zip(record.errors)
        .max_by_key(|(_, count)| *count);
    let why = match most {
        Some((kind, count)) if count > 0 => {
            format!("nothing was answered as expected: {kind} {count} times")
        }
        _ => "nothing was answered".into(),
    };
    ("load-failed", why)
}

pub fn summary(times: &Times) -> Value {
    let held = &times.0;
    json!({
        "count": held.len(), "mean_ns": held.mean(), "stdev_ns": held.stdev(), "min_ns": held.min(),
        "p50_ns": held.value_at_quantile(0.5), "p90_ns": held.value_at_quantile(0.9),
        "p95_ns": held.value_at_quantile(0.95), "p99_ns": held.value_at_quantile(0.99),
        "p99_9_ns": held.value_at_quantile(0.999), "max_ns": held.max(),
    })
}

/// VmHWM of this process.
fn peak_memory_bytes() -> Option<u64> {
    kernel_bytes(
        &std::fs::read_to_string("/proc/self/status").ok()?,
        "VmHWM:",
    )
}
