//! Polls everything that a trial waits for.

use super::Trial;
use std::io;
use wire::os::{poll, Errno, PollFd};

/// The events that are ready after a wait.
pub struct Ready {
    pub signals: bool,
    pub exited: bool,
    pub reader_gone: bool,
    pub samples: bool,
    pub stdout: bool,
    pub stderr: bool,
    pub notices: bool,
    /// Indices of the loads that have ended, in descending order.
    pub loads: Vec<usize>,
}

impl Trial<'_, '_> {
    /// Waits until an instant at most. Fails if this process may open fewer descriptors than it waits for.
    pub(super) fn wait(&self, now_ns: u64, until_ns: u64) -> io::Result<Ready> {
        let signals = self.supervisor.signals();
        // A file that is not to be polled is replaced by one without events.
        let optional = |file: Option<_>| match file {
            Some(file) => PollFd::readable(file),
            None => PollFd::hung_up(signals),
        };
        let mut polled = vec![
            PollFd::readable(signals),
            PollFd::readable(self.supervisor.pidfd()),
            PollFd::hung_up(self.writer.file),
            optional(self.sampling.file()),
            optional(self.output.stdout.waiting(now_ns)),
            optional(self.output.stderr.waiting(now_ns)),
            optional(self.notices.as_ref().map(|notices| notices.file())),
        ];
        let first_load = polled.len();
        let loads = self.loads.as_ref().map(|loads| loads.files());
        let loads = loads.unwrap_or_default().into_iter();
        polled.extend(loads.map(PollFd::readable));
        match poll(&mut polled, Some(until_ns.saturating_sub(self.now_ns()))) {
            // Nothing is ready: the caller polls again.
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<_> = polled.iter().map(PollFd::is_ready).collect();
        let (fixed, loads) = ready.split_at(first_load);
        Ok(Ready {
            signals: fixed[0],
            exited: fixed[1],
            reader_gone: fixed[2],
            samples: fixed[3],
            stdout: fixed[4],
            stderr: fixed[5],
            notices: fixed[6],
            loads: (0..loads.len()).rev().filter(|&load| loads[load]).collect(),
        })
    }
}
