//! The requests that a shard has to send: how many in a closed loop, and when in an open loop.

use super::config::ShardConfig;
use crate::load::pacer::{Pacer, Pacing};
use crate::load::plan::Protocol;
use crate::units::nanoseconds;

pub struct Arrivals {
    start_ns: u64,
    end_ns: Option<u64>,
    /// A request may wait for so long, so that others are sent with it.
    slack_ns: u64,
    /// What was due by then is sent.
    released_ns: u64,
    source: Source,
}

enum Source {
    /// Closed loop: how many requests are left.
    Closed(u64),
    /// Open loop. Streams are not paced: theirs has no instants.
    Open(Pacer),
}

impl Arrivals {
    pub fn new(config: &ShardConfig) -> Arrivals {
        let plan = &config.plan;
        let share = config.share;
        let pacing = plan.pacing();
        let source = if pacing == Pacing::Closed && plan.protocol != Protocol::Stream {
            let left = plan.requests.map(|total| share.requests(total));
            Source::Closed(left.unwrap_or(u64::MAX))
        } else {
            let duration_ns = plan.duration_ns();
            Source::Open(Pacer::new(
                &pacing,
                config.shard as u64,
                share,
                duration_ns,
                plan.requests,
            ))
        };
        Arrivals {
            start_ns: config.start_ns,
            end_ns: plan
                .duration_ns()
                .map(|duration| config.start_ns + duration),
            slack_ns: plan.slack_s.map_or(0, nanoseconds),
            released_ns: 0,
            source,
        }
    }

    pub fn is_closed_loop(&self) -> bool {
        matches!(self.source, Source::Closed(_))
    }

    /// When the load ends, where it has a duration.
    pub fn end_ns(&self) -> Option<u64> {
        self.end_ns
    }

    pub fn is_past_end(&self, now_ns: u64) -> bool {
        self.end_ns.is_some_and(|end| now_ns >= end)
    }

    /// Open loop: when the next request is to be sent, with all that are due by then: so, other than at the multiples
    /// of a time, no period of the server's can be in step with the sending.
    pub fn wake_ns(&self) -> Option<u64> {
        let due_ns = self.next_ns()?;
        Some(match due_ns <= self.released_ns {
            true => due_ns,
            false => due_ns + self.slack_ns,
        })
    }

    /// Whether requests are to be sent at their instants.
    pub fn is_exact(&self) -> bool {
        self.slack_ns == 0
    }

    /// Open loop: the instant of the next request.
    fn next_ns(&self) -> Option<u64> {
        match &self.source {
            Source::Closed(_) => None,
            Source::Open(pacer) => pacer.peek().map(|at| self.start_ns + at),
        }
    }

    /// Open loop: whether a request is to be sent.
    pub fn is_due(&mut self, now_ns: u64) -> bool {
        let Some(due_ns) = self.next_ns() else {
            return false;
        };
        if due_ns + self.slack_ns <= now_ns {
            self.released_ns = now_ns;
        }
        due_ns <= self.released_ns
    }

    /// The intended instant of a request that is to be sent: in a closed loop now, as long as requests are left.
    pub fn take_due(&mut self, now_ns: u64) -> Option<u64> {
        if let Source::Closed(left) = &mut self.source {
            if *left == 0 || self.end_ns.is_some_and(|end| now_ns >= end) {
                return None;
            }
            *left -= 1;
            return Some(now_ns);
        }
        match self.is_due(now_ns) {
            true => self.take_intended(now_ns),
            false => None,
        }
    }

    /// Open loop: the instant of the next request, where that is not after the present.
    pub fn take_intended(&mut self, now_ns: u64) -> Option<u64> {
        let due_ns = self.next_ns().filter(|&due| due <= now_ns)?;
        if let Source::Open(pacer) = &mut self.source {
            pacer.take();
        }
        Some(due_ns)
    }

    /// At the end: what was due waits for nothing more.
    pub fn end_slack(&mut self) {
        self.slack_ns = 0;
    }

    pub fn is_exhausted(&self) -> bool {
        match &self.source {
            Source::Closed(left) => *left == 0,
            Source::Open(pacer) => pacer.peek().is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::pacer::Pacing;
    use crate::load::share::Share;

    /// Four requests per second, of which each may wait for so long.
    fn arrivals(slack_ns: u64) -> Arrivals {
        let pacing = Pacing::Constant(4.0, 1);
        Arrivals {
            start_ns: 1000,
            end_ns: None,
            slack_ns,
            released_ns: 0,
            source: Source::Open(Pacer::new(&pacing, 0, Share::whole(), None, Some(4))),
        }
    }

    const QUARTER: u64 = 250_000_000;

    #[test]
    fn requests_are_sent_at_their_instants() {
        let mut exact = arrivals(0);
        assert!(exact.is_exact());
        for number in 0..4 {
            let due = 1000 + number * QUARTER;
            assert_eq!(exact.wake_ns(), Some(due));
            assert!(!exact.is_due(due - 1) && exact.is_due(due));
            assert_eq!(exact.take_due(due - 1), None);
            assert_eq!(exact.take_due(due), Some(due));
        }
        assert_eq!((exact.wake_ns(), exact.is_exhausted()), (None, true));
    }

    #[test]
    fn requests_wait_for_others_that_become_due() {
        let mut slack = arrivals(400_000_000);
        assert!(!slack.is_exact());
        let mut sent = Vec::new();
        while let Some(at) = slack.wake_ns() {
            assert_eq!(slack.take_due(at - 1), None);
            while let Some(due) = slack.take_due(at) {
                sent.push(((at - 1000) / 50_000_000, (due - 1000) / QUARTER));
            }
        }
        assert_eq!(sent, [(8, 0), (8, 1), (18, 2), (18, 3)]);
    }

    /// Those for which there was no connection do not wait again.
    #[test]
    fn what_was_to_be_sent_is_sent_as_soon_as_it_can_be() {
        let mut slack = arrivals(400_000_000);
        let wake = slack.wake_ns().unwrap();
        assert_eq!(slack.take_due(wake), Some(1000));
        assert_eq!(slack.wake_ns(), Some(1000 + QUARTER));
        assert_eq!(slack.take_due(wake + 1), Some(1000 + QUARTER));
        assert_eq!(slack.take_due(wake + QUARTER), None);
    }

    #[test]
    fn what_was_due_at_the_end_waits_no_longer() {
        let mut slack = arrivals(400_000_000);
        let now = 1000 + QUARTER;
        assert_eq!(slack.take_due(now), None);
        slack.end_slack();
        assert_eq!(slack.take_due(now), Some(1000));
        assert_eq!(slack.take_due(now), Some(now));
        assert_eq!(slack.take_due(now), None);
    }
}
