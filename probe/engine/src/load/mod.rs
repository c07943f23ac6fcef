//! The load engine: drives a running server, checks its replies, and reports what it measured.

pub mod body;
pub mod chunked;
pub mod counts;
pub mod course;
pub mod decoder;
pub mod engine;
pub mod error;
pub mod framing;
pub mod histogram;
pub mod http;
pub mod http_head;
pub mod http_request;
pub mod interval;
pub mod live;
pub mod outgoing;
pub mod pacer;
pub mod partition;
pub mod placeholder;
pub mod plan;
pub mod plan_check;
pub mod record;
pub mod report;
pub mod request_log;
pub mod sequence;
pub mod shard;
pub mod source;
pub mod text;
#[cfg_attr(not(feature = "layers"), path = "no_transport.rs")]
pub mod transport;
pub mod warnings;

use crate::from_json;
use engine::PreparedLoad;
use plan::Plan;
use serde_json::json;
use std::os::unix::io::OwnedFd;
use std::sync::Arc;
use text::latin1_text;
use wire::clock;
use wire::requests::Requests;
use wire::text::failed;
use wire::writer::{ReaderGone, Writer};

/// Runs a load by itself; a part of one starts when `requests` has another line. The outer error is why it could not
/// begin.
pub fn run(
    mut plan: Plan,
    signals: &OwnedFd,
    requests: &mut Requests,
    writer: &mut Writer,
) -> Result<Result<(), ReaderGone>, String> {
    if let Some(request) = &mut plan.request {
        if let Some(count) = request.body_bytes.take() {
            request.body = latin1_text(&requests.bytes(count)?);
        }
    }
    let plan = Arc::new(plan);
    let prepared = PreparedLoad::new(Arc::clone(&plan))?;
    let mut start_ns = clock::now_ns();
    let started = json!({
        "type": "started", "version": wire::request::PROTOCOL, "t_ns": 0,
        "missing": prepared.missing, "monotonic_ns": start_ns,
        "threads": plan.threads, "connections": plan.own_connections(),
    });
    if let Err(gone) = writer.send(&started, true) {
        return Ok(Err(gone));
    }
    if plan.part.is_some() {
        requests.next(signals)?.ok_or("load: it was ended before the other engines were ready")?;
        start_ns = clock::now_ns();
    }
    let started = prepared.start(start_ns);
    let mut engine = started.map_err(failed("load: cannot start a thread"))?;
    let watched = live::watch(&plan, &mut engine, signals, writer);
    let written = report::write(&plan, &engine.finish(), writer);
    Ok(watched.and(written))
}

/// Merges the records of the engines that shared a load, each a further line of `requests`, into its last messages.
pub fn merge(
    plan: &Plan,
    records: usize,
    signals: &OwnedFd,
    requests: &mut Requests,
    writer: &mut Writer,
) -> Result<Result<(), ReaderGone>, String> {
    let mut merged = engine::Outcome::default();
    for number in 1..=records {
        let line = requests
            .next(signals)?
            .ok_or_else(|| format!("merge: {records} records were announced, and {number} is missing"))?;
        let outcome = from_json(&line).map_err(|why| format!("merge: record {number}: {why}"))?;
        merged.merge(&outcome);
    }
    Ok(report::write(plan, &merged, writer))
}
