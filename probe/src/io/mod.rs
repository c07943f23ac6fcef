//! Connections and bytes, by one of two back-ends with the same behaviour: io_uring and epoll.
//! They know no protocol: bytes go to a [`Handler`], which returns what to do next.

mod buffers;
pub mod epoll;
pub mod uring;

use rustix::fd::OwnedFd;
use rustix::net::{self, AddressFamily, SocketAddrAny, SocketFlags, SocketType};
use std::io;
use std::rc::Rc;
use std::time::Duration;

/// The number of a connection, from 0. It stays the same when the connection is opened again.
pub type Slot = usize;

/// What a connection has to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    Wait,
    Send(Rc<[u8]>),
    /// Close, without a call of `Handler::closed`.
    Close,
}

/// Why a connection was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The peer will send no more.
    Finished,
    /// Errno of the connect.
    NotConnected(i32),
    /// Errno of a receive.
    ReceiveFailed(i32),
    /// Errno of a send.
    SendFailed(i32),
}

/// The user of the connections.
pub trait Handler {
    fn connected(&mut self, slot: Slot) -> Next;
    fn received(&mut self, slot: Slot, bytes: &[u8]) -> Next;
    /// The bytes of a `Next::Send` or of `Io::send` go to the kernel now.
    fn sending(&mut self, slot: Slot, now_ns: u64);
    /// A wait has ended; what had arrived meanwhile is handed over next.
    fn woken(&mut self, now_ns: u64);
    /// The connection is closed already.
    fn closed(&mut self, slot: Slot, reason: CloseReason);
}

pub trait Io {
    /// Starts to connect a socket, made by [`socket`], as this slot, which must be free.
    fn open(&mut self, slot: Slot, socket: OwnedFd, address: &SocketAddrAny) -> io::Result<()>;

    /// Sends on a connected slot that has no send pending.
    fn send(&mut self, slot: Slot, bytes: Rc<[u8]>, handler: &mut impl Handler);

    /// Closes a slot; no effect where it is closed already.
    fn close(&mut self, slot: Slot);

    /// The socket of a slot that is open.
    fn socket(&self, slot: Slot) -> Option<&OwnedFd>;

    /// Closes a slot with a reset: its port does not stay in TIME_WAIT.
    fn reset(&mut self, slot: Slot) {
        if let Some(socket) = self.socket(slot) {
            let _ = net::sockopt::set_socket_linger(socket, Some(Duration::ZERO));
        }
        self.close(slot);
    }

    /// Stops reading from an open slot: bytes that arrive stay in the kernel's buffer.
    fn pause(&mut self, slot: Slot);

    /// Reads again, beginning with the bytes that arrived meanwhile.
    fn resume(&mut self, slot: Slot, handler: &mut impl Handler);

    /// Waits for events, at most for the time-out, and hands them to the handler.
    fn turn(&mut self, timeout: Duration, handler: &mut impl Handler) -> io::Result<()>;

    /// Whether sockets have to be non-blocking.
    const NONBLOCKING: bool;
}

/// A TCP socket for a back-end.
pub fn socket<I: Io>(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    let mut flags = SocketFlags::CLOEXEC;
    if I::NONBLOCKING {
        flags |= SocketFlags::NONBLOCK;
    }
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    net::sockopt::set_tcp_nodelay(&socket, true)?;
    Ok(socket)
}
