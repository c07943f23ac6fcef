//! A client's connection, and the answer that grows on it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use limit::poll::{Interest, Poll};
use limit::slab::Key;

use crate::request::{Request, LONGEST_HEAD};
use crate::CALLS;

/// Bytes that are read and dropped after the last answer.
const DROPPED_BYTES: usize = 1 << 20;

pub struct Client {
    socket: TcpStream,
    pub input: Vec<u8>,
    /// Bytes that the client has not taken yet.
    unsent: Vec<u8>,
    interest: Interest,
    /// No more requests come.
    pub ended: bool,
    /// The last answer has been given.
    over: bool,
    dropped: usize,
    pub answer: Option<Answer>,
}

/// A body that grows.
pub struct Answer {
    pub serial: u64,
    pub missing: usize,
    pub calls: [Option<Key>; CALLS],
    pub next_tick: Option<Instant>,
    pub give_up: Option<Instant>,
    keep: bool,
    chunks: bool,
    begun: bool,
}

impl Answer {
    pub fn new(serial: u64, request: &Request) -> Self {
        Answer {
            serial,
            missing: CALLS,
            calls: [None; CALLS],
            next_tick: None,
            give_up: None,
            keep: request.keep,
            chunks: request.chunks,
            begun: false,
        }
    }

    /// When something is due although nothing happens. With kind=cpu never: None
    /// is less than any instant.
    pub fn waking(&self) -> Option<Instant> {
        self.next_tick.min(self.give_up)
    }

    fn write(&mut self, piece: &[u8], last: bool, out: &mut Vec<u8>) {
        if !self.begun {
            self.begun = true;
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n");
            if self.chunks {
                out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
            }
            out.extend_from_slice(connection(self.keep));
            out.extend_from_slice(b"\r\n");
        }
        if self.chunks {
            // Writing into memory does not fail.
            let _ = write!(out, "{:x}\r\n", piece.len());
            out.extend_from_slice(piece);
            out.extend_from_slice(if last { b"\r\n0\r\n\r\n" } else { b"\r\n" });
        } else {
            out.extend_from_slice(piece);
        }
    }
}

fn connection(keep: bool) -> &'static [u8] {
    match keep {
        true => b"",
        false => b"Connection: close\r\n",
    }
}

impl Client {
    pub fn new(socket: TcpStream) -> Self {
        Client {
            socket,
            input: Vec::new(),
            unsent: Vec::new(),
            interest: Interest::IN,
            ended: false,
            over: false,
            dropped: 0,
            answer: None,
        }
    }

    pub fn register(&self, poll: &Poll, key: Key) -> io::Result<()> {
        poll.add(&self.socket, key, self.interest)
    }

    /// Reads once, and writes the rest of earlier bytes.
    pub fn go_on(&mut self, flags: Interest, buffer: &mut [u8]) -> io::Result<()> {
        if flags.intersects(Interest::HUP | Interest::ERR) {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        if flags.contains(Interest::OUT) {
            let unsent = std::mem::take(&mut self.unsent);
            self.write(&unsent)?;
        }
        if !flags.contains(Interest::IN) {
            return Ok(());
        }
        match self.socket.read(buffer) {
            Ok(0) => self.ended = true,
            Ok(count) if self.over => {
                self.dropped += count;
                if self.dropped > DROPPED_BYTES {
                    return Err(ErrorKind::ConnectionAborted.into());
                }
            }
            Ok(count) => self.input.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Whether the next request may be looked at.
    pub fn is_free(&self) -> bool {
        self.answer.is_none() && self.unsent.is_empty() && !self.over
    }

    /// Whether there is nothing left to do.
    pub fn is_done(&self) -> bool {
        self.ended && self.answer.is_none() && self.unsent.is_empty()
    }

    /// Writes a piece of the body. The last one ends it.
    pub fn say(&mut self, piece: &[u8], last: bool, out: &mut Vec<u8>) -> io::Result<()> {
        out.clear();
        let keep = match &mut self.answer {
            None => return Ok(()),
            Some(answer) => {
                answer.write(piece, last, out);
                answer.keep
            }
        };
        if last {
            self.answer = None;
            self.over = !keep;
        }
        self.write(out)
    }

    /// An answer without a body. Status: number and words.
    pub fn say_short(&mut self, status: &str, keep: bool) -> io::Result<()> {
        self.over = !keep;
        let allow = if status.starts_with("405") {
            "Allow: GET\r\n"
        } else {
            ""
        };
        let mut out = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n{allow}").into_bytes();
        out.extend_from_slice(connection(keep));
        out.extend_from_slice(b"\r\n");
        self.write(&out)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut sent = 0;
        while self.unsent.is_empty() && sent < bytes.len() {
            match self.socket.write(&bytes[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.unsent.extend_from_slice(&bytes[sent..]);
        if self.over && self.unsent.is_empty() {
            // The client reads the answer before the end: closing with bytes
            // unread would reset the connection.
            self.socket.shutdown(Shutdown::Write)?;
        }
        Ok(())
    }

    /// Tells epoll which events are of interest now.
    pub fn settle(&mut self, poll: &Poll, key: Key) -> io::Result<()> {
        let mut interest = Interest::empty();
        if !self.ended && (self.over || self.input.len() < LONGEST_HEAD) {
            interest |= Interest::IN;
        }
        if !self.unsent.is_empty() {
            interest |= Interest::OUT;
        }
        if interest != self.interest {
            self.interest = interest;
            poll.change(&self.socket, key, interest)?;
        }
        Ok(())
    }
}
