//! A connection: requests in, answers out.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use limit::poll::{Interest, Poll};
use limit::slab::Key;

use crate::recursion::fib;

/// The bytes that a line may have, its newline included.
const LONGEST: usize = 100;
/// Bytes that are read and dropped after a line that was too long.
const DROPPED_BYTES: usize = 1 << 20;

pub struct Connection {
    socket: TcpStream,
    requests: Requests,
    /// Bytes that the client has not taken yet: nothing is read meanwhile.
    unsent: Vec<u8>,
    dropped: usize,
}

impl Connection {
    pub fn new(socket: TcpStream) -> Self {
        Connection {
            socket,
            requests: Requests::default(),
            unsent: Vec::new(),
            dropped: 0,
        }
    }

    pub fn register(&self, poll: &Poll, key: Key) -> io::Result<()> {
        poll.add(&self.socket, key, Interest::IN)
    }

    /// Reads once, and answers complete requests. Returns whether the connection stays.
    pub fn read(
        &mut self,
        buffer: &mut [u8],
        answers: &mut Vec<u8>,
        poll: &Poll,
        key: Key,
    ) -> io::Result<bool> {
        let count = match self.socket.read(buffer) {
            Err(error) if may_try_again(&error) => return Ok(true),
            Err(error) => return Err(error),
            Ok(0) => return Ok(false),
            Ok(count) => count,
        };
        if self.requests.over {
            self.dropped += count;
            return Ok(self.dropped <= DROPPED_BYTES);
        }
        answers.clear();
        self.requests.answer(&buffer[..count], answers);
        let sent = self.write(answers)?;
        if sent < answers.len() {
            self.unsent = answers.split_off(sent);
            poll.change(&self.socket, key, Interest::OUT)?;
            return Ok(true);
        }
        self.shut_when_over()
    }

    pub fn write_rest(&mut self, poll: &Poll, key: Key) -> io::Result<bool> {
        let unsent = std::mem::take(&mut self.unsent);
        let sent = self.write(&unsent)?;
        if sent < unsent.len() {
            self.unsent = unsent[sent..].to_vec();
            return Ok(true);
        }
        poll.change(&self.socket, key, Interest::IN)?;
        self.shut_when_over()
    }

    /// The client gets the last line before the end: closing with bytes unread
    /// would reset the connection.
    fn shut_when_over(&self) -> io::Result<bool> {
        if self.requests.over {
            self.socket.shutdown(Shutdown::Write)?;
        }
        Ok(true)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut sent = 0;
        while sent < bytes.len() {
            match self.socket.write(&bytes[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }
}

fn may_try_again(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock)
}

#[derive(Default)]
struct Requests {
    /// A line whose end has not come.
    begun: Vec<u8>,
    /// A line was too long: nothing is answered any more.
    over: bool,
}

impl Requests {
    fn answer(&mut self, mut bytes: &[u8], answers: &mut Vec<u8>) {
        while !bytes.is_empty() {
            let room = LONGEST - self.begun.len();
            let window = &bytes[..room.min(bytes.len())];
            match window.iter().position(|byte| *byte == b'\n') {
                Some(end) => {
                    if self.begun.is_empty() {
                        answer_line(&window[..end], answers);
                    } else {
                        self.begun.extend_from_slice(&window[..end]);
                        answer_line(&self.begun, answers);
                        self.begun.clear();
                    }
                    bytes = &bytes[end + 1..];
                }
                None if window.len() < room => {
                    self.begun.extend_from_slice(window);
                    return;
                }
                None => {
                    answers.extend_from_slice(b"error: a line may have 100 bytes\n");
                    self.over = true;
                    return;
                }
            }
        }
    }
}

fn answer_line(line: &[u8], answers: &mut Vec<u8>) {
    match number(line) {
        // Writing into memory does not fail.
        Some(n) => {
            let _ = writeln!(answers, "{}", fib(n));
        }
        None => answers.extend_from_slice(b"error: n must be a whole number from 1 to 90\n"),
    }
}

fn number(line: &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for byte in line {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = (10 * number + u64::from(byte - b'0')).min(91);
    }
    (1..=90).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRONG: &str = "error: n must be a whole number from 1 to 90\n";
    const LONG: &str = "error: a line may have 100 bytes\n";

    /// The answers to a text that comes in pieces of so many bytes.
    fn answers(text: &str, piece: usize) -> String {
        let (mut requests, mut answers) = (Requests::default(), Vec::new());
        for piece in text.as_bytes().chunks(piece) {
            if !requests.over {
                requests.answer(piece, &mut answers);
            }
        }
        String::from_utf8(answers).unwrap()
    }

    #[test]
    fn lines_are_answered_however_they_are_cut() {
        let x99 = "x".repeat(99);
        let zeros = "0".repeat(98);
        for (text, expected) in [
            ("1\n2\n3\n10\n30\n", "1\n1\n2\n55\n832040\n".to_owned()),
            ("10\n5", "55\n".to_owned()),
            ("0\n91\n\n5\n", format!("{WRONG}{WRONG}{WRONG}5\n")),
            ("+5\n 5\n5\r\n99999999999999999999\n", WRONG.repeat(4)),
            (&format!("{x99}\n5\n"), format!("{WRONG}5\n")),
            (&format!("{zeros}7\n"), "13\n".to_owned()),
            (&format!("5\n{x99}x\n5\n"), format!("5\n{LONG}")),
            (&format!("{x99}{x99}{x99}"), LONG.to_owned()),
        ] {
            for piece in [1, 2, 3, 7, 99, 100, 101, 1000] {
                assert_eq!(answers(text, piece), expected, "{text:?} by {piece}");
            }
        }
    }
}
