//! WebSocket (RFC 6455) on a connection: its handshake, then messages.

use super::fault::Fault;
use super::upgrade::Upgrade;
use crate::load::error::ErrorKind;
use crate::load::http_request::{HttpTemplate, TemplatePlan};
use crate::load::placeholder::{Rows, Values};
use crate::load::plan::Plan;
use crate::load::text::MAX_MESSAGE_BYTES;
use std::io::{self, ErrorKind as IoErrorKind, Read, Write};
use tungstenite::error::CapacityError;
use tungstenite::protocol::{Role, WebSocketConfig, WebSocketContext};
use tungstenite::{Error, Message};

/// Room for a read; messages that are longer get their own.
const READ_BYTES: usize = 1024;

/// What all connections of a load have in common.
pub struct WebSocketPlan {
    request: HttpTemplate,
    rows: Rows,
    /// Nothing is sent after the handshake.
    listens: bool,
}

impl WebSocketPlan {
    /// None: the load is of another protocol.
    pub fn new(plan: &Plan) -> Result<Option<WebSocketPlan>, String> {
        let (Some(request), true) = (&plan.request, plan.is_websocket()) else {
            return Ok(None);
        };
        let templates = plan.templates.as_ref();
        Ok(Some(WebSocketPlan {
            request: request.template(templates)?,
            rows: templates.map_or(Ok(Rows::default()), TemplatePlan::rows)?,
            listens: plan.line.is_none(),
        }))
    }

    /// The head of the request of connection `id`.
    fn head(&self, id: u64) -> Vec<u8> {
        let values = Values {
            id,
            number: id,
            row: self.rows.row(id),
        };
        self.request.bytes(0, &values)
    }
}

/// What arrives.
pub enum Incoming {
    Message(Message),
    /// The server ends the session.
    End,
}

enum State {
    Upgrading(Upgrade),
    Open(Box<WebSocketContext>),
}

pub struct WebSocket {
    state: State,
    listens: bool,
    /// Bytes that are not read yet.
    input: Vec<u8>,
    read: usize,
}

impl WebSocket {
    /// Begins the handshake of connection `id`; its bytes are appended to `out`.
    pub fn begin(plan: &WebSocketPlan, id: u64, out: &mut Vec<u8>) -> WebSocket {
        let upgrade = Upgrade::new(fastrand::u128(..).to_ne_bytes());
        out.extend_from_slice(&upgrade.request(&plan.head(id)));
        WebSocket {
            state: State::Upgrading(upgrade),
            listens: plan.listens,
            input: Vec::new(),
            read: 0,
        }
    }

    /// Takes bytes from the server. Whether the handshake is complete with them.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        match &mut self.state {
            State::Open(_) => {
                self.input.extend_from_slice(bytes);
                Ok(false)
            }
            State::Upgrading(upgrade) => match upgrade.feed(bytes)? {
                None => Ok(false),
                Some(rest) => {
                    let config = WebSocketConfig::default()
                        .read_buffer_size(READ_BYTES)
                        // What is written goes to the buffer of the connection at once.
                        .write_buffer_size(0)
                        .max_message_size(Some(MAX_MESSAGE_BYTES))
                        .max_frame_size(Some(MAX_MESSAGE_BYTES));
                    let context = WebSocketContext::new(Role::Client, Some(config));
                    self.state = State::Open(Box::new(context));
                    self.input = rest;
                    Ok(true)
                }
            },
        }
    }

    /// The next message; what it makes this side answer is appended to `out`.
    pub fn next(&mut self, out: &mut Vec<u8>) -> Result<Option<Incoming>, Fault> {
        let State::Open(context) = &mut self.state else {
            return Ok(None);
        };
        let mut pipe = Pipe {
            input: &self.input[self.read..],
            out,
        };
        let next = loop {
            break match context.read(&mut pipe) {
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
                Ok(Message::Close(_)) => {
                    // The answer to it.
                    let _ = context.flush(&mut pipe);
                    Ok(Some(Incoming::End))
                }
                Ok(message) => Ok(Some(Incoming::Message(message))),
                Err(Error::Io(error)) if error.kind() == IoErrorKind::WouldBlock => Ok(None),
                Err(Error::ConnectionClosed | Error::AlreadyClosed) => Ok(Some(Incoming::End)),
                Err(error) => Err(fault(&error)),
            };
        };
        let left = pipe.input.len();
        self.read = self.input.len() - left;
        if left == 0 {
            self.input.clear();
            self.read = 0;
        }
        next
    }

    /// Sends a message. Whether there is one to send: a stream may only listen.
    pub fn send(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, Fault> {
        let State::Open(context) = &mut self.state else {
            return Ok(false);
        };
        if self.listens {
            return Ok(false);
        }
        let message = match std::str::from_utf8(bytes) {
            Ok(text) => Message::text(text),
            Err(_) => Message::binary(bytes.to_vec()),
        };
        let mut pipe = Pipe { input: &[], out };
        let sent = context
            .write(&mut pipe, message)
            .and_then(|()| context.flush(&mut pipe));
        sent.map(|()| true).map_err(|error| fault(&error))
    }
}

fn fault(error: &Error) -> Fault {
    let kind = match error {
        Error::Capacity(CapacityError::MessageTooLong { .. }) => ErrorKind::TooLarge,
        _ => ErrorKind::Protocol,
    };
    Fault::new(kind, &error.to_string())
}

/// The two ends of a connection, in memory.
struct Pipe<'a> {
    input: &'a [u8],
    out: &'a mut Vec<u8>,
}

impl Read for Pipe<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.input.is_empty() {
            true => Err(IoErrorKind::WouldBlock.into()),
            false => self.input.read(buffer),
        }
    }
}

impl Write for Pipe<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
