//! The outcome of a trial: pure, from what happened to one word and a reason.

use crate::evidence::{self, Seen};
use crate::output::Verdict;
use crate::request::Expect;
use crate::service::Phase;

/// What ended the trial.
#[derive(Debug, PartialEq, Eq)]
pub enum Cause {
    /// The program itself.
    Ended,
    NotStarted(String),
    Interrupted(String),
    TimedOut(String),
    OutOfMemory(String),
    Flooded(String),
    NeverReady,
    WrongEvidence(String),
    LoadFailed(String),
}

/// All that the outcome depends on.
pub struct Facts<'a> {
    pub cause: &'a Cause,
    /// How the program itself ended.
    pub exit_status: Option<i32>,
    pub signal: Option<i32>,
    /// The kernel killed a process of the tree for want of memory.
    pub out_of_memory: bool,
    /// What was wrong with a last line that has no newline.
    pub cut_off: Option<&'a str>,
    pub service: Option<Phase>,
    pub expect: Option<&'a Expect>,
    pub seen: &'a Seen,
}

pub fn verdict(facts: &Facts) -> (Verdict, String) {
    let said = |verdict, detail: &str| (verdict, detail.to_owned());
    match facts.cause {
        Cause::Ended => {}
        Cause::NotStarted(why) => return said(Verdict::Crashed, why),
        Cause::Interrupted(why) => return said(Verdict::Interrupted, why),
        Cause::TimedOut(why) => return said(Verdict::TimedOut, why),
        Cause::OutOfMemory(why) => return said(Verdict::OutOfMemory, why),
        Cause::Flooded(why) => return said(Verdict::Flooded, why),
        Cause::NeverReady => return said(Verdict::NeverReady, "no ::ready in time"),
        Cause::WrongEvidence(why) => return said(Verdict::WrongEvidence, why),
        Cause::LoadFailed(why) => return said(Verdict::LoadFailed, why),
    }
    if facts.out_of_memory {
        return said(
            Verdict::OutOfMemory,
            "the kernel killed a process for want of memory",
        );
    }
    let ending = ending(facts.exit_status, facts.signal);
    let clean = facts.exit_status == Some(0);
    match facts.service {
        // Many runtimes end on SIGTERM with the status that a shell would show.
        Some(Phase::Ending)
            if clean
                || facts.signal == Some(libc::SIGTERM)
                || facts.exit_status == Some(128 + libc::SIGTERM) => {}
        Some(Phase::Ending) => return (Verdict::Crashed, format!("{ending} after SIGTERM")),
        Some(Phase::Starting) if clean => {
            return said(Verdict::NeverReady, "the program ended before ::ready")
        }
        Some(Phase::Idle | Phase::Driven) => {
            return (
                Verdict::Crashed,
                format!("the server ended by itself: {ending}"),
            )
        }
        _ if !clean => return (Verdict::Crashed, ending),
        _ => {}
    }
    if let Some(why) = facts.cut_off {
        return said(Verdict::WrongEvidence, why);
    }
    let evidence = facts
        .expect
        .map_or(Ok(()), |expect| evidence::check(expect, facts.seen));
    match evidence {
        Ok(()) => said(Verdict::Ok, ""),
        Err(why) => (Verdict::WrongEvidence, why),
    }
}

fn ending(exit_status: Option<i32>, signal: Option<i32>) -> String {
    match (exit_status, signal) {
        (Some(status), _) => format!("exit status {status}"),
        (None, Some(signal)) => match name(signal) {
            Some(name) => format!("killed by signal {signal} ({name})"),
            None => format!("killed by signal {signal}"),
        },
        (None, None) => "ended in an unknown way".into(),
    }
}

fn name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(change: impl FnOnce(&mut Facts)) -> (Verdict, String) {
        let expect = Expect::default();
        let seen = Seen::default();
        let mut facts = Facts {
            cause: &Cause::Ended,
            exit_status: Some(0),
            signal: None,
            out_of_memory: false,
            cut_off: None,
            service: None,
            expect: Some(&expect),
            seen: &seen,
        };
        change(&mut facts);
        verdict(&facts)
    }

    #[test]
    fn programs() {
        assert_eq!(judge(|_| {}), (Verdict::Ok, "".into()));
        let (verdict, detail) = judge(|facts| facts.exit_status = Some(3));
        assert_eq!(
            (verdict, detail.as_str()),
            (Verdict::Crashed, "exit status 3")
        );
        let (verdict, detail) = judge(|facts| {
            facts.exit_status = None;
            facts.signal = Some(11);
        });
        assert_eq!(
            (verdict, detail.as_str()),
            (Verdict::Crashed, "killed by signal 11 (SIGSEGV)")
        );
        assert_eq!(
            judge(|facts| facts.out_of_memory = true).0,
            Verdict::OutOfMemory
        );
        assert_eq!(
            judge(|facts| facts.cut_off = Some("half")).0,
            Verdict::WrongEvidence
        );
        // How it ended says nothing when it was the probe that killed it.
        let judged = judge(|facts| {
            facts.cause = &Cause::NeverReady;
            facts.exit_status = None;
            facts.signal = Some(9);
        });
        assert_eq!(judged, (Verdict::NeverReady, "no ::ready in time".into()));
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
