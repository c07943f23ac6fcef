//! Connections and bytes. This module knows neither protocols nor loads: what arrives goes to a [`Handler`], which
//! returns what to do next. To the load, layers between such as TLS are a back-end.

pub mod epoll;
mod outbox;
pub mod stamp;
#[cfg(test)]
pub mod test_doubles;

use crate::load::error::ErrorKind;
use crate::load::record::Record;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{self, AddressFamily, SocketAddrAny, SocketFlags, SocketType};
use std::io;
use std::rc::Rc;
use std::time::Duration;

/// The number of a connection, from 0. It stays the same when the connection is opened again.
pub type Slot = usize;

/// The next action of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    Wait,
    Send(Rc<[u8]>),
    /// Close, without a call of `Handler::closed`.
    Close,
}

/// A part of a reply, as it arrives.
#[derive(Clone, Copy, Debug)]
pub enum ReplyPart<'a> {
    /// Bytes of a connection without layers.
    Bytes(&'a [u8]),
    /// A message, which is a reply or a part of a stream.
    Message(&'a [u8]),
    /// The status of a response.
    Head(u16),
    Body(&'a [u8]),
    /// The response is complete.
    End,
}

/// When and how bytes arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// When the last of them arrived, if the kernel stamped it.
    pub stamp_ns: Option<u64>,
    /// They arrived before the kernel had taken the whole request.
    pub is_early: bool,
}

/// Why a slot has no connection any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The peer will send no more.
    Finished,
    /// Errno of the connect.
    NotConnected(i32),
    /// Errno of a receive.
    ReceiveFailed(i32),
    /// Errno of a send.
    SendFailed(i32),
    /// A layer found this wrong.
    Failed(ErrorKind),
    /// The peer closed the socket without ending the TLS session.
    Cut,
    /// The peer closed the WebSocket session.
    Ended,
    /// The peer declares that it has not processed the request.
    Refused,
    /// The connection that the slot waited for failed.
    ConnectionFailed,
    /// The connection that the slot waited for takes no more requests; the slot can open another.
    ConnectionDraining,
}

/// How a back-end waits for events; instants are of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Does not wait: hands over pending events.
    No,
    /// Until an event, or until an instant.
    Event(u64),
    /// Until an instant, whatever happens meanwhile.
    Instant(u64),
    /// Until an instant. Events may be handed over at a later turn if that saves a system call.
    Sleep(u64),
}

/// The user of the connections.
pub trait Handler {
    fn connected(&mut self, slot: Slot) -> Next;
    fn received(&mut self, slot: Slot, part: ReplyPart<'_>, arrival: Arrival) -> Next;
    /// The bytes of a `Next::Send` or of `Io::send` go to the kernel now.
    fn sending(&mut self, slot: Slot, now_ns: u64);
    /// A wait has ended; the back-end hands over next what arrived meanwhile.
    fn woken(&mut self, now_ns: u64);
    /// The connection is closed already, or another's by now.
    fn ended(&mut self, slot: Slot, ending: Ending);

    /// The socket is connected; `connected` follows a handshake.
    fn handshaking(&mut self, _: Slot) {}
    /// The slot shares another slot's connection now. `is_counted`: it represents that connection in counts.
    fn joined(&mut self, _: Slot, _is_counted: bool) -> Next {
        Next::Wait
    }
    /// A request that waited for a stream of its connection has one now. `at_ns`: when the stream became free, if the
    /// kernel stamped that.
    fn released(&mut self, _: Slot, _at_ns: Option<u64>) {}

    /// The next turn of the back-end begins now.
    fn wait_begins(&mut self, _now_ns: u64) {}
}

/// Connections, with layers above their sockets or without.
pub trait Io {
    /// Starts to connect a socket, made by [`socket`], as this slot, which must be free. Returns the instant at which
    /// the kernel was asked to.
    fn open(&mut self, slot: Slot, socket: OwnedFd, address: &SocketAddrAny) -> io::Result<u64>;

    /// Lets a free slot share an open connection; `Handler::joined` follows. False if there is none.
    fn join(&mut self, _: Slot) -> bool {
        false
    }

