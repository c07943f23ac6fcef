//! One shard: a thread with its own connections, clock and record. Shares nothing with the others but
//! the flag that stops it and the numbers of the live view.

mod alarm;
mod disturbing;
mod ending;
mod opening;
mod waiting;

use super::pacer::{share, Pacer, Pacing};
use super::plan::{nanoseconds, Plan};
use super::record::{Interval, Kind, Record};
use super::reply::{Exchange, Progress, Reply};
use super::source::Sources;
use crate::clock::{now_ns, thread_cpu_ns};
use crate::io::{Fate, Handler, Io, Next, Slot};
use alarm::Alarm;
use disturbing::Disturbance;
use opening::connect_error;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often deadlines are looked at and the live view gets its numbers.
const SWEEP_NS: u64 = 100_000_000;
/// What a turn of a back-end hands over at least, where there is as much.
const LEAST_PER_TURN: usize = 1024;

/// What a shard is told.
pub struct Orders {
    pub plan: Arc<Plan>,
    pub shard: usize,
    pub start_ns: u64,
    pub stop: Arc<AtomicBool>,
    pub live: Arc<Mutex<Interval>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Not connected, and not asked to be.
    Closed,
    Connecting,
    Free,
    Busy,
    /// It is not to be opened again.
    Vanished,
}

struct Connection {
    stage: Stage,
    /// Start of the connect; since when it is free; the last byte of a stream.
    since_ns: u64,
    /// A request that waits for the connect.
    pending_ns: Option<u64>,
    intended_ns: u64,
    sent_ns: u64,
    number: u64,
    answered: bool,
    /// It has had a message of a stream, now or before it was opened again.
    fed: bool,
    paused: bool,
    /// It has been slow: what it got late is its own doing.
    slow: bool,
    reply: Reply,
}

struct Shard {
    orders: Orders,
    exchange: Exchange,
    connections: Vec<Connection>,
    free: VecDeque<Slot>,
    to_open: VecDeque<Slot>,
    /// To be opened again after a pause.
    later: VecDeque<(u64, Slot)>,
    ramp: Pacer,
    ramped: usize,
    connecting: usize,
    open: usize,
    in_flight: u64,
    sent: u64,
    pacer: Pacer,
    closed_loop: bool,
    /// What may still be sent in a closed loop.
    left: u64,
    end_ns: Option<u64>,
    /// What happens to connections, the next last.
    disturbances: Vec<(u64, Disturbance)>,
    stopping: bool,
    /// The last time at which something came, or a request was given up.
    heard_ns: u64,
    /// Spent looking for what is due next, as it was too near for a sleep.
    looked_ns: u64,
    interval: Interval,
    record: Record,
}

/// Drives the shard's part of the load; gives what it saw and when it stopped sending.
pub fn run<I: Io>(orders: Orders, mut io: I) -> io::Result<(Record, u64)> {
    let cpu_before = thread_cpu_ns();
    let mut sources = Sources::new(&orders.plan.addresses, orders.plan.connections);
    let mut shard = Shard::new(orders);
    let mut sweep_ns = shard.orders.start_ns + SWEEP_NS;
    let mut stopped_ns = None;
    let mut alarm = Alarm::default();
    loop {
        let now = now_ns();
        if shard.over(now) {
            let stopped = *stopped_ns.get_or_insert_with(|| {
                // The share of a core is that of the load, not of the wait for what is left.
                let cpu_ns = thread_cpu_ns() - cpu_before;
                shard.record.cpu_most_ns = cpu_ns;
                shard.record.busy_most_ns = cpu_ns.saturating_sub(shard.looked_ns);
                shard.stop(now)
            });
            if shard.drained(now, stopped) {
                break;
            }
        } else {
            shard.dispatch(now, &mut io);
        }
        shard.open_due(now, &mut io, &mut sources);
        shard.disturb(now, &mut io);
        if now >= sweep_ns {
            shard.sweep(now, &mut io);
            shard.publish(now);
            sweep_ns = now + SWEEP_NS;
        }
        shard.wait_until(shard.wake_ns(sweep_ns), &mut alarm, &mut io)?;
    }
    if shard.exchange.streams() {
        // What lies with the kernel has come: this thread may have stood still for seconds.
        for _ in 0..=shard.connections.len() / LEAST_PER_TURN {
            io.turn(Duration::ZERO, &mut shard)?;
        }
    }
    let now = now_ns();
    let stopped = stopped_ns.unwrap_or(now);
    shard.count_unfinished(now);
    shard.record.open_at_end = shard.open as u64;
    for slot in 0..shard.connections.len() {
        if shard.exchange.streams() {
            io.reset(slot);
        } else {
            io.close(slot);
        }
    }
    shard.publish(now);
    shard.record.cpu_ns = thread_cpu_ns() - cpu_before;
    Ok((shard.record, stopped))
}

