//! Layers between the sockets and a load: TLS, and what is not HTTP/1.1. They are a back-end to the load, and the user
//! of a back-end, so that both back-ends have them, and connections without them do not pay.

mod above;
mod channel;
mod link;
mod tls;
pub mod upgrade;
mod verify;
mod websocket;

use super::shard::ShardConfig;
use crate::io::{Handler, Io, LayerReport, Next, Slot, Wait};
use crate::load::error::ErrorKind;
use crate::load::plan::Plan;
use above::Above;
use link::Links;
use rustix::fd::OwnedFd;
use rustix::net::SocketAddrAny;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use tls::TlsConfig;
pub use tls::TlsPlan;
use websocket::WebSocketPlan;

/// What was wrong with a connection.
#[derive(Debug)]
pub struct Fault {
    kind: ErrorKind,
    text: String,
}

impl Fault {
    fn new(kind: ErrorKind, text: &str) -> Fault {
        Fault {
            kind,
            text: text.into(),
        }
    }
}

/// The layers of a load, which its threads share.
pub struct Layers {
    tls: Option<TlsConfig>,
    websocket: Option<WebSocketPlan>,
}

impl Layers {
    /// None: the load needs no layer. The error is why it cannot begin.
    pub fn new(plan: &Plan) -> Result<Option<Arc<Layers>>, String> {
        let websocket = WebSocketPlan::new(plan)?;
        let tls = match &plan.tls {
            Some(tls) => Some(TlsConfig::new(tls, &[b"http/1.1"])?),
            None => None,
        };
        let is_needed = tls.is_some() || websocket.is_some();
        Ok(is_needed.then(|| Arc::new(Layers { tls, websocket })))
    }
}

/// A back-end with layers above its sockets.
pub struct Layered<I> {
    io: I,
    links: Links,
}

impl<I: Io> Layered<I> {
    /// For a shard.
    pub fn new(io: I, layers: Arc<Layers>, config: &ShardConfig) -> Layered<I> {
        Layered {
            io,
            links: Links::new(layers, config),
        }
    }
}

impl<I: Io> Io for Layered<I> {
    const NONBLOCKING: bool = I::NONBLOCKING;

    fn open(&mut self, slot: Slot, socket: OwnedFd, address: &SocketAddrAny) -> io::Result<()> {
        self.links.close(slot);
        self.io.open(slot, socket, address)
    }

    fn send(&mut self, slot: Slot, bytes: Rc<[u8]>, handler: &mut impl Handler) {
        let mut out = Vec::new();
        let sent = self.links.send(slot, &bytes, &mut out);
        let sealed = sent.and_then(|()| self.links.seal(slot, &out));
        let links = &mut self.links;
        let mut above = Above { links, handler };
        match sealed {
            Ok(Next::Send(wire)) => self.io.send(slot, wire, &mut above),
            Ok(_) => {}
            Err(fault) => {
                self.io.close(slot);
                above.fail(slot, &fault);
            }
        }
    }

    fn close(&mut self, slot: Slot) {
        self.links.close(slot);
        self.io.close(slot);
    }

    fn socket(&self, slot: Slot) -> Option<&OwnedFd> {
        self.io.socket(slot)
    }

    fn pause(&mut self, slot: Slot) {
        self.io.pause(slot);
    }

    fn resume(&mut self, slot: Slot, handler: &mut impl Handler) {
        let links = &mut self.links;
        self.io.resume(slot, &mut Above { links, handler });
    }

    fn turn(&mut self, wait: Wait, handler: &mut impl Handler) -> io::Result<()> {
        let links = &mut self.links;
        self.io.turn(wait, &mut Above { links, handler })
    }

    fn report(&mut self) -> LayerReport {
        self.links.report()
    }
}
