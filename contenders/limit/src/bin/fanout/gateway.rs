//! One thread's share of the gateway: its clients, the time, and sums. Calls are in `calls`.

mod calls;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use limit::mailbox::{Address, Mailbox};
use limit::poll::{Interest, Poll, BELL};
use limit::slab::{Key, Slab};

use crate::call::{Call, Owner, Upstream};
use crate::client::{Answer, Client};
use crate::request::{parse, Parsed, Request, Route};
use crate::sum::Sum;
use crate::CALLS;
use calls::FAILED;

const READ_BYTES: usize = 64 * 1024;

#[derive(Clone)]
pub enum Kind {
    Io {
        upstreams: Vec<Upstream>,
        tick: Duration,
        timeout: Duration,
        /// Made after each call, where there is one.
        sum: Option<Sum>,
    },
    Cpu(Sum),
}

/// Messages between threads.
pub enum Message {
    Connection(TcpStream),
    Sum(Unit),
    Summed(Owner, Piece),
}

/// A sum to be made, for a client of that thread; after a call, whose status
/// goes with it.
pub struct Unit {
    thread: usize,
    owner: Owner,
    sum: Sum,
    status: Option<u16>,
}

/// The content of a message to a client: a status, a sum, or both.
pub struct Piece {
    status: Option<u16>,
    sum: Option<u64>,
}

impl Piece {
    fn write(&self, out: &mut Vec<u8>) {
        // Writing into memory does not fail.
        let _ = match (self.status, self.sum) {
            (Some(status), Some(sum)) => writeln!(out, "{status:03}:{sum}"),
            (Some(status), None) => write!(out, "{status:03}"),
            (None, Some(sum)) => writeln!(out, "{sum}"),
            (None, None) => Ok(()),
        };
    }
}

enum Peer {
    Client(Client),
    Call(Call),
}

pub struct Gateway {
    kind: Kind,
    mailbox: Mailbox<Message>,
    threads: Vec<Address<Message>>,
    this: usize,
    /// The thread that takes the next sum.
    turn: usize,
    poll: Poll,
    peers: Slab<Peer>,
    /// Connections without a call, by upstream; the last is used first. Some may
    /// have been closed since.
    idle: [Vec<Key>; CALLS],
    /// At most one for each answer, at its tick or earlier.
    wakings: BinaryHeap<Reverse<(Instant, Owner)>>,
    /// Messages for clients.
    found: VecDeque<(Owner, Piece)>,
    units: VecDeque<Unit>,
    serial: u64,
    read: Vec<u8>,
    out: Vec<u8>,
}

impl Gateway {
    pub fn new(
        kind: Kind,
        mailbox: Mailbox<Message>,
        threads: Vec<Address<Message>>,
        this: usize,
    ) -> io::Result<Self> {
        Ok(Gateway {
            kind,
            poll: Poll::new(mailbox.bell())?,
            mailbox,
            threads,
            this,
            turn: this,
            peers: Slab::new(),
            idle: [Vec::new(), Vec::new(), Vec::new()],
            wakings: BinaryHeap::new(),
            found: VecDeque::new(),
            units: VecDeque::new(),
            serial: 0,
            read: vec![0; READ_BYTES],
            out: Vec::new(),
        })
    }

    /// Returns only when epoll fails.
    pub fn run(&mut self) -> io::Result<()> {
        let mut happened = Vec::new();
        loop {
            let longest = match self.units.is_empty() {
                true => self.until_the_next_waking(),
                false => Some(Duration::ZERO),
            };
            self.poll.wait(longest, &mut happened)?;
            for &(key, flags) in &happened {
                match key {
                    BELL => self.take_messages(),
                    _ => self.go_on(key, flags),
                }
                self.tell();
            }
            self.wake();
            self.tell();
            // One at a time: what happened meanwhile is not to wait for all.
            if let Some(unit) = self.units.pop_front() {
                self.sum(&unit);
                self.tell();
            }
        }
    }

    fn take_messages(&mut self) {
        let messages: Vec<Message> = self.mailbox.take().collect();
        for message in messages {
            match message {
                Message::Connection(socket) => self.welcome(socket),
                Message::Sum(unit) => self.units.push_back(unit),
                Message::Summed(owner, piece) => self.found.push_back((owner, piece)),
            }
        }
    }

    fn welcome(&mut self, socket: TcpStream) {
        let key = self.peers.insert(Peer::Client(Client::new(socket)));
        let registered = match self.peers.get(key) {
            Some(Peer::Client(client)) => client.register(&self.poll, key),
            _ => Ok(()),
        };
        if registered.is_err() {
            self.peers.remove(key);
        }
    }

    fn go_on(&mut self, key: Key, flags: Interest) {
        match self.peers.get(key) {
            None => {}
            Some(Peer::Client(client)) => match client.go_on(flags, &mut self.read) {
                Ok(()) => self.advance(key),
                Err(_) => self.drop_client(key),
            },
            Some(Peer::Call(call)) => match call.owner {
                // An idle connection has nothing to say but its end.
                None => drop(self.peers.remove(key)),
                Some(owner) => {
                    let outcome = call.go_on(flags, &mut self.read, &self.poll, key);
                    self.follow(key, owner, outcome);
                }
            },
        }
    }

    // --- clients -------------------------------------------------------------

    fn client(&mut self, key: Key) -> Option<&mut Client> {
        match self.peers.get(key) {
            Some(Peer::Client(client)) => Some(client),
            _ => None,
        }
    }

