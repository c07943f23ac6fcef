//! The state machine of a shard: what each connection does at an instant. What an event brings about is in `events`,
//! how connections are opened in `opening`, and how the load ends in `ending`; `faults` are those of clients.

mod ending;
mod events;
mod faults;
mod opening;

use crate::io::stamp::Stamping;
use crate::io::{Io, Next, Slot, Wait};
use crate::load::decoder::Decoder;
use crate::load::error::ErrorKind;
use crate::load::outgoing::Encoder;
use crate::load::record::Record;
use crate::load::request_log::Line;
use crate::load::shard::arrivals::Arrivals;
use crate::load::shard::connection::{Busy, Connection, Stage};
use crate::load::shard::dialer::Dialer;
use crate::load::shard::recorder::{Recorder, ReplyTimes};
use crate::load::shard::wait::{Deferral, ReadLateness, Wakeup};
use crate::load::shard::ShardConfig;
use faults::Fault;
use std::collections::VecDeque;
use std::io;
use wire::clock::now_ns;
use wire::units::nanoseconds;

/// Reads are coalesced with this many streams, once all are open.
const COALESCED_STREAMS: usize = 2000;

/// When bytes came, and the present.
#[derive(Clone, Copy)]
pub struct Instants {
    arrived: u64,
    now: u64,
}

impl Instants {
    fn of(now: u64) -> Instants {
        Instants { arrived: now, now }
    }
}

pub struct Shard {
    config: ShardConfig,
    encoder: Encoder,
    decoder: Decoder,
    connections: Vec<Connection>,
    /// Open loop: connections that wait for a request.
    free: VecDeque<Slot>,
    dialer: Dialer,
    arrivals: Arrivals,
    /// In descending order of their times.
    faults: Vec<(u64, Fault)>,
    /// Before the load begins: each connection is asked once.
    is_lead: bool,
    recorder: Recorder,
    /// Closed loop: stamps tell how long replies wait for this thread, on some connections.
    samples_reads: bool,
    timeout_ns: u64,
    /// How long clients wait; none: until the time-out.
    patience_ns: Option<u64>,
    /// From one message of a stream to the next.
    interval_ns: u64,
    open: usize,
    in_flight: u64,
    sent: u64,
    stopping: bool,
    /// The last time at which bytes arrived, or a request was given up.
    last_event_ns: u64,
    read_lateness: ReadLateness,
    deferral: Deferral,
}

impl Shard {
    /// The error: a file of the plan cannot be read any more.
    pub fn new(config: ShardConfig) -> io::Result<Shard> {
        let plan = &config.plan;
        let count = config.slots();
        let encoder = Encoder::new(plan, &config.message)?;
        let decoder = Decoder::new(plan);
        let arrivals = Arrivals::new(&config);
        let recorder = Recorder::new(&config, encoder.targets());
        Ok(Shard {
            encoder,
            decoder,
            connections: (0..count).map(|_| Connection::default()).collect(),
            free: VecDeque::with_capacity(count),
            dialer: Dialer::new(&config),
            arrivals,
            faults: faults::schedule(&plan.stream, config.start_ns),
            is_lead: plan.lead_s.is_some() && plan.open_loop(),
            recorder,
            samples_reads: plan.stamping() == Stamping::Sampled,
            timeout_ns: nanoseconds(plan.timeout_s),
            patience_ns: plan.patience_s.map(nanoseconds),
            interval_ns: plan.stream.interval_s.map_or(0, nanoseconds),
            open: 0,
            in_flight: 0,
            sent: 0,
            stopping: false,
            last_event_ns: config.start_ns,
            read_lateness: ReadLateness::new(config.start_ns),
            deferral: Deferral::new(plan.stream.interval_s.map(nanoseconds)),
            config,
        })
    }

    pub fn streams(&self) -> bool {
        self.decoder.streams()
    }

    /// Takes in what has happened, without a wait.
    pub fn poll_events<I: Io>(&mut self, io: &mut I) -> io::Result<()> {
        self.read_lateness.wait_begins(now_ns());
        io.turn(Wait::No, self).map(drop)
    }

    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    pub fn into_record<I: Io>(self, cpu_ns: u64, io: &mut I) -> Record {
        let mut record = self.recorder.finish();
        record.bodies = self.decoder.bodies.take();
        record.cpu_ns = cpu_ns;
        io.report(&mut record);
        if record.layers.fault.is_empty() {
            record.layers.fault = self.dialer.failure();
        }
        record
    }