/// How many connections a shard has.
pub fn slots(plan: &Plan, shard: usize) -> usize {
    share(plan.connections as u64, shard as u64, plan.threads as u64) as usize
}

impl Shard {
    fn new(orders: Orders) -> Shard {
        let plan = Arc::clone(&orders.plan);
        let (number, shards) = (orders.shard as u64, plan.threads as u64);
        let pacing = plan.pacing();
        let exchange = Exchange::new(&plan);
        let count = slots(&plan, orders.shard);
        let connection = || Connection {
            stage: Stage::Closed,
            since_ns: 0,
            pending_ns: None,
            intended_ns: 0,
            sent_ns: 0,
            number: 0,
            answered: false,
            fed: false,
            paused: false,
            slow: false,
            reply: Reply::None,
        };
        // Without a ramp all are due at once.
        let ramp = Pacing::Constant(plan.ramp_per_s.unwrap_or(1e18), 1);
        let closed_loop = pacing == Pacing::Closed && !exchange.streams();
        let left = plan
            .requests
            .map_or(u64::MAX, |total| share(total, number, shards));
        Shard {
            connections: (0..count).map(|_| connection()).collect(),
            free: VecDeque::with_capacity(count),
            to_open: VecDeque::new(),
            later: VecDeque::new(),
            ramp: Pacer::new(&ramp, number, shards, None, Some(plan.connections as u64)),
            ramped: 0,
            connecting: 0,
            open: 0,
            in_flight: 0,
            sent: 0,
            pacer: Pacer::new(&pacing, number, shards, plan.duration_ns(), plan.requests),
            closed_loop,
            left,
            end_ns: plan
                .duration_ns()
                .map(|duration| orders.start_ns + duration),
            disturbances: disturbing::of(&plan.stream, orders.start_ns),
            stopping: false,
            heard_ns: orders.start_ns,
            looked_ns: 0,
            interval: Interval::default(),
            record: Record::default(),
            exchange,
            orders,
        }
    }

    fn id(&self, slot: Slot) -> u64 {
        (slot * self.orders.plan.threads + self.orders.shard) as u64 + 1
    }

    fn wake_ns(&self, sweep_ns: u64) -> u64 {
        let start = self.orders.start_ns;
        let mut wake = sweep_ns;
        if !self.stopping {
            wake = self.end_ns.map_or(wake, |end| wake.min(end));
            wake = self
                .disturbances
                .last()
                .map_or(wake, |&(at, _)| wake.min(at));
            if let (false, Some(due)) = (self.free.is_empty(), self.pacer.peek()) {
                wake = wake.min(start + due);
            }
            if self.connecting < self.most_connecting() {
                wake = self.ramp.peek().map_or(wake, |due| wake.min(start + due));
                wake = self.later.front().map_or(wake, |&(due, _)| wake.min(due));
                if !self.to_open.is_empty() {
                    wake = 0;
                }
            }
        }
        wake
    }

    /// Open loop: gives requests that are due to connections that are free.
    fn dispatch<I: Io>(&mut self, now: u64, io: &mut I) {
        let start = self.orders.start_ns;
        while self.pacer.peek().map_or(false, |due| start + due <= now) {
            let slot = match self.free.pop_front() {
                Some(slot) => slot,
                None => return,
            };
            let wanted = if self.exchange.close {
                Stage::Closed
            } else {
                Stage::Free
            };
            if self.connections[slot].stage != wanted || self.connections[slot].pending_ns.is_some()
            {
                continue;
            }
            let intended = start + self.pacer.take().unwrap_or(0);
            let lag = now - intended.max(self.connections[slot].since_ns).min(now);
            self.record.largest_lag_ns = self.record.largest_lag_ns.max(lag);
            if self.exchange.close {
                self.connections[slot].pending_ns = Some(intended);
                self.to_open.push_back(slot);
            } else if let Next::Send(bytes) = self.start(slot, intended, now) {
                io.send(slot, bytes, self);
            }
        }
    }

