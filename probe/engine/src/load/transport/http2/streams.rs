//! The streams of a connection, and the slots of the load.

use super::{Arrived, Http2};
use crate::io::{Arrival, Ending, Handler, Next, ReplyPart, Slot};
use crate::load::error::ErrorKind;
use crate::load::plan::Http2Plan;
use crate::load::transport::handler::{Done, End, LayeredHandler};
use crate::load::transport::link::{ConnectionIndex, Session};
use crate::load::transport::LayerError;

impl<H: Handler> LayeredHandler<'_, H> {
    pub fn begin_http2(&mut self, plan: Http2Plan, number: ConnectionIndex, slot: Slot) -> Done {
        let lanes = plan.streams;
        let lane = self.links.lane(slot);
        let link = self.links.get(number).ok_or(End::Closed)?;
        let chosen = link.tls.as_ref().map(|tls| tls.protocol());
        if chosen.is_some_and(|protocol| protocol != Some(b"h2")) {
            return Err(
                LayerError::new(ErrorKind::NoHttp2, "it chooses no protocol (ALPN), so HTTP/1.1").into()
            );
        }
        let mut session = Http2::new(plan)?;
        link.is_open = true;
        link.attached = vec![false; lanes];
        link.attached[lane] = true;
        link.owner = Some(slot);
        let next = self.handler.connected(slot);
        self.follow_stream(&mut session, slot, next)?;
        for slot in self.links.take_waiting(number) {
            self.join(&mut session, slot)?;
        }
        let done = self.streams(number, &mut session, Arrival::default());
        self.links.get(number).ok_or(End::Closed)?.session = Session::Http2(Box::new(session));
        done
    }

    /// A slot joins a connection that is open.
    pub fn join(&mut self, session: &mut Http2, slot: Slot) -> Done {
        let (number, lane) = (self.links.number(slot), self.links.lane(slot));
        let link = self.links.get(number).ok_or(End::Closed)?;
        link.attached[lane] = true;
        let is_counted = link.owner.is_none();
        if is_counted {
            link.owner = Some(slot);
        }
        let next = self.handler.joined(slot, is_counted);
        self.follow_stream(session, slot, next)
    }

    /// Does what the load wants next on a stream. `streams` notes the requests that have begun.
    pub fn follow_stream(&mut self, session: &mut Http2, slot: Slot, next: Next) -> Done {
        let (number, lane) = (self.links.number(slot), self.links.lane(slot));
        match next {
            Next::Wait => {}
            Next::Close => {
                session.cancel(lane);
                self.links.detach(slot);
            }
            Next::Send(bytes) => {
                let request = self.links.requests.prepare(&bytes)?;
                if !session.send(lane, request) {
                    self.links.get(number).ok_or(End::Closed)?.held.push(slot);
                }
            }
        }
        Ok(())
    }

    /// Hands what has arrived on streams to the load.
    pub fn streams(&mut self, number: ConnectionIndex, session: &mut Http2, arrival: Arrival) -> Done {
        let first = self.links.slots(number).start;
        let mut polled = session.poll();
        while let Some((lane, arrived)) = session.next(&mut polled) {
            let slot = first + lane;
            let link = self.links.get(number).ok_or(End::Closed)?;
            if !link.attached[lane] {
                session.cancel(lane);
                continue;
            }
            let next = match arrived {
                Arrived::Head(status) => self.handler.received(slot, ReplyPart::Head(status), arrival),
                Arrived::Body(bytes) => self.handler.received(slot, ReplyPart::Body(&bytes), arrival),
                Arrived::End { is_early } => {
                    let arrival = Arrival { is_early, ..arrival };
                    self.handler.received(slot, ReplyPart::End, arrival)
                }
                Arrived::Refused => {
                    self.links.detach(slot);
                    self.handler.ended(slot, Ending::Refused);
                    Next::Wait
                }
                Arrived::Failed(fault) => {
                    self.links.detach(slot);
                    self.links.note_fault(&fault);
                    self.handler.ended(slot, Ending::Failed(fault.kind));
                    Next::Wait
                }
            };
            self.follow_stream(session, slot, next)?;
            let again = session.poll();
            polled = polled.and(again);
        }
        for lane in std::mem::take(&mut session.begun) {
            let slot = first + lane;
            let link = self.links.get(number).ok_or(End::Closed)?;
            link.sends.push(slot);
            if let Some(place) = link.held.iter().position(|held| *held == slot) {
                link.held.swap_remove(place);
                self.links.report.stream_limit = session.limit() as u64;
                self.handler.released(slot, arrival.stamp_ns);
            }
        }
        self.links.report.window_waits += std::mem::take(&mut session.window_waits);
        session.take_output(&mut self.links.out);
        polled?;
        if session.is_over {
            self.end_all(number, Ending::Finished, Ending::ConnectionDraining);
            return Err(End::Closed);
        }
        Ok(())
    }
}
