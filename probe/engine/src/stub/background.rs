//! The stub on a thread of its own, during a trial.

use super::{Stub, BUFFER_BYTES, EVENTS};
use rustix::pipe::{pipe_with, PipeFlags};
use std::io;
use std::os::unix::io::{AsFd, OwnedFd};
use std::thread::{Builder, JoinHandle};
use wire::os::{poll, PollFd};
use wire::pin;

const MAX_BUSY_TURNS: u32 = 1000;

/// Dropped, it ends at once.
pub struct Background {
    thread: JoinHandle<Stub>,
    /// Its reader sees the end when this is dropped.
    running: OwnedFd,
}

impl Background {
    /// Serves from now on; earlier connections waited in the backlog.
    pub fn start(mut stub: Stub) -> io::Result<Background> {
        let (done, running) = pipe_with(PipeFlags::CLOEXEC)?;
        let cpus = stub.plan.cpus.clone();
        let thread = Builder::new().name("stub".into()).spawn(move || {
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
            if !cpus.is_empty() {
                // Checked before the start.
                let _ = pin::pin_thread("stub: cpus", &cpus);
            }
            let (mut events, mut buffer) = (Vec::with_capacity(EVENTS), vec![0; BUFFER_BYTES]);
            let mut busy_turns = 0;
            loop {
                // While there is work, every thousandth turn looks for the end.
                if stub.turn(&mut events, &mut buffer) && busy_turns < MAX_BUSY_TURNS {
                    busy_turns += 1;
                    continue;
                }
                busy_turns = 0;
                let mut files = [&stub.epoll, &done].map(|file| PollFd::readable(file.as_fd()));
                // Without waiting there is no end either.
                if poll(&mut files, stub.next_due_ns()).is_err() || files[1].is_ready() {
                    return stub;
                }
            }
        })?;
        Ok(Background { thread, running })
    }

    /// Ends the thread; None when it panicked.
    pub fn finish(self) -> Option<Stub> {
        drop(self.running);
        self.thread.join().ok()
    }
}
