//! The actions of a connection at an event of the back-end.

use super::{Instants, Shard};
use crate::io::{Arrival, Ending, Handler, Next, ReplyPart, Slot};
use crate::load::decoder::{Progress, ReplyEvent};
use crate::load::error::ErrorKind;
use crate::load::http::HeadProgress;
use crate::load::shard::connection::{Busy, Stage};
use wire::clock::now_ns;

impl Handler for Shard {
    fn connected(&mut self, slot: Slot) -> Next {
        let now = now_ns();
        self.dialer.connect_ended();
        self.count(slot);
        self.recorder.record.opened += 1;
        let connection = &self.connections[slot];
        match connection.stage {
            Stage::Handshaking(began_ns) => self.recorder.record.handshake.add(now - began_ns),
            _ => self.connect_ended(slot),
        }
        self.begin(slot, now)
    }

    fn received(&mut self, slot: Slot, part: ReplyPart<'_>, arrival: Arrival) -> Next {
        if let ReplyPart::Bytes(bytes) = part {
            self.recorder.record.bytes_in += bytes.len() as u64;
        }
        self.arrived(slot, part, arrival)
    }

    fn sending(&mut self, slot: Slot, now: u64) {
        let streams = self.decoder.streams();
        let connection = &mut self.connections[slot];
        if connection.stage.busy().is_none() {
            return;
        }
        connection.stage = Busy::since(now);
        self.deferral.sent();
        if connection.request.refusals > 0 {
            // It is sent again, and was recorded when it was sent first.
            return;
        }
        match (self.samples_reads, connection.request.replied_ns.take()) {
            (false, _) => self.recorder.schedule_error(&mut connection.request, now),
            (true, None) => {}
            (true, Some(replied_ns)) => {
                let error = &mut self.recorder.record.schedule_error;
                error.add(now.saturating_sub(replied_ns));
            }
        }
        if connection.request.is_due_when_begun {
            connection.request.intended_ns = now;
        } else if !streams && (!self.arrivals.is_closed_loop() || connection.request.queued_ns > 0) {
            self.recorder.record.queue.add(connection.request.queued_ns);
        }
    }

    fn woken(&mut self, now: u64) {
        self.read_lateness.woken(now);
        self.deferral.looked(now);
    }

    fn wait_begins(&mut self, now: u64) {
        self.read_lateness.wait_begins(now);
    }

    fn joined(&mut self, slot: Slot, is_counted: bool) -> Next {
        self.dialer.connect_ended();
        if is_counted {
            self.count(slot);
        }
        self.begin(slot, now_ns())
    }

    fn handshaking(&mut self, slot: Slot) {
        self.connect_ended(slot);
        let connection = &mut self.connections[slot];
        connection.stage = Stage::Handshaking(now_ns());
    }

    fn released(&mut self, slot: Slot, at_ns: Option<u64>) {
        let now = now_ns();
        let connection = &mut self.connections[slot];
        let at_ns = at_ns.unwrap_or(now).min(now).max(connection.request.ready_ns);
        connection.request.queued_ns += at_ns - connection.request.ready_ns;
        connection.request.ready_ns = at_ns;
        // In a closed loop, too, its latency counts from then: it waited for the stream.
        connection.request.is_due_when_begun = false;
        self.recorder.record.stream_waits += 1;
    }

