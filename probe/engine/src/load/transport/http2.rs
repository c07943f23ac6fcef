//! HTTP/2 on a connection, whose streams are requests, driven by hand. The library is written for tasks of an executor;
//! here its wakers only note which streams to poll.

mod request;
mod streams;

use super::link::Lane;
use super::LayerError;
use crate::load::error::ErrorKind;
use crate::load::http_head::MAX_HEAD_BYTES;
use crate::load::plan::Http2Plan;
use bytes::Bytes;
use h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream, SendStream};
pub use request::{Http2Request, Http2Requests};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The largest window (RFC 9113, section 6.9.1).
const MAX_WINDOW_BYTES: u32 = (1 << 31) - 1;
/// The library rejects a larger head without naming its size, so its limit is somewhat above our own.
const LIBRARY_HEAD_BYTES: u32 = 4 * MAX_HEAD_BYTES as u32;
/// The size of a head counts these bytes for each field, besides its name and value (RFC 9113, section 6.5.2).
const FIELD_BYTES: usize = 32;
/// A connection that wakes itself more often in succession makes no progress.
const MAX_POLLS: usize = 1000;

/// The lanes that have woken, and whether the connection itself has.
#[derive(Default)]
struct Ready {
    lanes: Vec<Lane>,
    connection: bool,
}

/// Wakes a lane, or the connection.
struct Note {
    ready: Arc<Mutex<Ready>>,
    lane: Option<Lane>,
}

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        match self.lane {
            Some(lane) => ready.lanes.push(lane),
            None => ready.connection = true,
        }
    }
}

/// The connection waits while more output than this is not handed over, so the engine sends no faster than the server
/// reads.
const MAX_OUTPUT_BYTES: usize = 256 * 1024;

/// More input that the library has not read is an error of the peer.
const MAX_INPUT_BYTES: usize = 1 << 20;

/// The bytes between the connection and its socket.
#[derive(Default)]
struct Ends {
    input: VecDeque<u8>,
    output: Vec<u8>,
    /// Bytes that were handed over wait for the kernel.
    is_held: bool,
    /// The connection has found no room for its output.
    is_refused: bool,
}

struct MemoryPipe(Rc<RefCell<Ends>>);

