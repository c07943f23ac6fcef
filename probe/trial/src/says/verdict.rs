//! The verdict on a trial: pure, from how it ended to one word and a reason.

use crate::says::evidence::{self, Observed};
use crate::service::Phase;
use wire::messages::{Failure, Verdict};
use wire::request::Expect;

/// Why a trial ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Cause {
    /// The program ended by itself.
    Exited,
    NotStarted(String),
    Failed(Failure),
}

/// Everything that the verdict depends on.
pub struct Facts<'a> {
    pub cause: &'a Cause,
    /// The program's own.
    pub exit_status: Option<i32>,
    pub signal: Option<i32>,
    /// The kernel killed a process of the tree for want of memory.
    pub out_of_memory: bool,
    pub last_line_error: Option<&'a str>,
    /// Why the evidence may be that of work after the program's end.
    pub late: Option<&'a str>,
    /// A plain command: its exit status may be ignored.
    pub plain: bool,
    pub service: Option<Phase>,
    pub expect: Option<&'a Expect>,
    pub observed: &'a Observed,
}

pub fn verdict(facts: &Facts) -> Failure {
    let with = |verdict, detail: &str| (verdict, detail.to_owned());
    match facts.cause {
        Cause::Exited => {}
        Cause::NotStarted(why) => return with(Verdict::Crashed, why),
        Cause::Failed(failure) => return failure.clone(),
    }
    if facts.out_of_memory {
        return with(Verdict::OutOfMemory, "the kernel killed a process for want of memory");
    }
    if let Some(why) = facts.late.filter(|_| facts.plain) {
        return with(Verdict::WrongEvidence, why);
    }
    let exit_text = exit_text(facts.exit_status, facts.signal);
    let clean = facts.exit_status == Some(0);
    match facts.service {
        // Many runtimes end on SIGTERM with the status that a shell would show.
        Some(Phase::Ending)
            if clean
                || facts.signal == Some(libc::SIGTERM)
                || facts.exit_status == Some(128 + libc::SIGTERM) => {}
        Some(Phase::Ending) => return (Verdict::Crashed, format!("{exit_text} after SIGTERM")),
        Some(Phase::Starting) if clean => {
            return with(Verdict::NeverReady, "the program ended before ::ready")
        }
        Some(Phase::Idle | Phase::Driven) => {
            return (Verdict::Crashed, format!("the server ended by itself: {exit_text}"))
        }
        _ if !clean => return (Verdict::Crashed, exit_text),
        _ => {}
    }
    if let Some(why) = facts.late.or(facts.last_line_error) {
        return with(Verdict::WrongEvidence, why);
    }
    let evidence = facts.expect.map_or(Ok(()), |expect| evidence::check(expect, facts.observed));
    match evidence {
        Ok(()) => with(Verdict::Ok, ""),
        Err(why) => (Verdict::WrongEvidence, why),
    }
}

fn exit_text(exit_status: Option<i32>, signal: Option<i32>) -> String {
    match (exit_status, signal) {
        (Some(status), _) => format!("exit status {status}"),
        (None, Some(signal)) => match signal_name(signal) {
            Some(name) => format!("killed by signal {signal} ({name})"),
            None => format!("killed by signal {signal}"),
        },
        (None, None) => "ended in an unknown way".into(),
    }
}

/// Names a table of signals, by their names in libc.
macro_rules! names {
    ($($name:ident),*) => {
        [$((libc::$name, stringify!($name))),*]
    };
}

pub fn signal_name(signal: i32) -> Option<&'static str> {
    let names = names![
        SIGHUP, SIGINT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGPIPE, SIGALRM,
        SIGTERM, SIGCONT, SIGXCPU, SIGXFSZ, SIGSYS
    ];
    let named = names.into_iter().find(|(number, _)| *number == signal);
    named.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::OnceLock;

    fn judge(change: impl FnOnce(&mut Facts)) -> (Verdict, String) {
        let expect = Expect::default();
        let observed = Observed::default();
        let mut facts = Facts {
            cause: &Cause::Exited,
            exit_status: Some(0),
            signal: None,
            out_of_memory: false,
            last_line_error: None,
            late: None,
            plain: false,
            service: None,
            expect: Some(&expect),
            observed: &observed,
        };
        change(&mut facts);
        verdict(&facts)
    }

    #[test]
    fn programs() {
        assert_eq!(judge(|_| {}), (Verdict::Ok, "".into()));
        let (verdict, detail) = judge(|facts| facts.exit_status = Some(3));
        assert_eq!((verdict, detail.as_str()), (Verdict::Crashed, "exit status 3"));
        let (verdict, detail) = judge(|facts| {
            facts.exit_status = None;
            facts.signal = Some(11);
        });
        assert_eq!((verdict, detail.as_str()), (Verdict::Crashed, "killed by signal 11 (SIGSEGV)"));
        assert_eq!(judge(|facts| facts.out_of_memory = true).0, Verdict::OutOfMemory);
        assert_eq!(judge(|facts| facts.last_line_error = Some("half")).0, Verdict::WrongEvidence);
        let late = |status, plain| {
            let judged = judge(|facts| {
                facts.exit_status = Some(status);
                facts.late = Some("late");
                facts.plain = plain;
            });
            judged.0
        };
        assert_eq!(late(0, false), Verdict::WrongEvidence);
        assert_eq!(late(3, false), Verdict::Crashed);
        // `--ignore-failure` accepts any status.
        assert_eq!(late(3, true), Verdict::WrongEvidence);
        // The way it ended does not matter when the probe killed it.
        static NEVER: OnceLock<Cause> = OnceLock::new();
        let never = NEVER.get_or_init(|| Cause::Failed((Verdict::NeverReady, "no ::ready".into())));
        let judged = judge(|facts| {
            facts.cause = never;
            facts.exit_status = None;
            facts.signal = Some(9);
        });
        assert_eq!(judged, (Verdict::NeverReady, "no ::ready".into()));
    }

    #[test]
    fn services() {
        let service = |phase, exit_status, signal| {
            judge(|facts| {
                facts.service = Some(phase);
                facts.exit_status = exit_status;
                facts.signal = signal;
            })
            .0
        };
        assert_eq!(service(Phase::Ending, Some(0), None), Verdict::Ok);
        assert_eq!(service(Phase::Ending, None, Some(15)), Verdict::Ok);
        assert_eq!(service(Phase::Ending, Some(143), None), Verdict::Ok);
        assert_eq!(service(Phase::Ending, Some(1), None), Verdict::Crashed);
        assert_eq!(service(Phase::Idle, Some(0), None), Verdict::Crashed);
        assert_eq!(service(Phase::Starting, Some(0), None), Verdict::NeverReady);
        assert_eq!(service(Phase::Starting, Some(1), None), Verdict::Crashed);
    }
}
