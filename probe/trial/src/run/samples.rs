//! The samples of a trial: when they are taken, and the limits that they show to be exceeded.

use super::{Abort, Trial};
use crate::sample::sampler::{Excess, TakenSample};
use crate::sample::sampling::SAMPLE_TIMEOUT;
use std::io;
use std::os::unix::io::AsFd;
use std::time::Duration;
use wire::messages::Verdict;
use wire::os::{poll, PollFd};
use wire::pin;
use wire::request::Request;
use wire::units::nanoseconds;

impl Trial<'_, '_> {
    pub(super) fn begin_sampling(&mut self) -> Result<(), Abort> {
        let cgroup = self.supervisor.cgroup.as_ref();
        self.sampling.begin(cgroup, self.start_ns).map_err(Abort::Failed)
    }

    /// A sample is taken now, while the trial goes on.
    pub(super) fn mark(&mut self, name: &str) -> Result<(), Abort> {
        self.begin_sampling()?;
        self.sampling.order(name);
        Ok(())
    }

    /// A sample is taken before anything else happens but signals, or the trial ends.
    pub(super) fn mark_and_wait(&mut self, name: &str) -> Result<(), Abort> {
        self.mark(name)?;
        let until_ns = self.now_ns() + nanoseconds(SAMPLE_TIMEOUT.as_secs_f64());
        let wall_ns = nanoseconds(self.request.limits.wall_s);
        while self.cause.is_none() {
            let mut is_taken = false;
            for taken in self.sampling.taken() {
                is_taken |= taken.0.mark.as_deref() == Some(name);
                self.write_sample(taken)?;
            }
            let now_ns = self.now_ns();
            if is_taken {
                break;
            }
            self.check_wall_time(now_ns);
            if now_ns > until_ns {
                let limit_s = SAMPLE_TIMEOUT.as_secs();
                let why = format!("a sample, at {name}, was not taken within {limit_s} s");
                self.stop(Verdict::TimedOut, why);
            }
            let Some(samples) = self.sampling.file() else { break };
            // Readable for ever once the program has ended.
            let program = if self.end.is_some() { samples } else { self.supervisor.pidfd.as_fd() };
            let mut files = [samples, self.supervisor.signals, program].map(PollFd::readable);
            let time_ns = until_ns.min(wall_ns).saturating_sub(now_ns);
            poll(&mut files, Some(time_ns)).map_err(|error| Abort::Failed(error.into()))?;
            let [_, signals, program] = files.map(|file| file.is_ready());
            if program && self.supervisor.ends_within(Duration::ZERO) {
                self.note_end(self.now_ns());
            }
            if signals {
                // The program's own end is seen by its descriptor, too.
                self.read_signals();
            }
        }
        Ok(())
    }

    pub(super) fn write_sample(&mut self, (sample, excess): TakenSample) -> Result<(), Abort> {
        let Request { limits, cpus, .. } = self.request;
        match excess {
            None => {}
            Some(Excess::Memory(bytes)) => {
                let why = format!("{bytes} bytes, the limit is {}", limits.memory_bytes);
                self.stop(Verdict::OutOfMemory, why);
            }
            Some(Excess::Threads(count)) => {
                self.stop(Verdict::Flooded, format!("{count} threads, the limit is {}", limits.threads));
            }
            Some(Excess::Cpus) => {
                // If the system took a CPU away, the kernel moved the threads, not the program.
                pin::check("cpus", cpus).map_err(|why| {
                    let why = format!("{why}: taken away in the trial");
                    Abort::Failed(io::Error::new(io::ErrorKind::Other, why))
                })?;
                let why = format!("a thread took other CPUs than the {cpus:?} it was given");
                self.stop(Verdict::WrongEvidence, why);
            }
            Some(Excess::Processes(count)) => {
                self.excess_processes = Some(count);
                self.stop(Verdict::Flooded, format!("{count} processes, the limit is {}", limits.processes));
            }
        }
        Ok(self.writer.send(&sample, false)?)
    }
}
