//! The live view: a line now and then, while a load runs.

use super::engine::Engine;
use super::plan::{nanoseconds, Plan};
use crate::clock::{now_ns, timespec};
use crate::output::{ReaderGone, Writer};
use crate::sys;
use rustix::event::{poll, PollFd, PollFlags};
use serde_json::json;
use std::os::unix::io::{AsFd, OwnedFd};

/// Waits for the end of a load, tells how it goes, and stops it on a signal or when nobody reads.
pub fn watch(
    plan: &Plan,
    engine: &mut Engine,
    signals: &OwnedFd,
    writer: &mut Writer,
) -> Result<(), ReaderGone> {
    let every_ns = plan.progress_s.map(nanoseconds);
    let mut last_ns = engine.start_ns;
    let mut told = Ok(());
    loop {
        let due_ns = every_ns.filter(|_| told.is_ok()).map(|ns| last_ns + ns);
        let timeout = due_ns.map(|due| timespec(due.saturating_sub(now_ns())));
        let mut files = [
            PollFd::from_borrowed_fd(engine.done.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
        ];
        let _ = poll(&mut files, timeout.as_ref());
        let [ended, signalled] = files.map(|file| !file.revents().is_empty());
        if ended {
            return told;
        }
        if signalled && sys::asked_to_end(signals) {
            engine.interrupt();
        }
        let now = now_ns();
        if due_ns.map_or(false, |due| now >= due) {
            told = tell(engine, now, last_ns, writer);
            last_ns = now;
            if told.is_err() {
                engine.interrupt();
            }
        }
    }
}

fn tell(engine: &Engine, now: u64, last_ns: u64, writer: &mut Writer) -> Result<(), ReaderGone> {
    let all = engine.interval();
    let line = json!({
        "type": "progress", "t_ns": now - engine.start_ns, "interval_ns": now - last_ns,
        "requests": all.requests, "errors": all.errors, "open": all.open, "in_flight": all.in_flight,
        "intended": all.intended, "p50_ns": all.quantile_ns(0.5), "p90_ns": all.quantile_ns(0.9),
        "p99_ns": all.quantile_ns(0.99), "max_ns": Some(all.max_ns).filter(|&ns| ns > 0),
        "buckets": all.buckets(),
    });
    writer.answer(&line, true)
}
