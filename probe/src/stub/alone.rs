//! The stub by itself: until a signal, or until stdin ends.

use super::{buffers, Plan, Stub};
use crate::clock::{now_ns, timespec};
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
    let (mut events, mut buffer) = buffers();
    let stdin = std::io::stdin();
    let mut gone = false;
    let mut busy_turns = 0;
    while !gone {
        // While there is work it is not asked each time whether to end.
        if stub.turn(now_ns, &mut events, &mut buffer) && busy_turns < 1000 {
            busy_turns += 1;
            continue;
        }
        busy_turns = 0;
        let wait = stub.due_ns().map(|due| due.saturating_sub(now_ns()));
        let timeout = wait.map(timespec);
        let mut files = [
            PollFd::from_borrowed_fd(stub.file(), PollFlags::IN),
            PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(writer.file(), PollFlags::empty()),
        ];
        let _ = poll(&mut files, timeout.as_ref());
        let [_, signalled, input, reader_gone] = files.map(|file| !file.revents().is_empty());
        gone = reader_gone || (input && ended(&stdin)) || (signalled && sys::asked_to_end(signals));
    }
    let mut outcome = stub.report();
    outcome["type"] = json!("outcome");
    outcome["outcome"] = json!("ok");
    Ok(writer.answer(&outcome, true))
}

fn ended(stdin: &std::io::Stdin) -> bool {
    !matches!(rustix::io::read(stdin, &mut [0; 256]), Ok(count) if count > 0)
}
