//! Slots that share connections: one of them stands for its connection where these are counted.

use super::Shard;
use crate::io::Slot;
use crate::load::error::ErrorKind;
use crate::load::shard::connection::Stage;

/// How often in succession a request is sent again that the server has not processed, besides once for each of the
/// requests that share its connections: a server may take as little as one on each.
const MAX_REFUSALS: usize = 10;

impl Shard {
    /// A slot has no connection any more.
    pub(super) fn uncount(&mut self, slot: Slot) {
        let owned = std::mem::take(&mut self.connections[slot].is_counted);
        self.open -= usize::from(owned);
    }

    /// The connection that a slot waited for came to nothing. `at_once`: another can be opened.
    pub(super) fn not_joined(&mut self, slot: Slot, now: u64, at_once: bool) {
        self.dialer.connect_ended();
        match at_once {
            true => {
                self.connections[slot].stage = Stage::Closed(now);
                self.dialer.enqueue(slot, now);
            }
            false => self.pause(slot, now),
        }
    }

    /// The server has declared that it has not processed a request, which may therefore be sent again (RFC 9113,
    /// section 8.7).
    pub(super) fn refused(&mut self, slot: Slot, now: u64) {
        let most = MAX_REFUSALS + self.config.plan.lanes();
        let connection = &mut self.connections[slot];
        connection.refusals += 1;
        if connection.refusals > most || self.decoder.streams() {
            connection.refusals = 0;
            return self.lost(slot, now, ErrorKind::GoAway);
        }
        self.recorder.uncount_intended(connection.intended_ns);
        self.send_later(slot, now);
    }
}
