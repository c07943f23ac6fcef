//! A client's connection, and how far its feed has come.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use limit::poll::{Interest, Poll};
use limit::slab::Key;

use crate::message::{self, Id};
use crate::request::{self, Parsed};

pub struct Connection {
    socket: TcpStream,
    stage: Stage,
}

enum Stage {
    Reading(Vec<u8>),
    Feeding(Feed),
}

struct Feed {
    id: Id,
    /// The client does not take more at present.
    blocked: bool,
    /// Bytes of the next message that have gone already.
    offset: u8,
    /// Messages that have been due, and that have gone; the welcome is the first.
    due: u32,
    sent: u32,
    /// When the welcome was sent.
    begun_ns: u64,
}

pub enum State {
    Same,
    /// A feed was asked for.
    Begun,
    Over,
}

impl Connection {
    pub fn new(socket: TcpStream) -> Self {
        Connection {
            socket,
            stage: Stage::Reading(Vec::new()),
        }
    }

    pub fn register(&self, poll: &Poll, key: Key) -> io::Result<()> {
        poll.add(&self.socket, key, Interest::IN)
    }

    /// When the next message is due; None if it is no feed yet.
    pub fn due_ns(&self, interval_ns: u64) -> Option<u64> {
        match &self.stage {
            Stage::Feeding(feed) => Some(feed.begun_ns + u64::from(feed.due) * interval_ns),
            Stage::Reading(_) => None,
        }
    }

    /// The client has sent something, or has gone.
    pub fn read(&mut self, buffer: &mut [u8]) -> State {
        let count = match self.socket.read(buffer) {
            Ok(0) => return State::Over,
            Ok(count) => count,
            Err(error) if is_passing(&error) => return State::Same,
            Err(_) => return State::Over,
        };
        let held = match &mut self.stage {
            Stage::Reading(held) => held,
            // Nobody asked for what comes while the feed runs.
            Stage::Feeding(_) => return State::Same,
        };
        held.extend_from_slice(&buffer[..count]);
        match request::parse(held) {
            Parsed::Partial => State::Same,
            Parsed::Refused(answer) => {
                let _ = self.socket.write(answer.as_bytes());
                State::Over
            }
            Parsed::Feed(id) => {
                self.stage = Stage::Feeding(Feed {
                    id,
                    blocked: false,
                    offset: 0,
                    due: 0,
                    sent: 0,
                    begun_ns: 0,
                });
                State::Begun
            }
        }
    }

    /// Sends the welcome; chunks count from `now_ns`, which is asked for after that.
    pub fn begin(
        &mut self,
        poll: &Poll,
        key: Key,
        out: &mut Vec<u8>,
        now_ns: impl Fn() -> u64,
    ) -> io::Result<()> {
        self.send_next(poll, key, out)?;
        if let Stage::Feeding(feed) = &mut self.stage {
            feed.begun_ns = now_ns();
        }
        Ok(())
    }

    /// One more message is due.
    pub fn send_next(&mut self, poll: &Poll, key: Key, out: &mut Vec<u8>) -> io::Result<()> {
        if let Stage::Feeding(feed) = &mut self.stage {
            feed.due += 1;
            if !feed.blocked {
                return self.send(poll, key, out);
            }
        }
        Ok(())
    }

    /// The client takes something again.
    pub fn write_rest(&mut self, poll: &Poll, key: Key, out: &mut Vec<u8>) -> State {
        match self.send(poll, key, out) {
            Ok(()) => State::Same,
            Err(_) => State::Over,
        }
    }

    fn send(&mut self, poll: &Poll, key: Key, out: &mut Vec<u8>) -> io::Result<()> {
        let feed = match &mut self.stage {
            Stage::Feeding(feed) => feed,
            Stage::Reading(_) => return Ok(()),
        };
        while feed.sent < feed.due {
            message::write(feed.sent, &feed.id, out);
            let rest = &out[usize::from(feed.offset)..];
            match self.socket.write(rest) {
                Ok(count) if count == rest.len() => {
                    feed.sent += 1;
                    feed.offset = 0;
                }
                // No message has 256 bytes.
                Ok(count) => feed.offset += count as u8,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if !feed.blocked {
                        feed.blocked = true;
                        poll.change(&self.socket, key, Interest::IN | Interest::OUT)?;
                    }
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        if feed.blocked {
            feed.blocked = false;
            poll.change(&self.socket, key, Interest::IN)?;
        }
        Ok(())
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory of 10,000 connections, including the slab and the places in the queue.
    #[test]
    fn a_connection_is_small() {
        assert!(std::mem::size_of::<Connection>() <= 56);
    }
}
