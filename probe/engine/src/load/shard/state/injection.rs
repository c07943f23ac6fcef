//! Injects faults into streams.

use super::Shard;
use crate::io::Io;
use crate::load::shard::connection::Stage;
use crate::load::shard::faults::Fault;

impl Shard {
    /// Injects the faults that are due into streams that are open.
    pub fn inject_faults<I: Io>(&mut self, now: u64, io: &mut I) {
        while let Some(fault) = self.faults.take_due(now) {
            for slot in 0..self.connections.len() {
                let id = self.config.connection_id(slot);
                let connection = &mut self.connections[slot];
                let hit = connection.stage == Stage::Busy
                    && fault.hits(&self.config.plan.stream, id)
                    && (fault != Fault::Resume || connection.paused);
                match fault {
                    _ if !hit => {}
                    Fault::Pause => {
                        connection.paused = true;
                        connection.was_paused = true;
                        self.recorder.record.paused += 1;
                        io.pause(slot);
                    }
                    Fault::Resume => {
                        connection.paused = false;
                        connection.active_ns = now;
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
