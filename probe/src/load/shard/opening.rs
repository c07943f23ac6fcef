//! Connections: when they are opened, and what follows when they are not.

use super::{Kind, Shard, Slot, Sources, Stage};
use crate::io::{socket, Io};
use crate::load::source::{bind, hold_little};
use rustix::net::SocketAddrAny;
use std::io;

/// After a connection failed, before it is tried again.
const PAUSE_NS: u64 = 100_000_000;
/// Connects under way at one time, over all shards: below the half of a usual backlog.
const MOST_CONNECTING: usize = 512;

impl Shard {
    pub(super) fn most_connecting(&self) -> usize {
        (MOST_CONNECTING / self.orders.plan.threads).max(1)
    }

    pub(super) fn open_due<I: Io>(&mut self, now: u64, io: &mut I, sources: &mut Sources) {
        if self.stopping {
            return;
        }
        let start = self.orders.start_ns;
        while self.later.front().map_or(false, |&(due, _)| due <= now) {
            let slot = self.later.pop_front().map_or(0, |(_, slot)| slot);
            self.again(slot, now);
        }
        while self.ramp.peek().map_or(false, |due| start + due <= now) {
            self.ramp.take();
            let slot = self.ramped;
            self.ramped += 1;
            self.again(slot, now);
        }
        while self.connecting < self.most_connecting() {
            let slot = match self.to_open.pop_front() {
                Some(slot) => slot,
                None => return,
            };
            let number = self.id(slot) - 1;
            let (address, source) = sources.of(number);
            let address = SocketAddrAny::from(address);
            let opened = socket::<I>(address.address_family())
                .map_err(io::Error::from)
                .and_then(|socket| {
                    if self.orders.plan.stream.is_slow(number + 1) {
                        hold_little(&socket)?;
                    }
                    source.map_or(Ok(()), |source| bind(&socket, source))?;
                    io.open(slot, socket, &address)
                });
            self.connections[slot].since_ns = now;
            match opened {
                Ok(()) => {
                    self.connections[slot].stage = Stage::Connecting;
                    self.connecting += 1;
                }
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or(0);
                    if errno == libc::EADDRNOTAVAIL {
                        sources.exhausted(number);
                    }
                    self.drop_pending(slot);
                    self.failed(slot, now, connect_error(errno));
                }
            }
        }
    }

    /// A slot that is not connected: what comes next for it.
    pub(super) fn again(&mut self, slot: Slot, now: u64) {
        if !self.exchange.close {
            self.to_open.push_back(slot);
            return;
        }
        // A connection is made when there is a request for it.
        if self.closed_loop {
            if self.left > 0 {
                self.left -= 1;
                self.connections[slot].pending_ns = Some(now);
                self.to_open.push_back(slot);
            }
        } else {
            self.connections[slot].since_ns = now;
            self.free.push_back(slot);
        }
    }

    /// An error, after which the connection is tried again when some time has gone.
    pub(super) fn failed(&mut self, slot: Slot, now: u64, kind: Kind) {
        self.error(now, kind);
        self.connections[slot].stage = Stage::Closed;
        self.later.push_back((now + PAUSE_NS, slot));
    }

    /// A request that waited for a connect that failed: the error is its own.
    pub(super) fn drop_pending(&mut self, slot: Slot) {
        if self.connections[slot].pending_ns.take().is_some() {
            self.record.intended += 1;
            self.interval.intended += 1;
        }
    }
}

pub(super) fn connect_error(errno: i32) -> Kind {
    match errno {
        libc::ECONNREFUSED => Kind::ConnectRefused,
        libc::ETIMEDOUT => Kind::ConnectTimeout,
        libc::EADDRNOTAVAIL => Kind::PortsExhausted,
        libc::EMFILE | libc::ENFILE => Kind::DescriptorsExhausted,
        _ => Kind::ConnectFailed,
    }
}
