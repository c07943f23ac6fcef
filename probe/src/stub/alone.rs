//! The stub by itself: until a signal, or until stdin ends.

use super::{Plan, Stub};
use crate::output::{ReaderGone, Writer};
use crate::{pin, sys};
use rustix::event::{poll, PollFd, PollFlags};
use serde_json::json;
use std::os::unix::io::{AsFd, OwnedFd};

/// The error is why it cannot listen.
pub fn run(
    plan: &Plan,
    signals: &OwnedFd,
    writer: &mut Writer,
) -> Result<Result<(), ReaderGone>, String> {
    if !plan.cpus.is_empty() {
        pin::to("stub: cpus", &plan.cpus)?;
    }
    let mut stub = Stub::listen(plan).map_err(|error| format!("stub: cannot listen: {error}"))?;
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let listening =
        json!({"type": "listening", "version": crate::request::PROTOCOL, "ports": stub.ports()});
    if let Err(gone) = writer.answer(&listening, true) {
        return Ok(Err(gone));
    }
    let stdin = std::io::stdin();
    stub.serve(|file, time| {
        let mut files = [
            PollFd::from_borrowed_fd(file, PollFlags::IN),
            PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(writer.file(), PollFlags::empty()),
        ];
        let _ = poll(&mut files, time);
        let [_, signalled, input, reader_gone] = files.map(|file| !file.revents().is_empty());
        reader_gone || (input && ended(&stdin)) || (signalled && sys::asked_to_end(signals))
    });
    let mut outcome = stub.report();
    outcome["type"] = json!("outcome");
    outcome["outcome"] = json!("ok");
    Ok(writer.answer(&outcome, true))
}

fn ended(stdin: &std::io::Stdin) -> bool {
    !matches!(rustix::io::read(stdin, &mut [0; 256]), Ok(count) if count > 0)
}