    fn ended(&mut self, slot: Slot, ending: Ending) {
        let now = now_ns();
        let kind = match ending {
            Ending::ConnectionFailed | Ending::ConnectionDraining => {
                return self.not_joined(slot, now, ending == Ending::ConnectionDraining);
            }
            Ending::Refused if self.connections[slot].stage.busy().is_some() => {
                return self.refused(slot, now);
            }
            Ending::Refused => None,
            Ending::NotConnected(errno) => {
                self.dialer.connect_ended();
                let kind = self.dialer.failed(errno);
                return self.connect_failed(slot, now, kind);
            }
            Ending::Ended if self.streams() => Some(ErrorKind::Ended),
            Ending::Finished | Ending::Cut | Ending::Ended => None,
            Ending::Failed(kind) => Some(kind),
            Ending::SendFailed(libc::ECONNRESET | libc::EPIPE) | Ending::ReceiveFailed(_) => {
                Some(ErrorKind::Reset)
            }
            Ending::SendFailed(_) => Some(ErrorKind::Send),
        };
        match (self.connections[slot].stage, kind) {
            (Stage::Free(_), Some(kind)) if ending == Ending::Failed(kind) => {
                if self.connections[slot].is_counted {
                    self.recorder.error(now, kind, None);
                }
                self.uncount(slot);
                self.pause(slot, now);
            }
            (Stage::Free(_), _) => {
                // The server may close a connection that is not in use.
                self.recorder.record.idle_closes += u64::from(self.connections[slot].is_counted);
                self.after_close(slot, now);
            }
            (Stage::Handshaking(_), kind) => {
                self.dialer.connect_ended();
                self.connect_failed(slot, now, kind.unwrap_or(ErrorKind::ClosedEarly));
            }
            (Stage::Busy(_), Some(kind)) => self.lost(slot, now, kind),
            (Stage::Busy(_), None) => {
                let (recorder, connection) = (&mut self.recorder, &mut self.connections[slot]);
                let (was_paused, target) = (connection.stream.was_paused, connection.request.target);
                let (fed, reply) = (&mut connection.stream.fed, &mut connection.reply);
                let mut on_event = |event| recorder.event(now, event, fed, was_paused, target);
                match self.decoder.decode_eof(reply, &mut on_event) {
                    Progress::Done(result, _) => {
                        // Without the end of the TLS session an attacker may have truncated the reply.
                        let is_cut = ending == Ending::Cut;
                        let result = if is_cut { Err(ErrorKind::Truncated) } else { result };
                        let _ = self.complete(slot, Instants::of(now), result, false, None);
                    }
                    Progress::Broken(kind) => self.lost(slot, now, kind),
                    Progress::More | Progress::Unsolicited(_) => {}
                }
            }
            (Stage::Closed(_) | Stage::Connecting(_) | Stage::Joining(_) | Stage::Removed, _) => {}
        }
    }
}

impl Shard {
    /// Something of a reply has arrived.
    #[inline]
    fn arrived(&mut self, slot: Slot, part: ReplyPart<'_>, arrival: Arrival) -> Next {
        let now = now_ns();
        self.last_event_ns = now;
        let id = self.config.connection_id(slot);
        let connection = &mut self.connections[slot];
        let busy = connection.stage.busy();
        // An impossible stamp comes from a clock that was set meanwhile.
        let least_ns = busy.map_or(0, |busy| busy.active_ns);
        let stamp = (arrival.stamp_ns).filter(|at| (least_ns..=now).contains(at));
        let arrived = if self.samples_reads { now } else { stamp.unwrap_or(now) };
        connection.request.replied_ns = stamp;
        self.recorder.record.reads += 1;
        self.recorder.record.stamped_reads += u64::from(stamp.is_some());
        let Some(busy) = busy else {
            self.uncount(slot);
            self.failed(slot, now, ErrorKind::Unsolicited, false);
            return Next::Close;
        };
        let (recorder, fed) = (&mut self.recorder, &mut connection.stream.fed);
        let (was_paused, target) = (connection.stream.was_paused, connection.request.target);
        let mut messages = 0;
        let mut on_event = |event| {
            messages += u64::from(matches!(event, ReplyEvent::Message(_)));
            recorder.event(arrived, event, fed, was_paused, target);
        };
        let (decoder, reply) = (&self.decoder, &mut connection.reply);
        let before = (!connection.request.answered).then(|| decoder.beginning(reply));
        let is_part = !matches!(part, ReplyPart::Bytes(_));
        let progress = decoder.decode(reply, part, id, arrived, &mut on_event);
        let first_byte_ns = before.and_then(|before| self.answered(slot, before, is_part, arrived));
        let first_byte_ns = first_byte_ns.map(|at_ns| at_ns.saturating_sub(busy.sent_ns));
        if self.decoder.streams() {
            self.stream_read(slot, busy, messages, stamp.is_some(), Instants { arrived, now });
        }
        self.deferral.read(stamp.is_some(), progress != Progress::More);
        match progress {
            Progress::More => {
                self.recorder.first_byte(first_byte_ns);
                Next::Wait
            }
            Progress::Done(result, keep) => {
                let at = Instants { arrived, now };
                let result = if arrival.is_early { result.and(Err(ErrorKind::EarlyReply)) } else { result };
                self.complete(slot, at, result, keep && !arrival.is_early, first_byte_ns)
            }
            Progress::Broken(kind) => {
                self.recorder.first_byte(first_byte_ns);
                self.lost(slot, now, kind);
                Next::Close
            }
            Progress::Unsolicited(result) => {
                let at = Instants { arrived, now };
                let _ = self.complete(slot, at, result, false, first_byte_ns);
                self.recorder.error(now, ErrorKind::Unsolicited, None);
                Next::Close
            }
        }
    }

