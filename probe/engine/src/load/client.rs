//! What a load sees of its connections, with layers above their sockets or without: what it can ask of them, and what
//! it is told.

use crate::io::{CloseReason, Handler, Io, Next, Slot, Wait};
use crate::load::error::ErrorKind;
use rustix::fd::OwnedFd;
use rustix::net::SocketAddrAny;
use std::io;
use std::rc::Rc;

/// A part of a reply, where a layer decodes it.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// A message, which is a reply or a part of a stream.
    Message(&'a [u8]),
    /// The status of a response.
    Head(u16),
    Body(&'a [u8]),
    /// The response is complete.
    End,
}

/// What has arrived of a reply.
pub enum Arrival<'a> {
    Bytes(&'a [u8]),
    Part(Part<'a>),
}

/// Why a slot has no connection any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Socket(CloseReason),
    /// A layer found this wrong.
    Failed(ErrorKind),
    /// The peer ended the connection, without the end of the layer above the socket.
    Cut,
    /// The peer ended what the layer carries.
    Ended,
    /// The peer declares that it has not processed the request.
    Refused,
    /// The connection that the slot was to join came to nothing.
    ConnectionFailed,
    /// The connection that the slot was to join takes no more: another can be opened.
    ConnectionDraining,
}

impl Ending {
    /// The peer will send no more.
    pub const FINISHED: Ending = Ending::Socket(CloseReason::Finished);
}

/// What a layer above the sockets adds to the record of a load.
#[derive(Debug, Default)]
pub struct LayerReport {
    /// Bytes that came and went, with those of the layer.
    pub bytes: Option<(u64, u64)>,
    /// How many streams the server allows on a connection of HTTP/2.
    pub stream_limit: u64,
    /// Version and cipher of the first TLS session.
    pub security: String,
    /// What was wrong with the first connection that failed in the layer.
    pub fault: String,
}

/// The user of connections that may have layers.
pub trait Client: Handler {
    /// The socket is connected; `connected` follows a handshake.
    fn handshaking(&mut self, slot: Slot);
    /// The slot has joined the connection of another. `is_counted`: it stands for the connection where they are counted.
    fn joined(&mut self, slot: Slot, is_counted: bool) -> Next;
    /// The request of a slot, which had to wait for it, has got a stream of its connection, which was free at this
    /// instant, where that is stamped.
    fn released(&mut self, slot: Slot, at_ns: Option<u64>);
    /// A layer has decoded a part of a reply.
    fn parsed(&mut self, slot: Slot, part: Part<'_>, arrived_ns: Option<u64>) -> Next;
    /// The connection is closed already, or another's by now.
    fn ended(&mut self, slot: Slot, ending: Ending);
}

/// Connections of a load: those of a back-end, or with layers above them. The functions are those of [`Io`].
pub trait Transport {
    /// Whether sockets have to be non-blocking.
    const NONBLOCKING: bool;

    fn open(&mut self, slot: Slot, socket: OwnedFd, address: &SocketAddrAny) -> io::Result<u64>;
    /// Whether a slot, which must be free, shares a connection that is there already: `Client::joined` follows.
    fn join(&mut self, _: Slot) -> bool {
        false
    }
    fn send(&mut self, slot: Slot, bytes: Rc<[u8]>, client: &mut impl Client);
    fn close(&mut self, slot: Slot);
    fn reset_when_closed(&self, slot: Slot);
    fn pause(&mut self, slot: Slot);
    fn resume(&mut self, slot: Slot, client: &mut impl Client);
    fn turn(&mut self, wait: Wait, client: &mut impl Client) -> io::Result<()>;
    fn report(&mut self) -> LayerReport {
        LayerReport::default()
    }
}

impl<I: Io> Transport for I {
    const NONBLOCKING: bool = I::NONBLOCKING;

    fn open(&mut self, slot: Slot, socket: OwnedFd, address: &SocketAddrAny) -> io::Result<u64> {
        Io::open(self, slot, socket, address)
    }
    fn send(&mut self, slot: Slot, bytes: Rc<[u8]>, client: &mut impl Client) {
        Io::send(self, slot, bytes, client);
    }
    fn close(&mut self, slot: Slot) {
        Io::close(self, slot);
    }
    fn reset_when_closed(&self, slot: Slot) {
        Io::reset_when_closed(self, slot);
    }
    fn pause(&mut self, slot: Slot) {
        Io::pause(self, slot);
    }
    fn resume(&mut self, slot: Slot, client: &mut impl Client) {
        Io::resume(self, slot, client);
    }
    fn turn(&mut self, wait: Wait, client: &mut impl Client) -> io::Result<()> {
        Io::turn(self, wait, client)
    }
}
