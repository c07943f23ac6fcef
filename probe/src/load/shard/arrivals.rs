//! The requests that a shard has to send: how many in a closed loop, and when in an open loop.

use super::config::ShardConfig;
use crate::load::pacer::{share, Pacer, Pacing};
use crate::load::plan::Protocol;

pub struct Arrivals {
    start_ns: u64,
    end_ns: Option<u64>,
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
        let (shard, shards) = (config.shard as u64, plan.threads as u64);
        let pacing = plan.pacing();
        let source = if pacing == Pacing::Closed && plan.protocol != Protocol::Stream {
            let left = plan.requests.map(|total| share(total, shard, shards));
            Source::Closed(left.unwrap_or(u64::MAX))
        } else {
            let duration_ns = plan.duration_ns();
            Source::Open(Pacer::new(
                &pacing,
                shard,
                shards,
                duration_ns,
                plan.requests,
            ))
        };
        Arrivals {
            start_ns: config.start_ns,
            end_ns: plan
                .duration_ns()
                .map(|duration| config.start_ns + duration),
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
        self.end_ns.map_or(false, |end| now_ns >= end)
    }

    /// Open loop: the instant of the next request.
    pub fn next_ns(&self) -> Option<u64> {
        match &self.source {
            Source::Closed(_) => None,
            Source::Open(pacer) => pacer.peek().map(|at| self.start_ns + at),
        }
    }

    /// The intended instant of a request that is due: in a closed loop now, as long as requests are left.
    pub fn take_due(&mut self, now_ns: u64) -> Option<u64> {
        if let Source::Closed(left) = &mut self.source {
            if *left == 0 || self.end_ns.map_or(false, |end| now_ns >= end) {
                return None;
            }
            *left -= 1;
            return Some(now_ns);
        }
        let due_ns = self.next_ns().filter(|&due| due <= now_ns)?;
        if let Source::Open(pacer) = &mut self.source {
            pacer.take();
        }
        Some(due_ns)
    }

    pub fn is_exhausted(&self) -> bool {
        match &self.source {
            Source::Closed(left) => *left == 0,
            Source::Open(pacer) => pacer.peek().is_none(),
        }
    }
}