    /// The event to wait for. `sweep_ns`: when the next sweep is due.
    pub fn wakeup(&self, now: u64, sweep_ns: u64) -> Wakeup {
        if self.stopping {
            return Wakeup::at(sweep_ns);
        }
        let request = self.arrivals.wake_ns().filter(|_| !self.free.is_empty());
        let fault_ns = self.faults.last().map(|&(at_ns, _)| at_ns);
        let times = [self.arrivals.end_ns, fault_ns, self.dialer.next_ns()];
        let other_ns = times.into_iter().flatten().fold(sweep_ns, u64::min);
        let wakeup = match request {
            Some(at_ns) if at_ns <= other_ns => Wakeup { is_exact: true, ..Wakeup::at(at_ns) },
            _ => Wakeup::at(other_ns),
        };
        let idle = self.dialer.is_idle();
        let reads_at_ns = match request {
            Some(at_ns) if idle => self.deferral.until_ns(now, at_ns),
            None if idle && self.streams() && self.connections() >= COALESCED_STREAMS => {
                self.deferral.coalesced_until_ns(self.last_event_ns)
            }
            _ => now,
        };
        let (free, all) = (self.free.len(), self.connections());
        Wakeup { reads_at_ns, stays_unread: self.deferral.stay_unread(wakeup.at_ns, free, all), ..wakeup }
    }

    /// Open loop: sends the requests that are due on free connections.
    pub fn dispatch<I: Io>(&mut self, now: u64, io: &mut I) {
        if self.is_lead && now >= self.arrivals.start_ns {
            self.is_lead = false;
            self.recorder.begin();
        }
        self.give_up_waiting(now);
        while self.arrivals.is_due(now) {
            let Some(slot) = self.free.pop_front() else { return };
            let closes = self.decoder.closes;
            let connection = &mut self.connections[slot];
            connection.is_listed = false;
            let free_ns = match connection.stage {
                Stage::Closed(free_ns) if closes => free_ns,
                Stage::Free(free_ns) if !closes => free_ns,
                _ => continue,
            };
            if connection.pending_ns.is_some() {
                continue;
            }
            let Some(intended) = self.arrivals.take_due(now) else { return };
            self.assign(slot, intended, free_ns, now);
            if closes {
                let connection = &mut self.connections[slot];
                connection.pending_ns = Some(intended);
                connection.request.open_late_ns += now - connection.request.ready_ns;
                self.dialer.enqueue(slot, now);
            } else if let Next::Send(bytes) = self.start(slot, intended, now) {
                io.send(slot, bytes, self);
            }
        }
    }

    /// At the end, sends requests that were due before it: only this engine was late with them.
    pub fn dispatch_last<I: Io>(&mut self, now: u64, io: &mut I) {
        if self.arrivals.is_past_end(now) && !self.config.stop_requested() {
            self.arrivals.end_slack();
            self.dispatch(now, io);
        }
    }

    /// Starts the next request of a connection that has none, if one is due. The connection is free since its last reply
    /// arrived.
    fn next(&mut self, slot: Slot, at: Instants) -> Next {
        let Instants { arrived, now } = at;
        self.connections[slot].request.refusals = 0;
        if !self.stopping {
            if self.streams() {
                let connection = &mut self.connections[slot];
                connection.request.ready_ns = now;
                let opening_ns = connection.stage.opening_ns();
                return self.start(slot, opening_ns.unwrap_or(now), now);
            }
            if let Some(intended) = self.arrivals.take_due(now) {
                self.assign(slot, intended, arrived, now);
                return self.start(slot, intended, now);
            }
        }
        let connection = &mut self.connections[slot];
        if self.is_lead && !self.stopping && !connection.has_answered {
            connection.request.ready_ns = now;
            return self.start(slot, now, now);
        }
        connection.stage = Stage::Free(arrived);
        if !self.arrivals.is_closed_loop() {
            self.list_free(slot);
        }
        Next::Wait
    }

