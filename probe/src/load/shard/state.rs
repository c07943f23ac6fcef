//! The state machine of a shard: what each connection does at an event or an instant. It is in one file, since all
//! methods change the same state; what has a state of its own is in the modules beside.

mod redirects;

use super::arrivals::Arrivals;
use super::config::ShardConfig;
use super::connection::{Connection, Stage};
use super::dialer::{connect_error, Dialer};
use super::faults::{Fault, FaultSchedule};
use super::lookout::Lookout;
use super::recorder::Recorder;
use super::wait::Activity;
use crate::clock::now_ns;
use crate::io::{CloseReason, Handler, Io, Next, Slot};
use crate::load::codec::{Codec, Decoder, Progress};
use crate::load::error::ErrorKind;
use crate::load::record::Record;
use crate::units::nanoseconds;
use std::collections::VecDeque;

/// A load that counts requests ends when no connection has had an event for four time-outs and this.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Reads are coalesced with so many streams, once all are open.
const COALESCED_STREAMS: usize = 2000;

pub struct Shard {
    config: ShardConfig,
    codec: Codec,
    connections: Vec<Connection>,
    /// Open loop: connections that wait for a request.
    free: VecDeque<Slot>,
    dialer: Dialer,
    arrivals: Arrivals,
    faults: FaultSchedule,
    recorder: Recorder,
    timeout_ns: u64,
    open: usize,
    in_flight: u64,
    sent: u64,
    stopping: bool,
    /// The last time at which bytes arrived, or a request was given up.
    last_event_ns: u64,
    lookout: Lookout,
}

impl Shard {
    pub fn new(config: ShardConfig) -> Shard {
        let plan = &config.plan;
        let count = config.connections();
        let codec = Codec::new(plan, config.shard);
        let recorder = Recorder::new(&config, codec.targets());
        Shard {
            codec,
            connections: (0..count).map(|_| Connection::default()).collect(),
            free: VecDeque::with_capacity(count),
            dialer: Dialer::new(&config),
            arrivals: Arrivals::new(&config),
            faults: FaultSchedule::new(&plan.stream, config.start_ns),
            recorder,
            timeout_ns: nanoseconds(plan.timeout_s),
            open: 0,
            in_flight: 0,
            sent: 0,
            stopping: false,
            last_event_ns: config.start_ns,
            lookout: Lookout::new(config.start_ns),
            config,
        }
    }

    pub fn streams(&self) -> bool {
        self.codec.streams()
    }

    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    pub fn into_record(self, cpu_ns: u64) -> Record {
        let mut record = self.recorder.record;
        record.cpu_ns = cpu_ns;
        record
    }

    /// Whether there is nothing to do but to read many streams.
    pub fn coalesces_reads(&self) -> bool {
        self.streams() && self.connections() >= COALESCED_STREAMS && self.dialer.is_idle()
    }

    /// When something is due at the latest.
    pub fn wake_ns(&self, sweep_ns: u64) -> u64 {
        if self.stopping {
            return sweep_ns;
        }
        let request = self.arrivals.next_ns().filter(|_| !self.free.is_empty());
        let times = [
            self.arrivals.end_ns(),
            self.faults.next_ns(),
            request,
            self.dialer.next_ns(),
        ];
        times.into_iter().flatten().fold(sweep_ns, u64::min)
    }

    /// Whether no more requests are to be sent.
    pub fn is_over(&self, now: u64) -> bool {
        if self.config.stop_requested() || self.arrivals.is_past_end(now) {
            return true;
        }
        let record = &self.recorder.record;
        let never_connected = record.opened == 0 && record.errors_total() > 0;
        let waited = now > self.config.start_ns + self.timeout_ns;
        if never_connected && (waited || self.is_refused_everywhere()) {
            return true;
        }
        if self.streams() || self.config.plan.requests.is_none() {
            return false;
        }
        // Without a duration, a server that accepts no connection any more would keep the load for ever.
        let no_end = self.arrivals.end_ns().is_none();
        if no_end && now > self.last_event_ns + 4 * self.timeout_ns + PATIENCE_NS {
            return true;
        }
        let mut connections = self.connections.iter();
        self.arrivals.is_exhausted()
            && self.in_flight == 0
            && connections.all(|connection| connection.pending_ns.is_none())
    }

