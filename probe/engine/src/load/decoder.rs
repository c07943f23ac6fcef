//! The replies of a load: decodes them by its protocol, and checks them.

use super::body::{BodyCheck, BodyState};
use super::error::ErrorKind;
use super::framing::Splitter;
use super::http::{HeadProgress, ResponseParser};
use super::http_head::MAX_HEAD_BYTES;
use super::plan::{Framing, Plan, Protocol};
use super::sequence::{CheckedMessage, StreamFormat, StreamState};
use super::text::MAX_MESSAGE_BYTES;
use crate::io::ReplyPart;
use memchr::memchr;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use wire::text::quoted_bytes;

/// The limit of the heads of a trial's server: the trial's limit on memory does not cover the probe, which a server
/// could fill.
const TRIAL_HEAD_BYTES: u32 = 16 * 1024;

/// Decodes the replies of a shard.
pub struct Decoder {
    protocol: Protocol,
    check: BodyCheck,
    framing: Framing,
    stream: StreamFormat,
    max_head_bytes: u32,
    no_body: bool,
    /// Whether each request has a connection of its own.
    pub closes: bool,
    /// The first answer that was not what was expected.
    first_wrong: OnceCell<String>,
    /// How many bodies with known content were begun; length and hash of the right ones of them, each once.
    sampled: Cell<usize>,
    pub bodies: RefCell<BTreeSet<(u64, u64)>>,
}

/// This many bodies of a shard are compared with those of another server.
const SAMPLED_BODIES: usize = 16;

#[derive(Default)]
pub enum ReplyState {
    #[default]
    Idle,
    Http(ResponseParser, BodyState),
    Line(BodyState),
    Stream(Box<Stream>),
    /// An answer must equal this message, unless the plan expects something else.
    Message(Option<Rc<[u8]>>),
}

/// A stream so far.
pub struct Stream {
    response: ResponseParser,
    splitter: Splitter,
    state: StreamState,
}

/// A part of a reply that the engine records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyEvent {
    Status(u16),
    Message(CheckedMessage),
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

impl Decoder {
    pub fn new(plan: &Plan) -> Decoder {
        let request = plan.request.as_ref();
        let is_http = plan.protocol == Protocol::Http;
        Decoder {
            protocol: plan.protocol,
            check: BodyCheck::new(&plan.expect).expect("the plan was checked"),
            framing: plan.stream.framing,
            stream: StreamFormat::new(&plan.stream),
            max_head_bytes: if plan.is_trial { TRIAL_HEAD_BYTES } else { MAX_HEAD_BYTES as u32 },
            no_body: request.is_some_and(|request| request.method == "HEAD"),
            closes: is_http && request.is_some_and(|request| request.close),
            first_wrong: OnceCell::new(),
            sampled: Cell::new(0),
            bodies: RefCell::default(),
        }
    }

    /// The first answer that was not what was expected, and what was. Hostile text, quoted.
    pub fn first_wrong(&self) -> Option<&str> {
        self.first_wrong.get().map(String::as_str)
    }

    /// Notes why a reply that timed out had no end, if its head is to blame.
    pub fn note_endless(&self, reply: &ReplyState) {
        if matches!(reply, ReplyState::Http(response, _) if response.ends_with_connection()) {
            let why = "a response without Content-Length, and the connection that would end it stays open";
            self.first_wrong.get_or_init(|| why.into());
        }
    }

    /// Checks a body that is complete, and keeps the first that is wrong.
    fn finish(&self, body: &BodyState, status: Option<u16>) -> Result<(), ErrorKind> {
        let check = &self.check;
        let result = check.finish(body, status);
        if result.is_err() {
            self.first_wrong.get_or_init(|| check.difference(body, status));
        } else if let Some(digest) = body.digest() {
            self.bodies.borrow_mut().insert(digest);
        }
        result
    }

    /// Whether to keep the content of the next body.
    fn samples_body(&self) -> bool {
        let number = self.sampled.get();
        self.sampled.set(SAMPLED_BODIES.min(number + 1));
        number < SAMPLED_BODIES
    }

    /// Whether replies are streams that are held open.
    pub fn streams(&self) -> bool {
        self.protocol == Protocol::Stream
    }

    /// Begins the reply to a request that is sent at `now_ns`. The state of the reply before it is used again.
    pub fn begin(&self, reply: &mut ReplyState, request: &Rc<[u8]>, now_ns: u64) {
        if let ReplyState::Idle = reply {
            *reply = self.first(now_ns);
        }
        match reply {
            ReplyState::Http(response, body) => {
                response.reset();
                body.reset(self.samples_body());
            }
            ReplyState::Line(body) => body.reset(self.samples_body()),
            ReplyState::Message(echo) => {
                *echo = self.check.is_empty().then(|| Rc::clone(request));
            }
            ReplyState::Stream(_) | ReplyState::Idle => {}
        }
    }