    /// Sends on a connected slot, after what is still to be sent.
    fn send(&mut self, slot: Slot, bytes: Rc<[u8]>, handler: &mut impl Handler);

    /// Closes a slot; no effect where it is closed already.
    fn close(&mut self, slot: Slot);

    /// The socket of an open slot; several slots may have the same.
    fn socket(&self, slot: Slot) -> Option<&OwnedFd>;

    /// Closing an open slot resets its connection, so its port does not stay in TIME_WAIT.
    fn reset_when_closed(&self, slot: Slot) {
        if let Some(socket) = self.socket(slot) {
            let _ = net::sockopt::set_socket_linger(socket, Some(Duration::ZERO));
        }
    }

    /// Stops reading from an open slot: bytes that arrive stay in the kernel's buffer.
    fn pause(&mut self, slot: Slot);

    /// Reads again, beginning with the bytes that arrived meanwhile.
    fn resume(&mut self, slot: Slot, handler: &mut impl Handler);

    /// Waits, and hands events to the handler. Returns whether there were any.
    fn turn(&mut self, wait: Wait, handler: &mut impl Handler) -> io::Result<bool>;

    /// Layers add what they counted to the record of a load.
    fn report(&mut self, _: &mut Record) {}
}

/// A socket of TCP, or a Unix socket, that never blocks.
pub fn socket(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    if family == AddressFamily::UNIX {
        return Ok(socket);
    }
    net::sockopt::set_tcp_nodelay(&socket, true)?;
    // Urgent data is a part of the stream (RFC 6093): otherwise a byte of the reply would be missing.
    net::sockopt::set_socket_oobinline(&socket, true)?;
    Ok(socket)
}

/// Sets an option of a socket that is a number.
#[allow(unsafe_code)]
pub fn set_option(socket: &OwnedFd, level: i32, option: i32, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the pointer and the length describe `value`.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&value as *const libc::c_int).cast(),
            std::mem::size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::epoll::Epoll;
    use super::stamp::Stamping;
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use wire::clock::{now_ns, sleep_until};

    const MS: u64 = 1_000_000;
    /// More than the buffers of a connection hold.
    const LARGE: usize = 16 << 20;

    #[derive(Default)]
    struct Notes {
        connected: bool,
        bytes: Vec<u8>,
        arrivals_ns: Vec<Option<u64>>,
        sends_ns: Vec<u64>,
        early: bool,
        closed: Option<Ending>,
    }

    impl Handler for Notes {
        fn connected(&mut self, _: Slot) -> Next {
            self.connected = true;
            Next::Wait
        }
        fn received(&mut self, _: Slot, part: ReplyPart<'_>, arrival: Arrival) -> Next {
            if let ReplyPart::Bytes(bytes) = part {
                self.bytes.extend_from_slice(bytes);
            }
            self.arrivals_ns.push(arrival.stamp_ns);
            self.early |= arrival.is_early;
            Next::Wait
        }
        fn sending(&mut self, _: Slot, now_ns: u64) {
            self.sends_ns.push(now_ns);
        }
        fn woken(&mut self, _: u64) {}
        fn ended(&mut self, _: Slot, reason: Ending) {
            self.closed = Some(reason);
        }
    }

    /// A back-end with one connection.
    struct Connected {
        io: Epoll,
        notes: Notes,
    }

    impl Connected {
        /// The same, and its peer.
        fn new(stamping: Stamping) -> (Connected, TcpStream) {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = SocketAddrAny::from(listener.local_addr().unwrap());
            let socket = socket(address.address_family()).unwrap();
            let mut own = Connected { io: Epoll::new(1, stamping).unwrap(), notes: Notes::default() };
            own.io.open(0, socket, &address).unwrap();
            own.turn_until(|notes| notes.connected);
            (own, listener.accept().unwrap().0)
        }

        fn turn_until(&mut self, mut is_over: impl FnMut(&Notes) -> bool) {
            while !is_over(&self.notes) {
                self.turn(Wait::Event(now_ns() + MS));
            }
        }

        fn turn(&mut self, wait: Wait) {
            self.io.turn(wait, &mut self.notes).unwrap();
        }

        fn send(&mut self, bytes: &[u8]) {
            self.io.send(0, bytes.into(), &mut self.notes);
        }
    }

