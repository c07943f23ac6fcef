//! The protocols of a load: encodes requests, and decodes and checks replies.

use super::body::{BodyCheck, BodyState};
use super::error::ErrorKind;
use super::http::{Read, ResponseParser};
use super::outgoing::Outgoing;
use super::plan::{Plan, Protocol};
use super::redirect::{is_redirect, Redirect};
use super::sequence::{Message, StreamFormat, StreamState};
use super::text::MAX_MESSAGE_BYTES;
use crate::io::Part;
use crate::text::quoted_bytes;
use memchr::memchr;
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

/// What all connections of a shard have in common.
pub struct Codec {
    protocol: Protocol,
    replies: Replies,
    no_body: bool,
    closes: bool,
    follows: bool,
    listens: bool,
    is_http2: bool,
    outgoing: Arc<Outgoing>,
    /// By target: the request, where all requests for it are the same.
    constant: Vec<Option<Rc<[u8]>>>,
    random: fastrand::Rng,
    keeps_service_times: bool,
    /// The first answer that was not what was expected.
    first_wrong: OnceCell<String>,
}

/// What replies must be.
#[derive(Clone)]
struct Replies {
    check: BodyCheck,
    format: StreamFormat,
}

/// What the shards of a load have in common: prepared before they start.
pub struct CodecPlan {
    replies: Replies,
    outgoing: Arc<Outgoing>,
}

impl CodecPlan {
    /// The error: the plan is invalid.
    pub fn new(plan: &Plan) -> Result<CodecPlan, String> {
        Ok(CodecPlan {
            replies: Replies {
                check: BodyCheck::new(&plan.expect),
                format: StreamFormat::new(&plan.stream),
            },
            outgoing: Arc::new(Outgoing::new(plan)?),
        })
    }
}

/// The state of one reply.
#[derive(Debug, Default)]
pub enum Decoder {
    #[default]
    Idle,
    Http(ResponseParser, BodyState),
    Line(BodyState),
    Stream(Box<(ResponseParser, StreamState)>),
    /// A response that a layer decodes.
    Response(Box<Response>),
    /// A message that equals this one, where there is no other expectation.
    Message(Option<Rc<[u8]>>),
}

/// A response so far.
#[derive(Debug, Default)]
pub struct Response {
    status: u16,
    location: Option<Vec<u8>>,
    body: BodyState,
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
    /// The reply is complete, and asks for another request; whether the connection can be used for it.
    Redirect(Redirect, bool),
}

impl Progress {
    /// Of a response that is complete. `keep`: whether the connection can be used again.
    fn of(result: Result<Option<Redirect>, ErrorKind>, keep: bool) -> Progress {
        match result {
            Ok(Some(redirect)) => Progress::Redirect(redirect, keep),
            Ok(None) => Progress::Done(Ok(()), keep),
            Err(kind) => Progress::Done(Err(kind), keep),
        }
    }
}

impl Codec {
    /// For shard `shard` of a plan.
    pub fn new(plan: &Plan, prepared: &CodecPlan, shard: usize) -> Codec {
        let request = plan.request.as_ref();
        let is_http = plan.protocol == Protocol::Http;
        let outgoing = Arc::clone(&prepared.outgoing);
        // Copied: a count of references that threads share costs more than a copy for each.
        let constant = outgoing.constant().iter();
        let constant = constant.map(|bytes| bytes.as_deref().map(Rc::from));
        Codec {
            protocol: plan.protocol,
            replies: prepared.replies.clone(),
            no_body: request.is_some_and(|request| request.method == "HEAD"),
            closes: is_http && request.is_some_and(|request| request.close),
            follows: is_http && request.is_some_and(|request| request.follow_redirects),
            is_http2: plan.http2.is_some(),
            listens: plan.is_websocket() && plan.line.is_none(),
            constant: constant.collect(),
            random: outgoing.random(shard),
            keeps_service_times: plan.keeps_service_times(),
            outgoing,
            first_wrong: OnceCell::new(),
        }
    }

    /// The first answer that was not what was expected, and what was. Hostile text, quoted.
    pub fn first_wrong(&self) -> Option<&str> {
        self.first_wrong.get().map(String::as_str)
    }

    /// A request in words: its first line, where all requests for its target are the same, else its number.
    pub fn request_text(&self, target: usize, number: u64) -> String {
        match self.constant.get(target) {
            Some(Some(bytes)) => {
                let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or(bytes);
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                quoted_bytes(line.strip_suffix(b" HTTP/1.1").unwrap_or(line))
            }
            _ => format!("request {number}"),
        }
    }

