//! The effects of the program's lines.

use super::{Abort, Trial};
use crate::says::protocol_line::{Event, Parsed};
use crate::says::verdict::Cause;
use crate::tree::listener::{still_listens, Owner};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use wire::messages::{ProgramPhase, ServiceReady, Verdict};
use wire::os;
use wire::text::quoted;

/// CPU time that a runtime may use while its program waits: its threads look for work, or tidy up.
const IDLE_NS: u64 = 10_000_000;

/// How long the kernel may take to close the sockets of processes that have ended.
const CLOSING: Duration = Duration::from_secs(2);

/// How long a program that is ending may take for it.
const DYING: Duration = Duration::from_millis(200);

impl Trial<'_, '_> {
    pub(super) fn handle(&mut self, event: Parsed, t_ns: u64, alive: bool) -> Result<(), Abort> {
        match event {
            Err(why) => self.stop(Verdict::WrongEvidence, why),
            Ok(Event::Phase { name, ns }) => {
                self.writer.send(&ProgramPhase { t_ns, name, ns }, false)?;
            }
            Ok(Event::Ready { port }) => {
                self.writer.send(&ServiceReady { t_ns, port }, true)?;
                // Without a load nothing connects to the port.
                if let (Some(port), true) = (port.filter(|_| self.is_driven()), alive) {
                    self.check_listener(port, "");
                }
                self.port = self.port.or(port);
                let service = self.service.as_mut();
                if service.is_some_and(|service| service.ready(t_ns)) && alive {
                    self.mark("ready")?;
                }
            }
            Ok(Event::Span(span)) => self.writer.send(&span, false)?,
            Ok(Event::Result(pairs)) => {
                self.result = Some(pairs);
                if alive {
                    self.mark("result")?;
                }
            }
            Ok(Event::Await { name }) => {
                // Wall time leaves this wait out, so a program must wait only where the request says so.
                let asked = self.request.awaits.contains(&name);
                if !asked || self.awaited.contains(&name) {
                    let again = if asked { "once more" } else { "unasked" };
                    let why = format!("::await name={} {again}", quoted(&name));
                    self.stop(Verdict::WrongEvidence, why);
                } else if alive {
                    self.awaited.push(name.clone());
                    let before_ns = self.supervisor.cpu_so_far_ns();
                    self.mark_and_wait(&name)?;
                    let cpu_ns = self.supervisor.cpu_so_far_ns().saturating_sub(before_ns);
                    // A program that has closed its stdin waits for nothing.
                    let _ = self.stdin.as_ref().map(|stdin| os::write(stdin, b"\n"));
                    // A program that ended meanwhile waited until then.
                    let end_ns = self.end.as_ref().map_or(u64::MAX, |end| end.ns);
                    let pause_ns = self.now_ns().min(end_ns).saturating_sub(t_ns);
                    self.paused_ns += pause_ns;
                    if cpu_ns > IDLE_NS {
                        self.worked_ns += cpu_ns.min(pause_ns);
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends the trial where the port is not the program's. `when`: beyond its line.
    pub(super) fn check_listener(&mut self, port: u16, when: &str) {
        let host = self.host();
        let why = match self.supervisor.listener(SocketAddr::new(host, port)) {
            Owner::Trial => return,
            Owner::Unknown(inodes) => return self.unknown_listeners.extend(inodes),
            Owner::Other => "is another program's".into(),
            // A program that has just died has closed its port: that it ended is the reason.
            Owner::Nobody if self.supervisor.ends_within(DYING) => return,
            Owner::Nobody => format!("has no listener on {host}"),
        };
        self.stop(Verdict::WrongEvidence, format!("::ready names port {port}, which {why}{when}"));
    }

    /// When all processes of the trial have ended: if an unidentified listener outlives them, it was not the program's.
    pub(super) fn check_unknown_listeners(&mut self) {
        let Some(port) = self.port.filter(|_| !self.unknown_listeners.is_empty()) else { return };
        let (address, since) = (SocketAddr::new(self.host(), port), Instant::now());
        // The kernel may close files of io_uring some time after its process.
        while still_listens(self.supervisor.procfs, &self.unknown_listeners, address) {
            if since.elapsed() > CLOSING {
                let why = format!("::ready names port {port}, which is another program's");
                let why = format!("{why}: it still listened when all processes had ended");
                self.cause = Some(Cause::Failed((Verdict::WrongEvidence, why)));
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(super) fn check_output(&mut self) {
        let limit = self.request.limits.output_bytes;
        if self.output.stdout.bytes + self.output.stderr.bytes > limit {
            self.stop(Verdict::Flooded, format!("more than {limit} bytes of output"));
        }
    }
}
