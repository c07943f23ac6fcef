//! What comes back on a connection, for each of the protocols.

use super::content::{Check, Checked, Form, Stream, MOST_MESSAGE_BYTES};
use super::http::{Read, Response};
use super::plan::{bytes_of, Plan, Protocol, RequestPlan};
use super::record::{Kind, Record};
use memchr::memchr;
use std::rc::Rc;

/// What all connections of a shard have in common.
pub struct Exchange {
    protocol: Protocol,
    check: Check,
    form: Form,
    no_body: bool,
    /// A connection for each request.
    pub close: bool,
    plan_bytes: Rc<[u8]>,
    target_has_id: bool,
    /// Each request has a number of its own in it.
    pub numbered: bool,
}

/// One reply, as far as it has come.
#[derive(Debug)]
pub enum Reply {
    None,
    Http(Response, Checked),
    Line(Checked),
    Stream(Box<(Response, Stream)>),
}

#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    More,
    /// It is whole and as expected, or not; whether the connection can be used again.
    Done(Result<(), Kind>, bool),
    /// The connection is of no use any more.
    Broken(Kind),
    /// It is whole; but something came after it that nobody had asked for.
    Unsolicited(Result<(), Kind>),
}

impl Exchange {
    pub fn new(plan: &Plan) -> Exchange {
        let request = plan.request.as_ref();
        let bytes = match (request, &plan.line) {
            (Some(request), _) => request.bytes("1", "1").unwrap_or_default(),
            (None, line) => {
                let mut bytes = line.as_deref().and_then(bytes_of).unwrap_or_default();
                bytes.push(b'\n');
                bytes
            }
        };
        Exchange {
            protocol: plan.protocol,
            check: Check::new(&plan.expect),
            form: Form::new(&plan.stream),
            no_body: request.map_or(false, |request| request.method == "HEAD"),
            close: request.map_or(false, |request| request.close)
                && plan.protocol == Protocol::Http,
            plan_bytes: bytes.into(),
            target_has_id: request.map_or(false, |request| request.target.contains("{id}")),
            numbered: request.map_or(false, RequestPlan::numbered),
        }
    }

    pub fn streams(&self) -> bool {
        self.protocol == Protocol::Stream
    }

    /// What connection `id` sends as request `number`, and the reply to come.
    pub fn begin(&self, plan: &Plan, id: u64, number: u64, now_ns: u64) -> (Rc<[u8]>, Reply) {
        let reply = match self.protocol {
            Protocol::Http => Reply::Http(Response::new(self.no_body), Checked::default()),
            Protocol::Tcp => Reply::Line(Checked::default()),
            Protocol::Stream => {
                let stream = self.form.begin(now_ns);
                Reply::Stream(Box::new((Response::new(self.no_body), stream)))
            }
        };
        let own = plan
            .request
            .as_ref()
            .filter(|_| self.target_has_id || self.numbered);
        let own = own.and_then(|request| request.bytes(&id.to_string(), &number.to_string()).ok());
        (own.map_or_else(|| self.plan_bytes.clone(), Rc::from), reply)
    }

    /// Reads what came on connection `id`. `late` gets the lateness of each message of a stream.
    pub fn read(
        &self,
        reply: &mut Reply,
        bytes: &[u8],
        id: u64,
        now_ns: u64,
        record: &mut Record,
        late: &mut impl FnMut(&mut Record, Option<u64>),
    ) -> Progress {
        match reply {
            Reply::None => Progress::Broken(Kind::Unsolicited),
            Reply::Line(checked) => self.read_line(checked, bytes),
            Reply::Http(response, checked) => {
                let check = &self.check;
                let read = response.feed(bytes, &mut |piece| check.feed(checked, piece.bytes));
                let (done, rest) = match read {
                    Err(kind) => return Progress::Broken(kind),
                    Ok(Read::More) => return Progress::More,
                    Ok(Read::Done(done, rest)) => (done, rest),
                };
                *record.statuses.entry(done.status).or_default() += 1;
                let verdict = check.end(checked, Some(done.status));
                match rest.is_empty() {
                    true => Progress::Done(verdict, done.keep_alive && !self.close),
                    false => Progress::Unsolicited(verdict),
                }
            }
            Reply::Stream(both) => {
                let (response, stream) = &mut **both;
                let known = response.status().is_some();
                let mut wrong = Ok(());
                let read = response.feed(bytes, &mut |piece| {
                    let fed =
                        self.form
                            .feed(stream, piece.bytes, piece.last, &mut |stream, message| {
                                let told = self.form.check(
                                    stream,
                                    message,
                                    id,
                                    now_ns,
                                    &mut record.sequence,
                                );
                                late(record, told.late_ns);
                            });
                    wrong = wrong.and(fed);
                });
                if let (false, Some(status)) = (known, response.status()) {
                    *record.statuses.entry(status).or_default() += 1;
                    if self.check.end(&Checked::default(), Some(status)) == Err(Kind::Status) {
                        return Progress::Broken(Kind::Status);
                    }
                }
                match (read, wrong) {
                    (Err(kind), _) | (_, Err(kind)) => Progress::Broken(kind),
                    (Ok(Read::More), _) => Progress::More,
                    // It was to be held open.
                    (Ok(Read::Done(..)), _) => Progress::Broken(Kind::ClosedEarly),
                }
            }
        }
    }

    /// Of a stream: how many chunks it has had, and how many more were due at a time.
    pub fn account(&self, reply: &Reply, now_ns: u64) -> Option<(u64, u64)> {
        match reply {
            Reply::Stream(both) => Some(self.form.account(&both.1, now_ns)),
            _ => None,
        }
    }

    fn read_line(&self, checked: &mut Checked, bytes: &[u8]) -> Progress {
        let end = memchr(b'\n', bytes);
        let line = &bytes[..end.unwrap_or(bytes.len())];
        self.check.feed(checked, line);
        match end {
            None if checked.seen() > MOST_MESSAGE_BYTES => Progress::Broken(Kind::TooLarge),
            None => Progress::More,
            Some(end) => {
                let verdict = self.check.end(checked, None);
                match end + 1 == bytes.len() {
                    true => Progress::Done(verdict, true),
                    false => Progress::Unsolicited(verdict),
                }
            }
        }
    }

    /// The peer sends no more.
    pub fn ended(&self, reply: &Reply, record: &mut Record) -> Progress {
        let begun = match reply {
            Reply::None => false,
            Reply::Line(checked) => checked.seen() > 0,
            Reply::Http(response, checked) => {
                if let Some(done) = response.ended() {
                    *record.statuses.entry(done.status).or_default() += 1;
                    return Progress::Done(self.check.end(checked, Some(done.status)), false);
                }
                response.begun()
            }
            Reply::Stream(both) => match both.0.ended() {
                Some(_) => false,
                None => both.0.begun(),
            },
        };
        Progress::Broken(if begun {
            Kind::Truncated
        } else {
            Kind::ClosedEarly
        })
    }
}
