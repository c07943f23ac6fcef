//! WebSocket (RFC 6455) on a connection: its handshake, then messages.

mod upgrade;

use super::handler::{Done, End, LayeredHandler};
use super::LayerError;
use crate::io::{Arrival, Ending, Handler, Next, ReplyPart, Slot};
use crate::load::error::ErrorKind;
use crate::load::http_request::MessageTemplate;
use crate::load::plan::Plan;
use crate::load::text::MAX_MESSAGE_BYTES;
pub use upgrade::Upgrade;

/// Opcodes of frames (RFC 6455, section 5.2).
const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
/// The limit for the payload of a control frame: a frame with an opcode from 8 on.
const MAX_CONTROL_BYTES: usize = 125;

/// Shared by all connections of a load.
pub struct WebSocketPlan {
    /// The request by which each connection becomes a WebSocket.
    handshake: MessageTemplate,
    /// Nothing is sent after the handshake.
    listens: bool,
}

impl WebSocketPlan {
    /// None: the load is of another protocol.
    pub fn new(plan: &Plan) -> Result<Option<WebSocketPlan>, String> {
        let request = plan.request.as_ref().filter(|_| plan.is_websocket());
        let handshake = request.map(|request| request.template(plan.templates.as_ref())).transpose()?;
        Ok(handshake.map(|handshake| WebSocketPlan { handshake, listens: plan.line.is_none() }))
    }
}

/// An arrival on a connection.
pub enum Incoming {
    Message(Vec<u8>),
    /// The server ends the session.
    End,
}

pub struct WebSocket {
    /// Until the handshake is complete.
    upgrade: Option<Upgrade>,
    listens: bool,
    /// Bytes from the server, and how many of them have been read.
    input: Vec<u8>,
    read: usize,
    /// The opcode of an incomplete message, and its fragments so far.
    fragments: Option<(u8, Vec<u8>)>,
}

impl WebSocket {
    /// Begins the handshake of connection `id`; its bytes are appended to `out`.
    pub fn begin(plan: &WebSocketPlan, id: u64, out: &mut Vec<u8>) -> WebSocket {
        let mut upgrade = Upgrade::new(fastrand::u128(..).to_ne_bytes());
        out.extend_from_slice(&upgrade.request(&plan.handshake.bytes(0, id, id)));
        WebSocket {
            upgrade: Some(upgrade),
            listens: plan.listens,
            input: Vec::new(),
            read: 0,
            fragments: None,
        }
    }

    /// Takes bytes from the server. Whether the handshake is complete with them.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<bool, LayerError> {
        let Some(upgrade) = &mut self.upgrade else {
            self.input.extend_from_slice(bytes);
            return Ok(false);
        };
        let Some(rest) = upgrade.feed(bytes)? else { return Ok(false) };
        self.upgrade = None;
        self.input = rest;
        Ok(true)
    }

    /// The next message; what it makes this side answer is appended to `out`.
    pub fn next(&mut self, out: &mut Vec<u8>) -> Result<Option<Incoming>, LayerError> {
        if self.upgrade.is_some() {
            return Ok(None);
        }
        while let Some(frame) = Frame::parse(&self.input[self.read..])? {
            self.read += frame.bytes;
            match frame.opcode {
                PING => write_frame(PONG, frame.payload, out),
                PONG => {}
                CLOSE => {
                    if frame.payload.len() == 1 {
                        return Err(broken("a close frame with half a code"));
                    }
                    check_text(frame.payload.get(2..).unwrap_or_default())?;
                    write_frame(CLOSE, b"", out);
                    return Ok(Some(Incoming::End));
                }
                _ => {
                    let message = add_fragment(&mut self.fragments, &frame)?;
                    if let Some(message) = message {
                        return Ok(Some(Incoming::Message(message)));
                    }
                }
            }
        }
        // The rest is the beginning of a frame.
        self.input.drain(..std::mem::take(&mut self.read));
        Ok(None)
    }

    /// Sends a message. Whether there is one to send: a stream may only listen.
    pub fn send(&self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let sends = self.upgrade.is_none() && !self.listens;
        if sends {
            let is_text = std::str::from_utf8(bytes).is_ok();
            write_frame(if is_text { TEXT } else { BINARY }, bytes, out);
        }
        sends
    }
}

