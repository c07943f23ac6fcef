//! The state of the layers of each connection.

use super::http2::{Http2, Http2Requests};
use super::tls::{TlsConfig, TlsSession};
use super::tunnel::{self, Tunnel};
use super::websocket::{WebSocket, WebSocketPlan};
use super::LayerError;
use crate::io::{Next, Slot};
use crate::load::partition::Partition;
use crate::load::plan::{Http2Plan, Plan};
use crate::load::record::{LayerRecord, Record};
use crate::load::shard::ShardConfig;
use std::ops::Range;
use std::sync::Arc;

/// The layers of a load, which its threads share.
pub struct Layers {
    /// The request that asks a proxy for a tunnel.
    pub tunnel: Option<Vec<u8>>,
    pub tls: Option<TlsConfig>,
    pub websocket: Option<WebSocketPlan>,
    pub http2: Option<Http2Plan>,
    /// How many slots share a connection.
    pub lanes: usize,
}

impl Layers {
    /// None: the load needs no layer. The error is why it cannot begin.
    pub fn new(plan: &Plan) -> Result<Option<Arc<Layers>>, String> {
        let websocket = WebSocketPlan::new(plan)?;
        let protocol: &[u8] = if plan.http2.is_some() { b"h2" } else { b"http/1.1" };
        let tls = plan.tls.as_ref().map(|tls| TlsConfig::new(tls, &[protocol])).transpose()?;
        let tunnel = plan.tunnel.as_ref().map(tunnel::request);
        let is_layered = tls.is_some() || websocket.is_some() || plan.http2.is_some();
        let is_needed = is_layered || tunnel.is_some();
        let layers = Layers { tunnel, tls, websocket, http2: plan.http2, lanes: plan.lanes() };
        Ok(is_needed.then(|| Arc::new(layers)))
    }
}

/// The number of a connection of the back-end. Each has as many slots of the load as it has lanes.
pub type ConnectionIndex = usize;

/// The number of a stream among those of its connection that may be open, from 0.
pub type Lane = usize;

/// The protocol on a connection, above TLS.
#[derive(Default)]
pub enum Session {
    /// TLS is not ready yet, or `with_session` has the session.
    #[default]
    None,
    /// Bytes, which the load itself decodes.
    Bytes,
    WebSocket(Box<WebSocket>),
    Http2(Box<Http2>),
}

impl Link {
    /// Whether bytes can be sent.
    pub fn is_secured(&self) -> bool {
        self.tunnel.is_none() && !self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// With TLS: whether the peer has ended what it sends, whatever its socket does.
    pub fn has_ended(&self) -> Option<bool> {
        self.tls.as_ref().map(|tls| tls.has_ended)
    }
}

#[derive(Default)]
pub struct Link {
    /// Until a proxy has accepted CONNECT.
    pub tunnel: Option<Tunnel>,
    /// Between the socket and the session, where the load has TLS.
    pub tls: Option<Box<TlsSession>>,
    pub session: Session,
    pub opener: Slot,
    /// The load has been told that it is connected.
    pub is_open: bool,
    /// HTTP/2: for each lane, whether it belongs to the load.
    pub attached: Vec<bool>,
    /// The slot that stands for the connection in the load's counts.
    pub owner: Option<Slot>,
    /// Slots with a request in the bytes that go to the kernel next.
    pub sends: Vec<Slot>,
    /// Slots whose request waits for a stream.
    pub held: Vec<Slot>,
}

/// What a buffer has grown by beyond this, for one large message, is given back.
const MAX_RECYCLED_BYTES: usize = 256 * 1024;

/// Empties a buffer for another use.
pub fn recycle(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(MAX_RECYCLED_BYTES);
}

pub struct Links {
    pub layers: Arc<Layers>,
    links: Vec<Option<Box<Link>>>,
    /// Slots that wait until the connection of another is open.
    pub waiting: Vec<Slot>,
    /// Connections that had more to send than the kernel took, and may send again.
    pub with_room: Vec<ConnectionIndex>,
    pub requests: Http2Requests,
    /// Decrypted bytes, what the load answers to them, and what goes to the socket: the same memory for all connections.
    pub plain: Vec<u8>,
    pub out: Vec<u8>,
    wire: Vec<u8>,
    partition: Partition,
    pub report: LayerRecord,
    pub bytes_in: u64,
    bytes_out: u64,
}

impl Links {
    pub fn new(layers: Arc<Layers>, config: &ShardConfig) -> Links {
        Links {
            requests: Http2Requests::new(layers.tls.is_some()),
            layers,
            links: (0..config.connections()).map(|_| None).collect(),
            waiting: Vec::new(),
            with_room: Vec::new(),
            plain: Vec::new(),
            out: Vec::new(),
            wire: Vec::new(),
            partition: config.partition,
            report: LayerRecord::default(),
            bytes_in: 0,
            bytes_out: 0,
        }
    }

