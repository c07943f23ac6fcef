//! Opens connections, and opens them again after they were closed or have failed. Slots can share connections: one of
//! them stands for its connection where these are counted.

use super::Shard;
use crate::io::{Io, Slot};
use crate::load::error::ErrorKind;
use crate::load::request_log::Line;
use crate::load::shard::connection::Stage;
use crate::load::shard::dialer::Dial;
use std::io;
use wire::clock::now_ns;

/// How often in succession a request is sent again after the server refused it, besides once for each request that
/// shares its connections: a server may take only one on each connection.
const MAX_REFUSALS: usize = 10;

impl Shard {
    /// Opens the connections that are due.
    pub fn open_connections<I: Io>(&mut self, now: u64, io: &mut I) -> io::Result<()> {
        if self.stopping {
            return Ok(());
        }
        while let Some((slots, due_ns)) = self.dialer.take_due(now) {
            for slot in slots {
                self.reopen(slot, now, due_ns);
            }
        }
        // Connections that fail meanwhile are queued again, and left for the next turn: the load has to end.
        for left in (0..self.dialer.queued()).rev() {
            let Some(dial) = self.dialer.dial(&self.config, io) else { break };
            self.dialed(dial);
            if left > 0 {
                // Takes in connects that have succeeded, so that later dials are not part of their times.
                self.poll_events(io)?;
            }
        }
        Ok(())
    }

    fn dialed(&mut self, dial: Dial) {
        let slot = dial.slot;
        let connection = &mut self.connections[slot];
        let begun_ns = dial.result.ok().and_then(Stage::opening_ns);
        let now = begun_ns.unwrap_or_else(now_ns);
        let late_ns = now.saturating_sub(dial.ready_ns);
        if self.decoder.streams() {
            // The opening of a stream is its only due event.
            connection.request.open_late_ns = late_ns;
        } else if connection.pending_ns.is_some() && !self.arrivals.is_closed_loop() {
            connection.request.open_late_ns += late_ns;
            connection.request.queued_ns += dial.ready_ns - dial.due_ns;
        } else if connection.pending_ns.is_some() && std::mem::take(&mut connection.request.is_due_when_begun)
        {
            connection.pending_ns = Some(now);
        }
        match dial.result {
            Ok(stage) => connection.stage = stage,
            Err(kind) => self.connect_failed(slot, now, kind),
        }
    }

    /// Opens a connection that is due since `due_ns`: at once, or when there is a request for it. Not once all requests
    /// were handed out: a server would see more connections than it needs, and one that is gone would count as errors.
    fn reopen(&mut self, slot: Slot, now: u64, due_ns: u64) {
        let pause = &mut self.connections[slot].pause;
        pause.end = pause.end.min(now);
        if self.arrivals.is_exhausted() && !self.streams() {
            return;
        }
        if !self.decoder.closes {
            self.dialer.enqueue(slot, due_ns);
        } else if !self.arrivals.is_closed_loop() {
            self.connections[slot].stage = Stage::Closed(now);
            self.list_free(slot);
        } else if let Some(intended) = self.arrivals.take_due(now) {
            let connection = &mut self.connections[slot];
            connection.pending_ns = Some(intended);
            connection.request.is_due_when_begun = true;
            self.dialer.enqueue(slot, now);
        }
    }

    /// An error, after which the connection is opened again: later, but at once where the server closed one that had
    /// answered. `of_request`: it concerns a request.
    pub(super) fn failed(&mut self, slot: Slot, now: u64, kind: ErrorKind, of_request: bool) {
        let connection = &mut self.connections[slot];
        let target = Some(connection.request.target).filter(|_| of_request);
        let has_answered = std::mem::take(&mut connection.has_answered);
        self.recorder.error(now, kind, target);
        match has_answered && matches!(kind, ErrorKind::ClosedEarly | ErrorKind::Reset) {
            true => self.after_close(slot, now),
            false => self.pause(slot, now),
        }
    }

    /// A slot has no connection, and gets one later.
    pub(super) fn pause(&mut self, slot: Slot, now: u64) {
        let connection = &mut self.connections[slot];
        connection.stage = Stage::Closed(now);
        connection.pause = now..u64::MAX;
        self.dialer.retry_later(slot, now);
    }

    /// A connect failed. A request that waited for it fails with it.
    pub(super) fn connect_failed(&mut self, slot: Slot, now: u64, kind: ErrorKind) {
        let connection = &mut self.connections[slot];
        if let Some(log) = &mut self.config.log {
            log.add(Line {
                intended_ns: connection.pending_ns.unwrap_or(0),
                end_ns: now,
                error: Some(kind.name()),
                ..Line::default()
            });
        }
        let was_sent = std::mem::take(&mut connection.request.refusals) > 0;
        if let Some(at_ns) = connection.pending_ns.take() {
            if !was_sent {
                self.recorder.intended(at_ns);
            }
            if kind.is_timeout() {
                // Its latency is this at least.
                let age_ns = now.saturating_sub(at_ns);
                self.recorder.timed_out(now, age_ns, None);
                self.recorder.record.connects_timed_out += 1;
            }
        }
        self.failed(slot, now, kind, false);
    }

    /// A connection was closed in good order.
    pub(super) fn after_close(&mut self, slot: Slot, now: u64) {
        self.connections[slot].stage = Stage::Closed(now);
        self.uncount(slot);
        if !self.stopping {
            self.reopen(slot, now, now);
        }
    }

    /// A slot has no connection any more.
    pub(super) fn uncount(&mut self, slot: Slot) {
        let owned = std::mem::take(&mut self.connections[slot].is_counted);
        self.open -= usize::from(owned);
    }

    /// The connection that a slot waited for failed, or takes no more requests. `at_once`: another can be opened.
    pub(super) fn not_joined(&mut self, slot: Slot, now: u64, at_once: bool) {
        self.dialer.connect_ended();
        if !at_once {
            return self.pause(slot, now);
        }
        self.connections[slot].stage = Stage::Closed(now);
        self.dialer.enqueue(slot, now);
    }

    /// The server has declared that it has not processed a request, which may therefore be sent again (RFC 9113,
    /// section 8.7).
    pub(super) fn refused(&mut self, slot: Slot, now: u64) {
        let most = MAX_REFUSALS + self.config.plan.lanes();
        let connection = &mut self.connections[slot];
        connection.request.refusals += 1;
        if connection.request.refusals > most || self.decoder.streams() {
            return self.lost(slot, now, ErrorKind::GoAway);
        }
        // It waits for another connection; its latency counts from its own instant.
        let intended_ns = connection.request.intended_ns;
        connection.pending_ns = Some(intended_ns);
        connection.stage = Stage::Closed(now);
        self.in_flight -= 1;
        self.uncount(slot);
        if !self.stopping {
            self.dialer.enqueue(slot, now);
        }
    }
}