impl AsyncRead for MemoryPipe {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut ends = self.0.borrow_mut();
        let (bytes, _) = ends.input.as_slices();
        let count = bytes.len().min(into.remaining());
        if count == 0 {
            // The connection is polled whenever bytes have come.
            return Poll::Pending;
        }
        into.put_slice(&bytes[..count]);
        ends.input.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for MemoryPipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut ends = self.0.borrow_mut();
        if ends.is_held || ends.output.len() >= MAX_OUTPUT_BYTES {
            // The connection is polled when there is room.
            ends.is_refused = true;
            return Poll::Pending;
        }
        ends.output.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The library gets bodies of up to this size whole: a server accepts this many bytes before it sends anything (RFC
/// 9113, section 6.9.2).
const WHOLE_BODY_BYTES: usize = 65_535;

/// A request and its reply.
struct Exchange {
    /// The number of the next request to send.
    number: u64,
    reply: ReplyStage,
    stream: SendStream<Bytes>,
    /// The part of a large body for which the server has no room yet.
    rest: Bytes,
    /// Bytes of the reply's body.
    received: u64,
    /// For a gRPC reply: its status, once it is known.
    grpc: Option<Option<u16>>,
}

enum ReplyStage {
    Head(ResponseFuture),
    Body(RecvStream),
    /// Complete; its status has been told.
    Over,
}

impl Exchange {
    fn end(&self) -> Arrived {
        Arrived::End { is_early: !self.rest.is_empty() }
    }

    /// Sends as much of the body as the server has room for; the task of the context is woken when it has more.
    fn upload(&mut self, context: &mut Context<'_>) {
        while !self.rest.is_empty() {
            self.stream.reserve_capacity(self.rest.len());
            let room = match self.stream.capacity() {
                0 => match self.stream.poll_capacity(context) {
                    Poll::Ready(Some(Ok(room))) => room,
                    // If the stream has ended, the reply says why.
                    _ => return,
                },
                room => room,
            };
            let piece = self.rest.split_to(room.min(self.rest.len()));
            let is_last = self.rest.is_empty();
            if self.stream.send_data(piece, is_last).is_err() {
                return;
            }
        }
    }
}

/// An arrival on a lane.
pub enum Arrived {
    /// The status; of a gRPC reply that failed at its end once more, with that of the call.
    Head(u16),
    Body(Bytes),
    /// The reply is complete; `is_early`: before all of the request was sent.
    End {
        is_early: bool,
    },
    /// The server declares that it has not begun to process the request: it may be sent again.
    Refused,
    Failed(LayerError),
}

pub struct Http2 {
    connection: Connection<MemoryPipe, Bytes>,
    sender: SendRequest<Bytes>,
    ends: Rc<RefCell<Ends>>,
    ready: Arc<Mutex<Ready>>,
    /// By lane.
    exchanges: Vec<Option<Exchange>>,
    wakers: Vec<Waker>,
    own_waker: Waker,
    /// Requests for which the server has no stream yet, behind the one that the library itself keeps until it has.
    waiting: VecDeque<(Lane, Http2Request)>,
    opening: Option<Lane>,
    /// Requests that go to the server with the next output.
    pub begun: Vec<Lane>,
    lanes_to_poll: Vec<Lane>,
    window_bytes: u64,
    /// How many replies came exactly as far as the first window, and then further: the server waited for more.
    pub window_waits: u64,
    /// How many requests were to be sent.
    sendings: u64,
    /// Lanes whose requests the server has not processed, in the order in which they were to be sent: on the next
    /// connection those that have waited for longest go first.
    turned_away: BTreeMap<u64, Lane>,
    /// The server takes no more requests on this connection.
    pub is_leaving: bool,
    /// Whether the server has sent anything.
    has_read: bool,
    /// The connection has ended in good order.
    pub is_over: bool,
}

impl Http2 {
    pub fn new(plan: Http2Plan) -> Result<Http2, LayerError> {
        let lanes = plan.streams;
        // No frame ends there but that of a server which has no more room: others have even sizes.
        let window_bytes = plan.window_bytes | 1;
        // When another reply begins, up to half of a window may not have been given back yet.
        let all_bytes = 2 * u64::from(window_bytes) * lanes as u64;
        let ends = Rc::<RefCell<Ends>>::default();
        let ready = Arc::<Mutex<Ready>>::default();
        let waker = |lane| {
            let ready = Arc::clone(&ready);
            Waker::from(Arc::new(Note { ready, lane }))
        };
        let own_waker = waker(None);
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(window_bytes)
            .initial_connection_window_size(all_bytes.min(MAX_WINDOW_BYTES.into()) as u32)
            .max_header_list_size(LIBRARY_HEAD_BYTES);
        let handshake = builder.handshake(MemoryPipe(Rc::clone(&ends)));
        let mut handshake = Box::pin(handshake);
        // It only writes, for which there is always room.
        let polled = handshake.as_mut().poll(&mut Context::from_waker(&own_waker));
        let Poll::Ready(begun) = polled else {
            return Err(LayerError::new(ErrorKind::Protocol, "HTTP/2 does not begin"));
        };
        let (sender, connection) = begun.map_err(|error| fault(&error))?;
        Ok(Http2 {
            connection,
            sender,
            ends,
            exchanges: (0..lanes).map(|_| None).collect(),
            wakers: (0..lanes).map(|lane| waker(Some(lane))).collect(),
            own_waker,
            ready,
            waiting: VecDeque::new(),
            opening: None,
            begun: Vec::new(),
            lanes_to_poll: Vec::new(),
            window_bytes: window_bytes.into(),
            window_waits: 0,
            sendings: 0,
            turned_away: BTreeMap::new(),
            is_leaving: false,
            has_read: false,
            is_over: false,
        })
    }

    /// Takes bytes from the server; `next` has what they contain, also if this fails.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), LayerError> {
        if !std::mem::replace(&mut self.has_read, true) && bytes.starts_with(b"HTTP/") {
            return Err(LayerError::new(
                ErrorKind::Protocol,
                "the server answers in HTTP/1.1: name it as http://… or https://…",
            ));
        }
        self.ends.borrow_mut().input.extend(bytes);
        self.ready().connection = true;
        self.poll()?;
        // The library reads no further while an answer, to a ping for instance, finds no room.
        if self.ends.borrow().input.len() > MAX_INPUT_BYTES {
            let text = "HTTP/2: the server does not read the answers that it asks for";
            return Err(LayerError::new(ErrorKind::Send, text));
        }
        Ok(())
    }

    fn ready(&self) -> std::sync::MutexGuard<'_, Ready> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the connection do what it has to.
    pub fn poll(&mut self) -> Result<(), LayerError> {
        for _ in 0..MAX_POLLS {
            let had = std::mem::take(&mut self.ready().connection);
            if !had || self.is_over {
                return Ok(());
            }
            let mut context = Context::from_waker(&self.own_waker);
            match Pin::new(&mut self.connection).poll(&mut context) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => self.is_over = true,
                Poll::Ready(Err(error)) => {
                    self.is_over = true;
                    return Err(fault(&error));
                }
            }
            self.send_waiting();
        }
        Err(LayerError::new(ErrorKind::Protocol, "the HTTP/2 session made no progress in 1000 polls"))
    }

