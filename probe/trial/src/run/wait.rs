//! Polls everything that a trial waits for.

use super::Trial;
use std::io;
use std::os::unix::io::AsFd;
use wire::os::{poll, PollFd};

impl Trial<'_, '_> {
    /// Waits until an instant at most. Returns whether there are signals, the program has ended, the reader of messages has
    /// gone, and there are samples, stdout, stderr and notices to read; and the indices of the loads that have ended, in
    /// descending order. Fails if this process may open fewer descriptors than it waits for.
    pub(super) fn wait(&self, now_ns: u64, until_ns: u64) -> io::Result<([bool; 7], Vec<usize>)> {
        let signals = self.supervisor.signals;
        // A file that is not to be polled is replaced by one without events.
        let optional = |file: Option<_>| match file {
            Some(file) => PollFd::readable(file),
            None => PollFd::hung_up(signals),
        };
        let fixed = [
            PollFd::readable(signals),
            PollFd::readable(self.supervisor.pidfd.as_fd()),
            PollFd::hung_up(self.writer.file),
            optional(self.sampling.file()),
            optional(self.output.stdout.waiting(now_ns)),
            optional(self.output.stderr.waiting(now_ns)),
            optional(self.notices.as_ref().map(|notices| notices.file())),
        ];
        let first_load = fixed.len();
        let loads = self.loads.as_ref().map(|loads| loads.files());
        let loads = loads.unwrap_or_default().into_iter().map(PollFd::readable);
        let mut polled: Vec<_> = fixed.into_iter().chain(loads).collect();
        poll(&mut polled, Some(until_ns.saturating_sub(self.now_ns())))?;
        let ready = |index: usize| polled[index].is_ready();
        let loads = (first_load..polled.len()).rev().filter(|&index| ready(index));
        Ok((std::array::from_fn(ready), loads.map(|index| index - first_load).collect()))
    }
}
