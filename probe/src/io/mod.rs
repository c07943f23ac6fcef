//! Connections and bytes, by one of two back-ends with the same behaviour: io_uring and epoll.
//! They know no protocol: what arrives goes to a [`Handler`], whose answer says what is next.

pub mod epoll;
pub mod uring;

use rustix::fd::OwnedFd;
use rustix::net::{self, AddressFamily, SocketAddrAny, SocketFlags, SocketType};
use std::io;
use std::rc::Rc;
use std::time::Duration;

/// A connection's number, from 0. It stays the same when the connection is opened again.
pub type Slot = usize;

/// What is to be done with a connection now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    Wait,
    Send(Rc<[u8]>),
    /// Closes it, without `Handler::ended`.
    Close,
}

/// How a connection came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The peer will send no more.
    Finished,
    /// Errno of the connect.
    NotConnected(i32),
    /// Errno of a receive.
    ReceiveFailed(i32),
    /// Errno of a send.
    SendFailed(i32),
}

/// Who uses the connections.
pub trait Handler {
    fn connected(&mut self, slot: Slot) -> Next;
    fn received(&mut self, slot: Slot, bytes: &[u8]) -> Next;
    /// The connection is closed already.
    fn ended(&mut self, slot: Slot, fate: Fate);
}

pub trait Io {
    /// Starts to connect a socket, made by [`socket`], as this slot, which must be free.
    fn open(&mut self, slot: Slot, socket: OwnedFd, address: &SocketAddrAny) -> io::Result<()>;

    /// Sends on a connected slot that sends nothing at present.
    fn send(&mut self, slot: Slot, bytes: Rc<[u8]>, handler: &mut impl Handler);

    /// Closes a slot; one that is closed already is left alone.
    fn close(&mut self, slot: Slot);

    /// The socket of a slot that is open.
    fn socket(&self, slot: Slot) -> Option<&OwnedFd>;

    /// Closes a slot at once, with a reset: it leaves no port behind that waits for a minute.
    fn reset(&mut self, slot: Slot) {
        if let Some(socket) = self.socket(slot) {
            let _ = net::sockopt::set_socket_linger(socket, Some(Duration::ZERO));
        }
        self.close(slot);
    }

    /// Reads nothing more from a slot that is open: what comes stays with the kernel.
    fn pause(&mut self, slot: Slot);

    /// Reads again, what came meanwhile first.
    fn resume(&mut self, slot: Slot, handler: &mut impl Handler);

    /// Waits for something to happen, at most for a time, and hands it to the handler.
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