    /// The state of a connection's first reply.
    fn first(&self, now_ns: u64) -> ReplyState {
        let response = || ResponseParser::new(self.no_body, self.max_head_bytes);
        match self.protocol {
            Protocol::Http => ReplyState::Http(response(), BodyState::default()),
            Protocol::Tcp => ReplyState::Line(BodyState::default()),
            Protocol::Ws => ReplyState::Message(None),
            Protocol::Stream => ReplyState::Stream(Box::new(Stream {
                response: response(),
                splitter: Splitter::new(self.framing),
                state: self.stream.begin(now_ns),
            })),
        }
    }

    /// How much of a reply has arrived; a reply without a head is final at once.
    pub fn beginning(&self, reply: &ReplyState) -> HeadProgress {
        match reply {
            ReplyState::Http(response, _) => response.beginning(),
            ReplyState::Stream(stream) => stream.response.beginning(),
            _ => HeadProgress { begun: 0, is_final: true },
        }
    }

    /// Decodes what arrived at `now_ns` on connection `id`: bytes, or parts that a layer has decoded.
    pub fn decode(
        &self,
        reply: &mut ReplyState,
        part: ReplyPart<'_>,
        id: u64,
        now_ns: u64,
        on_event: &mut impl FnMut(ReplyEvent),
    ) -> Progress {
        let message = |state: &mut StreamState, message: &[u8]| {
            ReplyEvent::Message(self.stream.check(state, message, id, now_ns))
        };
        match (reply, part) {
            (ReplyState::Line(body), ReplyPart::Bytes(bytes)) => self.decode_line(body, bytes),
            (ReplyState::Http(response, body), ReplyPart::Bytes(bytes)) => {
                self.decode_http(response, body, bytes, on_event)
            }
            (ReplyState::Http(response, _), ReplyPart::Head(status)) => {
                response.begin(status);
                Progress::More
            }
            (ReplyState::Http(response, body), ReplyPart::Body(bytes)) => {
                if self.check.check_status(response.status()).is_err() {
                    body.show(bytes);
                }
                self.check.feed(body, bytes);
                Progress::More
            }
            (ReplyState::Http(response, body), ReplyPart::End) => {
                Progress::Done(self.finish_http(response, body, on_event), true)
            }
            (ReplyState::Stream(stream), ReplyPart::Bytes(bytes)) => {
                let Stream { response, splitter, state } = &mut **stream;
                let had_status = response.status().is_some();
                let mut framing = Ok(());
                let mut take = |bytes: &[u8]| on_event(message(state, bytes));
                let read = response.feed(bytes, &mut |piece, last| {
                    framing = framing.and(splitter.feed(piece, last, &mut take));
                });
                if let (false, Some(status)) = (had_status, response.status()) {
                    if let broken @ Progress::Broken(_) = self.stream_head(status, on_event) {
                        return broken;
                    }
                }
                match (read, framing) {
                    (Err(kind), _) | (_, Err(kind)) => Progress::Broken(kind),
                    (Ok(None), _) => Progress::More,
                    // The server should have held it open.
                    (Ok(Some(_)), _) => Progress::Broken(ErrorKind::Ended),
                }
            }
            (ReplyState::Stream(_), ReplyPart::Head(status)) => self.stream_head(status, on_event),
            // The server should have held it open.
            (ReplyState::Stream(_), ReplyPart::End) => Progress::Broken(ErrorKind::Ended),
            (ReplyState::Stream(stream), ReplyPart::Message(piece) | ReplyPart::Body(piece)) => {
                let Stream { splitter, state, .. } = &mut **stream;
                let mut take = |bytes: &[u8]| on_event(message(state, bytes));
                let fed = splitter.feed(piece, true, &mut take);
                fed.map_or_else(Progress::Broken, |()| Progress::More)
            }
            (ReplyState::Message(echo), ReplyPart::Message(answer)) => {
                let mut body = BodyState::default();
                self.check.feed(&mut body, answer);
                let right = self.finish(&body, None);
                let other = echo.as_ref().filter(|echo| ***echo != *answer);
                let result = match other {
                    None => right,
                    Some(echo) => {
                        let (answer, echo) = (quoted_bytes(answer), quoted_bytes(echo));
                        self.first_wrong.get_or_init(|| format!("{answer} instead of {echo}"));
                        Err(ErrorKind::Content)
                    }
                };
                Progress::Done(result, true)
            }
            (_, ReplyPart::Bytes(_)) => Progress::Broken(ErrorKind::Unsolicited),
            _ => Progress::Broken(ErrorKind::Protocol),
        }
    }

