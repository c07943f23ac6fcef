//! The end of a trial: only output from before the program's end counts. The probe watches what other processes do
//! afterwards, until the last of them is killed, and holds it against the program.

use super::end::End;
use super::{Abort, Trial};
use crate::sample::host::HostBaseline;
use std::time::{Duration, Instant};
use wire::messages::Pressure;
use wire::os::{poll, PollFd};

/// How long processes of a program that has ended by itself have to follow it: a runtime's helper ends when it sees
/// that the runtime is gone, and on a busy machine that takes a while.
const FOLLOWING: Duration = Duration::from_millis(500);

/// How often the processes that are left are counted meanwhile.
const COUNTING: Duration = Duration::from_millis(5);

impl Trial<'_, '_> {
    /// The program has ended, or the trial: its state is that of the first call.
    pub(super) fn note_end(&mut self, now_ns: u64) {
        if self.end.is_none() {
            let host = self.host.as_ref();
            self.end = Some(End {
                ns: now_ns,
                unread_bytes: self.output.stdout.unread(),
                cpus: host.map_or(Vec::new(), HostBaseline::cpus_since),
                pressure: host.map_or(Pressure::default(), HostBaseline::pressure_since),
                kernel_bytes: host.and_then(|host| host.kernel_bytes),
            });
        }
    }

    /// The program has ended by itself: reads what it wrote before, and gives other processes time to follow it, under
    /// the same limits. Returns how many count as left behind, where that is decided already.
    pub(super) fn follow(&mut self, end: &End) -> Result<Option<u64>, Abort> {
        // Output written before the end counts as if it had been read before it.
        self.cause = None;
        for event in self.output.read_exactly(end.unread_bytes) {
            self.handle(event, end.ns, false)?;
        }
        self.check_output();
        let begin = Instant::now();
        let at_once = self.supervisor.survivors();
        let mut alive = at_once;
        while alive > 0 && self.cause.is_none() && begin.elapsed() <= FOLLOWING {
            if self.sampling.due_ns().is_some() {
                self.begin_sampling()?;
            }
            let signals = self.supervisor.signals;
            let mut files = [self.sampling.file().unwrap_or(signals), signals].map(PollFd::readable);
            poll(&mut files, Some(COUNTING.as_nanos() as u64))
                .map_err(|error| Abort::Failed(error.into()))?;
            self.read_signals();
            for taken in self.sampling.taken() {
                self.write_sample(taken)?;
            }
            alive = self.supervisor.survivors();
        }
        // For plain commands any process that is alive at the exit counts.
        Ok(self.request.plain.then_some(at_once))
    }

    /// Reads what is left of the program's output when no process is left. Returns the error of a last line that has no
    /// newline, which matters only when the program ended by itself, and whether others wrote to stdout after its end.
    pub(super) fn drain(&mut self, now_ns: u64) -> Result<(Option<String>, bool), Abort> {
        let before = self.output.stdout.bytes;
        let (events, last) = self.output.drain(now_ns);
        let late = self.cause.is_none() && self.output.stdout.bytes > before;
        if late {
            // The trial fails, so that no line of them counts.
            self.check_output();
            self.exited();
            return Ok((None, true));
        }
        for event in events {
            self.handle(event, now_ns, false)?;
        }
        self.check_output();
        let mut last_line_error = None;
        match last {
            Some(Err(why)) => last_line_error = Some(format!("{why} (the last line has no newline)")),
            Some(event) => self.handle(event, now_ns, false)?,
            None => {}
        }
        self.exited();
        Ok((last_line_error, false))
    }
}