    /// Whether no server listens at any address of the target. Connections take addresses in turn: where there are
    /// several, each connection must have failed before that is known.
    fn is_refused_everywhere(&self) -> bool {
        let record = &self.recorder.record;
        let refused = record.errors[ErrorKind::ConnectRefused as usize];
        let enough = match self.config.plan.addresses.len() {
            1 => 1,
            _ => self.connections.len() as u64,
        };
        refused >= enough && refused == record.errors_total()
    }

    /// Sends no more requests; returns when the load ended. `busy_ns`: CPU time without busy-polling.
    pub fn stop(&mut self, now: u64, cpu_ns: u64, busy_ns: u64) -> u64 {
        self.stopping = true;
        self.recorder.record.max_thread_cpu_ns = cpu_ns;
        self.recorder.record.max_thread_busy_ns = busy_ns;
        self.arrivals.end_ns().map_or(now, |end| end.min(now))
    }

    /// Whether no more replies are waited for.
    pub fn is_drained(&self, now: u64, stopped_ns: u64) -> bool {
        self.streams()
            || self.in_flight == 0
            || self.config.stop_requested()
            || now > stopped_ns + self.timeout_ns
    }

    /// Open loop: sends the requests that are due on free connections.
    pub fn dispatch<I: Io>(&mut self, now: u64, io: &mut I) {
        while self.arrivals.next_ns().map_or(false, |due| due <= now) {
            let Some(slot) = self.free.pop_front() else {
                return;
            };
            let closes = self.codec.closes();
            let connection = &mut self.connections[slot];
            let usable = if closes { Stage::Closed } else { Stage::Free };
            if connection.stage != usable || connection.pending_ns.is_some() {
                continue;
            }
            let Some(intended) = self.arrivals.take_due(now) else {
                return;
            };
            let ready = intended.max(connection.since_ns).min(now);
            if closes {
                connection.pending_ns = Some(intended);
                connection.open_late_ns = now - ready;
                self.dialer.enqueue(slot);
            } else if let Next::Send(bytes) = self.start(slot, intended, ready, now) {
                io.send(slot, bytes, self);
            }
        }
    }

    /// What a connection without a request does next.
    fn next(&mut self, slot: Slot, now: u64) -> Next {
        if !self.stopping {
            if self.streams() {
                let since = self.connections[slot].since_ns;
                return self.start(slot, since, now, now);
            }
            if let Some(intended) = self.arrivals.take_due(now) {
                return self.start(slot, intended, now, now);
            }
        }
        let connection = &mut self.connections[slot];
        connection.stage = Stage::Free;
        connection.since_ns = now;
        if !self.arrivals.is_closed_loop() {
            self.free.push_back(slot);
        }
        Next::Wait
    }

    /// Begins a request that could be sent at `ready`.
    fn start(&mut self, slot: Slot, intended: u64, ready: u64, now: u64) -> Next {
        let id = self.config.connection_id(slot);
        let number = self.config.request_number(self.sent);
        self.sent += 1;
        let (target, bytes) = self.codec.encode(id, number);
        let connection = &mut self.connections[slot];
        if self.codec.follows() {
            connection.keep_path(&bytes);
        }
        connection.target = target;
        connection.stage = Stage::Busy;
        connection.intended_ns = intended;
        connection.ready_ns = ready;
        connection.sent_ns = now;
        connection.number = number;
        connection.since_ns = now;
        connection.answered = false;
        connection.decoder = self.codec.decoder(now);
        self.in_flight += 1;
        self.recorder.record.bytes_out += bytes.len() as u64;
        if !self.streams() {
            self.recorder.intended();
        }
        Next::Send(bytes)
    }