    /// Checks a body that is complete, and keeps the first that is wrong.
    fn finish(&self, body: &BodyState, status: Option<u16>) -> Result<(), ErrorKind> {
        let check = &self.replies.check;
        let result = check.finish(body, status);
        if result.is_err() {
            self.first_wrong
                .get_or_init(|| check.difference(body, status));
        }
        result
    }

    /// Whether replies are streams that are held open.
    pub fn streams(&self) -> bool {
        self.protocol == Protocol::Stream
    }

    /// Whether nothing is sent on a connection.
    pub fn listens(&self) -> bool {
        self.listens
    }

    /// Whether each request has a connection of its own.
    pub fn closes(&self) -> bool {
        self.closes
    }

    /// Whether service times are kept by the requests' numbers.
    pub fn keeps_service_times(&self) -> bool {
        self.keeps_service_times
    }

    /// Whether redirects are followed.
    pub fn follows(&self) -> bool {
        self.follows
    }

    /// The number of targets.
    pub fn targets(&self) -> usize {
        self.constant.len()
    }

    /// The target of request `number`, and its bytes on connection `id`.
    pub fn encode(&mut self, id: u64, number: u64) -> (usize, Rc<[u8]>) {
        let target = self.outgoing.target(number);
        let bytes = match &self.constant[target] {
            Some(bytes) => Rc::clone(bytes),
            None => {
                let random = &mut self.random;
                self.outgoing.compose(target, random, id, number).into()
            }
        };
        (target, bytes)
    }

    /// The bytes of request `number` after a redirect to `path`. `as_get`: a GET without a body.
    pub fn encode_redirected(
        &mut self,
        path: &[u8],
        as_get: bool,
        id: u64,
        number: u64,
    ) -> Rc<[u8]> {
        let random = &mut self.random;
        let bytes = self
            .outgoing
            .compose_redirected(path, as_get, random, id, number);
        bytes.into()
    }

    /// The decoder of the reply to a request, that is sent at `now_ns`.
    pub fn decoder(&self, request: &Rc<[u8]>, now_ns: u64) -> Decoder {
        match self.protocol {
            Protocol::Http if self.is_http2 => Decoder::Response(Box::default()),
            Protocol::Http => {
                let response = ResponseParser::new(self.no_body).keeping_location(self.follows);
                Decoder::Http(response, BodyState::default())
            }
            Protocol::Tcp => Decoder::Line(BodyState::default()),
            Protocol::Ws => {
                Decoder::Message(self.replies.check.is_empty().then(|| Rc::clone(request)))
            }
            Protocol::Stream => {
                let stream = self.replies.format.begin(now_ns);
                Decoder::Stream(Box::new((ResponseParser::new(self.no_body), stream)))
            }
        }
    }

