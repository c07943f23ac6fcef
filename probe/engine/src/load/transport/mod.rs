//! Layers between the sockets and a load: proxies, TLS, HTTP/2 and WebSockets. To the load they are a back-end, and to
//! the back-end a handler, so that connections without layers do not pay for them.

pub mod handler;
pub mod http2;
pub mod link;
pub mod tls;
pub mod tunnel;
pub mod websocket;

use crate::io::{Arrival, Ending, Handler, Io, Next, Slot, Wait};
use crate::load::error::ErrorKind;
use crate::load::record::Record;
use crate::load::shard::{self, ShardConfig};
use handler::{Done, LayeredHandler};
pub use link::Layers;
use link::{Links, Session};
use rustix::fd::OwnedFd;
use rustix::net::SocketAddrAny;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

#[derive(Debug)]
pub struct LayerError {
    pub kind: ErrorKind,
    pub text: String,
}

impl LayerError {
    pub fn new(kind: ErrorKind, text: &str) -> LayerError {
        let text = text.into();
        LayerError { kind, text }
    }
}

/// Runs a shard, with the layers of its load where that has some.
pub fn run(config: ShardConfig, io: impl Io, layers: Option<Arc<Layers>>) -> io::Result<(Record, u64)> {
    match layers {
        None => shard::run(config, io),
        Some(layers) => {
            let links = Links::new(layers, &config);
            shard::run(config, Layered { io, links })
        }
    }
}

/// A back-end with layers above its sockets.
struct Layered<I> {
    io: I,
    links: Links,
}

impl<I: Io> Layered<I> {
    /// Slots join the connections that are open.
    fn join_waiting(&mut self, handler: &mut impl Handler) {
        if self.links.waiting.is_empty() {
            return;
        }
        for slot in std::mem::take(&mut self.links.waiting) {
            let number = self.links.number(slot);
            match self.links.get(number).map(|link| &link.session) {
                None => handler.ended(slot, Ending::ConnectionFailed),
                Some(Session::Http2(session)) if !session.is_leaving => {
                    self.with_session(number, handler, |above, session| match session {
                        Session::Http2(session) => above.join(session, slot),
                        _ => Ok(()),
                    });
                }
                Some(_) => self.links.waiting.push(slot),
            }
        }
    }

    /// Does something with the session of a connection, and sends what comes of it.
    fn with_session<H: Handler>(
        &mut self,
        number: usize,
        handler: &mut H,
        act: impl FnOnce(&mut LayeredHandler<'_, H>, &mut Session) -> Done,
    ) {
        let links = &mut self.links;
        let mut above = LayeredHandler { links, handler };
        let next = above.flush_after(number, |above| {
            above.with_session(number, |above, session| {
                act(above, session)?;
                match session {
                    Session::Http2(session) => above.streams(number, session, Arrival::default()),
                    _ => Ok(()),
                }
            })
        });
        match next {
            Next::Wait => {}
            Next::Close => self.io.close(number),
            Next::Send(wire) => self.io.send(number, wire, &mut above),
        }
    }
}

impl<I: Io> Io for Layered<I> {
    fn open(&mut self, slot: Slot, socket: OwnedFd, address: &SocketAddrAny) -> io::Result<u64> {
        let number = self.links.number(slot);
        if self.links.take(number).is_some() {
            // The connection is still open, but its only stream has failed.
            self.io.close(number);
        }
        if let Err(fault) = self.links.open(slot) {
            self.links.note_fault(&fault);
            return Err(io::ErrorKind::Other.into());
        }
        let opened = self.io.open(number, socket, address);
        if opened.is_err() {
            self.links.take(number);
        }
        opened
    }

    fn join(&mut self, slot: Slot) -> bool {
        let number = self.links.number(slot);
        let joins = self.links.layers.lanes > 1 && self.links.get(number).is_some();
        if joins {
            self.links.waiting.push(slot);
        }
        joins
    }

    fn send(&mut self, slot: Slot, bytes: Rc<[u8]>, handler: &mut impl Handler) {
        let number = self.links.number(slot);
        if self.links.get(number).is_some() {
            let next = Next::Send(bytes);
            self.with_session(number, handler, |above, session| above.follow(session, slot, next));
        }
    }

    fn close(&mut self, slot: Slot) {
        let number = self.links.number(slot);
        let lane = self.links.lane(slot);
        self.links.waiting.retain(|waiting| *waiting != slot);
        match self.links.get(number) {
            None => self.io.close(number),
            Some(link) => match &mut link.session {
                Session::Http2(session) if link.attached[lane] => {
                    let waited = session.cancel(lane);
                    self.links.report.upload_waits += u64::from(waited);
                    self.links.detach(slot);
                }
                _ if link.opener == slot && link.attached.is_empty() => {
                    self.links.take(number);
                    self.io.close(number);
                }
                _ => {}
            },
        }
    }

    fn socket(&self, slot: Slot) -> Option<&OwnedFd> {
        self.io.socket(self.links.number(slot))
    }

    fn pause(&mut self, slot: Slot) {
        self.io.pause(self.links.number(slot));
    }

    fn resume(&mut self, slot: Slot, handler: &mut impl Handler) {
        let number = self.links.number(slot);
        let links = &mut self.links;
        self.io.resume(number, &mut LayeredHandler { links, handler });
    }

    fn turn(&mut self, wait: Wait, handler: &mut impl Handler) -> io::Result<bool> {
        self.join_waiting(handler);
        // Sends more on connections for whose output the kernel has room again.
        for number in std::mem::take(&mut self.links.with_room) {
            if self.links.get(number).is_some() {
                self.with_session(number, handler, |_, _| Ok(()));
            }
        }
        let links = &mut self.links;
        self.io.turn(wait, &mut LayeredHandler { links, handler })
    }

    fn report(&mut self, record: &mut Record) {
        self.links.report(record);
    }
}
