//! Waits for the end of a load, and writes `progress` messages for the live view.

use super::engine::Engine;
use super::plan::Plan;
use serde_json::json;
use std::os::unix::io::{AsFd, OwnedFd};
use wire::clock::now_ns;
use wire::os::{poll, PollFd};
use wire::sys;
use wire::units::nanoseconds;
use wire::writer::{ReaderGone, Writer};

/// Returns at the end of the load. A signal or a closed reader stops it.
pub fn watch(
    plan: &Plan,
    engine: &mut Engine,
    signals: &OwnedFd,
    writer: &mut Writer,
) -> Result<(), ReaderGone> {
    let period_ns = plan.progress_s.map(nanoseconds);
    let mut last_ns = engine.start_ns;
    let mut written = Ok(());
    loop {
        let due_ns = period_ns.filter(|_| written.is_ok()).map(|ns| last_ns + ns);
        let timeout = due_ns.map(|due| due.saturating_sub(now_ns()));
        let mut files = [&engine.done, signals].map(|file| PollFd::readable(file.as_fd()));
        let _ = poll(&mut files, timeout);
        let [ended, signalled] = files.map(|file| file.is_ready());
        if ended {
            // Events since the last message are written, too.
            return written.and_then(|()| match period_ns {
                Some(_) => write_progress(engine, now_ns(), last_ns, writer),
                None => Ok(()),
            });
        }
        if signalled && sys::end_requested(signals) {
            engine.interrupt();
        }
        let now = now_ns();
        if due_ns.is_some_and(|due| now >= due) {
            written = write_progress(engine, now, last_ns, writer);
            last_ns = now;
            if written.is_err() {
                engine.interrupt();
            }
        }
    }
}

fn write_progress(engine: &Engine, now: u64, last_ns: u64, writer: &mut Writer) -> Result<(), ReaderGone> {
    let interval = engine.interval();
    let times = &interval.times;
    let quantile = |quantile| Some(times.quantile(quantile)).filter(|_| !times.is_empty());
    let buckets: Vec<_> = times.buckets().collect();
    let line = json!({
        "type": "progress", "t_ns": now - engine.start_ns, "interval_ns": now - last_ns,
        "requests": interval.requests, "errors": interval.errors, "open": interval.open, "in_flight": interval.in_flight,
        "intended": interval.intended, "p50_ns": quantile(0.5), "p90_ns": quantile(0.9),
        "p99_ns": quantile(0.99), "max_ns": quantile(1.0),
        "buckets": buckets,
    });
    writer.send(&line, true)
}
