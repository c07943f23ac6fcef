//! The protocols of a load: encodes requests, and decodes and checks replies.

use super::body::{BodyCheck, BodyState, MAX_MESSAGE_BYTES};
use super::error::ErrorKind;
use super::http::{Read, ResponseParser};
use super::http_request::RequestPlan;
use super::plan::{Plan, Protocol};
use super::sequence::{Message, StreamFormat, StreamState};
use super::text::latin1_bytes;
use memchr::memchr;
use std::rc::Rc;

/// What all connections of a shard have in common.
pub struct Codec {
    protocol: Protocol,
    check: BodyCheck,
    format: StreamFormat,
    no_body: bool,
    closes: bool,
    /// The request, where all requests are the same.
    request: Rc<[u8]>,
    target_has_id: bool,
    numbered: bool,
}

/// The state of one reply.
#[derive(Debug, Default)]
pub enum Decoder {
    #[default]
    Idle,
    Http(ResponseParser, BodyState),
    Line(BodyState),
    Stream(Box<(ResponseParser, StreamState)>),
}

/// A part of a reply that is to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Status(u16),
    /// A message of a stream.
    Message(Message),
}

/// The state of a connection after some bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    More,
    /// The reply is complete, and right or not; whether the connection can be used again.
    Done(Result<(), ErrorKind>, bool),
    /// The connection cannot be used any more.
    Broken(ErrorKind),
    /// The reply is complete, but more bytes followed.
    Unsolicited(Result<(), ErrorKind>),
}

impl Codec {
    pub fn new(plan: &Plan) -> Codec {
        let request = plan.request.as_ref();
        let bytes = match (request, &plan.line) {
            (Some(request), _) => request.bytes("1", "1").unwrap_or_default(),
            (None, line) => {
                let mut bytes = line.as_deref().and_then(latin1_bytes).unwrap_or_default();
                bytes.push(b'\n');
                bytes
            }
        };
        let closes = request.map_or(false, |request| request.close);
        Codec {
            protocol: plan.protocol,
            check: BodyCheck::new(&plan.expect),
            format: StreamFormat::new(&plan.stream),
            no_body: request.map_or(false, |request| request.method == "HEAD"),
            closes: closes && plan.protocol == Protocol::Http,
            request: bytes.into(),
            target_has_id: request.map_or(false, |request| request.target.contains("{id}")),
            numbered: request.map_or(false, RequestPlan::numbered),
        }
    }

    /// Whether replies are streams that are held open.
    pub fn streams(&self) -> bool {
        self.protocol == Protocol::Stream
    }

    /// Whether each request has a connection of its own.
    pub fn closes(&self) -> bool {
        self.closes
    }

    /// Whether requests contain their number.
    pub fn numbered(&self) -> bool {
        self.numbered
    }

    /// The bytes of request `number` on connection `id`, and the decoder of its reply.
    pub fn encode(&self, plan: &Plan, id: u64, number: u64, now_ns: u64) -> (Rc<[u8]>, Decoder) {
        let decoder = match self.protocol {
            Protocol::Http => {
                Decoder::Http(ResponseParser::new(self.no_body), BodyState::default())
            }
            Protocol::Tcp => Decoder::Line(BodyState::default()),
            Protocol::Stream => {
                let stream = self.format.begin(now_ns);
                Decoder::Stream(Box::new((ResponseParser::new(self.no_body), stream)))
            }
        };
        let request = plan.request.as_ref();
        let own = request.filter(|_| self.target_has_id || self.numbered);
        let own = own.and_then(|request| request.bytes(&id.to_string(), &number.to_string()).ok());
        let bytes = own.map_or_else(|| self.request.clone(), Rc::from);
        (bytes, decoder)
    }

    /// Decodes bytes that arrived at `now_ns` on connection `id`.
    pub fn decode(
        &self,
        decoder: &mut Decoder,
        bytes: &[u8],
        id: u64,
        now_ns: u64,
        on_event: &mut impl FnMut(Event),
    ) -> Progress {
        match decoder {
            Decoder::Idle => Progress::Broken(ErrorKind::Unsolicited),
            Decoder::Line(body) => self.decode_line(body, bytes),
            Decoder::Http(response, body) => {
                let check = &self.check;
                let read = response.feed(bytes, &mut |piece| check.feed(body, piece.bytes));
                let (done, rest) = match read {
                    Err(kind) => return Progress::Broken(kind),
                    Ok(Read::More) => return Progress::More,
                    Ok(Read::Done(done, rest)) => (done, rest),
                };
                on_event(Event::Status(done.status));
                let result = check.finish(body, Some(done.status));
                match rest.is_empty() {
                    true => Progress::Done(result, done.keep_alive && !self.closes),
                    false => Progress::Unsolicited(result),
                }
            }
            Decoder::Stream(both) => {
                let (response, stream) = &mut **both;
                let had_status = response.status().is_some();
                let mut framing = Ok(());
                let read = response.feed(bytes, &mut |piece| {
                    let format = &self.format;
                    let mut on_message = |stream: &mut StreamState, message: &[u8]| {
                        on_event(Event::Message(format.check(stream, message, id, now_ns)));
                    };
                    let fed = format.feed(stream, piece.bytes, piece.last, &mut on_message);
                    framing = framing.and(fed);
                });
                if let (false, Some(status)) = (had_status, response.status()) {
                    on_event(Event::Status(status));
                    if let Err(kind) = self.check.check_status(Some(status)) {
                        return Progress::Broken(kind);
                    }
                }
                match (read, framing) {
                    (Err(kind), _) | (_, Err(kind)) => Progress::Broken(kind),
                    (Ok(Read::More), _) => Progress::More,
                    // The server should have held it open.
                    (Ok(Read::Done(..)), _) => Progress::Broken(ErrorKind::Ended),
                }
            }
        }
    }

    fn decode_line(&self, body: &mut BodyState, bytes: &[u8]) -> Progress {
        let end = memchr(b'\n', bytes);
        let line = &bytes[..end.unwrap_or(bytes.len())];
        self.check.feed(body, line);
        match end {
            None if body.bytes() > MAX_MESSAGE_BYTES => Progress::Broken(ErrorKind::TooLarge),
            None => Progress::More,
            Some(end) => {
                let result = self.check.finish(body, None);
                match end + 1 == bytes.len() {
                    true => Progress::Done(result, true),
                    false => Progress::Unsolicited(result),
                }
            }
        }
    }

    /// Decodes the end of the connection.
    pub fn decode_eof(&self, decoder: &Decoder, on_event: &mut impl FnMut(Event)) -> Progress {
        let has_begun = match decoder {
            Decoder::Idle => false,
            Decoder::Line(body) => body.bytes() > 0,
            Decoder::Http(response, body) => {
                if let Some(done) = response.at_eof() {
                    on_event(Event::Status(done.status));
                    return Progress::Done(self.check.finish(body, Some(done.status)), false);
                }
                response.has_begun()
            }
            Decoder::Stream(both) if both.0.at_eof().is_some() => {
                return Progress::Broken(ErrorKind::Ended);
            }
            Decoder::Stream(both) => both.0.has_begun(),
        };
        Progress::Broken(match has_begun {
            true => ErrorKind::Truncated,
            false => ErrorKind::ClosedEarly,
        })
    }

    /// Of a stream: how many chunks have arrived, and how many more were due at `now_ns`.
    pub fn received_and_behind(&self, decoder: &Decoder, now_ns: u64) -> Option<(u64, u64)> {
        match decoder {
            Decoder::Stream(both) => Some(self.format.received_and_behind(&both.1, now_ns)),
            _ => None,
        }
    }
}