    pub fn number(&self, slot: Slot) -> ConnectionIndex {
        slot / self.layers.lanes
    }

    pub fn lane(&self, slot: Slot) -> Lane {
        slot % self.layers.lanes
    }

    pub fn slots(&self, number: ConnectionIndex) -> Range<Slot> {
        number * self.layers.lanes..(number + 1) * self.layers.lanes
    }

    /// The number of a slot among all shards', from 1.
    pub fn id(&self, slot: Slot) -> u64 {
        self.partition.connection(slot as u64) + 1
    }

    pub fn open(&mut self, slot: Slot) -> Result<(), LayerError> {
        let number = self.number(slot);
        let tls = self.layers.tls.as_ref().map(TlsSession::new).transpose()?;
        let tunnel = self.layers.tunnel.as_deref().map(Tunnel::new);
        self.links[number] =
            Some(Box::new(Link { tunnel, tls: tls.map(Box::new), opener: slot, ..Link::default() }));
        Ok(())
    }

    pub fn take(&mut self, number: ConnectionIndex) -> Option<Box<Link>> {
        self.links[number].take()
    }

    pub fn get(&mut self, number: ConnectionIndex) -> Option<&mut Link> {
        self.links[number].as_deref_mut()
    }

    /// A slot no longer belongs to its connection.
    pub fn detach(&mut self, slot: Slot) {
        let (number, lane) = (self.number(slot), self.lane(slot));
        if let Some(link) = self.get(number) {
            link.attached[lane] = false;
            link.owner = link.owner.filter(|owner| *owner != slot);
            link.sends.retain(|sends| *sends != slot);
            link.held.retain(|held| *held != slot);
        }
    }

    /// Takes the slots of a connection that wait for it.
    pub fn take_waiting(&mut self, number: ConnectionIndex) -> Vec<Slot> {
        let slots = self.slots(number);
        let (taken, left) = self.waiting.iter().partition(|slot| slots.contains(slot));
        self.waiting = left;
        taken
    }

    /// Bytes for the socket: those of `out`, and what TLS itself has to send.
    pub fn seal(&mut self, number: ConnectionIndex) -> Result<Next, LayerError> {
        recycle(&mut self.wire);
        match self.links[number].as_deref_mut() {
            Some(Link { tunnel: Some(tunnel), .. }) => self.wire.append(&mut tunnel.request),
            Some(Link { tls: Some(tls), .. }) => tls.encrypt(&self.out, &mut self.wire)?,
            Some(_) => self.wire.extend_from_slice(&self.out),
            None => {}
        }
        self.bytes_out += self.wire.len() as u64;
        if self.wire.is_empty() {
            return Ok(Next::Wait);
        }
        if let Some(Session::Http2(session)) = self.get(number).map(|link| &mut link.session) {
            session.hold();
        }
        Ok(Next::Send(self.wire.as_slice().into()))
    }

    /// Notes what was wrong with the first connection that failed.
    pub fn note_fault(&mut self, fault: &LayerError) {
        if self.report.fault.is_empty() {
            self.report.fault.clone_from(&fault.text);
        }
    }

    /// Notes the TLS of the first connection, and whether the session was resumed.
    pub fn note_security(&mut self, number: ConnectionIndex) {
        let link = self.links[number].as_deref();
        let Some(tls) = link.and_then(|link| link.tls.as_ref()) else { return };
        self.report.resumed += u64::from(tls.is_resumed());
        if self.report.security.is_empty() {
            self.report.security = tls.description();
        }
    }

    /// Adds what layers counted to the record of a load; its bytes are then those of the sockets.
    pub fn report(&mut self, record: &mut Record) {
        record.layers = std::mem::take(&mut self.report);
        (record.bytes_in, record.bytes_out) = (self.bytes_in, self.bytes_out);
    }
}