    /// Stamps are between the instants before and after the sending, however late the bytes are read.
    #[test]
    fn the_kernel_stamps_what_arrives() {
        let (mut own, mut peer) = Connected::new(Stamping::All);
        let mut is_early = false;
        // The kernel may begin to stamp some time after it was asked to, and may be late itself.
        while !is_early {
            let before = now_ns();
            peer.write_all(b"bytes").unwrap();
            let after = now_ns();
            sleep_until(after + 5 * MS);
            own.notes.arrivals_ns.clear();
            own.turn_until(|notes| !notes.arrivals_ns.is_empty());
            if let [Some(arrived)] = own.notes.arrivals_ns[..] {
                assert!((before..=now_ns()).contains(&arrived));
                is_early = arrived <= after + MS;
            }
        }
        drop(peer);
        own.turn_until(|notes| notes.closed.is_some());
        assert_eq!(own.notes.closed, Some(Ending::Finished));
        assert!(own.notes.bytes.chunks(5).all(|bytes| bytes == b"bytes"));
    }

    /// Each send has its own time, and is on its way at once.
    #[test]
    fn each_send_has_a_time_of_its_own() {
        let (mut own, mut peer) = Connected::new(Stamping::All);
        peer.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        for number in 1..5 {
            let before = now_ns();
            own.send(b"x");
            let after = now_ns();
            // No turn is needed for it.
            peer.read_exact(&mut [0]).unwrap();
            assert_eq!(own.notes.sends_ns.len(), number);
            assert!((before..=after).contains(&own.notes.sends_ns[number - 1]));
        }
    }

    /// Bytes that wait until the kernel has taken earlier ones have the time of their own send.
    #[test]
    fn bytes_that_wait_have_the_time_of_their_own_send() {
        let (mut own, mut peer) = Connected::new(Stamping::None);
        own.send(&vec![b'x'; LARGE]);
        own.send(b"y");
        own.turn(Wait::No);
        assert_eq!(own.notes.sends_ns.len(), 1);
        let queued_ns = now_ns();
        let reader = thread::spawn(move || {
            let mut bytes = vec![0; LARGE + 1];
            peer.read_exact(&mut bytes).unwrap();
            bytes
        });
        own.turn_until(|notes| notes.sends_ns.len() == 2);
        assert!(own.notes.sends_ns[1] >= queued_ns);
        own.turn_until(|_| reader.is_finished());
        let bytes = reader.join().unwrap();
        assert!(bytes[..LARGE].iter().all(|&byte| byte == b'x') && bytes.ends_with(b"xy"));
        assert_eq!(own.notes.sends_ns.len(), 2);
    }

    /// If the kernel took only a part of these bytes, a reply that had arrived before they were sent is early.
    #[test]
    fn a_reply_is_early_until_all_bytes_are_sent() {
        for (bytes, expected) in [(100, false), (LARGE, true)] {
            let (mut own, mut peer) = Connected::new(Stamping::None);
            peer.write_all(b"reply").unwrap();
            own.send(&vec![b'x'; bytes]);
            own.turn_until(|notes| !notes.bytes.is_empty());
            assert_eq!(own.notes.early, expected);
        }
    }

    /// The peer sees a reset where one was asked for, and the end of the stream elsewhere.
    #[test]
    fn connections_are_reset_where_that_was_asked_for() {
        for (is_reset, expected) in [(false, Ok(0)), (true, Err(io::ErrorKind::ConnectionReset))] {
            let (mut own, mut peer) = Connected::new(Stamping::None);
            if is_reset {
                own.io.reset_when_closed(0);
            }
            own.io.close(0);
            assert!(own.io.socket(0).is_none());
            let reader = thread::spawn(move || peer.read(&mut [0]));
            own.turn_until(|_| reader.is_finished());
            assert_eq!(reader.join().unwrap().map_err(|error| error.kind()), expected);
        }
    }