    fn error(&mut self, now: u64, kind: Kind) {
        self.record.errors[kind as usize] += 1;
        self.interval.errors += 1;
        let at = now - self.orders.start_ns;
        self.record.second(at).errors += 1;
    }

    /// What a connection does that has nothing to do.
    fn next(&mut self, slot: Slot, now: u64) -> Next {
        if !self.stopping {
            if self.exchange.streams() {
                let since = self.connections[slot].since_ns;
                return self.start(slot, since, now);
            }
            if self.closed_loop {
                if self.left > 0 && self.end_ns.map_or(true, |end| now < end) {
                    self.left -= 1;
                    return self.start(slot, now, now);
                }
            } else if let Some(due) = self.pacer.peek() {
                let intended = self.orders.start_ns + due;
                if intended <= now {
                    self.pacer.take();
                    return self.start(slot, intended, now);
                }
            }
        }
        let connection = &mut self.connections[slot];
        connection.stage = Stage::Free;
        connection.since_ns = now;
        if !self.closed_loop {
            self.free.push_back(slot);
        }
        Next::Wait
    }

    fn start(&mut self, slot: Slot, intended: u64, now: u64) -> Next {
        let id = self.id(slot);
        // From 1, each shard its own.
        let number = self.sent * self.orders.plan.threads as u64 + self.orders.shard as u64 + 1;
        self.sent += 1;
        let (bytes, reply) = self.exchange.begin(&self.orders.plan, id, number, now);
        let connection = &mut self.connections[slot];
        connection.stage = Stage::Busy;
        connection.intended_ns = intended;
        connection.sent_ns = now;
        connection.number = number;
        connection.since_ns = now;
        connection.answered = false;
        connection.reply = reply;
        self.in_flight += 1;
        self.record.bytes_out += bytes.len() as u64;
        if !self.exchange.streams() {
            self.record.intended += 1;
            self.interval.intended += 1;
            if !self.closed_loop {
                self.record.queue.add(now - intended);
            }
        }
        Next::Send(bytes)
    }

    /// A reply is whole.
    fn done(&mut self, slot: Slot, now: u64, verdict: Result<(), Kind>, keep: bool) -> Next {
        let connection = &mut self.connections[slot];
        connection.reply = Reply::None;
        let (intended, sent) = (connection.intended_ns, connection.sent_ns);
        let number = connection.number;
        self.in_flight -= 1;
        match verdict {
            Err(kind) => self.error(now, kind),
            Ok(()) => {
                let latency = now - intended;
                self.record.latency.add(latency);
                self.record.service.add(now - sent);
                if self.exchange.numbered {
                    self.record.numbered.push((number, now - sent));
                }
                self.interval.add(latency);
                if self.end_ns.map_or(false, |end| now > end) {
                    self.record.late_requests += 1;
                } else {
                    self.record.requests += 1;
                    self.interval.requests += 1;
                    let at = now - self.orders.start_ns;
                    let second = self.record.second(at);
                    second.requests += 1;
                    second.max_ns = second.max_ns.max(latency);
                }
            }
        }
        if keep {
            return self.next(slot, now);
        }
        self.close(slot, now);
        Next::Close
    }

    /// After a connection was closed in good order.
    fn close(&mut self, slot: Slot, now: u64) {
        self.connections[slot].stage = Stage::Closed;
        self.open -= 1;
        if !self.stopping {
            self.again(slot, now);
        }
    }

    /// A connection that was in use is lost.
    fn broken(&mut self, slot: Slot, now: u64, kind: Kind) {
        self.leave(slot, now);
        self.heard_ns = now;
        self.failed(slot, now, kind);
    }

    /// A connection in the middle of a reply is no longer there: what it had counts.
    fn leave(&mut self, slot: Slot, now: u64) {
        let reply = std::mem::replace(&mut self.connections[slot].reply, Reply::None);
        if let Some((had, _)) = self.exchange.account(&reply, now) {
            self.record.chunks += had;
        }
        self.in_flight -= 1;
        self.open -= 1;
    }