impl<H: Handler> LayeredHandler<'_, H> {
    /// Takes bytes of a WebSocket: its handshake, or messages.
    pub fn messages(&mut self, slot: Slot, session: &mut WebSocket, plain: &[u8], arrival: Arrival) -> Done {
        // Parts of other messages may wait to be sent.
        let arrival = Arrival { is_early: false, ..arrival };
        let mut next = Next::Wait;
        if session.feed(plain)? {
            self.links.get(slot).ok_or(End::Closed)?.is_open = true;
            next = self.handler.connected(slot);
        }
        loop {
            self.follow_bytes(slot, next, Some(session))?;
            next = match session.next(&mut self.links.out)? {
                None => return Ok(()),
                Some(Incoming::Message(bytes)) => {
                    self.handler.received(slot, ReplyPart::Message(&bytes), arrival)
                }
                Some(Incoming::End) => {
                    self.end_all(slot, Ending::Ended, Ending::ConnectionFailed);
                    return Err(End::Closed);
                }
            }
        }
    }
}

struct Frame<'a> {
    opcode: u8,
    is_last: bool,
    payload: &'a [u8],
    /// With its head.
    bytes: usize,
}

impl Frame<'_> {
    /// The frame that bytes of the server begin with; None if it is not complete.
    fn parse(bytes: &[u8]) -> Result<Option<Frame<'_>>, LayerError> {
        let [first, second, rest @ ..] = bytes else { return Ok(None) };
        let (opcode, is_last) = (first & 0x0f, first & 0x80 != 0);
        let is_control = opcode >= CLOSE;
        if first & 0x70 != 0 || second & 0x80 != 0 {
            return Err(broken("a frame with reserved bits, or masked"));
        }
        if !matches!(opcode, CONTINUATION..=BINARY | CLOSE..=PONG) || is_control && !is_last {
            return Err(broken("a frame of an unknown kind, or a control frame in fragments"));
        }
        let short = usize::from(second & 0x7f);
        if is_control && short > MAX_CONTROL_BYTES {
            return Err(broken("a control frame of more than 125 bytes"));
        }
        let size = match short {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let Some(size) = rest.get(..size) else { return Ok(None) };
        let long = size.iter().fold(0, |sum: u64, &byte| sum << 8 | u64::from(byte));
        let length = if size.is_empty() { short as u64 } else { long };
        if length > MAX_MESSAGE_BYTES as u64 {
            return Err(too_large());
        }
        let start = 2 + size.len();
        let end = start + length as usize;
        let payload = bytes.get(start..end);
        Ok(payload.map(|payload| Frame { opcode, is_last, payload, bytes: end }))
    }
}

/// Adds a frame to the fragments of its message; the message, where that is complete.
fn add_fragment(
    fragments: &mut Option<(u8, Vec<u8>)>,
    frame: &Frame<'_>,
) -> Result<Option<Vec<u8>>, LayerError> {
    if fragments.is_some() != (frame.opcode == CONTINUATION) {
        return Err(broken("fragments of messages out of order"));
    }
    let (opcode, mut message) = fragments.take().unwrap_or((frame.opcode, Vec::new()));
    message.extend_from_slice(frame.payload);
    if message.len() > MAX_MESSAGE_BYTES {
        return Err(too_large());
    }
    if !frame.is_last {
        *fragments = Some((opcode, message));
        return Ok(None);
    }
    if opcode == TEXT {
        check_text(&message)?;
    }
    Ok(Some(message))
}

/// Appends a frame of this side, which is masked.
fn write_frame(opcode: u8, payload: &[u8], out: &mut Vec<u8>) {
    let length = payload.len();
    out.push(0x80 | opcode);
    match length {
        0..=125 => out.push(0x80 | length as u8),
        126..=0xffff => {
            out.push(0x80 | 126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            out.push(0x80 | 127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    let mask = fastrand::u32(..).to_ne_bytes();
    out.extend_from_slice(&mask);
    let start = out.len();
    out.extend_from_slice(payload);
    for group in out[start..].chunks_mut(mask.len()) {
        group.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    }
}

fn check_text(bytes: &[u8]) -> Result<(), LayerError> {
    let checked = std::str::from_utf8(bytes);
    checked.map(|_| ()).map_err(|_| broken("text that is not UTF-8"))
}

fn broken(what: &str) -> LayerError {
    LayerError::new(ErrorKind::Protocol, &format!("the server sent {what}"))
}

fn too_large() -> LayerError {
    let text = format!("the server sent a message of more than {MAX_MESSAGE_BYTES} bytes");
    LayerError::new(ErrorKind::TooLarge, &text)
}
