//! The load engine: drives a server that is there, checks what comes back, and tells what it saw.

mod chunked;
mod content;
pub mod engine;
mod http;
mod pacer;
pub mod plan;
pub mod record;
mod reply;
pub mod report;
mod shard;
mod source;
mod view;
mod warn;

use crate::clock;
use crate::output::{ReaderGone, Writer};
use engine::Prepared;
use plan::Plan;
use serde_json::json;
use std::os::unix::io::OwnedFd;
use std::sync::Arc;

/// Carries out a load. The error is why it could not begin.
pub fn run(
    plan: &Arc<Plan>,
    signals: &OwnedFd,
    writer: &mut Writer,
) -> Result<Result<(), ReaderGone>, String> {
    let prepared = Prepared::new(Arc::clone(plan))?;
    let start_ns = clock::now_ns();
    let started = json!({
        "type": "started", "version": crate::request::PROTOCOL, "t_ns": 0,
        "missing": prepared.missing, "monotonic_ns": start_ns,
        "io": prepared.io_name(),
        "threads": plan.threads, "connections": plan.connections,
    });
    if let Err(gone) = writer.answer(&started, true) {
        return Ok(Err(gone));
    }
    let started = prepared.start(start_ns);
    let mut engine = started.map_err(|error| format!("load: cannot start a thread: {error}"))?;
    let gone = view::watch(plan, &mut engine, signals, writer);
    let told = report::write(plan, &engine.finish(), writer);
    Ok(gone.and(told))
}
