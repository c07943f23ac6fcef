//! The samples of a trial: when they are taken, and the limits that they show to be exceeded.

use super::{Abort, Trial};
use crate::cause::Cause;
use crate::messages::Message;
use crate::pin;
use crate::sampler::Excess;
use crate::sampling::Taken;
use std::io;

impl Trial<'_, '_> {
    /// When the first sample is due: not before the program has been executed.
    pub(super) fn sampling_due_ns(&self) -> Option<u64> {
        let started = self.report.is_none();
        self.sampling.due_ns().filter(|_| started)
    }

    pub(super) fn begin_sampling(&mut self) -> Result<(), Abort> {
        let cgroup = self.supervisor.cgroup.as_ref();
        self.sampling
            .begin(cgroup, self.start)
            .map_err(Abort::Failed)
    }

    /// A sample is taken now, while the trial goes on.
    pub(super) fn mark(&mut self, name: &str) -> Result<(), Abort> {
        self.begin_sampling()?;
        self.sampling.order(name);
        Ok(())
    }

    /// A sample is taken before anything else happens.
    pub(super) fn mark_and_wait(&mut self, name: &str) -> Result<(), Abort> {
        self.mark(name)?;
        while let Some(taken) = self.sampling.next() {
            let is_ours = taken.0.mark.as_deref() == Some(name);
            self.write_sample(taken)?;
            if is_ours {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn write_sample(&mut self, (sample, excess): Taken) -> Result<(), Abort> {
        let limits = &self.request.limits;
        match excess {
            None => {}
            Some(Excess::Memory(bytes)) => {
                let limit = limits.memory_bytes;
                self.stop(Cause::OutOfMemory(format!(
                    "{bytes} bytes, the limit is {limit}"
                )));
            }
            Some(Excess::Threads(count)) => {
                let limit = limits.threads;
                self.stop(Cause::Flooded(format!(
                    "{count} threads, the limit is {limit}"
                )));
            }
            Some(Excess::Cpus) => {
                let cpus = &self.request.cpus;
                // Where the system took one of them away, its kernel moved the threads, and not the program.
                pin::check("cpus", cpus).map_err(|why| {
                    let why = format!("{why}: taken away in the trial");
                    Abort::Failed(io::Error::new(io::ErrorKind::Other, why))
                })?;
                self.stop(Cause::WrongEvidence(format!(
                    "a thread took other CPUs than the {cpus:?} it was given"
                )));
            }
            Some(Excess::Processes(count)) => {
                let limit = limits.processes;
                self.excess_processes = Some(count);
                self.stop(Cause::Flooded(format!(
                    "{count} processes, the limit is {limit}"
                )));
            }
        }
        Ok(self.writer.send(&Message::Sample(&sample), false)?)
    }
}
