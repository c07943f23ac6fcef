//! The user of the back-end, on behalf of the load: what arrives goes through the layers to the load, and what that
//! answers back through them.

use super::link::{recycled, ConnectionIndex, Links, Sender, Session};
use super::websocket::WebSocket;
use super::Fault;
use crate::io::{Arrival, Ending, Handler, Next, ReplyPart, Slot};

pub struct LayeredHandler<'a, H> {
    pub links: &'a mut Links,
    pub handler: &'a mut H,
}

/// The end of a connection.
pub enum End {
    /// The load has closed it, or knows of it.
    Closed,
    Fault(Fault),
}

impl From<Fault> for End {
    fn from(fault: Fault) -> End {
        End::Fault(fault)
    }
}

impl<H: Handler> LayeredHandler<'_, H> {
    /// Bytes from the socket; what the load answers is appended to `out`.
    fn take_in(
        &mut self,
        number: ConnectionIndex,
        wire: &[u8],
        arrival: Arrival,
        out: &mut Vec<u8>,
    ) -> Result<(), End> {
        let mut plain = std::mem::take(&mut self.links.plain);
        plain.clear();
        let link = self.links.get(number).ok_or(End::Closed)?;
        let led_on;
        let wire: &[u8] = match &mut link.tunnel {
            None => wire,
            Some(tunnel) => match tunnel.feed(wire)? {
                None => return Ok(()),
                Some(rest) => {
                    link.tunnel = None;
                    led_on = rest;
                    &led_on
                }
            },
        };
        let decrypted = match &mut link.tls {
            Some(tls) => tls.decrypt(wire, &mut plain),
            None => {
                plain.extend_from_slice(wire);
                Ok(())
            }
        };
        let done = self.hand_over(number, &plain, arrival, out);
        self.links.plain = recycled(plain);
        done?;
        decrypted?;
        // Many servers wait for the client's end after their own: the socket alone would not tell.
        let link = self.links.get(number).ok_or(End::Closed)?;
        if link.has_ended() == Some(true) {
            self.end_all(number, Ending::Finished, Ending::ConnectionFailed);
            return Err(End::Closed);
        }
        Ok(())
    }

    /// The end of the handshake of TLS, and decrypted bytes, to the session.
    fn hand_over(
        &mut self,
        number: ConnectionIndex,
        plain: &[u8],
        arrival: Arrival,
        out: &mut Vec<u8>,
    ) -> Result<(), End> {
        let link = self.links.get(number).ok_or(End::Closed)?;
        if !link.is_secured() {
            return Ok(());
        }
        let slot = link.opener;
        match std::mem::take(&mut link.session) {
            Session::None => {
                self.begin(number, slot, out)?;
                match plain.is_empty() {
                    true => Ok(()),
                    false => self.hand_over(number, plain, arrival, out),
                }
            }
            Session::Bytes => {
                link.session = Session::Bytes;
                if plain.is_empty() {
                    return Ok(());
                }
                let next = self.handler.received(slot, ReplyPart::Bytes(plain), arrival);
                self.follow(Sender::Bytes, slot, next, out)
            }
            Session::WebSocket(mut session) => {
                let done = self.messages(slot, &mut session, plain, arrival, out);
                let link = self.links.get(number).ok_or(End::Closed)?;
                link.session = Session::WebSocket(session);
                done
            }
            Session::Http2(mut session) => {
                let fed = session.feed(plain);
                let done = self.streams(number, &mut session, arrival, out);
                let link = self.links.get(number).ok_or(End::Closed)?;
                link.session = Session::Http2(session);
                done?;
                Ok(fed?)
            }
        }
    }

    /// Begins the session of a connection that is ready for it.
    fn begin(&mut self, number: ConnectionIndex, slot: Slot, out: &mut Vec<u8>) -> Result<(), End> {
        self.links.note_security(number);
        let id = self.links.id(slot);
        let links = &mut *self.links;
        if let Some(plan) = &links.layers.websocket {
            let session = WebSocket::begin(plan, id, out);
            links.get(number).ok_or(End::Closed)?.session = Session::WebSocket(Box::new(session));
            return Ok(());
        }
        if let Some(plan) = links.layers.http2 {
            return self.begin_http2(plan, number, slot, out);
        }
        let link = links.get(number).ok_or(End::Closed)?;
        link.session = Session::Bytes;
        link.is_open = true;
        let next = self.handler.connected(slot);
        self.follow(Sender::Bytes, slot, next, out)
    }

    /// A slot joins a connection that is open.
    pub fn join(&mut self, sender: Sender<'_>, slot: Slot, out: &mut Vec<u8>) -> Result<(), End> {
        let (number, lane) = (self.links.number(slot), self.links.lane(slot));
        let link = self.links.get(number).ok_or(End::Closed)?;
        link.attached[lane] = true;
        let is_counted = link.owner.is_none();
        if is_counted {
            link.owner = Some(slot);
        }
        let next = self.handler.joined(slot, is_counted);
        self.follow(sender, slot, next, out)
    }

    /// What the load does next on a slot: the one way of its requests, whose bytes are appended or go to a stream.
    pub fn follow(
        &mut self,
        sender: Sender<'_>,
        slot: Slot,
        next: Next,
        out: &mut Vec<u8>,
    ) -> Result<(), End> {
        let number = self.links.number(slot);
        let is_sent = match (next, sender) {
            (Next::Wait, _) => return Ok(()),
            (Next::Close, Sender::Http2(session)) => {
                session.cancel(self.links.lane(slot));
                self.links.detach(slot);
                return Ok(());
            }
            (Next::Close, _) => return Err(End::Closed),
            (Next::Send(bytes), Sender::Http2(session)) => {
                let request = self.links.requests.prepare(&bytes)?;
                if !session.send(self.links.lane(slot), request) {
                    self.links.get(number).ok_or(End::Closed)?.held.push(slot);
                }
                // `streams` asks for those that are begun.
                false
            }
            (Next::Send(bytes), Sender::WebSocket(session)) => session.send(&bytes, out),
            (Next::Send(bytes), Sender::Bytes) => {
                out.extend_from_slice(&bytes);
                true
            }
        };
        if is_sent {
            self.links.get(number).ok_or(End::Closed)?.sends.push(slot);
        }
        Ok(())
    }

    /// A connection has ended: its slots are told, and those that waited for it.
    pub fn end_all(&mut self, number: ConnectionIndex, ending: Ending, waited: Ending) {
        let Some(link) = self.links.take(number) else {
            return;
        };
        if link.attached.is_empty() {
            self.handler.ended(link.opener, ending);
        }
        let slots = self.links.slots(number);
        for (slot, _) in slots.zip(link.attached).filter(|(_, attached)| *attached) {
            self.handler.ended(slot, ending);
        }
        for slot in self.links.take_waiting(number) {
            self.handler.ended(slot, waited);
        }
    }

    fn fail(&mut self, number: ConnectionIndex, fault: &Fault) -> Next {
        self.links.note_fault(fault);
        self.end_all(number, Ending::Failed(fault.kind), Ending::ConnectionFailed);
        Next::Close
    }

    /// Does something with a connection, and sends what the load answers.
    #[inline]
    pub fn flush_after(
        &mut self,
        number: ConnectionIndex,
        act: impl FnOnce(&mut Self, &mut Vec<u8>) -> Result<(), End>,
    ) -> Next {
        let mut out = std::mem::take(&mut self.links.out);
        out.clear();
        let done = act(self, &mut out);
        let next = self.encrypt(number, done, &out);
        self.links.out = recycled(out);
        next
    }

    fn encrypt(&mut self, number: ConnectionIndex, done: Result<(), End>, out: &[u8]) -> Next {
        let encrypted = match done {
            Ok(()) => self.links.seal(number, out),
            Err(End::Fault(fault)) => Err(fault),
            Err(End::Closed) => {
                self.links.take(number);
                return Next::Close;
            }
        };
        encrypted.unwrap_or_else(|fault| self.fail(number, &fault))
    }
}

