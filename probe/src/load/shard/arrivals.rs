//! The requests that a shard has to send: how many in a closed loop, and when in an open loop.

use super::config::ShardConfig;
use crate::load::pacer::{Pacer, Pacing};
use crate::load::plan::Protocol;
use crate::units::nanoseconds;

pub struct Arrivals {
    start_ns: u64,
    end_ns: Option<u64>,
    /// In the coarse mode: requests are sent together at multiples of this.
    tick_ns: Option<u64>,
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
            tick_ns: plan.tick_s.map(|tick_s| nanoseconds(tick_s).max(1)),
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

    /// Open loop: when the next request is to be sent: at its instant, or at the next tick.
    pub fn wake_ns(&self) -> Option<u64> {
        let due_ns = self.next_ns()?;
        Some(match self.tick_ns {
            Some(tick_ns) => {
                let ticks = (due_ns - self.start_ns + tick_ns - 1) / tick_ns;
                self.start_ns + ticks * tick_ns
            }
            None => due_ns,
        })
    }

    /// Whether requests are to be sent at their instants.
    pub fn is_exact(&self) -> bool {
        self.tick_ns.is_none()
    }

    /// Open loop: the instant of the next request.
    fn next_ns(&self) -> Option<u64> {
        match &self.source {
            Source::Closed(_) => None,
            Source::Open(pacer) => pacer.peek().map(|at| self.start_ns + at),
        }
    }

    /// Open loop: whether a request is to be sent.
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.wake_ns().is_some_and(|at_ns| at_ns <= now_ns)
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

    /// At the end: what was due is not held back until the next tick.
    pub fn end_ticks(&mut self) {
        self.tick_ns = None;
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

    /// Four requests per second, sent at these ticks.
    fn arrivals(tick_ns: Option<u64>) -> Arrivals {
        let pacing = Pacing::Constant(4.0, 1);
        Arrivals {
            start_ns: 1000,
            end_ns: None,
            tick_ns,
            source: Source::Open(Pacer::new(&pacing, 0, Share::whole(), None, Some(4))),
        }
    }

    const QUARTER: u64 = 250_000_000;

    #[test]
    fn requests_are_sent_at_their_instants() {
        let mut exact = arrivals(None);
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
    fn requests_are_sent_at_the_ticks_after_their_instants() {
        let mut coarse = arrivals(Some(400_000_000));
        assert!(!coarse.is_exact());
        let mut sent = Vec::new();
        while let Some(at) = coarse.wake_ns() {
            assert_eq!(coarse.take_due(at - 1), None);
            while let Some(due) = coarse.take_due(at) {
                assert!(due <= at);
                sent.push(((at - 1000) / 100_000_000, (due - 1000) / QUARTER));
            }
        }
        assert_eq!(sent, [(0, 0), (4, 1), (8, 2), (8, 3)]);
    }

    #[test]
    fn what_was_due_at_the_end_waits_for_no_tick() {
        let mut coarse = arrivals(Some(400_000_000));
        let now = 1000 + 2 * QUARTER;
        assert_eq!(coarse.take_due(now), Some(1000));
        assert_eq!(coarse.take_due(1000 + QUARTER), None);
        assert_eq!(coarse.take_intended(1000 + QUARTER), Some(1000 + QUARTER));
        assert_eq!(coarse.take_due(now), None);
        coarse.end_ticks();
        assert_eq!(coarse.take_due(now), Some(now));
        assert_eq!(coarse.take_due(now), None);
    }
}
