//! System calls as safe functions: those of sockets that never block, and the wait for many of them.
#![allow(unsafe_code)]

use crate::os::{checked, done, opened, raw, timespec, written, Errno, Result};
use libc::{c_int, socklen_t};
use std::mem::{size_of, zeroed};
use std::net::SocketAddr;
use std::os::unix::io::{AsFd, BorrowedFd, OwnedFd};
use std::ptr;

/// The address of a socket, as the kernel takes it.
#[derive(Clone, Copy)]
pub struct Address {
    storage: libc::sockaddr_storage,
    length: socklen_t,
}

impl Address {
    /// `length`: of the part that counts.
    fn new<T: Copy>(address: &T, length: usize) -> Address {
        assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>());
        // SAFETY: zeroes are a valid storage, and it has room for each kind of address.
        let storage = unsafe {
            let mut storage = zeroed::<libc::sockaddr_storage>();
            ptr::copy_nonoverlapping(
                (address as *const T).cast::<u8>(),
                (&mut storage as *mut libc::sockaddr_storage).cast(),
                size_of::<T>(),
            );
            storage
        };
        Address { storage, length: length as socklen_t }
    }

    /// That of a Unix socket; None: it has no such path.
    pub fn unix(path: &str) -> Option<Address> {
        let mut address =
            libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
        let is_possible = (1..address.sun_path.len()).contains(&path.len()) && !path.contains('\0');
        for (to, byte) in address.sun_path.iter_mut().zip(path.bytes()) {
            *to = byte as libc::c_char;
        }
        let length = size_of::<libc::sa_family_t>() + path.len() + 1;
        is_possible.then(|| Address::new(&address, length))
    }

    fn at(&self) -> *const libc::sockaddr {
        (&self.storage as *const libc::sockaddr_storage).cast()
    }

    fn family(&self) -> c_int {
        c_int::from(self.storage.ss_family)
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Address {
        match address {
            SocketAddr::V4(address) => Address::new(
                &libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: address.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
                    sin_zero: [0; 8],
                },
                size_of::<libc::sockaddr_in>(),
            ),
            SocketAddr::V6(address) => Address::new(
                &libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: address.port().to_be(),
                    sin6_flowinfo: address.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                    sin6_scope_id: address.scope_id(),
                },
                size_of::<libc::sockaddr_in6>(),
            ),
        }
    }
}

// SAFETY of all that follows: pointers are to values that outlive the call, of the size that the kernel reads or writes;
// descriptors are borrowed meanwhile.

const KIND: c_int = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;

/// A socket of TCP, or a Unix socket, for such an address.
pub fn socket(address: &Address) -> Result<OwnedFd> {
    let socket = opened(unsafe { libc::socket(address.family(), libc::SOCK_STREAM | KIND, 0) })?;
    if address.family() != libc::AF_UNIX {
        set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        // Urgent data is a part of the stream (RFC 6093): otherwise a byte of the reply would be missing.
        set_option(&socket, libc::SOL_SOCKET, libc::SO_OOBINLINE, 1)?;
    }
    Ok(socket)
}

pub fn connect(socket: impl AsFd, to: &Address) -> Result<()> {
    done(unsafe { libc::connect(raw(&socket), to.at(), to.length) })
}

pub fn bind(socket: impl AsFd, to: &Address) -> Result<()> {
    done(unsafe { libc::bind(raw(&socket), to.at(), to.length) })
}

pub fn listen(socket: impl AsFd, backlog: c_int) -> Result<()> {
    done(unsafe { libc::listen(raw(&socket), backlog) })
}

pub fn accept(listener: impl AsFd) -> Result<OwnedFd> {
    let (any, length) = (ptr::null_mut(), ptr::null_mut());
    opened(unsafe { libc::accept4(raw(&listener), any, length, KIND) })
}

/// A peer that is gone is an error, and no signal.
#[inline]
pub fn send(socket: impl AsFd, bytes: &[u8]) -> Result<usize> {
    let (at, flags) = (bytes.as_ptr().cast(), libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT);
    let count = unsafe { libc::send(raw(&socket), at, bytes.len(), flags) };
    checked(count).map(|count| count as usize)
}

#[inline]
pub fn receive(socket: impl AsFd, into: &mut [u8]) -> Result<usize> {
    let count = unsafe { libc::recv(raw(&socket), into.as_mut_ptr().cast(), into.len(), 0) };
    checked(count).map(|count| count as usize)
}

pub fn set_option(socket: impl AsFd, level: c_int, option: c_int, value: c_int) -> Result<()> {
    let (at, length) = ((&value as *const c_int).cast(), size_of::<c_int>() as socklen_t);
    done(unsafe { libc::setsockopt(raw(&socket), level, option, at, length) })
}

/// When it is closed, the connection is reset: its port does not stay in TIME_WAIT.
pub fn reset_when_closed(socket: impl AsFd) -> Result<()> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let (at, length) = ((&linger as *const libc::linger).cast(), size_of::<libc::linger>() as socklen_t);
    done(unsafe { libc::setsockopt(raw(&socket), libc::SOL_SOCKET, libc::SO_LINGER, at, length) })
}

