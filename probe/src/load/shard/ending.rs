//! Ends: of the load, of what takes too long, and what is left at the end.

use super::{nanoseconds, Kind, Shard, Stage};
use crate::io::Io;
use std::sync::atomic::Ordering;

/// How much longer than four timeouts a load that counts requests goes on without a sign of the server.
const PATIENCE_NS: u64 = 5_000_000_000;

impl Shard {
    /// Whether no more is to be sent.
    pub(super) fn over(&self, now: u64) -> bool {
        if self.orders.stop.load(Ordering::Relaxed) || self.end_ns.map_or(false, |end| now >= end) {
            return true;
        }
        let timeout = nanoseconds(self.orders.plan.timeout_s);
        let hopeless = self.record.opened == 0 && self.record.errors_total() > 0;
        if hopeless && now > self.orders.start_ns + timeout {
            return true;
        }
        if self.exchange.streams() || self.orders.plan.requests.is_none() {
            return false;
        }
        // A server that nobody can connect to any more would keep us for good.
        if self.end_ns.is_none() && now > self.heard_ns + 4 * timeout + PATIENCE_NS {
            return true;
        }
        let all_sent = match self.closed_loop {
            true => self.left == 0,
            false => self.pacer.peek().is_none(),
        };
        all_sent
            && self.in_flight == 0
            && self.connections.iter().all(|one| one.pending_ns.is_none())
    }

    pub(super) fn stop(&mut self, now: u64) -> u64 {
        self.stopping = true;
        self.end_ns.map_or(now, |end| end.min(now))
    }

    /// Whether nothing is worth waiting for any more.
    pub(super) fn drained(&self, now: u64, stopped: u64) -> bool {
        let most = nanoseconds(self.orders.plan.timeout_s);
        self.exchange.streams()
            || self.in_flight == 0
            || self.orders.stop.load(Ordering::Relaxed)
            || now > stopped + most
    }

    /// Deadlines; and how many are in flight.
    pub(super) fn sweep<I: Io>(&mut self, now: u64, io: &mut I) {
        if !self.stopping {
            self.record.looks += 1;
            self.record.in_flight_sum += self.in_flight;
        }
        let timeout = nanoseconds(self.orders.plan.timeout_s);
        for slot in 0..self.connections.len() {
            let connection = &self.connections[slot];
            if connection.paused || now.saturating_sub(connection.since_ns) <= timeout {
                continue;
            }
            match connection.stage {
                Stage::Connecting => {
                    io.close(slot);
                    self.connecting -= 1;
                    self.drop_pending(slot);
                    self.failed(slot, now, Kind::ConnectTimeout);
                }
                Stage::Busy => {
                    io.close(slot);
                    // Somebody has waited for so long, at least.
                    if !self.exchange.streams() {
                        let age = now - connection.intended_ns;
                        self.record.latency.add(age);
                        self.interval.add(age);
                    }
                    self.broken(slot, now, Kind::Timeout);
                }
                Stage::Closed | Stage::Free | Stage::Vanished => {}
            }
        }
    }

    /// At the end: what was sent and not answered, and what was never sent.
    pub(super) fn count_unfinished(&mut self, now: u64) {
        if self.exchange.streams() {
            let silent = self.orders.plan.stream.silent_s.map(nanoseconds);
            for connection in &self.connections {
                let quiet_ns = now.saturating_sub(connection.since_ns);
                let busy = connection.stage == Stage::Busy && !connection.slow;
                if busy && silent.map_or(false, |most| quiet_ns > most) {
                    self.record.silent += 1;
                }
                if let Some((had, behind)) = self.exchange.account(&connection.reply, now) {
                    self.record.chunks += had;
                    // One that was slow is not owed what it did not read.
                    self.record.behind += if connection.slow { 0 } else { behind };
                }
            }
            return;
        }
        for connection in &mut self.connections {
            let intended = match connection.stage {
                Stage::Busy => connection.intended_ns,
                _ => match connection.pending_ns.take() {
                    Some(intended) => {
                        self.record.intended += 1;
                        intended
                    }
                    None => continue,
                },
            };
            self.record.unfinished += 1;
            if !self.closed_loop {
                self.record.latency.add(now - intended);
            }
        }
        let start = self.orders.start_ns;
        while let Some(due) = self.pacer.take() {
            // Interrupted: what lay in the future was not due.
            if start + due >= now {
                break;
            }
            self.record.intended += 1;
            self.record.unfinished += 1;
            self.record.latency.add(now - start - due);
        }
    }
}
