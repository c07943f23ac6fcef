//! Faults of the client: readers that pause, and connections that are reset.

use super::Shard;
use crate::io::Io;
use crate::load::plan::StreamPlan;
use crate::load::shard::connection::Stage;
use wire::units::nanoseconds;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Pause,
    Resume,
    Reset,
}

impl Fault {
    /// Whether the fault hits connection `id`.
    pub fn hits(self, plan: &StreamPlan, id: u64) -> bool {
        match self {
            Fault::Pause | Fault::Resume => plan.pauses(id),
            Fault::Reset => plan.resets(id),
        }
    }
}

/// The faults of a plan, the last first, and when they are due.
pub fn schedule(plan: &StreamPlan, start_ns: u64) -> Vec<(u64, Fault)> {
    let at = |s: f64| start_ns + nanoseconds(s);
    let mut faults = Vec::new();
    if let Some(pause) = plan.pause {
        faults.push((at(pause.at_s), Fault::Pause));
        faults.push((at(pause.at_s + pause.for_s), Fault::Resume));
    }
    faults.extend(plan.reset.map(|reset| (at(reset.at_s), Fault::Reset)));
    faults.sort_by_key(|&(at_ns, _)| std::cmp::Reverse(at_ns));
    faults
}

impl Shard {
    /// Injects the faults that are due into streams that are open.
    pub fn inject_faults<I: Io>(&mut self, now: u64, io: &mut I) {
        while let Some(&(_, fault)) = self.faults.last().filter(|(at_ns, _)| *at_ns <= now) {
            self.faults.pop();
            for slot in 0..self.connections.len() {
                let id = self.config.connection_id(slot);
                let connection = &mut self.connections[slot];
                if connection.stage.busy().is_none() || !fault.hits(&self.config.plan.stream, id) {
                    continue;
                }
                match fault {
                    Fault::Pause => {
                        connection.stream.paused = true;
                        connection.stream.was_paused = true;
                        self.recorder.record.paused += 1;
                        io.pause(slot);
                    }
                    // The pause may have hit an earlier connection of the slot.
                    Fault::Resume if !connection.stream.paused => {}
                    Fault::Resume => {
                        connection.stream.paused = false;
                        if let Stage::Busy(busy) = &mut connection.stage {
                            busy.active_ns = now;
                        }
                        io.resume(slot, self);
                    }
                    Fault::Reset => {
                        connection.stage = Stage::Removed;
                        self.recorder.record.reset += 1;
                        self.abandon_reply(slot, now);
                        io.reset_when_closed(slot);
                        io.close(slot);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::plan::{PausePlan, ResetPlan};

    #[test]
    fn faults_are_in_the_order_of_their_times() {
        let plan = StreamPlan {
            pause: Some(PausePlan { percent: 10, at_s: 1.0, for_s: 2.0 }),
            reset: Some(ResetPlan { percent: 20, at_s: 2.0 }),
            ..StreamPlan::default()
        };
        let [pause_ns, reset_ns, resume_ns] = [1_000_000_005, 2_000_000_005, 3_000_000_005];
        let expected = [(resume_ns, Fault::Resume), (reset_ns, Fault::Reset), (pause_ns, Fault::Pause)];
        assert_eq!(schedule(&plan, 5), expected);
        assert_eq!(schedule(&StreamPlan::default(), 5), []);
        let count = |hit: &dyn Fn(u64) -> bool| (1..=1000).filter(|&id| hit(id)).count();
        assert_eq!(count(&|id| Fault::Pause.hits(&plan, id)), 100);
        assert_eq!(count(&|id| Fault::Reset.hits(&plan, id)), 200);
        let both = |id| Fault::Resume.hits(&plan, id) && Fault::Reset.hits(&plan, id);
        assert_eq!(count(&both), 0);
    }
}