    /// What becomes of a complete response: the redirect that is to be followed, or whether it is right.
    fn conclude(
        &self,
        status: u16,
        location: Option<Vec<u8>>,
        body: &BodyState,
    ) -> Result<Option<Redirect>, ErrorKind> {
        if self.follows && is_redirect(status) {
            let location = location.ok_or(ErrorKind::RedirectInvalid)?;
            return Ok(Some(Redirect { status, location }));
        }
        self.finish(body, Some(status)).map(|()| None)
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
            Decoder::Idle | Decoder::Message(_) | Decoder::Response(_) => {
                Progress::Broken(ErrorKind::Unsolicited)
            }
            Decoder::Line(body) => self.decode_line(body, bytes),
            Decoder::Http(response, body) => {
                let check = &self.replies.check;
                let read = response.feed(bytes, &mut |piece| check.feed(body, piece.bytes));
                let (done, rest) = match read {
                    Err(kind) => return Progress::Broken(kind),
                    Ok(Read::More) => return Progress::More,
                    Ok(Read::Done(done, rest)) => (done, rest),
                };
                on_event(Event::Status(done.status));
                let keep = done.keep_alive && !self.closes;
                let result = self.conclude(done.status, response.take_location(), body);
                match rest.is_empty() {
                    true => Progress::of(result, keep),
                    false => Progress::Unsolicited(result.map(|_| ())),
                }
            }
            Decoder::Stream(both) => {
                let (response, stream) = &mut **both;
                let had_status = response.status().is_some();
                let mut framing = Ok(());
                let read = response.feed(bytes, &mut |piece| {
                    let (bytes, last) = (piece.bytes, piece.last);
                    let fed = self.feed_stream(stream, bytes, last, id, now_ns, on_event);
                    framing = framing.and(fed);
                });
                if let (false, Some(status)) = (had_status, response.status()) {
                    on_event(Event::Status(status));
                    if let Err(kind) = self.replies.check.check_status(Some(status)) {
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

    /// Takes a piece of a stream of connection `id`, which may end messages. `is_last`: a chunk ends with it.
    fn feed_stream(
        &self,
        stream: &mut StreamState,
        bytes: &[u8],
        is_last: bool,
        id: u64,
        now_ns: u64,
        on_event: &mut impl FnMut(Event),
    ) -> Result<(), ErrorKind> {
        let format = &self.replies.format;
        format.feed(stream, bytes, is_last, &mut |stream, message| {
            on_event(Event::Message(format.check(stream, message, id, now_ns)));
        })
    }

    /// Decodes a part that a layer has decoded, which arrived at `now_ns` on connection `id`.
    pub fn decode_part(
        &self,
        decoder: &mut Decoder,
        part: Part<'_>,
        id: u64,
        now_ns: u64,
        on_event: &mut impl FnMut(Event),
    ) -> Progress {
        match (decoder, part) {
            (Decoder::Message(echo), Part::Message(message)) => {
                let mut body = BodyState::default();
                self.replies.check.feed(&mut body, message);
                let right = self.finish(&body, None);
                let other = echo.as_ref().filter(|echo| ***echo != *message);
                let result = match other {
                    None => right,
                    Some(echo) => {
                        let (answer, echo) = (quoted_bytes(message), quoted_bytes(echo));
                        self.first_wrong
                            .get_or_init(|| format!("{answer} instead of {echo}"));
                        Err(ErrorKind::Content)
                    }
                };
                Progress::Done(result, true)
            }
            (Decoder::Response(response), part) => self.decode_response(response, part, on_event),
            (Decoder::Stream(_), Part::Head(status, _)) => {
                on_event(Event::Status(status));
                match self.replies.check.check_status(Some(status)) {
                    Ok(()) => Progress::More,
                    Err(kind) => Progress::Broken(kind),
                }
            }
            // The server should have held it open.
            (Decoder::Stream(_), Part::End) => Progress::Broken(ErrorKind::Ended),
            (Decoder::Stream(both), Part::Message(message) | Part::Body(message)) => {
                match self.feed_stream(&mut both.1, message, true, id, now_ns, on_event) {
                    Ok(()) => Progress::More,
                    Err(kind) => Progress::Broken(kind),
                }
            }
            _ => Progress::Broken(ErrorKind::Protocol),
        }
    }

    fn decode_response(
        &self,
        response: &mut Response,
        part: Part<'_>,
        on_event: &mut impl FnMut(Event),
    ) -> Progress {
        match part {
            Part::Message(_) => return Progress::Broken(ErrorKind::Protocol),
            Part::Head(status, location) => {
                response.status = status;
                let kept = location.filter(|_| self.follows);
                response.location = kept.map(<[u8]>::to_vec);
                return Progress::More;
            }
            Part::Body(bytes) => {
                self.replies.check.feed(&mut response.body, bytes);
                return Progress::More;
            }
            Part::End => {}
        }
        let status = response.status;
        on_event(Event::Status(status));
        let result = self.conclude(status, response.location.take(), &response.body);
        Progress::of(result, true)
    }

    fn decode_line(&self, body: &mut BodyState, bytes: &[u8]) -> Progress {
        let end = memchr(b'\n', bytes);
        let line = &bytes[..end.unwrap_or(bytes.len())];
        self.replies.check.feed(body, line);
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
    pub fn decode_eof(&self, decoder: &mut Decoder, on_event: &mut impl FnMut(Event)) -> Progress {
        let has_begun = match decoder {
            Decoder::Idle | Decoder::Message(_) => false,
            Decoder::Response(response) => response.status != 0,
            Decoder::Line(body) => body.bytes() > 0,
            Decoder::Http(response, body) => {
                if let Some(done) = response.at_eof() {
                    on_event(Event::Status(done.status));
                    let result = self.conclude(done.status, response.take_location(), body);
                    return Progress::of(result, false);
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
            Decoder::Stream(both) => Some(self.replies.format.received_and_behind(&both.1, now_ns)),
            _ => None,
        }
    }
}
