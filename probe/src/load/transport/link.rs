//! The state of the layers of each connection.

use super::channel::Channel;
use super::websocket::WebSocket;
use super::{Fault, Layers};
use crate::io::{LayerReport, Next, Slot};
use crate::load::shard::ShardConfig;
use std::sync::Arc;

/// What speaks on a channel.
#[derive(Default)]
pub enum Session {
    /// The channel is not open yet, or the session is at work.
    #[default]
    None,
    /// Bytes, which the load itself decodes.
    Bytes,
    WebSocket(Box<WebSocket>),
}

pub struct Link {
    pub channel: Channel,
    pub session: Session,
    /// A request is in the bytes that go to the kernel next.
    pub sends_request: bool,
}

pub struct Links {
    pub layers: Arc<Layers>,
    links: Vec<Option<Box<Link>>>,
    /// Decrypted bytes: the same memory for all connections.
    pub plain: Vec<u8>,
    pub random: fastrand::Rng,
    /// The number of the shard, and of all.
    shard: (usize, usize),
    report: LayerReport,
    pub bytes_in: u64,
    bytes_out: u64,
}

impl Links {
    pub fn new(layers: Arc<Layers>, config: &ShardConfig) -> Links {
        Links {
            layers,
            links: (0..config.connections()).map(|_| None).collect(),
            plain: Vec::new(),
            random: fastrand::Rng::new(),
            shard: (config.shard, config.plan.threads),
            report: LayerReport::default(),
            bytes_in: 0,
            bytes_out: 0,
        }
    }

    /// The number of a connection among all shards', from 1.
    pub fn id(&self, slot: Slot) -> u64 {
        (slot * self.shard.1 + self.shard.0) as u64 + 1
    }

    pub fn open(&mut self, slot: Slot) -> Result<(), Fault> {
        self.links[slot] = Some(Box::new(Link {
            channel: Channel::new(self.layers.tls.as_ref())?,
            session: Session::None,
            sends_request: false,
        }));
        Ok(())
    }

    pub fn close(&mut self, slot: Slot) {
        self.links[slot] = None;
    }

    pub fn take(&mut self, slot: Slot) -> Option<Box<Link>> {
        self.links[slot].take()
    }

    pub fn get(&mut self, slot: Slot) -> Option<&mut Link> {
        self.links[slot].as_deref_mut()
    }

    /// A request of the load, as its bytes above the channel.
    pub fn send(&mut self, slot: Slot, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        if let Some(link) = self.get(slot) {
            link.sends_request |= match &mut link.session {
                Session::None => false,
                Session::Bytes => {
                    out.extend_from_slice(bytes);
                    true
                }
                Session::WebSocket(session) => session.send(bytes, out)?,
            };
        }
        Ok(())
    }

    /// Bytes for the socket: these, and what the channel itself has to send.
    pub fn seal(&mut self, slot: Slot, plain: &[u8]) -> Result<Next, Fault> {
        let Some(link) = self.get(slot) else {
            return Ok(Next::Wait);
        };
        let mut wire = Vec::new();
        link.channel.encrypt(plain, &mut wire)?;
        self.bytes_out += wire.len() as u64;
        Ok(match wire.is_empty() {
            true => Next::Wait,
            false => Next::Send(wire.into()),
        })
    }

    /// Notes what was wrong with the first connection that failed.
    pub fn note_fault(&mut self, fault: &Fault) {
        if self.report.fault.is_empty() {
            self.report.fault.clone_from(&fault.text);
        }
    }

    /// Notes the TLS of the first connection.
    pub fn note_security(&mut self, slot: Slot) {
        if self.report.security.is_empty() {
            let link = self.links[slot].as_deref();
            let session = link.and_then(|link| link.channel.session());
            self.report.security =
                session.map_or_else(String::new, |session| session.description());
        }
    }

    pub fn report(&mut self) -> LayerReport {
        LayerReport {
            bytes: Some((self.bytes_in, self.bytes_out)),
            ..std::mem::take(&mut self.report)
        }
    }
}
