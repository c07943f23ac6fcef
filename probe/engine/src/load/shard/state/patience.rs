//! Clients that hang up: they wait for an answer for so long, from their request's instant on.

use super::Shard;
use crate::io::Io;
use crate::load::shard::connection::Stage;

impl Shard {
    /// Hangs up where the answer has not come in time; the connection is opened again at once.
    pub(super) fn hang_up<I: Io>(&mut self, now: u64, io: &mut I) {
        let Some(patience_ns) = self.patience_ns else {
            return;
        };
        for slot in 0..self.connections.len() {
            let connection = &self.connections[slot];
            let age_ns = now.saturating_sub(connection.intended_ns);
            if connection.stage != Stage::Busy || age_ns < patience_ns {
                continue;
            }
            let (number, target) = (connection.number, connection.target);
            let number = Some(number).filter(|_| self.encoder.keeps_service_times());
            if !self.arrivals.is_closed_loop() {
                // As many as an overload makes would use up all ports.
                io.reset_when_closed(slot);
            }
            io.close(slot);
            self.recorder.hung_up(now, number, target);
            self.abandon_reply(slot, now);
            self.last_event_ns = now;
            self.after_close(slot, now);
        }
        self.give_up_waiting(now);
    }

    /// Open loop: requests that waited too long for a connection are not sent.
    pub(super) fn give_up_waiting(&mut self, now: u64) {
        if self.arrivals.is_closed_loop() {
            return;
        }
        let oldest_ns = self
            .patience_ns
            .and_then(|patience_ns| now.checked_sub(patience_ns));
        let Some(oldest_ns) = oldest_ns else {
            return;
        };
        while let Some(at_ns) = self.arrivals.take_intended(oldest_ns) {
            self.recorder.never_sent(at_ns);
        }
    }
}
