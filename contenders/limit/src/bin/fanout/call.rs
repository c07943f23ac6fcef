//! A connection to an upstream, and the call that is made on it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};

use limit::poll::{Interest, Poll};
use limit::slab::Key;
use rustix::io::Errno;
use rustix::net::{connect, socket_with, sockopt, AddressFamily, SocketFlags, SocketType};

use crate::reply::{Progress, Reply};

#[derive(Clone)]
pub struct Upstream {
    address: SocketAddrV4,
    /// The request's head without what differs from call to call.
    head: Vec<u8>,
}

impl Upstream {
    pub fn from_url(url: &str) -> Option<Self> {
        let rest = url.strip_prefix("http://127.0.0.1:")?;
        let (port, _) = rest.split_once('/')?;
        let target = &rest[port.len()..];
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        let number: u16 = port.parse().ok().filter(|number| digits && *number > 0)?;
        if !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let head = format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{number}\r\n");
        Some(Upstream {
            address: SocketAddrV4::new(Ipv4Addr::LOCALHOST, number),
            head: head.into_bytes(),
        })
    }

    pub fn write_request(&self, id: Option<&[u8]>, request: &mut Vec<u8>) {
        request.clear();
        request.extend_from_slice(&self.head);
        if let Some(id) = id {
            request.extend_from_slice(b"X-Request-Id: ");
            request.extend_from_slice(id);
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
    }
}

/// The request of a client for which a call is made: the client, and a number
/// that tells its requests apart.
pub type Owner = (Key, u64);

pub struct Call {
    socket: TcpStream,
    pub upstream: usize,
    /// None: the connection is idle.
    pub owner: Option<Owner>,
    /// The first call on its connection.
    fresh: bool,
    request: Vec<u8>,
    sent: usize,
    writing: bool,
    reply: Reply,
}

pub enum Outcome {
    Pending,
    /// The connection was closed before this call: another one is to be tried.
    Stale,
    Done {
        status: u16,
        keep: bool,
    },
    Failed,
}

impl Call {
    /// Begins to connect.
    pub fn new(
        upstream: &Upstream,
        number: usize,
        owner: Owner,
        request: Vec<u8>,
    ) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        match connect(&socket, &upstream.address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Call {
            socket: TcpStream::from(socket),
            upstream: number,
            owner: Some(owner),
            fresh: true,
            request,
            sent: 0,
            writing: true,
            reply: Reply::default(),
        })
    }

    /// For another connection.
    pub fn into_request(self) -> Vec<u8> {
        self.request
    }

    pub fn register(&self, poll: &Poll, key: Key) -> io::Result<()> {
        poll.add(&self.socket, key, Interest::OUT)
    }

    /// Another call on an idle connection. It fails when that was closed.
    pub fn again(
        &mut self,
        upstream: &Upstream,
        owner: Owner,
        id: Option<&[u8]>,
        poll: &Poll,
        key: Key,
    ) -> io::Result<()> {
        self.owner = Some(owner);
        self.fresh = false;
        self.sent = 0;
        self.reply.clear();
        upstream.write_request(id, &mut self.request);
        self.write(poll, key)
    }

    /// Writes and reads what can be.
    pub fn go_on(&mut self, flags: Interest, buffer: &mut [u8], poll: &Poll, key: Key) -> Outcome {
        if self.sent < self.request.len() && self.write(poll, key).is_err() {
            return self.no_answer();
        }
        if !flags.intersects(Interest::IN | Interest::HUP | Interest::ERR) {
            return Outcome::Pending;
        }
        loop {
            let (progress, count) = match self.socket.read(buffer) {
                Ok(0) if !self.reply.has_begun() => return self.no_answer(),
                Ok(0) => (self.reply.end(), 0),
                Ok(count) => (self.reply.take(&buffer[..count]), count),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Outcome::Pending,
                Err(_) if !self.reply.has_begun() => return self.no_answer(),
                Err(_) => return Outcome::Failed,
            };
            match progress {
                Progress::More if count == buffer.len() => {}
                Progress::More => return Outcome::Pending,
                Progress::Whole { status, keep } => return Outcome::Done { status, keep },
                Progress::Broken => return Outcome::Failed,
            }
        }
    }

    fn no_answer(&self) -> Outcome {
        match self.fresh {
            true => Outcome::Failed,
            false => Outcome::Stale,
        }
    }

    fn write(&mut self, poll: &Poll, key: Key) -> io::Result<()> {
        while self.sent < self.request.len() {
            match self.socket.write(&self.request[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let writing = self.sent < self.request.len();
        if writing != self.writing {
            self.writing = writing;
            let interest = if writing { Interest::OUT } else { Interest::IN };
            poll.change(&self.socket, key, interest)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        for url in ["http://127.0.0.1:80/", "http://127.0.0.1:65535/a/b?c=d,e"] {
            let split = url.split(',').next().unwrap();
            assert!(Upstream::from_url(split).is_some(), "{split}");
        }
        for url in [
            "",
            "http://127.0.0.1/",
            "http://127.0.0.1:/",
            "http://127.0.0.1:0/",
            "http://127.0.0.1:65536/",
            "http://127.0.0.1:+80/",
            "http://127.0.0.1:80",
            "http://127.0.0.1:80/a b",
            "http://127.0.0.2:80/",
            "https://127.0.0.1:80/",
        ] {
            assert!(Upstream::from_url(url).is_none(), "{url}");
        }
    }

    #[test]
    fn a_request_passes_on_the_id() {
        let upstream = Upstream::from_url("http://127.0.0.1:80/a").unwrap();
        let mut request = b"before".to_vec();
        upstream.write_request(Some(b"7"), &mut request);
        let text = "GET /a HTTP/1.1\r\nHost: 127.0.0.1:80\r\nX-Request-Id: 7\r\n\r\n";
        assert_eq!(String::from_utf8(request).unwrap(), text);
    }
}
