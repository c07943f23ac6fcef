//! The protocols of a load: encodes requests, and decodes and checks replies.

use super::body::{BodyCheck, BodyState, MAX_MESSAGE_BYTES};
use super::error::ErrorKind;
use super::http::{Read, ResponseParser};
use super::http_request::{HttpTemplate, RequestPlan, TemplatePlan};
use super::placeholder::{Pieces, Values};
use super::plan::{Plan, Protocol};
use super::redirect::{is_redirect, Redirect};
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
    follows: bool,
    message: Outgoing,
    /// By target: the message, where all requests for it are the same.
    constant: Vec<Option<Rc<[u8]>>>,
    /// The target of each request by its number; it repeats.
    order: Vec<usize>,
    rows: Vec<Vec<Vec<u8>>>,
    random: fastrand::Rng,
    numbered: bool,
}

/// What is sent.
enum Outgoing {
    Http(HttpTemplate),
    Line(Pieces),
}

impl Outgoing {
    fn bytes(&self, target: usize, values: &mut Values) -> Vec<u8> {
        match self {
            Outgoing::Http(template) => template.bytes(target, values),
            Outgoing::Line(pieces) => {
                let mut bytes = Vec::new();
                pieces.write(values, false, &mut bytes);
                bytes
            }
        }
    }

    fn is_constant(&self, target: usize) -> bool {
        match self {
            Outgoing::Http(template) => template.is_constant(target),
            Outgoing::Line(pieces) => pieces.is_constant(),
        }
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

impl Codec {
    /// For shard `shard`. The plan is valid.
    pub fn new(plan: &Plan, shard: usize) -> Codec {
        let request = plan.request.as_ref();
        let templates = plan.templates.as_ref();
        let template = request.and_then(|request| request.template(templates).ok());
        let is_http = plan.protocol == Protocol::Http;
        let seed = templates.map_or(0, |templates| templates.seed);
        let message = template.map_or_else(|| Outgoing::Line(line(plan)), Outgoing::Http);
        let targets = match &message {
            Outgoing::Http(template) => template.targets(),
            Outgoing::Line(_) => 1,
        };
        let mut codec = Codec {
            protocol: plan.protocol,
            check: BodyCheck::new(&plan.expect),
            format: StreamFormat::new(&plan.stream),
            no_body: request.map_or(false, |request| request.method == "HEAD"),
            closes: is_http && request.map_or(false, |request| request.close),
            follows: is_http && request.map_or(false, |request| request.follow_redirects),
            message,
            constant: Vec::new(),
            order: request.map_or_else(|| vec![0], RequestPlan::order),
            rows: templates
                .map_or(Ok(Vec::new()), TemplatePlan::rows)
                .unwrap_or_default(),
            random: fastrand::Rng::with_seed(seed.wrapping_mul(1009).wrapping_add(shard as u64)),
            numbered: templates.is_none() && request.map_or(false, RequestPlan::identifies),
        };
        codec.constant = (0..targets)
            .map(|target| {
                let is_constant = codec.message.is_constant(target);
                is_constant.then(|| codec.compose(target, 0, 0))
            })
            .collect();
        codec
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
        let target = match self.order.as_slice() {
            [only] => *only,
            order => order[(number.wrapping_sub(1) % order.len() as u64) as usize],
        };
        let bytes = match &self.constant[target] {
            Some(bytes) => Rc::clone(bytes),
            None => self.compose(target, id, number),
        };
        (target, bytes)
    }

    fn compose(&mut self, target: usize, id: u64, number: u64) -> Rc<[u8]> {
        let mut values = values(&self.rows, &mut self.random, id, number);
        self.message.bytes(target, &mut values).into()
    }

    /// The bytes of request `number` after a redirect to `path`. `as_get`: a GET without a body.
    pub fn encode_redirected(
        &mut self,
        path: &[u8],
        as_get: bool,
        id: u64,
        number: u64,
    ) -> Rc<[u8]> {
        let mut values = values(&self.rows, &mut self.random, id, number);
        match &self.message {
            Outgoing::Http(template) => template.bytes_for(path, as_get, &mut values).into(),
            Outgoing::Line(_) => Rc::from([]),
        }
    }

    /// The decoder of the reply to a request that is sent at `now_ns`.
    pub fn decoder(&self, now_ns: u64) -> Decoder {
        match self.protocol {
            Protocol::Http => {
                let mut response = ResponseParser::new(self.no_body);
                if self.follows {
                    response = response.keeping_location();
                }
                Decoder::Http(response, BodyState::default())
            }
            Protocol::Tcp => Decoder::Line(BodyState::default()),
            Protocol::Stream => {
                let stream = self.format.begin(now_ns);
                Decoder::Stream(Box::new((ResponseParser::new(self.no_body), stream)))
            }
        }
    }

    /// A complete response, where it is a redirect that is to be followed.
    fn redirect(
        &self,
        response: &mut ResponseParser,
        status: u16,
    ) -> Option<Result<Redirect, ErrorKind>> {
        let is_followed = self.follows && is_redirect(status);
        is_followed.then(|| {
            let location = response.take_location().ok_or(ErrorKind::RedirectInvalid)?;
            Ok(Redirect { status, location })
        })
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
                let keep = done.keep_alive && !self.closes;
                let result = match self.redirect(response, done.status) {
                    Some(Ok(redirect)) if rest.is_empty() => {
                        return Progress::Redirect(redirect, keep);
                    }
                    Some(redirect) => redirect.map(|_| ()),
                    None => check.finish(body, Some(done.status)),
                };
                match rest.is_empty() {
                    true => Progress::Done(result, keep),
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
    pub fn decode_eof(&self, decoder: &mut Decoder, on_event: &mut impl FnMut(Event)) -> Progress {
        let has_begun = match decoder {
            Decoder::Idle => false,
            Decoder::Line(body) => body.bytes() > 0,
            Decoder::Http(response, body) => {
                if let Some(done) = response.at_eof() {
                    on_event(Event::Status(done.status));
                    let result = match self.redirect(response, done.status) {
                        Some(Ok(redirect)) => return Progress::Redirect(redirect, false),
                        Some(Err(kind)) => Err(kind),
                        None => self.check.finish(body, Some(done.status)),
                    };
                    return Progress::Done(result, false);
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

/// The line of a plan, with its newline.
fn line(plan: &Plan) -> Pieces {
    let text = plan.line.as_deref().unwrap_or_default();
    let mut pieces = match &plan.templates {
        Some(templates) => templates.pieces("line", text).unwrap_or_default(),
        None => {
            let mut pieces = Pieces::default();
            pieces.push_text(&latin1_bytes(text).unwrap_or_default());
            pieces
        }
    };
    pieces.push_text(b"\n");
    pieces
}

/// What placeholders stand for in request `number` on connection `id`; rows are used in turn.
fn values<'a>(
    rows: &'a [Vec<Vec<u8>>],
    random: &'a mut fastrand::Rng,
    id: u64,
    number: u64,
) -> Values<'a> {
    let row = match rows {
        [] => &[][..],
        rows => &rows[(number.wrapping_sub(1) % rows.len() as u64) as usize],
    };
    Values {
        id,
        number,
        row,
        random,
    }
}
