//! Readers that stop for a while, and connections that vanish.

use super::{nanoseconds, Shard, Stage};
use crate::io::Io;
use crate::load::plan::StreamPlan;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disturbance {
    Pause,
    Resume,
    Vanish,
}

/// What happens when, the next last.
pub(super) fn of(plan: &StreamPlan, start_ns: u64) -> Vec<(u64, Disturbance)> {
    let at = |s: f64| start_ns + nanoseconds(s);
    let mut found = Vec::new();
    if let Some(slow) = plan.slow {
        found.push((at(slow.at_s), Disturbance::Pause));
        found.push((at(slow.at_s + slow.for_s), Disturbance::Resume));
    }
    found.extend(plan.vanish.map(|one| (at(one.at_s), Disturbance::Vanish)));
    found.sort_by_key(|&(at_ns, _)| std::cmp::Reverse(at_ns));
    found
}

impl Shard {
    /// Does what is due to streams that are open by now.
    pub(super) fn disturb<I: Io>(&mut self, now: u64, io: &mut I) {
        while let Some(&(_, what)) = self.disturbances.last().filter(|(at, _)| *at <= now) {
            self.disturbances.pop();
            for slot in 0..self.connections.len() {
                let id = self.id(slot);
                let plan = &self.orders.plan.stream;
                let connection = &mut self.connections[slot];
                let chosen = match what {
                    Disturbance::Pause => plan.is_slow(id),
                    Disturbance::Resume => connection.paused,
                    Disturbance::Vanish => plan.vanishes(id),
                };
                if !chosen || connection.stage != Stage::Busy {
                    continue;
                }
                match what {
                    Disturbance::Pause => {
                        connection.paused = true;
                        connection.slow = true;
                        self.record.slowed += 1;
                        io.pause(slot);
                    }
                    Disturbance::Resume => {
                        connection.paused = false;
                        connection.since_ns = now;
                        io.resume(slot, self);
                    }
                    Disturbance::Vanish => {
                        connection.stage = Stage::Vanished;
                        self.record.vanished += 1;
                        self.leave(slot, now);
                        io.reset(slot);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::plan::{SlowPlan, VanishPlan};

    #[test]
    fn disturbances_come_in_the_order_of_their_times() {
        let plan = StreamPlan {
            slow: Some(SlowPlan {
                percent: 10,
                at_s: 1.0,
                for_s: 2.0,
            }),
            vanish: Some(VanishPlan {
                percent: 20,
                at_s: 2.0,
            }),
            ..StreamPlan::default()
        };
        let mut found = of(&plan, 5);
        assert_eq!(found.pop(), Some((1_000_000_005, Disturbance::Pause)));
        assert_eq!(found.pop(), Some((2_000_000_005, Disturbance::Vanish)));
        assert_eq!(found.pop(), Some((3_000_000_005, Disturbance::Resume)));
        assert_eq!(of(&StreamPlan::default(), 5), []);
        let count = |chosen: &dyn Fn(u64) -> bool| (1..=1000).filter(|&id| chosen(id)).count();
        assert_eq!(count(&|id| plan.is_slow(id)), 100);
        assert_eq!(count(&|id| plan.vanishes(id)), 200);
        assert_eq!(count(&|id| plan.is_slow(id) && plan.vanishes(id)), 0);
    }
}