impl<H: Handler> Handler for LayeredHandler<'_, H> {
    fn connected(&mut self, number: Slot) -> Next {
        let Some(link) = self.links.get(number) else {
            return Next::Close;
        };
        let opener = link.opener;
        if !link.is_secured() || self.links.layers.websocket.is_some() {
            self.handler.handshaking(opener);
        }
        self.flush_after(number, |above, out| above.hand_over(number, &[], Arrival::default(), out))
    }

    fn received(&mut self, number: Slot, part: ReplyPart<'_>, arrival: Arrival) -> Next {
        let ReplyPart::Bytes(bytes) = part else {
            return Next::Wait;
        };
        self.links.bytes_in += bytes.len() as u64;
        self.flush_after(number, |above, out| above.take_in(number, bytes, arrival, out))
    }

    fn sending(&mut self, number: Slot, now_ns: u64) {
        let Some(link) = self.links.get(number) else {
            return;
        };
        for slot in link.sends.drain(..) {
            self.handler.sending(slot, now_ns);
        }
        if let Session::Http2(session) = &mut link.session {
            if session.release() {
                self.links.with_room.push(number);
            }
        }
    }

    fn woken(&mut self, now_ns: u64) {
        self.handler.woken(now_ns);
    }

    fn last_event_ns(&self) -> u64 {
        self.handler.last_event_ns()
    }

    fn ended(&mut self, number: Slot, reason: Ending) {
        let link = self.links.get(number);
        let is_cut = link.is_some_and(|link| link.is_open && link.has_ended() == Some(false));
        let ending = match reason {
            Ending::Finished if is_cut => Ending::Cut,
            reason => reason,
        };
        self.end_all(number, ending, Ending::ConnectionFailed);
    }
}