    /// Sends a request on a lane that has none. Whether the server has a stream for it.
    pub fn send(&mut self, lane: Lane, request: Http2Request) -> bool {
        self.waiting.push_back((lane, request));
        self.send_waiting();
        self.ready().connection = true;
        let is_waiting = self.waiting.iter().any(|(waiting, _)| *waiting == lane);
        !is_waiting && self.opening != Some(lane)
    }

    /// How many streams the server allows.
    pub fn limit(&self) -> usize {
        self.connection.max_concurrent_send_streams()
    }

    fn send_waiting(&mut self) {
        loop {
            let mut context = Context::from_waker(&self.own_waker);
            if !self.is_leaving && self.sender.poll_ready(&mut context).is_pending() {
                return;
            }
            self.begun.extend(self.opening.take());
            let Some((lane, request)) = self.waiting.pop_front() else { return };
            let Http2Request { head, body } = request;
            let number = self.sendings;
            self.sendings += 1;
            let sent = self.sender.send_request(head, body.is_empty());
            let sent = sent.and_then(|(response, mut stream)| {
                let mut rest = body;
                if (1..=WHOLE_BODY_BYTES).contains(&rest.len()) {
                    stream.send_data(std::mem::take(&mut rest), true)?;
                }
                Ok(Exchange {
                    number,
                    reply: ReplyStage::Head(response),
                    stream,
                    rest,
                    received: 0,
                    grpc: None,
                })
            });
            match sent {
                Ok(exchange) => {
                    self.exchanges[lane] = Some(exchange);
                    self.opening = Some(lane);
                }
                Err(_) => {
                    self.is_leaving = true;
                    self.turned_away.insert(number, lane);
                }
            }
            self.ready().lanes.push(lane);
        }
    }

    /// The next arrival on a lane. `polled` gets the connection's error, if the connection had to act
    /// meanwhile.
    pub fn next(&mut self, polled: &mut Result<(), LayerError>) -> Option<(Lane, Arrived)> {
        loop {
            if self.lanes_to_poll.is_empty() {
                let mut lanes_to_poll = std::mem::take(&mut self.lanes_to_poll);
                std::mem::swap(&mut lanes_to_poll, &mut self.ready().lanes);
                // Lanes are polled in the order in which they woke.
                lanes_to_poll.reverse();
                self.lanes_to_poll = lanes_to_poll;
            }
            let Some(&lane) = self.lanes_to_poll.last() else {
                // A part of a body may have been sent.
                if polled.is_err() || !self.ready().connection || self.is_over {
                    let (_, lane) = self.turned_away.pop_first()?;
                    return Some((lane, Arrived::Refused));
                }
                *polled = self.poll();
                continue;
            };
            match self.poll_lane(lane) {
                Some(arrived) => return Some((lane, arrived)),
                None => {
                    self.lanes_to_poll.pop();
                }
            }
        }
    }

    fn poll_lane(&mut self, lane: Lane) -> Option<Arrived> {
        let mut context = Context::from_waker(&self.wakers[lane]);
        let mut exchange = self.exchanges[lane].take()?;
        exchange.upload(&mut context);
        let arrived = match &mut exchange.reply {
            ReplyStage::Head(response) => match Pin::new(response).poll(&mut context) {
                Poll::Pending => None,
                Poll::Ready(Ok(response)) if is_too_large(&response) => {
                    let text = "HTTP/2: a head of more than 256 kB";
                    return Some(Arrived::Failed(LayerError::new(ErrorKind::TooLarge, text)));
                }
                Poll::Ready(Ok(response)) => {
                    let status = response.status().as_u16();
                    let kind = response.headers().get("content-type");
                    let is_grpc = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
                    exchange.grpc = is_grpc.then(|| grpc_status(response.headers()));
                    exchange.reply = ReplyStage::Body(response.into_body());
                    Some(Arrived::Head(status))
                }
                Poll::Ready(Err(error)) => return self.failed(lane, exchange.number, &error),
            },
            ReplyStage::Body(body) => match body.poll_data(&mut context) {
                Poll::Pending => None,
                Poll::Ready(Some(Ok(bytes))) => {
                    self.window_waits += u64::from(exchange.received == self.window_bytes);
                    exchange.received += bytes.len() as u64;
                    let _ = body.flow_control().release_capacity(bytes.len());
                    Some(Arrived::Body(bytes))
                }
                Poll::Ready(Some(Err(error))) if !is_enough(&error) => {
                    return self.failed(lane, exchange.number, &error);
                }
                Poll::Ready(_) => match exchange.grpc {
                    // Without one the call has failed, too: as UNKNOWN.
                    Some(status) => {
                        let status = status.or_else(|| match body.poll_trailers(&mut context) {
                            Poll::Ready(Ok(Some(trailers))) => grpc_status(&trailers),
                            _ => None,
                        });
                        exchange.reply = ReplyStage::Over;
                        match status.unwrap_or(GRPC_UNKNOWN) {
                            0 => return Some(exchange.end()),
                            status => Some(Arrived::Head(status)),
                        }
                    }
                    None => return Some(exchange.end()),
                },
            },
            ReplyStage::Over => return Some(exchange.end()),
        };
        self.exchanges[lane] = Some(exchange);
        arrived
    }