    fn publish(&mut self, now: u64) {
        self.interval.open = self.open as u64;
        if !self.stopping {
            let second = self.record.second(now - self.orders.start_ns);
            second.open = second.open.max(self.interval.open);
        }
        self.interval.in_flight = self.in_flight;
        if let Ok(mut live) = self.orders.live.lock() {
            live.merge(&self.interval);
            live.open = self.interval.open;
            live.in_flight = self.interval.in_flight;
        }
        self.interval = Interval::default();
    }
}

impl Handler for Shard {
    fn connected(&mut self, slot: Slot) -> Next {
        let now = now_ns();
        self.connecting -= 1;
        self.open += 1;
        self.record.opened += 1;
        self.record.most_open = self.record.most_open.max(self.open as u64);
        let connection = &mut self.connections[slot];
        self.record.connect.add(now - connection.since_ns);
        match connection.pending_ns.take() {
            Some(intended) => self.start(slot, intended, now),
            None => self.next(slot, now),
        }
    }

    fn received(&mut self, slot: Slot, bytes: &[u8]) -> Next {
        let now = now_ns();
        self.record.bytes_in += bytes.len() as u64;
        self.heard_ns = now;
        let id = self.id(slot);
        let start_ns = self.orders.start_ns;
        let connection = &mut self.connections[slot];
        if connection.stage != Stage::Busy {
            self.open -= 1;
            self.failed(slot, now, Kind::Unsolicited);
            return Next::Close;
        }
        if !connection.answered {
            connection.answered = true;
            self.record.first_byte.add(now - connection.sent_ns);
        }
        if self.exchange.streams() {
            connection.since_ns = now;
        }
        let interval = &mut self.interval;
        let fed = &mut connection.fed;
        let slow = connection.slow;
        let mut late = |record: &mut Record, late_ns: Option<u64>| {
            record.messages += 1;
            record.fed += u64::from(!std::mem::replace(fed, true));
            interval.requests += 1;
            let second = record.second(now - start_ns);
            second.requests += 1;
            if let Some(late_ns) = late_ns.filter(|_| !slow) {
                second.max_ns = second.max_ns.max(late_ns);
                record.lateness.add(late_ns);
                interval.add(late_ns);
            }
        };
        let reply = &mut connection.reply;
        let progress = self
            .exchange
            .read(reply, bytes, id, now, &mut self.record, &mut late);
        match progress {
            Progress::More => Next::Wait,
            Progress::Done(verdict, keep) => self.done(slot, now, verdict, keep),
            Progress::Broken(kind) => {
                self.broken(slot, now, kind);
                Next::Close
            }
            Progress::Unsolicited(verdict) => {
                let _ = self.done(slot, now, verdict, false);
                self.error(now, Kind::Unsolicited);
                Next::Close
            }
        }
    }

    fn ended(&mut self, slot: Slot, fate: Fate) {
        let now = now_ns();
        let stage = self.connections[slot].stage;
        let kind = match fate {
            Fate::NotConnected(errno) => {
                self.connecting -= 1;
                self.drop_pending(slot);
                return self.failed(slot, now, connect_error(errno));
            }
            Fate::Finished => None,
            Fate::ReceiveFailed(libc::ECONNRESET | libc::EPIPE) => Some(Kind::Reset),
            Fate::SendFailed(libc::ECONNRESET | libc::EPIPE) => Some(Kind::Reset),
            Fate::ReceiveFailed(_) => Some(Kind::Reset),
            Fate::SendFailed(_) => Some(Kind::Send),
        };
        match (stage, kind) {
            (Stage::Free, _) => {
                // The server may close what nobody uses.
                self.record.idle_closes += 1;
                self.close(slot, now);
            }
            (Stage::Busy, Some(kind)) => self.broken(slot, now, kind),
            (Stage::Busy, None) => {
                let reply = &self.connections[slot].reply;
                match self.exchange.ended(reply, &mut self.record) {
                    Progress::Done(verdict, _) => {
                        let _ = self.done(slot, now, verdict, false);
                    }
                    Progress::Broken(kind) => self.broken(slot, now, kind),
                    Progress::More | Progress::Unsolicited(_) => {}
                }
            }
            (Stage::Closed | Stage::Connecting | Stage::Vanished, _) => {}
        }
    }
}
