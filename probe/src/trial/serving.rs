//! The trial of a server: its loads, step after step, and its end.

use super::{Abort, Trial};
use crate::cause::Cause;
use crate::service;
use std::time::Duration;

/// A server that ends within this time after its load has failed counts as crashed.
const CRASH_DELAY: Duration = Duration::from_secs(2);

impl Trial<'_, '_> {
    pub(super) fn serve(&mut self, now_ns: u64) -> Result<(), Abort> {
        let step = self.service.as_mut().map(|service| service.step(now_ns));
        match step {
            None | Some(service::Step::Wait) => {}
            Some(service::Step::GiveUp(cause)) => self.stop(cause),
            Some(service::Step::Terminate) => {
                if self.loads.is_empty() {
                    self.mark_and_wait("idle")?;
                }
                self.supervisor.terminate();
            }
            Some(service::Step::Drive(step)) => {
                if step == 0 {
                    self.mark_and_wait("idle")?;
                }
                self.drive(step)?;
            }
        }
        Ok(())
    }

    fn drive(&mut self, step: usize) -> Result<(), Abort> {
        let Some(port) = self.port else {
            self.stop(Cause::WrongEvidence("::ready names no port".into()));
            return Ok(());
        };
        self.mark_and_wait(&format!("begin {}", self.loads.step_name(step)))?;
        let now = self.now_ns();
        if let Err(why) = self.loads.begin(step, port, now) {
            self.stop(Cause::LoadFailed(why));
        }
        Ok(())
    }

    pub(super) fn load_ended(&mut self, index: usize, now_ns: u64) -> Result<(), Abort> {
        let Some(step) = self.loads.finish(index, now_ns) else {
            return Ok(());
        };
        let mark = format!("end {step}");
        self.mark_and_wait(&mark)?;
        match self.loads.judge() {
            Err(cause) => {
                // A server that crashes closes its connections some time before its process has ended.
                let crashed = matches!(cause, Cause::LoadFailed(_))
                    && self.supervisor.ends_within(CRASH_DELAY);
                self.stop(if crashed { Cause::Exited } else { cause });
            }
            Ok(go_on) => {
                let now = self.now_ns();
                if let Some(service) = &mut self.service {
                    service.driven(now, go_on);
                }
            }
        }
        Ok(())
    }
}