    /// The answer that an owner's number means, if it is still under way.
    fn answer(&mut self, owner: Owner) -> Option<&mut Answer> {
        let answer = self.client(owner.0)?.answer.as_mut();
        answer.filter(|answer| answer.serial == owner.1)
    }

    /// Looks at requests that have come until one is under way.
    fn advance(&mut self, key: Key) {
        loop {
            let client = match self.client(key) {
                Some(client) if client.is_free() => client,
                _ => break,
            };
            let said = match parse(&client.input) {
                Parsed::Partial => break,
                Parsed::Bad => client.say_short("400 Bad Request", false),
                Parsed::Whole(request) => {
                    client.input.drain(..request.length);
                    match request.route {
                        Route::NotFound => client.say_short("404 Not Found", request.keep),
                        Route::NotAllowed => {
                            client.say_short("405 Method Not Allowed", request.keep)
                        }
                        Route::Root => {
                            self.begin(key, &request);
                            Ok(())
                        }
                    }
                }
            };
            if said.is_err() {
                return self.drop_client(key);
            }
        }
        self.settle(key);
    }

    fn settle(&mut self, key: Key) {
        let stays = match self.peers.get(key) {
            Some(Peer::Client(client)) => {
                !client.is_done() && client.settle(&self.poll, key).is_ok()
            }
            _ => return,
        };
        if !stays {
            self.drop_client(key);
        }
    }

    fn drop_client(&mut self, key: Key) {
        if let Some(Peer::Client(client)) = self.peers.remove(key) {
            if let Some(answer) = client.answer {
                self.abandon(&answer.calls, (key, answer.serial));
            }
        }
    }

    fn begin(&mut self, key: Key, request: &Request) {
        self.serial += 1;
        let owner = (key, self.serial);
        let mut answer = Answer::new(self.serial, request);
        let waking = match &self.kind {
            Kind::Io { tick, timeout, .. } => {
                let now = Instant::now();
                answer.next_tick = Some(now + *tick);
                answer.give_up = Some(now + *timeout);
                answer.waking()
            }
            Kind::Cpu(_) => None,
        };
        if let Some(client) = self.client(key) {
            client.answer = Some(answer);
        }
        if let Some(instant) = waking {
            self.wakings.push(Reverse((instant, owner)));
        }
        for number in 0..CALLS {
            match self.kind {
                Kind::Io { .. } => self.call(number, owner, request.id.as_deref()),
                Kind::Cpu(sum) => self.deal(Unit {
                    thread: self.this,
                    owner,
                    sum,
                    status: None,
                }),
            }
        }
    }

    /// Tells clients what has been found for them.
    fn tell(&mut self) {
        while let Some((owner, found)) = self.found.pop_front() {
            let mut piece = Vec::with_capacity(32);
            found.write(&mut piece);
            let last = match self.answer(owner) {
                None => continue,
                Some(answer) => {
                    answer.missing -= 1;
                    answer.missing == 0
                }
            };
            self.say(owner, &piece, last);
            if last {
                self.advance(owner.0);
            }
        }
    }

    fn say(&mut self, owner: Owner, piece: &[u8], last: bool) {
        let said = match self.peers.get(owner.0) {
            Some(Peer::Client(client)) => client.say(piece, last, &mut self.out),
            _ => return,
        };
        if said.is_err() {
            return self.drop_client(owner.0);
        }
        if let Kind::Io { tick, .. } = self.kind {
            if let Some(answer) = self.answer(owner) {
                answer.next_tick = Some(Instant::now() + tick);
            }
        }
        self.settle(owner.0);
    }

    // --- time ----------------------------------------------------------------

    fn until_the_next_waking(&mut self) -> Option<Duration> {
        while let Some(&Reverse((instant, owner))) = self.wakings.peek() {
            // An answer that has been given needs no waking.
            if self.answer(owner).is_some() {
                return Some(instant.saturating_duration_since(Instant::now()));
            }
            self.wakings.pop();
        }
        None
    }

    /// Gives up calls that take too long, and writes the dots that are due. A
    /// status that was written meanwhile has put off the tick.
    fn wake(&mut self) {
        while let Some(&Reverse((instant, owner))) = self.wakings.peek() {
            let now = Instant::now();
            if instant > now {
                return;
            }
            self.wakings.pop();
            let (calls, over, tick) = match self.answer(owner) {
                None => continue,
                Some(answer) => (
                    answer.calls,
                    answer.give_up <= Some(now),
                    answer.next_tick <= Some(now),
                ),
            };
            if over {
                for _ in 0..self.abandon(&calls, owner) {
                    self.called(owner, FAILED);
                }
                continue;
            }
            if tick {
                self.say(owner, b".", false);
            }
            if let Some(instant) = self.answer(owner).and_then(|answer| answer.waking()) {
                self.wakings.push(Reverse((instant, owner)));
            }
        }
    }

    // --- kind=cpu and mixed ------------------------------------------------------------

    /// Deals a sum to the threads in turn.
    fn deal(&mut self, unit: Unit) {
        self.turn = (self.turn + 1) % self.threads.len();
        match self.turn == self.this {
            true => self.units.push_back(unit),
            false => self.threads[self.turn].send(Message::Sum(unit)),
        }
    }

    fn sum(&mut self, unit: &Unit) {
        let piece = Piece {
            status: unit.status,
            sum: Some(unit.sum.total()),
        };
        match unit.thread == self.this {
            true => self.found.push_back((unit.owner, piece)),
            false => self.threads[unit.thread].send(Message::Summed(unit.owner, piece)),
        }
    }
}
