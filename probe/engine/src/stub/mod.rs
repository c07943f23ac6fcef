//! Upstreams for a gateway: HTTP servers, each on a port of its own, that answer after a delay and keep a ledger of
//! their calls. One thread, epoll.

pub mod background;
pub mod calls;
pub mod delay;
pub mod head;
pub mod plan;

use calls::Ledger;
use head::{parse, BadHead};
pub use plan::StubPlan;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::Timespec;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, SocketFlags};
use rustix::process::{getrlimit, Resource};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use wire::clock::now_ns;

const BACKLOG: i32 = 4096;
const MAX_HEAD_BYTES: usize = 16 * 1024;
const BUFFER_BYTES: usize = 16 * 1024;
const EVENTS: usize = 1024;
/// The buffer that a connection keeps while nothing is in it.
const IDLE_BYTES: usize = 4096;
/// Bytes of requests that are not answered, which connections may hold together.
const MAX_HELD_BYTES: usize = 64 << 20;
/// The answers: on a connection that stays open, which HTTP/1.0 has to be told, and on one that ends.
const KEPT: &[u8] = b"HTTP/1.1 200 Stub\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n";
const LAST: &[u8] = b"HTTP/1.1 200 Stub\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

struct Caller {
    socket: OwnedFd,
    upstream: usize,
    generation: u32,
    /// Bytes that are not parsed yet.
    held: Vec<u8>,
    /// Bytes of a request's body that are still to come.
    to_skip: u64,
    /// An answer is due: further requests wait.
    waiting: bool,
    /// When the request that waits had come, and its id.
    arrival_ns: u64,
    id: Option<Box<[u8]>>,
    keep_alive: bool,
    /// The part of an answer that the kernel has not taken: further requests wait.
    unsent: &'static [u8],
    /// The memory of `held`, as it was counted last.
    counted_bytes: usize,
}

pub struct Stub {
    plan: StubPlan,
    epoll: OwnedFd,
    listeners: Vec<OwnedFd>,
    pub ports: Vec<u16>,
    connections: Vec<Option<Caller>>,
    free: Vec<usize>,
    generation: u32,
    /// `(time, connection, generation)` of answers that are due.
    due: BinaryHeap<Reverse<(u64, usize, u32)>>,
    random: fastrand::Rng,
    /// The calls of each request.
    pub ledger: Ledger,
    /// How many connections may be open: half of the probe's descriptors, as it needs others.
    max_connections: usize,
    held_bytes: usize,
    /// How the gateway floods the probe, if it does.
    flood: Option<String>,
}

impl Stub {
    /// Listens; nothing is answered before `serve`.
    pub fn listen(plan: &StubPlan) -> io::Result<Stub> {
        let file = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let (mut listeners, mut ports) = (Vec::new(), Vec::new());
        for number in 0..plan.upstreams.len() {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = net::socket_with(net::AddressFamily::INET, net::SocketType::STREAM, flags, None)?;
            net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
            net::listen(&socket, BACKLOG)?;
            let listener = TcpListener::from(socket);
            ports.push(listener.local_addr()?.port());
            epoll::add(&file, &listener, EventData::new_u64(number as u64), EventFlags::IN)?;
            listeners.push(listener.into());
        }
        // The soft limit may be raised to it later, for loads.
        let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        Ok(Stub {
            epoll: file,
            listeners,
            ports,
            connections: Vec::new(),
            free: Vec::new(),
            generation: 0,
            due: BinaryHeap::new(),
            random: fastrand::Rng::with_seed(plan.seed),
            ledger: Ledger::default(),
            max_connections: usize::try_from(limit / 2).unwrap_or(usize::MAX),
            held_bytes: 0,
            flood: None,
            plan: plan.clone(),
        })
    }

    /// How long it takes until the next answer is due.
    fn next_due_ns(&self) -> Option<u64> {
        self.due.peek().map(|Reverse((at, ..))| at.saturating_sub(now_ns()))
    }

    /// Handles pending events and due answers, without waiting. True when there were events.
    fn turn(&mut self, events: &mut Vec<Event>, buffer: &mut [u8]) -> bool {
        events.clear();
        let none = Timespec::default();
        let _ = epoll::wait(&self.epoll, spare_capacity(events), Some(&none));
        for event in events.iter() {
            let data = event.data.u64();
            let (index, generation) = ((data & 0xffff_ffff) as usize, (data >> 32) as u32);
            if generation == 0 {
                self.accept(index);
            } else if self.is_current(index, generation) {
                self.send(index);
                let over = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
                let flags = event.flags;
                if !self.is_current(index, generation) {
                    continue;
                }
                match flags.intersects(EventFlags::IN | over) {
                    true => self.receive(index, now_ns(), flags.intersects(over), buffer),
                    false => self.requests(index, now_ns()),
                }
            }
        }
        let now = now_ns();
        while let Some(&Reverse((at, index, generation))) = self.due.peek() {
            if at > now {
                break;
            }
            self.due.pop();
            if self.is_current(index, generation) {
                self.answer(index);
                self.requests(index, now);
            }
        }
        !events.is_empty()
    }

    /// How the gateway floods the probe, in words: it takes more memory or descriptors than any gateway needs.
    pub fn flood(&self) -> Option<String> {
        self.flood.clone().or_else(|| self.ledger.excess())
    }