    /// Open loop: a request can have this connection. A slot that is listed, and was used otherwise since, stays where
    /// it is.
    fn list_free(&mut self, slot: Slot) {
        if !std::mem::replace(&mut self.connections[slot].is_listed, true) {
            self.free.push_back(slot);
        }
    }

    /// Gives a request a connection that was free from `free_ns` on. Notes how long it waited, and how much of that the
    /// engine caused.
    fn assign(&mut self, slot: Slot, intended: u64, free_ns: u64, now: u64) {
        let connection = &mut self.connections[slot];
        let ready_ns = intended.max(free_ns).min(now);
        let paused_ns = connection.paused_ns(intended, ready_ns);
        connection.request.queued_ns = ready_ns - intended - paused_ns;
        connection.request.open_late_ns = paused_ns;
        connection.request.ready_ns = ready_ns;
        connection.request.is_due_when_begun = self.arrivals.is_closed_loop();
    }

    /// Begins a request.
    fn start(&mut self, slot: Slot, intended: u64, now: u64) -> Next {
        let id = self.config.connection_id(slot);
        let number = self.config.partition.request(self.sent) + 1;
        self.sent += 1;
        let (target, bytes) = self.encoder.encode(id, number);
        let connection = &mut self.connections[slot];
        connection.request.target = target;
        connection.request.intended_ns = intended;
        connection.request.number = number;
        connection.request.answered = false;
        if !self.decoder.streams() && connection.request.refusals == 0 {
            self.recorder.intended(intended);
        }
        // A server that gets no request starts its stream when the handshake ends, which is now.
        let begin = if self.encoder.listens {
            self.recorder.schedule_error(&mut connection.request, now);
            intended
        } else {
            now
        };
        let connection = &mut self.connections[slot];
        // Until the back-end says when it sends.
        connection.stage = Busy::since(now);
        self.decoder.begin(&mut connection.reply, &bytes, begin);
        self.in_flight += 1;
        self.recorder.record.bytes_out += bytes.len() as u64;
        Next::Send(bytes)
    }

    /// A reply is complete. `keep`: the connection can be used again. `first_byte_ns`: its first byte came with its last.
    fn complete(
        &mut self,
        slot: Slot,
        at: Instants,
        result: Result<(), ErrorKind>,
        keep: bool,
        first_byte_ns: Option<u64>,
    ) -> Next {
        let Instants { arrived, now } = at;
        if self.connections[slot].request.intended_ns >= self.arrivals.start_ns {
            self.log(slot, arrived, result.err().map(ErrorKind::name));
        }
        let connection = &mut self.connections[slot];
        let latency = arrived.saturating_sub(connection.request.intended_ns);
        let sent_ns = connection.stage.busy().map_or(arrived, |busy| busy.sent_ns);
        let service = arrived.saturating_sub(sent_ns);
        let target = connection.request.target;
        self.in_flight -= 1;
        match result {
            Err(kind) => {
                self.recorder.first_byte(first_byte_ns);
                self.recorder.error(arrived, kind, Some(target));
                self.note_wrong(slot);
            }
            // The reply to a request from before the load began.
            Ok(()) if connection.request.intended_ns < self.arrivals.start_ns => {}
            // This thread looked too late: its client would have hung up.
            Ok(()) if self.patience_ns.is_some_and(|most| latency > most) => {
                self.recorder.first_byte(first_byte_ns);
                self.recorder.hung_up(arrived, None, target);
            }
            Ok(()) => {
                let is_kept = self.encoder.keeps_service_times;
                let number = is_kept.then_some(connection.request.number);
                let end = self.arrivals.end_ns.filter(|&end| arrived > end);
                let before = end.map(|end| end.saturating_sub(arrived - service));
                let late_share = before.map(|before| before as f64 / service.max(1) as f64);
                let reply = ReplyTimes {
                    latency_ns: latency,
                    service_ns: service,
                    first_byte_ns,
                    late_share,
                    number,
                    target,
                };
                self.recorder.reply(arrived, &reply);
            }
        }
        if keep {
            self.connections[slot].has_answered = true;
            return self.next(slot, at);
        }
        self.after_close(slot, now);
        Next::Close
    }

