//! What the servers share: an epoll loop over plain calls.

use std::io;
use std::net::TcpListener;
use std::os::unix::io::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// CLOCK_MONOTONIC in nanoseconds.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is valid.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A listener on any port of 127.0.0.1 with a long backlog.
pub fn listen() -> io::Result<TcpListener> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    // SAFETY: a plain call on a descriptor of ours.
    unsafe { libc::listen(listener.as_raw_fd(), 4096) };
    listener.set_nonblocking(true)?;
    Ok(listener)
}

pub struct Epoll(OwnedFd);

impl Epoll {
    pub fn new() -> Epoll {
        // SAFETY: the descriptor is new.
        Epoll(unsafe { OwnedFd::from_raw_fd(libc::epoll_create1(libc::EPOLL_CLOEXEC)) })
    }

    /// Edge-triggered, for reading.
    pub fn add(&self, file: RawFd, data: u64, edge: bool) {
        let events = libc::EPOLLIN | libc::EPOLLRDHUP | if edge { libc::EPOLLET } else { 0 };
        let mut event = libc::epoll_event {
            events: events as u32,
            u64: data,
        };
        // SAFETY: the pointer is valid during the call.
        unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, file, &mut event) };
    }

    /// The data of what is ready.
    pub fn wait(&self, timeout_ms: i32, ready: &mut Vec<u64>) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 512];
        // SAFETY: the buffer has room for them.
        let count =
            unsafe { libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), 512, timeout_ms) };
        ready.clear();
        ready.extend(
            events
                .iter()
                .take(count.max(0) as usize)
                .map(|event| event.u64),
        );
    }
}

impl Default for Epoll {
    fn default() -> Epoll {
        Epoll::new()
    }
}
