//! Stands between the back-end and the load: passes bytes that arrive up through the layers, and requests of the load
//! down.

use super::link::{recycle, ConnectionIndex, Links, Session};
use super::websocket::WebSocket;
use super::LayerError;
use crate::io::{Arrival, Ending, Handler, Next, ReplyPart, Slot};

pub struct LayeredHandler<'a, H> {
    pub links: &'a mut Links,
    pub handler: &'a mut H,
}

pub enum End {
    /// The load has closed it, or knows of it.
    Closed,
    Failed(LayerError),
}

/// The error: the connection has ended.
pub type Done = Result<(), End>;

impl From<LayerError> for End {
    fn from(fault: LayerError) -> End {
        End::Failed(fault)
    }
}

impl<H: Handler> LayeredHandler<'_, H> {
    /// Bytes from the socket; what the load answers is appended to `Links::out`.
    fn take_in(&mut self, number: ConnectionIndex, wire: &[u8], arrival: Arrival) -> Done {
        let mut plain = std::mem::take(&mut self.links.plain);
        recycle(&mut plain);
        let link = self.links.get(number).ok_or(End::Closed)?;
        let after_tunnel;
        let wire: &[u8] = match &mut link.tunnel {
            None => wire,
            Some(tunnel) => match tunnel.feed(wire)? {
                None => return Ok(()),
                Some(rest) => {
                    link.tunnel = None;
                    after_tunnel = rest;
                    &after_tunnel
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
        let done = self.hand_over(number, &plain, arrival);
        self.links.plain = plain;
        done?;
        decrypted?;
        // Many servers end the TLS session and wait for the client to close the socket.
        let link = self.links.get(number).ok_or(End::Closed)?;
        if link.has_ended() == Some(true) {
            self.end_all(number, Ending::Finished, Ending::ConnectionFailed);
            return Err(End::Closed);
        }
        Ok(())
    }

    /// Gives decrypted bytes to the session, which begins with the end of the handshake of TLS.
    fn hand_over(&mut self, number: ConnectionIndex, plain: &[u8], arrival: Arrival) -> Done {
        let link = self.links.get(number).ok_or(End::Closed)?;
        if !link.is_secured() {
            return Ok(());
        }
        let slot = link.opener;
        if let Session::None = link.session {
            self.begin(number, slot)?;
            if plain.is_empty() {
                return Ok(());
            }
        }
        self.with_session(number, |above, session| match session {
            Session::Bytes if !plain.is_empty() => {
                let next = above.handler.received(slot, ReplyPart::Bytes(plain), arrival);
                above.follow(session, slot, next)
            }
            Session::None | Session::Bytes => Ok(()),
            Session::WebSocket(websocket) => above.messages(slot, websocket, plain, arrival),
            Session::Http2(http2) => {
                let fed = http2.feed(plain);
                above.streams(number, http2, arrival)?;
                Ok(fed?)
            }
        })
    }

    /// Does something with the session of a connection, which is not in its link meanwhile.
    pub fn with_session(
        &mut self,
        number: ConnectionIndex,
        act: impl FnOnce(&mut Self, &mut Session) -> Done,
    ) -> Done {
        let link = self.links.get(number).ok_or(End::Closed)?;
        let mut session = std::mem::take(&mut link.session);
        let done = act(self, &mut session);
        if let Some(link) = self.links.get(number) {
            link.session = session;
        }
        done
    }

    /// Begins the session of a connection that is ready for it.
    fn begin(&mut self, number: ConnectionIndex, slot: Slot) -> Done {
        self.links.note_security(number);
        let id = self.links.id(slot);
        let links = &mut *self.links;
        if let Some(plan) = &links.layers.websocket {
            let session = WebSocket::begin(plan, id, &mut links.out);
            links.get(number).ok_or(End::Closed)?.session = Session::WebSocket(Box::new(session));
            return Ok(());
        }
        if let Some(plan) = links.layers.http2 {
            return self.begin_http2(plan, number, slot);
        }
        let link = links.get(number).ok_or(End::Closed)?;
        link.session = Session::Bytes;
        link.is_open = true;
        let next = self.handler.connected(slot);
        self.follow(&mut Session::Bytes, slot, next)
    }

    /// Does what the load wants next on a slot.
    pub fn follow(&mut self, session: &mut Session, slot: Slot, next: Next) -> Done {
        match session {
            Session::None => Ok(()),
            Session::Bytes => self.follow_bytes(slot, next, None),
            Session::WebSocket(session) => self.follow_bytes(slot, next, Some(session)),
            Session::Http2(session) => self.follow_stream(session, slot, next),
        }
    }

    /// The same on a connection with one request at a time: a WebSocket, or bytes.
    pub fn follow_bytes(&mut self, slot: Slot, next: Next, websocket: Option<&WebSocket>) -> Done {
        match next {
            Next::Wait => Ok(()),
            Next::Close => Err(End::Closed),
            Next::Send(bytes) => {
                let out = &mut self.links.out;
                if websocket.is_none() {
                    out.extend_from_slice(&bytes);
                }
                if websocket.map_or(true, |websocket| websocket.send(&bytes, out)) {
                    self.links.get(slot).ok_or(End::Closed)?.sends.push(slot);
                }
                Ok(())
            }
        }
    }

    /// Tells the slots of a connection that it has ended, and those that waited for it.
    pub fn end_all(&mut self, number: ConnectionIndex, ending: Ending, waited: Ending) {
        let Some(link) = self.links.take(number) else { return };
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

    /// Does something with a connection, and sends what the load answers.
    #[inline]
    pub fn flush_after(&mut self, number: ConnectionIndex, act: impl FnOnce(&mut Self) -> Done) -> Next {
        recycle(&mut self.links.out);
        let sealed = act(self).and_then(|()| Ok(self.links.seal(number)?));
        sealed.unwrap_or_else(|end| {
            match end {
                End::Failed(fault) => {
                    self.links.note_fault(&fault);
                    self.end_all(number, Ending::Failed(fault.kind), Ending::ConnectionFailed);
                }
                End::Closed => drop(self.links.take(number)),
            }
            Next::Close
        })
    }
}

impl<H: Handler> Handler for LayeredHandler<'_, H> {
    fn connected(&mut self, number: Slot) -> Next {
        let Some(link) = self.links.get(number) else { return Next::Close };
        let opener = link.opener;
        if !link.is_secured() || self.links.layers.websocket.is_some() {
            self.handler.handshaking(opener);
        }
        self.flush_after(number, |above| above.hand_over(number, &[], Arrival::default()))
    }

    fn received(&mut self, number: Slot, part: ReplyPart<'_>, arrival: Arrival) -> Next {
        let ReplyPart::Bytes(bytes) = part else { return Next::Wait };
        self.links.bytes_in += bytes.len() as u64;
        self.flush_after(number, |above| above.take_in(number, bytes, arrival))
    }

    fn sending(&mut self, number: Slot, now_ns: u64) {
        let Some(link) = self.links.get(number) else { return };
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

    fn ended(&mut self, number: Slot, reason: Ending) {
        let link = self.links.get(number);
        let is_cut = link.is_some_and(|link| link.is_open && link.has_ended() == Some(false));
        let ending = if is_cut && reason == Ending::Finished { Ending::Cut } else { reason };
        self.end_all(number, ending, Ending::ConnectionFailed);
    }
}