    #[inline]
    fn log(&mut self, slot: Slot, end_ns: u64, error: Option<&'static str>) {
        let Some(log) = &mut self.config.log else { return };
        let Connection { stage, request, .. } = &self.connections[slot];
        let has_status = matches!(error, None | Some("status" | "content"));
        log.add(Line {
            number: request.number,
            target: request.target,
            intended_ns: request.intended_ns,
            sent_ns: stage.busy().map_or(0, |busy| busy.sent_ns),
            end_ns,
            status: if has_status { self.recorder.last_status() } else { 0 },
            error,
            ..Line::default()
        });
    }

    /// Keeps the first answer that was not what was expected, in words.
    fn note_wrong(&mut self, slot: Slot) {
        let first = &mut self.recorder.record.first_wrong;
        if let Some(answer) = self.decoder.first_wrong().filter(|_| first.is_empty()) {
            let connection = &self.connections[slot];
            let request = (self.encoder).request_text(connection.request.target, connection.request.number);
            *first = format!("{request} was answered with {answer}");
        }
    }

    /// A connection with a pending reply was lost.
    fn lost(&mut self, slot: Slot, now: u64, kind: ErrorKind) {
        if kind == ErrorKind::Timeout {
            self.decoder.note_endless(&self.connections[slot].reply);
        }
        self.log(slot, now, Some(kind.name()));
        self.note_wrong(slot);
        self.abandon_reply(slot, now);
        self.last_event_ns = now;
        self.failed(slot, now, kind, true);
    }

    /// Drops a pending reply; the chunks that arrived of a stream count.
    fn abandon_reply(&mut self, slot: Slot, now: u64) {
        let connection = &mut self.connections[slot];
        let reply = std::mem::take(&mut connection.reply);
        connection.request.refusals = 0;
        if let Some((received, _)) = self.decoder.received_and_behind(&reply, now) {
            self.recorder.record.chunks += received;
        }
        self.in_flight -= 1;
        self.uncount(slot);
    }

    /// Gives up what has taken longer than the time-out, and samples the requests in flight.
    pub fn sweep<I: Io>(&mut self, now: u64, io: &mut I) {
        if !self.stopping {
            self.recorder.record.sweeps += 1;
            self.recorder.record.in_flight_sum += self.in_flight;
        }
        self.hang_up(now, io);
        for slot in 0..self.connections.len() {
            let connection = &self.connections[slot];
            let began_ns = match connection.stage {
                Stage::Busy(busy) if !connection.stream.paused => Some(busy.active_ns),
                stage => stage.opening_ns(),
            };
            let Some(began_ns) = began_ns else { continue };
            // A stream that has nothing to send yet is not silent.
            let between_ns = connection.stage.busy().map_or(0, |_| self.interval_ns);
            if now.saturating_sub(began_ns) <= self.timeout_ns + between_ns {
                continue;
            }
            match connection.stage {
                stage @ (Stage::Connecting(_) | Stage::Handshaking(_)) => {
                    io.close(slot);
                    self.dialer.connect_ended();
                    let kind = match stage {
                        Stage::Connecting(_) => ErrorKind::ConnectTimeout,
                        _ => ErrorKind::HandshakeTimeout,
                    };
                    self.connect_failed(slot, now, kind);
                }
                Stage::Busy(_) => {
                    io.close(slot);
                    // The latency is this at least.
                    if !self.streams() {
                        let age_ns = now - connection.request.intended_ns;
                        let target = connection.request.target;
                        self.recorder.timed_out(now, age_ns, Some(target));
                    }
                    self.lost(slot, now, ErrorKind::Timeout);
                }
                Stage::Joining(_) => {
                    io.close(slot);
                    self.not_joined(slot, now, false);
                }
                Stage::Closed(_) | Stage::Free(_) | Stage::Removed => {}
            }
        }
    }

    pub fn publish(&mut self, now: u64) {
        let (open, in_flight) = (self.open as u64, self.in_flight);
        self.recorder.publish(now, open, in_flight, !self.stopping);
        if let Some(log) = &mut self.config.log {
            log.publish();
        }
    }
}

#[cfg(test)]
mod tests;