    #[inline]
    fn decode_http(
        &self,
        response: &mut ResponseParser,
        body: &mut BodyState,
        bytes: &[u8],
        on_event: &mut impl FnMut(ReplyEvent),
    ) -> Progress {
        let check = &self.check;
        let (had_bytes, mut first) = (body.bytes(), None);
        let read = response.feed(bytes, &mut |piece, _| {
            first.get_or_insert(piece);
            check.feed(body, piece);
        });
        let rest = match read {
            Err(kind) => {
                if kind == ErrorKind::Protocol {
                    self.first_wrong.get_or_init(|| refusal(response, bytes));
                }
                return Progress::Broken(kind);
            }
            Ok(None) => return Progress::More,
            Ok(Some(rest)) => rest,
        };
        // Most servers describe a failure in one piece; later pieces are not kept.
        if had_bytes == 0 && check.check_status(response.status()).is_err() {
            body.show(first.unwrap_or_default());
        }
        let result = self.finish_http(response, body, on_event);
        match rest.is_empty() {
            true => Progress::Done(result, response.keep_alive && !self.closes),
            false => Progress::Unsolicited(result),
        }
    }

    /// A response is complete: its status, and whether it is right.
    fn finish_http(
        &self,
        response: &ResponseParser,
        body: &BodyState,
        on_event: &mut impl FnMut(ReplyEvent),
    ) -> Result<(), ErrorKind> {
        let status = response.status();
        status.map(ReplyEvent::Status).map(on_event);
        self.finish(body, status)
    }

    /// The status of a stream has come.
    fn stream_head(&self, status: u16, on_event: &mut impl FnMut(ReplyEvent)) -> Progress {
        on_event(ReplyEvent::Status(status));
        let right = self.check.check_status(Some(status));
        right.map_or_else(Progress::Broken, |()| Progress::More)
    }

    fn decode_line(&self, body: &mut BodyState, bytes: &[u8]) -> Progress {
        let end = memchr(b'\n', bytes);
        let line = &bytes[..end.unwrap_or(bytes.len())];
        self.check.feed(body, line);
        match end {
            None if body.bytes() > MAX_MESSAGE_BYTES => Progress::Broken(ErrorKind::TooLarge),
            None => Progress::More,
            Some(end) => {
                let result = self.finish(body, None);
                match end + 1 == bytes.len() {
                    true => Progress::Done(result, true),
                    false => Progress::Unsolicited(result),
                }
            }
        }
    }

    /// Decodes the end of the connection.
    pub fn decode_eof(&self, reply: &mut ReplyState, on_event: &mut impl FnMut(ReplyEvent)) -> Progress {
        let has_begun = match reply {
            ReplyState::Idle | ReplyState::Message(_) => false,
            ReplyState::Line(body) => body.bytes() > 0,
            ReplyState::Http(response, body) => {
                if response.ends_with_connection() {
                    return Progress::Done(self.finish_http(response, body, on_event), false);
                }
                response.has_begun()
            }
            ReplyState::Stream(stream) if stream.response.ends_with_connection() => {
                return Progress::Broken(ErrorKind::Ended);
            }
            ReplyState::Stream(stream) => stream.response.has_begun(),
        };
        Progress::Broken(if has_begun { ErrorKind::Truncated } else { ErrorKind::ClosedEarly })
    }

    /// For a stream: how many chunks have arrived, and how many more were due at `now_ns`.
    pub fn received_and_behind(&self, reply: &ReplyState, now_ns: u64) -> Option<(u64, u64)> {
        match reply {
            ReplyState::Stream(stream) => Some(self.stream.received_and_behind(&stream.state, now_ns)),
            _ => None,
        }
    }
}

/// Why a response could not be read, after `feed` has failed with these bytes. Hostile text, quoted.
fn refusal(response: &ResponseParser, bytes: &[u8]) -> String {
    if response.status().is_some() {
        return "invalid chunk framing".into();
    }
    match response.refused_line(bytes) {
        // Each of its lines is right.
        b"" => "a head whose Content-Length and Transfer-Encoding do not say how long the body is".into(),
        line => format!("{}, which is no line of a response", quoted_bytes(line)),
    }
}
