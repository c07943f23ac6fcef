//! The end of a load: when it has come, and how what is left is counted and closed; and clients that hang up, which wait
//! for an answer for this long, from their request's instant on.

use super::Shard;
use crate::io::Io;
use crate::load::error::ErrorKind;
use crate::load::shard::connection::{Busy, Stage};
use wire::units::nanoseconds;

/// A load that counts requests ends when no connection has had an event for four time-outs and this.
const SILENCE_NS: u64 = 5_000_000_000;

impl Shard {
    /// Whether the shard sends no more requests.
    pub fn is_over(&self, now: u64) -> bool {
        if self.config.stop_requested() || self.arrivals.is_past_end(now) {
            return true;
        }
        let record = &self.recorder.record;
        let never_connected = record.opened == 0 && record.replies.errors.total() > 0;
        let waited = now > self.config.start_ns + self.timeout_ns;
        if never_connected && (waited || self.is_hopeless()) {
            return true;
        }
        if self.streams() || self.config.plan.requests.is_none() {
            return false;
        }
        // Without a duration, a server that accepts no more connections would keep the load running for ever.
        let no_end = self.arrivals.end_ns.is_none();
        if no_end && now > self.last_event_ns + 4 * self.timeout_ns + SILENCE_NS {
            return true;
        }
        let mut connections = self.connections.iter();
        self.arrivals.is_exhausted()
            && self.in_flight == 0
            && connections.all(|connection| connection.pending_ns.is_none())
    }

    /// Whether no server listens at any address of the target, or none that speaks TLS, and HTTP/2, as asked and whose
    /// certificate is accepted. Connections take addresses in turn: where there are several, each connection must have
    /// failed before that is known.
    fn is_hopeless(&self) -> bool {
        let errors = &self.recorder.record.replies.errors;
        let hopeless = [
            ErrorKind::ConnectRefused,
            ErrorKind::Certificate,
            ErrorKind::ClientCertificate,
            ErrorKind::NoHttp2,
            ErrorKind::Http2,
            ErrorKind::Proxy,
            ErrorKind::Tls,
        ];
        let refused: u64 = hopeless.iter().map(|&kind| errors.of(kind)).sum();
        let enough = match self.config.plan.addresses.len() {
            0 | 1 => 1,
            _ => (self.connections.len() / self.config.plan.lanes()) as u64,
        };
        refused >= enough && refused == errors.total()
    }

    /// Sends no more requests; returns when the load ended. `busy_ns`: CPU time without busy-polling.
    pub fn stop(&mut self, now: u64, cpu_ns: u64, busy_ns: u64) -> u64 {
        self.stopping = true;
        self.recorder.record.max_thread_cpu_ns = cpu_ns;
        self.recorder.record.max_thread_busy_ns = busy_ns;
        self.arrivals.end_ns.map_or(now, |end| end.min(now))
    }

    /// Whether no more replies are waited for.
    pub fn is_drained(&self, now: u64, stopped_ns: u64) -> bool {
        self.streams()
            || self.in_flight == 0
            || self.config.stop_requested()
            || now > stopped_ns + self.timeout_ns
    }

    /// At the end: counts requests without a reply, with their ages. Those that were not sent have theirs at `end_ns`,
    /// the end of the load: only the engine kept them from being sent after it.
    pub fn count_unfinished(&mut self, now: u64, end_ns: u64) {
        if self.streams() {
            return self.count_streams(now);
        }
        for slot in 0..self.connections.len() {
            let is_sent = self.connections[slot].stage.busy().is_some();
            if is_sent {
                self.log(slot, now, Some("unfinished"));
            }
            let (record, connection) = (&mut self.recorder.record, &mut self.connections[slot]);
            let age_ns = match (connection.stage, connection.pending_ns.take()) {
                (Stage::Busy(_), _) => now - connection.request.intended_ns,
                (_, Some(intended)) => {
                    // A request that the server refused was counted when it was sent first.
                    record.intended += u64::from(connection.request.refusals == 0);
                    record.unsent += 1;
                    end_ns.saturating_sub(intended)
                }
                (_, None) => continue,
            };
            record.replies.unfinished += 1;
            let target = record.targets.get_mut(connection.request.target);
            if let Some(own) = target.filter(|_| is_sent) {
                own.unfinished += 1;
            }
            if !self.arrivals.is_closed_loop() {
                record.replies.latency.add(age_ns);
            }
        }
        if self.arrivals.is_closed_loop() {
            return;
        }
        // After an interrupt, requests whose instant has not come were not due.
        while let Some(intended) = self.arrivals.take_intended(end_ns.saturating_sub(1)) {
            self.recorder.never_sent(intended);
            self.recorder.record.replies.latency.add(end_ns - intended);
        }
    }

    fn count_streams(&mut self, now: u64) {
        let silent_ns = self.config.plan.stream.silent_s.map(nanoseconds);
        let record = &mut self.recorder.record;
        for connection in &self.connections {
            if let Stage::Busy(Busy { active_ns, .. }) = connection.stage {
                record.held += u64::from(connection.request.answered);
                let is_quiet = silent_ns.is_some_and(|most| now.saturating_sub(active_ns) > most);
                record.silent += u64::from(is_quiet && !connection.stream.was_paused);
            }
            let counts = self.decoder.received_and_behind(&connection.reply, now);
            if let Some((received, behind)) = counts {
                record.chunks += received;
                // If the engine paused the reader, the server is not to blame.
                record.behind += if connection.stream.was_paused { 0 } else { behind };
            }
        }
    }

    /// Closes all connections. Streams are reset, so that no port stays in TIME_WAIT.
    pub fn close_all<I: Io>(&mut self, io: &mut I) {
        self.recorder.record.open_at_end = self.open as u64;
        for slot in 0..self.connections.len() {
            if self.streams() {
                io.reset_when_closed(slot);
            }
            io.close(slot);
        }
    }

    /// Hangs up where the answer has not come in time; the connection is opened again at once.
    pub(super) fn hang_up<I: Io>(&mut self, now: u64, io: &mut I) {
        let Some(patience_ns) = self.patience_ns else { return };
        for slot in 0..self.connections.len() {
            let connection = &self.connections[slot];
            let age_ns = now.saturating_sub(connection.request.intended_ns);
            if connection.stage.busy().is_none() || age_ns < patience_ns {
                continue;
            }
            let (number, target) = (connection.request.number, connection.request.target);
            let number = Some(number).filter(|_| self.encoder.keeps_service_times);
            if !self.arrivals.is_closed_loop() {
                // Ports in TIME_WAIT would run out when an overload makes many clients hang up.
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
        let oldest_ns = self.patience_ns.and_then(|patience_ns| now.checked_sub(patience_ns));
        let Some(oldest_ns) = oldest_ns else { return };
        while let Some(at_ns) = self.arrivals.take_intended(oldest_ns) {
            self.recorder.never_sent(at_ns);
        }
    }
}