/// Why a connect has failed that was not awaited; the error is taken.
pub fn take_error(socket: impl AsFd) -> Result<()> {
    let mut length = size_of::<c_int>() as socklen_t;
    let error = written(|to: *mut c_int| unsafe {
        libc::getsockopt(raw(&socket), libc::SOL_SOCKET, libc::SO_ERROR, to.cast(), &mut length)
    })?;
    match error {
        0 => Ok(()),
        error => Err(Errno(error)),
    }
}

/// What has happened to a file.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Event(libc::epoll_event);

impl Event {
    /// The number under which the file was added.
    pub fn number(self) -> u64 {
        self.0.u64
    }

    /// Whether any of these has happened: EPOLL….
    pub fn has(self, any: c_int) -> bool {
        self.0.events & any as u32 != 0
    }
}

/// Files to wait for (epoll).
pub struct EventQueue(OwnedFd);

impl EventQueue {
    pub fn new() -> Result<EventQueue> {
        opened(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).map(EventQueue)
    }

    /// Until the file is closed. `events`: EPOLL….
    pub fn add(&self, file: impl AsFd, number: u64, events: c_int) -> Result<()> {
        let mut event = libc::epoll_event { events: events as u32, u64: number };
        done(unsafe { libc::epoll_ctl(raw(&self.0), libc::EPOLL_CTL_ADD, raw(&file), &mut event) })
    }

    /// Waits for so long at most; `events` has then what has happened, as far as it has room.
    pub fn wait(&self, events: &mut Vec<Event>, time_ns: u64) -> Result<()> {
        events.clear();
        let room = events.spare_capacity_mut();
        let (at, most, time) = (room.as_mut_ptr(), room.len() as c_int, timespec(time_ns));
        let no_signals = ptr::null::<libc::sigset_t>();
        let count = unsafe {
            let call = libc::SYS_epoll_pwait2;
            checked(libc::syscall(call, raw(&self.0), at, most, &time, no_signals, 0))?
        };
        // SAFETY: the kernel has written so many events, each of which is in place of one of libc's.
        unsafe { events.set_len(count as usize) };
        Ok(())
    }
}

impl AsFd for EventQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    /// Connects to the address of a listener, and waits until that is done.
    fn connected(to: Address) -> OwnedFd {
        let (queue, mut events) = (EventQueue::new().unwrap(), Vec::with_capacity(4));
        let socket = socket(&to).unwrap();
        assert!(matches!(connect(&socket, &to), Ok(()) | Err(Errno::INPROGRESS)));
        queue.add(&socket, u64::MAX - 1, libc::EPOLLOUT | libc::EPOLLET).unwrap();
        queue.wait(&mut events, 60_000_000_000).unwrap();
        assert!(events[0].number() == u64::MAX - 1 && events[0].has(libc::EPOLLOUT));
        assert!(events.len() == 1 && !events[0].has(libc::EPOLLIN));
        take_error(&socket).unwrap();
        queue.wait(&mut events, 0).unwrap();
        assert!(events.is_empty());
        socket
    }

    fn exchange(socket: &OwnedFd, mut peer: impl Read + Write) {
        assert_eq!(receive(socket, &mut [0; 9]), Err(Errno::AGAIN));
        peer.write_all(b"abc").unwrap();
        let mut bytes = [0; 9];
        assert_eq!(receive(socket, &mut bytes), Ok(3));
        assert_eq!(send(socket, &bytes[..3]), Ok(3));
        peer.read_exact(&mut bytes[3..6]).unwrap();
        assert_eq!(&bytes, b"abcabc\0\0\0");
        drop(peer);
        assert_eq!(receive(socket, &mut bytes), Ok(0));
    }

    #[test]
    fn addresses_of_each_family() {
        for ip in ["127.0.0.1:0", "[::1]:0"] {
            // A host may lack IPv6.
            if let Ok(listener) = TcpListener::bind(ip) {
                let socket = connected(listener.local_addr().unwrap().into());
                exchange(&socket, listener.accept().unwrap().0);
            }
        }
        let path = std::env::temp_dir().join(format!("ringside-net-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let socket = connected(Address::unix(path.to_str().unwrap()).unwrap());
        std::fs::remove_file(&path).unwrap();
        exchange(&socket, listener.accept().unwrap().0);
        assert!(Address::unix(&"x".repeat(107)).is_some());
        for wrong in ["", "a\0b", &"x".repeat(108)] {
            assert!(Address::unix(wrong).is_none());
        }
    }

    #[test]
    fn a_connect_that_is_refused_leaves_its_error() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let socket = socket(&free.into()).unwrap();
        let refused = connect(&socket, &free.into()).and_then(|()| take_error(&socket));
        let refused =
            refused
                .or_else(|error| if error == Errno::INPROGRESS { take_error(&socket) } else { Err(error) });
        assert_eq!(refused.map_err(Errno::number), Err(libc::ECONNREFUSED));
    }
}