    fn is_current(&self, index: usize, generation: u32) -> bool {
        let known = self.connections.get(index).and_then(Option::as_ref);
        known.is_some_and(|connection| connection.generation == generation)
    }

    fn accept(&mut self, upstream: usize) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        while let Ok(socket) = net::accept_with(&self.listeners[upstream], flags) {
            if self.connections.len() - self.free.len() >= self.max_connections {
                let most = self.max_connections;
                self.flood.get_or_insert_with(|| format!("more than {most} connections at one time"));
                continue;
            }
            let _ = net::sockopt::set_tcp_nodelay(&socket, true);
            self.generation = self.generation.wrapping_add(1).max(1);
            let index = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            let data = EventData::new_u64(u64::from(self.generation) << 32 | index as u64);
            let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            if epoll::add(&self.epoll, &socket, data, flags).is_err() {
                self.free.push(index);
                return;
            }
            self.connections[index] = Some(Caller {
                socket,
                upstream,
                generation: self.generation,
                held: Vec::new(),
                to_skip: 0,
                waiting: false,
                arrival_ns: 0,
                id: None,
                keep_alive: true,
                unsent: &[],
                counted_bytes: 0,
            });
        }
    }

    fn close(&mut self, index: usize) {
        if let Some(connection) = self.connections[index].take() {
            self.held_bytes -= connection.counted_bytes;
            if connection.waiting {
                self.ledger.cut(connection.id.as_deref(), now_ns());
            }
            self.free.push(index);
        }
    }

    fn receive(&mut self, index: usize, now: u64, ending: bool, buffer: &mut [u8]) {
        loop {
            let Some(connection) = &mut self.connections[index] else { return };
            match net::recv(&connection.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((0, _)) => return self.close(index),
                Ok((count, _)) => {
                    let mut bytes = &buffer[..count];
                    let skipped = connection.to_skip.min(bytes.len() as u64);
                    connection.to_skip -= skipped;
                    bytes = &bytes[skipped as usize..];
                    if connection.held.len() + bytes.len() > MAX_HEAD_BYTES + buffer.len() {
                        return self.close(index);
                    }
                    connection.held.extend_from_slice(bytes);
                    self.requests(index, now);
                    // A short read means that there is no more.
                    if count < buffer.len() && !ending {
                        return;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => return self.close(index),
            }
        }
    }

    /// Takes the requests that have arrived, as long as none waits for its answer.
    fn requests(&mut self, index: usize, now: u64) {
        while self.take_request(index, now) {}
        self.count_memory(index);
    }

    /// Takes the next request of a connection. True when it is answered already.
    fn take_request(&mut self, index: usize, now: u64) -> bool {
        let known = self.connections[index].as_mut();
        let ready = known.filter(|connection| !connection.waiting && connection.unsent.is_empty());
        let Some(connection) = ready else { return false };
        let head = match parse(&connection.held) {
            Ok(None) if connection.held.len() <= MAX_HEAD_BYTES => return false,
            Ok(Some(head)) => head,
            Ok(None) | Err(BadHead) => {
                self.close(index);
                return false;
            }
        };
        let behind = connection.held.len() - head.used;
        let skipped = (head.body as usize).min(behind);
        connection.to_skip = head.body - skipped as u64;
        connection.held.drain(..head.used + skipped);
        connection.keep_alive = head.keep_alive;
        connection.waiting = true;
        connection.arrival_ns = now;
        let at = now + self.plan.upstreams[connection.upstream].draw_ns(&mut self.random);
        self.ledger.add(head.id.as_deref(), now, at);
        connection.id = head.id;
        if at > now {
            self.due.push(Reverse((at, index, connection.generation)));
            return false;
        }
        self.answer(index);
        true
    }

    fn answer(&mut self, index: usize) {
        if let Some(connection) = &mut self.connections[index] {
            // The answer may be late, which must not count as time of the gateway.
            let now = now_ns();
            let took_ns = now.saturating_sub(connection.arrival_ns);
            self.ledger.answered(connection.id.take().as_deref(), now, took_ns);
            connection.waiting = false;
            connection.unsent = if connection.keep_alive { KEPT } else { LAST };
            self.send(index);
        }
    }

    /// Counts the memory of a connection's requests, and closes it where those of all need too much.
    fn count_memory(&mut self, index: usize) {
        let Some(connection) = &mut self.connections[index] else { return };
        if connection.held.is_empty() && connection.held.capacity() > IDLE_BYTES {
            connection.held = Vec::new();
        }
        let bytes = connection.held.capacity();
        let before = std::mem::replace(&mut connection.counted_bytes, bytes);
        self.held_bytes = self.held_bytes - before + bytes;
        if self.held_bytes > MAX_HELD_BYTES {
            let mib = MAX_HELD_BYTES >> 20;
            self.flood
                .get_or_insert_with(|| format!("more than {mib} MiB of requests that are not answered"));
            self.close(index);
        }
    }

    fn send(&mut self, index: usize) {
        let unsent = self.connections[index].as_mut().filter(|connection| !connection.unsent.is_empty());
        let Some(connection) = unsent else { return };
        let is_over = loop {
            match net::send(&connection.socket, connection.unsent, SendFlags::NOSIGNAL) {
                Ok(count) => connection.unsent = &connection.unsent[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break false,
                Err(_) => break true,
            }
            if connection.unsent.is_empty() {
                break !connection.keep_alive;
            }
        };
        if is_over {
            self.close(index);
        }
    }
}

#[cfg(test)]
mod tests;
