//! The stub by itself: it serves until a signal, or until stdin ends.

use super::{Stub, StubPlan};
use serde_json::json;
use std::os::unix::io::{AsFd, OwnedFd};
use wire::os::{poll, Errno, PollFd};
use wire::writer::{ReaderGone, Writer};
use wire::{os, pin, sys};

/// The outer error: why it cannot listen.
pub fn run(
    plan: &StubPlan,
    signals: &OwnedFd,
    writer: &mut Writer,
) -> Result<Result<(), ReaderGone>, String> {
    if !plan.cpus.is_empty() {
        pin::pin_thread("stub: cpus", &plan.cpus)?;
    }
    let mut stub = Stub::listen(plan).map_err(|error| format!("stub: cannot listen: {error}"))?;
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let listening = json!({"type": "listening", "version": wire::request::PROTOCOL, "ports": stub.ports});
    if let Err(gone) = writer.send(&listening, true) {
        return Ok(Err(gone));
    }
    let stdin = std::io::stdin();
    stub.serve(|stub, time_ns| {
        let mut files = [
            stub,
            PollFd::readable(signals.as_fd()),
            PollFd::readable(stdin.as_fd()),
            PollFd::hung_up(writer.file),
        ];
        let fails = matches!(poll(&mut files, time_ns), Err(error) if error != Errno::INTR);
        let [_, signalled, input, reader_gone] = files.map(|file| file.is_ready());
        fails || reader_gone || (input && has_ended(&stdin)) || (signalled && sys::end_requested(signals))
    });
    let mut outcome = stub.report();
    outcome["type"] = json!("outcome");
    outcome["outcome"] = json!("ok");
    Ok(writer.send(&outcome, true))
}

fn has_ended(stdin: &std::io::Stdin) -> bool {
    !matches!(os::read(stdin, &mut [0; 256]), Ok(count) if count > 0)
}