    /// Gives up the request of a lane. Whether its body still waited for the window of the server.
    pub fn cancel(&mut self, lane: Lane) -> bool {
        self.waiting.retain(|(waiting, _)| *waiting != lane);
        self.opening = self.opening.filter(|opening| *opening != lane);
        self.turned_away.retain(|_, turned| *turned != lane);
        let Some(mut exchange) = self.exchanges[lane].take() else { return false };
        exchange.stream.send_reset(Reason::CANCEL);
        self.ready().connection = true;
        // Else the kernel has no room: the server does not read at all.
        !exchange.rest.is_empty() && !self.ends.borrow().is_held
    }

    /// The outcome of a request that has no reply; none yet where it is sent again.
    fn failed(&mut self, lane: Lane, number: u64, error: &h2::Error) -> Option<Arrived> {
        let goes_away = error.is_go_away() && error.is_remote();
        self.is_leaving |= goes_away;
        let refused = error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM);
        if (goes_away && error.reason() == Some(Reason::NO_ERROR)) || refused {
            self.turned_away.insert(number, lane);
            return None;
        }
        Some(Arrived::Failed(fault(error)))
    }

    /// Bytes that were handed over wait for the kernel: no further output until `release`.
    pub fn hold(&mut self) {
        self.ends.borrow_mut().is_held = true;
    }

    /// The kernel takes what was handed over. Whether there is more to send, by the next `poll`.
    pub fn release(&mut self) -> bool {
        let mut ends = self.ends.borrow_mut();
        ends.is_held = false;
        let was_refused = std::mem::take(&mut ends.is_refused);
        drop(ends);
        self.ready().connection |= was_refused;
        was_refused
    }

    /// Bytes for the server.
    pub fn take_output(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.ends.borrow_mut().output);
    }
}

/// The code for a gRPC status that is missing or not a number.
const GRPC_UNKNOWN: u16 = 2;

/// The status of a call in a head or in trailers.
fn grpc_status(fields: &http::HeaderMap) -> Option<u16> {
    let status = fields.get("grpc-status")?.to_str().ok()?.parse();
    Some(status.ok().filter(|&status| status < 100).unwrap_or(GRPC_UNKNOWN))
}

/// Whether the head of a response is beyond the limit of HTTP/1.1's.
fn is_too_large(response: &http::Response<RecvStream>) -> bool {
    let fields = response.headers().iter();
    let bytes = fields.map(|(name, value)| name.as_str().len() + value.len() + FIELD_BYTES);
    bytes.sum::<usize>() > MAX_HEAD_BYTES
}

/// Whether the reply is complete all the same: the server needs no more of the request (RFC 9113, section 8.1).
fn is_enough(error: &h2::Error) -> bool {
    error.is_reset() && error.is_remote() && error.reason() == Some(Reason::NO_ERROR)
}

fn fault(error: &h2::Error) -> LayerError {
    let reason = error.reason();
    let kind = match () {
        () if error.is_go_away() && error.is_remote() => ErrorKind::GoAway,
        () if error.is_reset() && error.is_remote() => ErrorKind::StreamReset,
        () if reason == Some(Reason::ENHANCE_YOUR_CALM) => ErrorKind::TooLarge,
        () => ErrorKind::Protocol,
    };
    // Its own text may have the server's, which is not for a terminal.
    let text = match reason {
        Some(reason) => format!("HTTP/2: {reason:?}, {}", reason.description()),
        None => "the server sent invalid HTTP/2".into(),
    };
    LayerError::new(kind, &text)
}
