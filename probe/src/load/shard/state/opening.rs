//! Opens connections, and opens them again after they were closed or have failed.

use super::Shard;
use crate::clock::now_ns;
use crate::io::{Io, Slot};
use crate::load::error::ErrorKind;
use crate::load::shard::connection::Stage;
use crate::load::shard::dialer::Dialed;

impl Shard {
    /// Opens the connections that are due.
    pub fn open_connections<I: Io>(&mut self, now: u64, io: &mut I) {
        if self.stopping {
            return;
        }
        while let Some((slots, due_ns)) = self.dialer.take_due(now) {
            for slot in slots {
                self.reopen(slot, now, due_ns);
            }
        }
        while let Some((slot, ready_ns, result)) = self.dialer.dial(&self.config, io) {
            if self.streams() {
                // Nothing else is due for a stream than its opening.
                self.connections[slot].open_late_ns = now_ns().saturating_sub(ready_ns);
            }
            self.connections[slot].since_ns = now;
            match result {
                Ok(Dialed::Opening) => self.connections[slot].stage = Stage::Connecting,
                Ok(Dialed::Joining) => self.connections[slot].stage = Stage::Joining,
                Err(kind) => self.connect_failed(slot, now, kind),
            }
        }
    }

    /// Opens a connection that is due since `due_ns`: at once, or when there is a request for it.
    fn reopen(&mut self, slot: Slot, now: u64, due_ns: u64) {
        if !self.decoder.closes() {
            self.dialer.enqueue(slot, due_ns);
        } else if !self.arrivals.is_closed_loop() {
            self.connections[slot].since_ns = now;
            self.free.push_back(slot);
        } else if let Some(intended) = self.arrivals.take_due(now) {
            self.connections[slot].pending_ns = Some(intended);
            self.dialer.enqueue(slot, now);
        }
    }

    /// An error, after which the connection is opened again later. `of_request`: it concerns a request.
    pub(super) fn failed(&mut self, slot: Slot, now: u64, kind: ErrorKind, of_request: bool) {
        let connection = &mut self.connections[slot];
        let target = Some(connection.target).filter(|_| of_request);
        self.recorder.error(now, kind, target);
        connection.stage = Stage::Closed;
        self.dialer.retry_later(slot, now);
    }

    /// A connect failed. A request that waited for it fails with it.
    pub(super) fn connect_failed(&mut self, slot: Slot, now: u64, kind: ErrorKind) {
        let connection = &mut self.connections[slot];
        let is_redirected = connection.hop.take().is_some();
        if connection.pending_ns.take().is_some() && !is_redirected {
            self.recorder.intended();
        }
        self.failed(slot, now, kind, is_redirected);
    }

    /// A connection was closed in good order.
    pub(super) fn after_close(&mut self, slot: Slot, now: u64) {
        self.connections[slot].stage = Stage::Closed;
        self.disown(slot);
        if !self.stopping {
            self.reopen(slot, now, now);
        }
    }
}
