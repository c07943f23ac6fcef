//! Faults that are injected into streams, and the end of a load: what is left is counted and closed.

use super::Shard;
use crate::io::Io;
use crate::load::shard::connection::Stage;
use crate::load::shard::faults::Fault;
use crate::units::nanoseconds;

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
                        connection.since_ns = now;
                        io.resume(slot, self);
                    }
                    Fault::Reset => {
                        connection.stage = Stage::Removed;
                        self.recorder.record.reset += 1;
                        self.abandon_reply(slot, now);
                        io.reset(slot);
                    }
                }
            }
        }
    }

    /// At the end: counts requests without a reply, and requests that were never sent.
    pub fn count_unfinished(&mut self, now: u64) {
        if self.streams() {
            return self.count_streams(now);
        }
        let record = &mut self.recorder.record;
        for connection in &mut self.connections {
            let is_redirected = connection.hop.is_some();
            let is_sent = connection.stage == Stage::Busy || is_redirected;
            let intended = match (connection.stage, connection.pending_ns.take()) {
                (Stage::Busy, _) => connection.intended_ns,
                (_, Some(intended)) => {
                    record.intended += u64::from(!is_redirected);
                    intended
                }
                (_, None) => continue,
            };
            record.replies.unfinished += 1;
            let target = record.targets.get_mut(connection.target);
            if let Some(own) = target.filter(|_| is_sent) {
                own.unfinished += 1;
            }
            if !self.arrivals.is_closed_loop() {
                record.replies.latency.add(now - intended);
            }
        }
        if self.arrivals.is_closed_loop() {
            return;
        }
        // After an interrupt, requests whose instant has not come were not due.
        while let Some(intended) = self.arrivals.take_intended(now.saturating_sub(1)) {
            record.intended += 1;
            record.replies.unfinished += 1;
            record.replies.latency.add(now - intended);
        }
    }

    fn count_streams(&mut self, now: u64) {
        let silent_ns = self.config.plan.stream.silent_s.map(nanoseconds);
        let record = &mut self.recorder.record;
        for connection in &self.connections {
            record.held += u64::from(connection.stage == Stage::Busy && connection.answered);
            let quiet_ns = now.saturating_sub(connection.since_ns);
            let expected = connection.stage == Stage::Busy && !connection.was_paused;
            if expected && silent_ns.is_some_and(|max| quiet_ns > max) {
                record.silent += 1;
            }
            let counts = self.decoder.received_and_behind(&connection.reply, now);
            if let Some((received, behind)) = counts {
                record.chunks += received;
                // A paused reader is not behind through the server.
                record.behind += if connection.was_paused { 0 } else { behind };
            }
        }
    }

    /// Closes all connections; streams by a reset, so that no port stays in TIME_WAIT.
    pub fn close_all<I: Io>(&mut self, io: &mut I) {
        self.recorder.record.open_at_end = self.open as u64;
        for slot in 0..self.connections.len() {
            if self.streams() {
                io.reset(slot);
            } else {
                io.close(slot);
            }
        }
    }
}
