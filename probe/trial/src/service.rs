//! The phases of a program that listens: it gets ready, is observed, and is ended by SIGTERM. Pure: callers pass
//! the times.

use wire::messages::{Failure, Verdict};
use wire::request;
use wire::units::nanoseconds;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Starting,
    /// Observed, with nothing to do.
    Idle,
    /// Under load.
    Driven,
    Ending,
}

pub struct Service {
    pub phase: Phase,
    /// When the phase ends at the latest.
    pub due_ns: u64,
    ready_s: f64,
    idle_ns: u64,
    end_ns: u64,
    next_step: usize,
    steps: usize,
}

/// The next action of the trial.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Wait,
    /// Start the step of loads with this number, from 0.
    Drive(usize),
    /// Send SIGTERM.
    Terminate,
    /// End the trial.
    GiveUp(Failure),
}

impl Service {
    pub fn new(request: &request::Service) -> Service {
        Service {
            phase: Phase::Starting,
            due_ns: nanoseconds(request.ready_s),
            ready_s: request.ready_s,
            idle_ns: nanoseconds(request.idle_s),
            end_ns: nanoseconds(request.end_s),
            next_step: 0,
            steps: request.steps.len(),
        }
    }

    /// The program printed `::ready`. False when it did so before.
    pub fn ready(&mut self, now_ns: u64) -> bool {
        let first = self.phase == Phase::Starting;
        if first {
            self.phase = Phase::Idle;
            self.due_ns = now_ns.saturating_add(self.idle_ns);
        }
        first
    }

    /// The loads of a step have ended; `next`: the step that follows, None if none may.
    pub fn driven(&mut self, now_ns: u64, next: Option<usize>) {
        self.phase = Phase::Idle;
        self.due_ns = now_ns;
        self.next_step = next.unwrap_or(self.steps);
    }

    /// Advances to the next phase when the present one is over.
    pub fn step(&mut self, now_ns: u64) -> Step {
        if now_ns < self.due_ns {
            return Step::Wait;
        }
        match self.phase {
            Phase::Starting => {
                let limit_s = self.ready_s;
                let why =
                    format!("no line `::ready port=…` within {limit_s} s, the limit of a server's start");
                Step::GiveUp((Verdict::NeverReady, why))
            }
            Phase::Ending => {
                let why = format!("still ran {} s after SIGTERM", self.end_ns as f64 / 1e9);
                Step::GiveUp((Verdict::TimedOut, why))
            }
            // Loads end by themselves.
            Phase::Driven => Step::Wait,
            Phase::Idle if self.next_step < self.steps => {
                self.phase = Phase::Driven;
                self.due_ns = u64::MAX;
                self.next_step += 1;
                Step::Drive(self.next_step - 1)
            }
            Phase::Idle => {
                self.phase = Phase::Ending;
                self.due_ns = now_ns.saturating_add(self.end_ns);
                Step::Terminate
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::json::Raw;

    fn service() -> Service {
        with_steps(0)
    }

    fn with_steps(steps: usize) -> Service {
        Service::new(&request::Service {
            ready_s: 5.0,
            idle_s: 1.0,
            end_s: 2.0,
            steps: vec![Raw("{}".into()); steps],
            stub: None,
            host: [127, 0, 0, 1].into(),
            remote: false,
        })
    }

    #[test]
    fn steps_one_after_another_until_the_last() {
        for taken in [&[0, 1, 2, 3][..], &[0, 3], &[0]] {
            let mut service = with_steps(4);
            service.ready(0);
            for (&number, next) in taken.iter().zip(1..) {
                assert_eq!(service.step(2_000_000_000), Step::Drive(number));
                assert_eq!(service.phase, Phase::Driven);
                assert_eq!(service.step(9_000_000_000), Step::Wait);
                service.driven(2_000_000_000, taken.get(next).copied());
            }
            assert_eq!(service.step(2_000_000_000), Step::Terminate);
        }
    }

    #[test]
    fn ready_idle_ended() {
        let mut service = service();
        assert_eq!(service.step(4_999_999_999), Step::Wait);
        assert!(service.ready(10));
        assert!(!service.ready(20));
        assert_eq!(service.due_ns, 1_000_000_010);
        assert_eq!(service.step(1_000_000_010), Step::Terminate);
        assert_eq!(service.phase, Phase::Ending);
        assert_eq!(service.step(3_000_000_009), Step::Wait);
        let late = (Verdict::TimedOut, "still ran 2 s after SIGTERM".into());
        assert_eq!(service.step(3_000_000_010), Step::GiveUp(late));
    }

    #[test]
    fn never_ready() {
        let why = "no line `::ready port=…` within 5 s, the limit of a server's start";
        assert_eq!(service().step(5_000_000_000), Step::GiveUp((Verdict::NeverReady, why.into())));
    }
}