    /// A peer has answered, and takes nothing any more.
    #[test]
    fn what_came_before_a_send_that_fails_is_read() {
        let (mut own, mut peer) = Connected::new(Stamping::All);
        peer.write_all(b"refused").unwrap();
        net::sockopt::set_socket_linger(&peer, Some(Duration::ZERO)).unwrap();
        drop(peer);
        own.send(b"request");
        own.turn_until(|notes| notes.closed.is_some());
        assert_eq!(own.notes.bytes, b"refused");
        let is_right = matches!(own.notes.closed, Some(Ending::SendFailed(libc::ECONNRESET | libc::EPIPE)));
        assert!(is_right, "{:?}", own.notes.closed);
    }

    /// A read ends at urgent data, which is a part of the stream, and more follows.
    #[test]
    fn what_follows_urgent_data_is_read() {
        for stamping in [Stamping::All, Stamping::None] {
            let (mut own, mut peer) = Connected::new(stamping);
            peer.write_all(b"abc").unwrap();
            net::send(&peer, b"d", net::SendFlags::OOB).unwrap();
            peer.write_all(b"efg").unwrap();
            let until = now_ns() + 60_000 * MS;
            own.turn_until(|notes| notes.bytes.len() == 7 || now_ns() > until);
            assert_eq!(own.notes.bytes, b"abcdefg");
        }
    }

    /// Bytes that are read at once have one stamp, that of the last: those before seem to be later, never earlier.
    #[test]
    fn bytes_that_are_read_at_once_share_the_last_stamp() {
        let (mut own, mut peer) = Connected::new(Stamping::All);
        let mut is_stamped = false;
        while !is_stamped {
            own.notes = Notes::default();
            peer.write_all(b"first").unwrap();
            sleep_until(now_ns() + 2 * MS);
            let between = now_ns();
            peer.write_all(b"last").unwrap();
            sleep_until(now_ns() + MS);
            own.turn_until(|notes| notes.bytes.len() == 9);
            if let Some(arrived) = *own.notes.arrivals_ns.last().unwrap() {
                is_stamped = true;
                assert!(arrived >= between);
            }
        }
        assert!(own.notes.arrivals_ns.len() <= 2);
    }

    #[test]
    fn stamped_bytes_are_all_the_bytes() {
        let (mut own, mut peer) = Connected::new(Stamping::All);
        let bytes: Vec<u8> = (0..3_000_000u32).map(|number| (number / 7) as u8).collect();
        let sent = bytes.clone();
        let writer = thread::spawn(move || peer.write_all(&sent).unwrap());
        own.turn_until(|notes| notes.closed.is_some());
        writer.join().unwrap();
        assert!(own.notes.bytes == bytes);
    }

    /// Arriving bytes do not end a wait for an instant, and are there afterwards.
    #[test]
    fn a_wait_for_an_instant_is_not_ended_by_what_arrives() {
        let (mut own, mut peer) = Connected::new(Stamping::All);
        let until = now_ns() + 20 * MS;
        let writer = thread::spawn(move || {
            for _ in 0..10 {
                peer.write_all(b"x").unwrap();
                sleep_until(now_ns() + MS / 2);
            }
            peer
        });
        own.turn(Wait::Instant(until));
        assert!(now_ns() >= until);
        let _peer = writer.join().unwrap();
        own.turn_until(|notes| notes.bytes.len() == 10);
        let until = now_ns() + MS;
        own.turn_until(|_| now_ns() >= until);
        // An instant that has passed is no wait.
        for wait in [Wait::No, Wait::Event(0), Wait::Instant(1)] {
            own.turn(wait);
        }
        assert_eq!(own.notes.closed, None);
    }

    /// Bytes that a sleep leaves unread are there at the next turn.
    #[test]
    fn what_a_sleep_leaves_unread_is_read_at_the_next_turn() {
        let (mut own, mut peer) = Connected::new(Stamping::All);
        for _ in 0..10 {
            peer.write_all(b"x").unwrap();
            let until = now_ns() + MS;
            own.turn(Wait::Sleep(until));
            assert!(now_ns() >= until && own.notes.bytes.is_empty());
        }
        own.turn_until(|notes| notes.bytes.len() == 10);
        drop(peer);
        own.turn(Wait::Sleep(now_ns() + MS));
        own.turn_until(|notes| notes.closed.is_some());
        assert_eq!(own.notes.closed, Some(Ending::Finished));
    }
}