    /// A reply is complete. `keep`: the connection can be used again.
    fn complete(
        &mut self,
        slot: Slot,
        now: u64,
        result: Result<(), ErrorKind>,
        keep: bool,
    ) -> Next {
        let connection = &mut self.connections[slot];
        connection.decoder = Decoder::Idle;
        connection.hop = None;
        let (latency, service) = (now - connection.intended_ns, now - connection.sent_ns);
        let target = connection.target;
        self.in_flight -= 1;
        match result {
            Err(kind) => self.recorder.error(now, kind, Some(target)),
            Ok(()) => {
                let number = self.codec.numbered().then_some(connection.number);
                let end = self.arrivals.end_ns().filter(|&end| now > end);
                let before = end.map(|end| end.saturating_sub(now - service));
                let late_share = before.map(|before| before as f64 / service.max(1) as f64);
                let recorder = &mut self.recorder;
                recorder.reply(now, latency, service, late_share, number, target);
            }
        }
        if keep {
            return self.next(slot, now);
        }
        self.after_close(slot, now);
        Next::Close
    }

    /// A connection was closed in good order.
    fn after_close(&mut self, slot: Slot, now: u64) {
        self.connections[slot].stage = Stage::Closed;
        self.open -= 1;
        if !self.stopping {
            self.reopen(slot, now);
        }
    }

    /// A connection with a pending reply was lost.
    fn lost(&mut self, slot: Slot, now: u64, kind: ErrorKind) {
        self.abandon_reply(slot, now);
        self.last_event_ns = now;
        self.failed(slot, now, kind, true);
    }

    /// Drops a pending reply; the chunks that arrived of a stream count.
    fn abandon_reply(&mut self, slot: Slot, now: u64) {
        let connection = &mut self.connections[slot];
        let decoder = std::mem::take(&mut connection.decoder);
        connection.hop = None;
        if let Some((received, _)) = self.codec.received_and_behind(&decoder, now) {
            self.recorder.record.chunks += received;
        }
        self.in_flight -= 1;
        self.open -= 1;
    }

    /// Opens the connections that are due.
    pub fn open_connections<I: Io>(&mut self, now: u64, io: &mut I) {
        if self.stopping {
            return;
        }
        while let Some(slot) = self.dialer.take_due(now) {
            self.reopen(slot, now);
        }
        while let Some((slot, result)) = self.dialer.dial(&self.config, io) {
            self.connections[slot].since_ns = now;
            match result {
                Ok(()) => self.connections[slot].stage = Stage::Connecting,
                Err(kind) => self.connect_failed(slot, now, kind),
            }
        }
    }

    /// Opens a connection again: at once, or when there is a request for it.
    fn reopen(&mut self, slot: Slot, now: u64) {
        if !self.codec.closes() {
            self.dialer.enqueue(slot);
        } else if !self.arrivals.is_closed_loop() {
            self.connections[slot].since_ns = now;
            self.free.push_back(slot);
        } else if let Some(intended) = self.arrivals.take_due(now) {
            self.connections[slot].pending_ns = Some(intended);
            self.dialer.enqueue(slot);
        }
    }

    /// An error, after which the connection is opened again later. `of_request`: it concerns a request.
    fn failed(&mut self, slot: Slot, now: u64, kind: ErrorKind, of_request: bool) {
        let connection = &mut self.connections[slot];
        let target = Some(connection.target).filter(|_| of_request);
        self.recorder.error(now, kind, target);
        connection.stage = Stage::Closed;
        self.dialer.retry_later(slot, now);
    }

    /// A connect failed. A request that waited for it fails with it.
    fn connect_failed(&mut self, slot: Slot, now: u64, kind: ErrorKind) {
        let connection = &mut self.connections[slot];
        let is_redirected = connection.hop.take().is_some();
        if connection.pending_ns.take().is_some() && !is_redirected {
            self.recorder.intended();
        }
        self.failed(slot, now, kind, is_redirected);
    }

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