    /// A part of a reply has arrived; `before` says which parts were there earlier. Notes the first byte of
    /// the final response, and returns when it came, once it has. `is_part`: a layer has decoded the part,
    /// and left out what precedes the final response.
    fn answered(&mut self, slot: Slot, before: HeadProgress, is_part: bool, arrived: u64) -> Option<u64> {
        let connection = &mut self.connections[slot];
        let beginning = self.decoder.beginning(&connection.reply);
        if before.begun == 0 || before.begun != beginning.begun {
            connection.request.first_byte_ns = arrived;
        }
        if !beginning.is_final && !is_part {
            return None;
        }
        connection.request.answered = true;
        connection.request.refusals = 0;
        Some(connection.request.first_byte_ns)
    }

    /// A read brought bytes of a stream, with this many messages. The engine's error is how late it may have read them:
    /// all of them if they have no stamp, else those before the last that share its stamp.
    fn stream_read(&mut self, slot: Slot, busy: Busy, messages: u64, is_stamped: bool, at: Instants) {
        let connection = &mut self.connections[slot];
        let is_first = at.arrived != busy.active_ns;
        if is_first {
            connection.stream.active_before_ns = busy.active_ns;
            let active_ns = at.arrived;
            connection.stage = Stage::Busy(Busy { active_ns, ..busy });
        }
        let error = &mut self.recorder.record.schedule_error;
        if !is_stamped {
            return error.add(self.read_lateness.late_ns(at.now));
        }
        let between_ns = at.arrived - connection.stream.active_before_ns;
        let late_ns = self.read_lateness.late_ns(at.arrived).min(between_ns);
        if late_ns > 0 {
            (u64::from(is_first)..messages).for_each(|_| error.add(late_ns));
        }
    }

    /// A socket is connected. It was when the last wait ended, though others may have been handled since.
    fn connect_ended(&mut self, slot: Slot) {
        let began_ns = self.connections[slot].stage.opening_ns().unwrap_or(0);
        let ended_ns = self.read_lateness.woken_ns.max(began_ns);
        self.recorder.record.connect.add(ended_ns - began_ns);
    }

    /// A slot is connected: what it does first.
    fn begin(&mut self, slot: Slot, now: u64) -> Next {
        let connection = &mut self.connections[slot];
        connection.request.replied_ns = None;
        connection.has_answered = false;
        match connection.pending_ns.take() {
            Some(intended) => {
                connection.request.ready_ns = now;
                self.start(slot, intended, now)
            }
            None => self.next(slot, Instants::of(now)),
        }
    }

    /// A slot stands for a connection that is open.
    fn count(&mut self, slot: Slot) {
        self.connections[slot].is_counted = true;
        self.open += 1;
        let record = &mut self.recorder.record;
        record.most_open = record.most_open.max(self.open as u64);
    }
}
