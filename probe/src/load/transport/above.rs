//! The user of the back-end, on behalf of the load: what arrives goes through the layers to the load, and what that
//! answers back through them.

use super::link::{Links, Session};
use super::websocket::{Incoming, WebSocket};
use super::Fault;
use crate::io::{CloseReason, Handler, Next, Part, Slot};

pub struct Above<'a, H> {
    pub links: &'a mut Links,
    pub handler: &'a mut H,
}

/// The end of a connection.
enum End {
    /// The load has closed it, or knows of it.
    Closed,
    Fault(Fault),
}

impl From<Fault> for End {
    fn from(fault: Fault) -> End {
        End::Fault(fault)
    }
}

impl<H: Handler> Above<'_, H> {
    /// Bytes from the socket; what the load answers is appended to `out`.
    fn take_in(
        &mut self,
        slot: Slot,
        wire: &[u8],
        arrived_ns: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<(), End> {
        let mut plain = std::mem::take(&mut self.links.plain);
        plain.clear();
        let Some(link) = self.links.get(slot) else {
            return Err(End::Closed);
        };
        let decrypted = link.channel.decrypt(wire, &mut plain);
        let done = self.hand_over(slot, &plain, arrived_ns, out);
        self.links.plain = plain;
        done?;
        Ok(decrypted?)
    }

    /// The end of the channel's handshake, and decrypted bytes, to the session.
    fn hand_over(
        &mut self,
        slot: Slot,
        plain: &[u8],
        arrived_ns: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<(), End> {
        let link = self.links.get(slot).ok_or(End::Closed)?;
        if !link.channel.is_open() {
            return Ok(());
        }
        match std::mem::take(&mut link.session) {
            Session::None => {
                self.begin(slot, out)?;
                match plain.is_empty() {
                    true => Ok(()),
                    false => self.hand_over(slot, plain, arrived_ns, out),
                }
            }
            Session::Bytes => {
                link.session = Session::Bytes;
                if plain.is_empty() {
                    return Ok(());
                }
                let next = self.handler.received(slot, plain, arrived_ns);
                self.follow(slot, next, out)
            }
            Session::WebSocket(mut session) => {
                let done = self.messages(slot, &mut session, plain, arrived_ns, out);
                let link = self.links.get(slot).ok_or(End::Closed)?;
                link.session = Session::WebSocket(session);
                done
            }
        }
    }

    /// Begins the session of a channel that is open.
    fn begin(&mut self, slot: Slot, out: &mut Vec<u8>) -> Result<(), End> {
        self.links.note_security(slot);
        let id = self.links.id(slot);
        let links = &mut *self.links;
        if let Some(plan) = &links.layers.websocket {
            let session = WebSocket::begin(plan, id, &mut links.random, out);
            links.get(slot).ok_or(End::Closed)?.session = Session::WebSocket(Box::new(session));
            return Ok(());
        }
        links.get(slot).ok_or(End::Closed)?.session = Session::Bytes;
        let next = self.handler.connected(slot);
        self.follow(slot, next, out)
    }

    /// Bytes of a WebSocket: its handshake, or messages. The session is not in its link meanwhile.
    fn messages(
        &mut self,
        slot: Slot,
        session: &mut WebSocket,
        plain: &[u8],
        arrived_ns: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<(), End> {
        let mut next = match session.feed(plain)? {
            true => self.handler.connected(slot),
            false => Next::Wait,
        };
        loop {
            match next {
                Next::Wait => {}
                Next::Close => return Err(End::Closed),
                Next::Send(bytes) => {
                    let sends = session.send(&bytes, out)?;
                    self.links.get(slot).ok_or(End::Closed)?.sends_request |= sends;
                }
            }
            next = match session.next(out)? {
                None => return Ok(()),
                Some(Incoming::Message(message)) => {
                    let bytes = message.into_data();
                    self.handler.parsed(slot, Part::Message(&bytes), arrived_ns)
                }
                Some(Incoming::End) => {
                    self.links.close(slot);
                    self.handler.closed(slot, CloseReason::Ended);
                    return Err(End::Closed);
                }
            }
        }
    }

    /// What the load does next: its bytes are appended.
    fn follow(&mut self, slot: Slot, next: Next, out: &mut Vec<u8>) -> Result<(), End> {
        match next {
            Next::Wait => Ok(()),
            Next::Close => Err(End::Closed),
            Next::Send(bytes) => Ok(self.links.send(slot, &bytes, out)?),
        }
    }

    pub fn fail(&mut self, slot: Slot, fault: &Fault) -> Next {
        self.links.note_fault(fault);
        self.links.close(slot);
        self.handler.closed(slot, CloseReason::Failed(fault.kind));
        Next::Close
    }

    fn sealed(&mut self, slot: Slot, done: Result<(), End>, out: &[u8]) -> Next {
        let sealed = match done {
            Ok(()) => self.links.seal(slot, out),
            Err(End::Fault(fault)) => Err(fault),
            Err(End::Closed) => {
                self.links.close(slot);
                return Next::Close;
            }
        };
        sealed.unwrap_or_else(|fault| self.fail(slot, &fault))
    }
}

impl<H: Handler> Handler for Above<'_, H> {
    fn connected(&mut self, slot: Slot) -> Next {
        self.handler.handshaking(slot);
        let mut out = Vec::new();
        let opened = self.links.open(slot).map_err(End::from);
        let done = opened.and_then(|()| self.hand_over(slot, &[], None, &mut out));
        self.sealed(slot, done, &out)
    }

    fn handshaking(&mut self, _: Slot) {}

    fn received(&mut self, slot: Slot, bytes: &[u8], arrived_ns: Option<u64>) -> Next {
        self.links.bytes_in += bytes.len() as u64;
        let mut out = Vec::new();
        let done = self.take_in(slot, bytes, arrived_ns, &mut out);
        self.sealed(slot, done, &out)
    }

    fn parsed(&mut self, _: Slot, _: Part<'_>, _: Option<u64>) -> Next {
        Next::Wait
    }

    fn sending(&mut self, slot: Slot, now_ns: u64) {
        let link = self.links.get(slot);
        if let Some(link) = link.filter(|link| link.sends_request) {
            link.sends_request = false;
            self.handler.sending(slot, now_ns);
        }
    }

    fn woken(&mut self, now_ns: u64) {
        self.handler.woken(now_ns);
    }

    fn closed(&mut self, slot: Slot, reason: CloseReason) {
        let link = self.links.take(slot);
        let is_cut = link.is_some_and(|link| link.channel.is_open() && link.channel.can_be_cut());
        let reason = match reason {
            CloseReason::Finished if is_cut => CloseReason::Cut,
            reason => reason,
        };
        self.handler.closed(slot, reason);
    }
}
