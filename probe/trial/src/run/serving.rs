//! The trial of a server: its loads, step after step, and its end.

use super::{Abort, Trial};
use crate::loads::Notice;
use crate::service;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use wire::messages::{DriveStep, Verdict};
use wire::os::pidfd_send_signal;

/// A server that ends within this time after its load has failed counts as crashed.
const CRASH_DELAY: Duration = Duration::from_secs(2);

impl<'a> Trial<'a, '_> {
    pub(super) fn serve(&mut self, now_ns: u64) -> Result<(), Abort> {
        let step = self.service.as_mut().map(|service| service.step(now_ns));
        match step {
            None | Some(service::Step::Wait) => {}
            Some(service::Step::GiveUp((verdict, why))) => self.stop(verdict, why),
            Some(service::Step::Terminate) => {
                if !self.is_driven() {
                    self.mark_and_wait("idle")?;
                }
                let _ = pidfd_send_signal(&self.supervisor.pidfd, libc::SIGTERM);
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
            self.stop(Verdict::WrongEvidence, "::ready names no port".into());
            return Ok(());
        };
        let name = self.step_name(step);
        self.mark_and_wait(&format!("begin {name}"))?;
        self.check_listener(port, &format!(" at the begin of step {name}"));
        if self.cause.is_some() {
            return Ok(());
        }
        let (t_ns, address) = (self.now_ns(), SocketAddr::new(self.host(), port));
        let Some(loads) = &mut self.loads else { return Ok(()) };
        if self.notices.is_some() {
            loads.await_engines(step, address);
            return Ok(self.writer.send(&DriveStep { t_ns, step, port }, true)?);
        }
        if let Err(why) = loads.begin(step, address, t_ns) {
            self.stop(Verdict::LoadFailed, why);
        }
        Ok(())
    }

    fn step_name(&self, step: usize) -> String {
        self.loads.as_ref().map_or_else(String::new, |loads| loads.step_name(step))
    }

    /// The address on which the program should listen.
    pub(super) fn host(&self) -> IpAddr {
        let service = self.request.service.as_ref();
        service.map_or(Ipv4Addr::LOCALHOST.into(), |service| service.host)
    }

    /// Reads the driver's messages about engines on other machines. The driver hangs up when it no longer
    /// wants the trial, or has died.
    pub(super) fn read_notices(&mut self, now_ns: u64) -> Result<(), Abort> {
        let failed = |why| Abort::Failed(io::Error::new(io::ErrorKind::Other, why));
        let Some(notices) = self.notices.as_mut() else { return Ok(()) };
        let Some(lines) = notices.arrived().map_err(failed)? else {
            self.notices = None;
            self.stop(Verdict::Interrupted, "the driver has hung up".into());
            return Ok(());
        };
        for line in lines {
            let Some(loads) = &mut self.loads else { return Err(failed("no loads are awaited".into())) };
            match loads.notice(&line, now_ns).map_err(failed)? {
                Notice::Progress => {}
                Notice::StepEnded(step) => self.step_ended(step)?,
                Notice::Failed(why) => self.stop(Verdict::LoadFailed, why),
            }
        }
        Ok(())
    }

    /// All loads of the step have ended.
    pub(super) fn step_ended(&mut self, step: usize) -> Result<(), Abort> {
        let name = self.step_name(step);
        self.mark_and_wait(&format!("end {name}"))?;
        let cpu_ns = self.supervisor.cpu_so_far_ns();
        let judged = self.loads.as_mut().map(|loads| loads.judge(cpu_ns));
        match judged.unwrap_or(Ok(None)) {
            Err((verdict, why)) => {
                // A server that crashes closes its connections some time before its process has ended.
                match verdict == Verdict::LoadFailed && self.supervisor.ends_within(CRASH_DELAY) {
                    true => self.exited(),
                    false => self.stop(verdict, why),
                }
            }
            Ok(next) => {
                if let Some(port) = self.port {
                    self.check_listener(port, &format!(" at the end of step {name}"));
                }
                let now = self.now_ns();
                if let Some(service) = &mut self.service {
                    service.driven(now, next);
                }
            }
        }
        Ok(())
    }
}