    /// Gives up what has taken longer than the time-out, and samples the requests in flight.
    pub fn sweep<I: Io>(&mut self, now: u64, io: &mut I) {
        if !self.stopping {
            self.recorder.record.sweeps += 1;
            self.recorder.record.in_flight_sum += self.in_flight;
        }
        for slot in 0..self.connections.len() {
            let connection = &self.connections[slot];
            let age = now.saturating_sub(connection.since_ns);
            if connection.paused || age <= self.timeout_ns {
                continue;
            }
            match connection.stage {
                Stage::Connecting => {
                    io.close(slot);
                    self.dialer.connect_ended();
                    self.connect_failed(slot, now, ErrorKind::ConnectTimeout);
                }
                Stage::Busy => {
                    io.close(slot);
                    // The latency is this at least.
                    if !self.streams() {
                        let age_ns = now - connection.intended_ns;
                        self.recorder.timed_out(age_ns, connection.target);
                    }
                    self.lost(slot, now, ErrorKind::Timeout);
                }
                Stage::Closed | Stage::Free | Stage::Removed => {}
            }
        }
    }

    pub fn publish(&mut self, now: u64) {
        let (open, in_flight) = (self.open as u64, self.in_flight);
        self.recorder.publish(now, open, in_flight, !self.stopping);
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
            record.unfinished += 1;
            let target = record.targets.get_mut(connection.target);
            if let Some(own) = target.filter(|_| is_sent) {
                own.unfinished += 1;
            }
            if !self.arrivals.is_closed_loop() {
                record.latency.add(now - intended);
            }
        }
        if self.arrivals.is_closed_loop() {
            return;
        }
        // After an interrupt, requests whose instant has not come were not due.
        while let Some(intended) = self.arrivals.take_due(now.saturating_sub(1)) {
            record.intended += 1;
            record.unfinished += 1;
            record.latency.add(now - intended);
        }
    }

    fn count_streams(&mut self, now: u64) {
        let silent_ns = self.config.plan.stream.silent_s.map(nanoseconds);
        let record = &mut self.recorder.record;
        for connection in &self.connections {
            record.held += u64::from(connection.stage == Stage::Busy && connection.answered);
            let quiet_ns = now.saturating_sub(connection.since_ns);
            let expected = connection.stage == Stage::Busy && !connection.was_paused;
            if expected && silent_ns.map_or(false, |max| quiet_ns > max) {
                record.silent += 1;
            }
            let counts = self.codec.received_and_behind(&connection.decoder, now);
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

impl Activity for Shard {
    fn last_event_ns(&self) -> u64 {
        self.last_event_ns
    }

    fn wait_begins(&mut self, now_ns: u64) {
        self.lookout.wait_begins(now_ns);
    }
}

impl Handler for Shard {
    fn connected(&mut self, slot: Slot) -> Next {
        let now = now_ns();
        self.dialer.connect_ended();
        self.open += 1;
        let record = &mut self.recorder.record;
        record.opened += 1;
        record.most_open = record.most_open.max(self.open as u64);
        let connection = &mut self.connections[slot];
        record.connect.add(now - connection.since_ns);
        match connection.pending_ns.take() {
            Some(_) if connection.hop.is_some() => self.send_redirected(slot, now),
            Some(intended) => self.start(slot, intended, now, now),
            None => self.next(slot, now),
        }
    }

    fn received(&mut self, slot: Slot, bytes: &[u8]) -> Next {
        let now = now_ns();
        self.recorder.record.bytes_in += bytes.len() as u64;
        self.last_event_ns = now;
        let id = self.config.connection_id(slot);
        let connection = &mut self.connections[slot];
        if connection.stage != Stage::Busy {
            self.open -= 1;
            self.failed(slot, now, ErrorKind::Unsolicited, false);
            return Next::Close;
        }
        if !connection.answered {
            connection.answered = true;
            let first_byte_ns = now - connection.sent_ns;
            self.recorder.record.first_byte.add(first_byte_ns);
        }
        if self.codec.streams() {
            connection.since_ns = now;
            let late_ns = self.lookout.late_ns(now);
            self.recorder.record.schedule_error.add(late_ns);
        }
        let (recorder, fed) = (&mut self.recorder, &mut connection.fed);
        let (was_paused, target) = (connection.was_paused, connection.target);
        let mut on_event = |event| recorder.event(now, event, fed, was_paused, target);
        let decoder = &mut connection.decoder;
        let progress = self.codec.decode(decoder, bytes, id, now, &mut on_event);
        match progress {
            Progress::More => Next::Wait,
            Progress::Done(result, keep) => self.complete(slot, now, result, keep),
            Progress::Broken(kind) => {
                self.lost(slot, now, kind);
                Next::Close
            }
            Progress::Unsolicited(result) => {
                let _ = self.complete(slot, now, result, false);
                self.recorder.error(now, ErrorKind::Unsolicited, None);
                Next::Close
            }
            Progress::Redirect(redirect, keep) => self.redirected(slot, now, &redirect, keep),
        }
    }

    fn sending(&mut self, slot: Slot, now: u64) {
        let streams = self.codec.streams();
        let connection = &mut self.connections[slot];
        if connection.stage != Stage::Busy {
            return;
        }
        connection.since_ns = now;
        if connection.hop.is_some() {
            // The request was sent before it was redirected.
            return;
        }
        connection.sent_ns = now;
        if streams {
            return;
        }
        let late_ns = now - connection.ready_ns + std::mem::take(&mut connection.open_late_ns);
        let record = &mut self.recorder.record;
        record.schedule_error.add(late_ns);
        if self.arrivals.is_closed_loop() {
            connection.intended_ns = now;
        } else {
            record
                .queue
                .add(connection.ready_ns - connection.intended_ns);
        }
    }

    fn woken(&mut self, now: u64) {
        self.lookout.woken(now);
    }

    fn closed(&mut self, slot: Slot, reason: CloseReason) {
        let now = now_ns();
        let kind = match reason {
            CloseReason::NotConnected(errno) => {
                self.dialer.connect_ended();
                return self.connect_failed(slot, now, connect_error(errno));
            }
            CloseReason::Finished => None,
            CloseReason::SendFailed(libc::ECONNRESET | libc::EPIPE)
            | CloseReason::ReceiveFailed(_) => Some(ErrorKind::Reset),
            CloseReason::SendFailed(_) => Some(ErrorKind::Send),
        };
        match (self.connections[slot].stage, kind) {
            (Stage::Free, _) => {
                // The server may close a connection that is not in use.
                self.recorder.record.idle_closes += 1;
                self.after_close(slot, now);
            }
            (Stage::Busy, Some(kind)) => self.lost(slot, now, kind),
            (Stage::Busy, None) => {
                let (recorder, connection) = (&mut self.recorder, &mut self.connections[slot]);
                let (was_paused, target) = (connection.was_paused, connection.target);
                let (fed, decoder) = (&mut connection.fed, &mut connection.decoder);
                let mut on_event = |event| recorder.event(now, event, fed, was_paused, target);
                match self.codec.decode_eof(decoder, &mut on_event) {
                    Progress::Done(result, _) => {
                        let _ = self.complete(slot, now, result, false);
                    }
                    Progress::Broken(kind) => self.lost(slot, now, kind),
                    Progress::Redirect(redirect, _) => {
                        let _ = self.redirected(slot, now, &redirect, false);
                    }
                    Progress::More | Progress::Unsolicited(_) => {}
                }
            }
            (Stage::Closed | Stage::Connecting | Stage::Removed, _) => {}
        }
    }
}
