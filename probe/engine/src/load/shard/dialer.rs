//! Opens connections: at the rate of the ramp, again after failures, and a limited number at a time.

use super::connection::Stage;
use super::ShardConfig;
use crate::io::{socket, Io, Slot};
use crate::load::error::ErrorKind;
use crate::load::pacer::Pacer;
use crate::load::plan::Pacing;
use crate::load::source::{bind, shrink_buffers, Sources};
use rustix::net::{SocketAddrAny, SocketAddrUnix};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use wire::clock::now_ns;

/// The pause after a failure, before the connection is opened again.
const RETRY_NS: u64 = 100_000_000;
/// Pending connects of all shards, whichever engines they belong to: below half of a usual backlog.
const MAX_CONNECTING: usize = 512;

/// An attempt to connect a slot.
pub struct Dial {
    pub slot: Slot,
    /// When it was asked for.
    pub due_ns: u64,
    /// From when on it could be started: not before there was room for another pending connect.
    pub ready_ns: u64,
    /// How it gets its connection: by a connect of its own, or by that of another slot.
    pub result: Result<Stage, ErrorKind>,
}

pub struct Dialer {
    start_ns: u64,
    sources: Sources,
    unix: Option<SocketAddrUnix>,
    ramp: Pacer,
    /// Whether the plan has a ramp; without one all connections are due at once, and no instant is missed.
    is_ramped: bool,
    /// How many slots share a connection.
    lanes: usize,
    /// How many connections the ramp has opened.
    ramped: usize,
    /// Slots to connect, and when each was due.
    queue: VecDeque<(Slot, u64)>,
    retries: VecDeque<(u64, Slot)>,
    connecting: usize,
    max_connecting: usize,
    /// When the number of pending connects last fell below the maximum.
    room_ns: u64,
    /// The errno of the first connect that failed with an error that has no `ErrorKind`.
    failure: Option<i32>,
}

impl Dialer {
    pub fn new(config: &ShardConfig) -> Dialer {
        let plan = &config.plan;
        let total = plan.connections as u64;
        // Without a ramp all are due at once.
        let ramp = Pacing::Constant { rate_per_s: plan.ramp_per_s.unwrap_or(1e18), burst: 1 };
        let lead_ns = if plan.open_loop() { 0 } else { plan.lead_ns() };
        Dialer {
            start_ns: config.start_ns + lead_ns,
            sources: Sources::new(&plan.addresses, &plan.sources, plan.connections),
            unix: (plan.unix.as_deref()).and_then(|path| SocketAddrUnix::new(path).ok()),
            ramp: Pacer::new(&ramp, config.partition, None, Some(total)),
            lanes: plan.lanes(),
            is_ramped: plan.ramp_per_s.is_some(),
            ramped: 0,
            queue: VecDeque::new(),
            retries: VecDeque::new(),
            connecting: 0,
            max_connecting: (MAX_CONNECTING / plan.shards()).max(1),
            room_ns: 0,
            failure: None,
        }
    }

    /// When to open the next connection; None while the maximum of connects is pending.
    pub fn next_ns(&self) -> Option<u64> {
        if self.connecting >= self.max_connecting {
            return None;
        }
        if !self.queue.is_empty() {
            return Some(0);
        }
        let ramp = self.ramp.peek().map(|due| self.start_ns + due);
        let retry = self.retries.front().map(|&(due, _)| due);
        ramp.into_iter().chain(retry).min()
    }

    /// The slots of a connection that the ramp opens, or one that is due for a retry, and when it was due.
    pub fn take_due(&mut self, now_ns: u64) -> Option<(Range<Slot>, u64)> {
        if let Some(&(due_ns, slot)) = self.retries.front().filter(|(due, _)| *due <= now_ns) {
            self.retries.pop_front();
            return Some((slot..slot + 1, due_ns));
        }
        let due_ns = self.ramp.peek().map(|due| self.start_ns + due);
        let due_ns = due_ns.filter(|&due_ns| due_ns <= now_ns)?;
        self.ramp.take();
        self.ramped += 1;
        let slots = (self.ramped - 1) * self.lanes..self.ramped * self.lanes;
        Some((slots, if self.is_ramped { due_ns } else { now_ns }))
    }

    /// A slot waits for its connection, which may be opened from `due_ns` on.
    pub fn enqueue(&mut self, slot: Slot, due_ns: u64) {
        self.queue.push_back((slot, due_ns));
    }

    /// How many slots wait for their connections.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    pub fn retry_later(&mut self, slot: Slot, now_ns: u64) {
        self.retries.push_back((now_ns + RETRY_NS, slot));
    }

    /// Starts the connect of the next connection in the queue.
    pub fn dial<I: Io>(&mut self, config: &ShardConfig, io: &mut I) -> Option<Dial> {
        if self.connecting >= self.max_connecting {
            return None;
        }
        let room_ns = self.room_ns;
        let (slot, due_ns) = self.queue.pop_front()?;
        let dial = |result| Dial { slot, due_ns, ready_ns: due_ns.max(room_ns), result };
        if io.join(slot) {
            self.connecting += 1;
            return Some(dial(Ok(Stage::Joining(now_ns()))));
        }
        let id = config.connection_id(slot);
        let number = config.partition.connection((slot / self.lanes) as u64);
        let (target, source) = match &self.unix {
            Some(path) => (SocketAddrAny::from(path.clone()), None),
            None => {
                let (target, source) = self.sources.addresses(number);
                (SocketAddrAny::from(target), source)
            }
        };
        let opened = socket(target.address_family()).map_err(io::Error::from).and_then(|socket| {
            if config.plan.stream.pauses(id) {
                shrink_buffers(&socket)?;
            }
            source.map_or(Ok(()), |source| bind(&socket, source))?;
            io.open(slot, socket, &target)
        });
        let result = opened.map_err(|error| {
            let errno = error.raw_os_error().unwrap_or(0);
            if errno == libc::EADDRNOTAVAIL {
                self.sources.exhausted(number);
            }
            self.failed(errno)
        });
        self.connecting += usize::from(result.is_ok());
        Some(dial(result.map(Stage::Connecting)))
    }

    /// A connect has succeeded, failed, or was given up.
    pub fn connect_ended(&mut self) {
        if self.connecting == self.max_connecting {
            self.room_ns = now_ns();
        }
        self.connecting -= 1;
    }

    /// The kind of error of a connect's errno.
    pub fn failed(&mut self, errno: i32) -> ErrorKind {
        let kind = connect_error(errno);
        if kind == ErrorKind::ConnectFailed {
            self.failure.get_or_insert(errno);
        }
        kind
    }

    /// The system's message for that errno; empty if there is none.
    pub fn failure(&self) -> String {
        let words = |errno| io::Error::from_raw_os_error(errno).to_string();
        let text = self.failure.map(words).unwrap_or_default();
        text.split(" (os error").next().unwrap_or_default().into()
    }

    /// Whether no connect is pending, and the ramp has opened all connections.
    pub fn is_idle(&self) -> bool {
        self.connecting == 0 && self.ramp.peek().is_none()
    }
}

fn connect_error(errno: i32) -> ErrorKind {
    match errno {
        // ENOENT: there is no such Unix socket.
        libc::ECONNREFUSED | libc::ENOENT => ErrorKind::ConnectRefused,
        libc::ETIMEDOUT => ErrorKind::ConnectTimeout,
        libc::EADDRNOTAVAIL => ErrorKind::PortsExhausted,
        libc::EMFILE | libc::ENFILE => ErrorKind::DescriptorsExhausted,
        _ => ErrorKind::ConnectFailed,
    }
}
