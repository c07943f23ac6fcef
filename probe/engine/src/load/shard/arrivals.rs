//! The requests that a shard has to send: how many in a closed loop, and when in an open loop.

use super::ShardConfig;
use crate::load::pacer::Pacer;
use crate::load::plan::Protocol;

pub struct Arrivals {
    /// When the load begins.
    pub start_ns: u64,
    /// When the load ends, where it has a duration.
    pub end_ns: Option<u64>,
    /// A request may wait for this long, so that others are sent with it.
    slack_ns: u64,
    /// When the requests that wait for one another are sent: the instant of the last.
    together_ns: u64,
    source: Source,
}

enum Source {
    /// Closed loop: how many requests are left.
    Closed(u64),
    /// Open loop: the pacer, and a second one that runs ahead to find the last request of the batch. Streams are not
    /// paced: theirs has no instants.
    Open(Pacer, Box<Pacer>),
}

impl Arrivals {
    pub fn new(config: &ShardConfig) -> Arrivals {
        let plan = &config.plan;
        let source = if !plan.open_loop() && plan.protocol != Protocol::Stream {
            let left = plan.requests.map(|total| config.partition.requests(total));
            Source::Closed(left.unwrap_or(u64::MAX))
        } else {
            let end_ns = plan.duration_ns();
            let pacer = || Pacer::new(&plan.pacing, config.partition, end_ns, plan.requests);
            Source::Open(pacer(), pacer().into())
        };
        let start_ns = config.start_ns + plan.lead_ns();
        let mut arrivals = Arrivals {
            start_ns,
            end_ns: plan.duration_ns().map(|duration| start_ns + duration),
            slack_ns: config.slack_ns,
            together_ns: 0,
            source,
        };
        arrivals.gather();
        arrivals
    }

    /// Gathers the requests that are sent with the next one: those that become due within the slack.
    fn gather(&mut self) {
        let Source::Open(pacer, ahead) = &mut self.source else { return };
        let Some(until_ns) = pacer.peek().map(|at| at + self.slack_ns) else { return };
        while ahead.peek().is_some_and(|at| at <= until_ns) {
            self.together_ns = self.start_ns + ahead.take().unwrap_or_default();
        }
    }

    pub fn is_closed_loop(&self) -> bool {
        matches!(self.source, Source::Closed(_))
    }

    pub fn is_past_end(&self, now_ns: u64) -> bool {
        self.end_ns.is_some_and(|end| now_ns >= end)
    }

    /// Open loop: when to send the next request: when the last one of its batch is due. No request waits longer than its
    /// batch needs. Batches do not end at multiples of a period, so that sending cannot fall into step with the server.
    pub fn wake_ns(&self) -> Option<u64> {
        Some(self.next_ns()?.max(self.together_ns))
    }

    /// Open loop: the instant of the next request.
    fn next_ns(&self) -> Option<u64> {
        match &self.source {
            Source::Closed(_) => None,
            Source::Open(pacer, _) => pacer.peek().map(|at| self.start_ns + at),
        }
    }

    /// Open loop: whether a request is due.
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.wake_ns().is_some_and(|at_ns| at_ns <= now_ns)
    }

    /// The intended instant of the next request: in a closed loop now, as long as requests are left.
    pub fn take_due(&mut self, now_ns: u64) -> Option<u64> {
        if let Source::Closed(left) = &mut self.source {
            if *left == 0 || self.end_ns.is_some_and(|end| now_ns >= end) {
                return None;
            }
            *left -= 1;
            return Some(now_ns);
        }
        self.is_due(now_ns).then(|| self.take_intended(now_ns)).flatten()
    }

    /// Open loop: the instant of the next request, where that is not after the present.
    pub fn take_intended(&mut self, now_ns: u64) -> Option<u64> {
        let due_ns = self.next_ns().filter(|&due| due <= now_ns)?;
        if let Source::Open(pacer, _) = &mut self.source {
            pacer.take();
        }
        if due_ns >= self.together_ns {
            self.gather();
        }
        Some(due_ns)
    }

    /// At the end: requests that are due wait no longer.
    pub fn end_slack(&mut self) {
        (self.slack_ns, self.together_ns) = (0, 0);
    }

    pub fn is_exhausted(&self) -> bool {
        match &self.source {
            Source::Closed(left) => *left == 0,
            Source::Open(pacer, _) => pacer.peek().is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::partition::Partition;
    use crate::load::plan::Pacing;

    /// Four requests per second. Each may wait for this long.
    fn arrivals(slack_ns: u64) -> Arrivals {
        let pacing = Pacing::Constant { rate_per_s: 4.0, burst: 1 };
        let pacer = || Pacer::new(&pacing, Partition::new(0, 1, 1), None, Some(4));
        let mut arrivals = Arrivals {
            start_ns: 1000,
            end_ns: None,
            slack_ns,
            together_ns: 0,
            source: Source::Open(pacer(), pacer().into()),
        };
        arrivals.gather();
        arrivals
    }

    const QUARTER: u64 = 250_000_000;

    #[test]
    fn requests_are_sent_at_their_instants() {
        let mut exact = arrivals(0);
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
        let mut sent = Vec::new();
        while let Some(at) = slack.wake_ns() {
            assert_eq!(slack.take_due(at - 1), None);
            while let Some(due) = slack.take_due(at) {
                sent.push(((at - 1000) / QUARTER, (due - 1000) / QUARTER));
            }
        }
        assert_eq!(sent, [(1, 0), (1, 1), (3, 2), (3, 3)]);
    }

    #[test]
    fn a_request_that_is_alone_within_the_slack_does_not_wait() {
        let mut slack = arrivals(QUARTER - 1);
        for number in 0..4 {
            let due = 1000 + number * QUARTER;
            assert_eq!(slack.wake_ns(), Some(due));
            assert_eq!(slack.take_due(due), Some(due));
        }
    }

    #[test]
    fn an_engine_that_is_late_sends_all_that_are_due() {
        let mut slack = arrivals(400_000_000);
        let now = 1000 + 2 * QUARTER;
        // The third waits for the fourth.
        let sent = std::iter::from_fn(|| slack.take_due(now)).count();
        assert_eq!((sent, slack.wake_ns()), (2, Some(1000 + 3 * QUARTER)));
    }

    /// Requests that had no connection do not wait again.
    #[test]
    fn what_was_to_be_sent_is_sent_as_soon_as_it_can_be() {
        let mut slack = arrivals(400_000_000);
        let wake = slack.wake_ns().unwrap();
        assert_eq!(slack.take_due(wake), Some(1000));
        assert_eq!(slack.wake_ns(), Some(wake));
        assert_eq!(slack.take_due(wake + 1), Some(1000 + QUARTER));
        assert_eq!(slack.take_due(wake + QUARTER), None);
    }

    #[test]
    fn what_was_due_at_the_end_waits_no_longer() {
        let mut slack = arrivals(400_000_000);
        let now = 1000 + QUARTER - 1;
        assert_eq!(slack.take_due(now), None);
        slack.end_slack();
        assert_eq!(slack.take_due(now), Some(1000));
        assert_eq!(slack.take_due(now), None);
        assert_eq!(slack.take_due(now + 1), Some(now + 1));
    }
}
