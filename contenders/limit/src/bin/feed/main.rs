//! The floor for feed: a thread for each core, which waits in epoll and sends the chunks that are due.
#![forbid(unsafe_code)]

mod connection;
mod message;
mod request;

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddrV4, TcpStream};
use std::process::exit;
use std::thread;
use std::time::{Duration, Instant};

use limit::mailbox::{mailbox, Mailbox};
use limit::poll::{Interest, Poll, BELL};
use limit::slab::{Key, Slab};
use limit::{server, settings};

use connection::{Connection, State};

const READ_BYTES: usize = 16 * 1024;
/// Whatever becomes due within so long is sent after one wait.
const TICK_NS: u64 = 1_000_000;

fn main() {
    let (at, cores, interval_ms) = settings::read("feed", |given| {
        let interval_ms = given.whole_number_or("interval_ms", 1, 3_600_000, 1000)?;
        Ok((given.address()?, given.cores()?, interval_ms))
    });
    if let Err(error) = serve(at, cores, interval_ms * 1_000_000) {
        eprintln!("feed: cannot serve: {error}");
        exit(1);
    }
}

fn serve(at: SocketAddrV4, cores: usize, interval_ns: u64) -> io::Result<()> {
    let mut addresses = Vec::new();
    for _ in 0..cores {
        let (address, mailbox) = mailbox()?;
        thread::Builder::new().spawn(move || {
            let worker = Worker::new(mailbox, interval_ns);
            if let Err(error) = worker.and_then(|mut worker| worker.run()) {
                eprintln!("feed: cannot wait: {error}");
                exit(1);
            }
        })?;
        addresses.push(address);
    }
    server::deal(&server::begin(at)?, &addresses, |socket| socket)
}

struct Worker {
    mailbox: Mailbox<TcpStream>,
    poll: Poll,
    connections: Slab<Connection>,
    /// Feeds in the order in which their next chunks are due: all have the same interval, so
    /// who was first is first again.
    waiting: VecDeque<Key>,
    interval_ns: u64,
    begun: Instant,
    read: Vec<u8>,
    /// The message that is being sent.
    out: Vec<u8>,
}

impl Worker {
    fn new(mailbox: Mailbox<TcpStream>, interval_ns: u64) -> io::Result<Self> {
        Ok(Worker {
            poll: Poll::new(mailbox.bell())?,
            mailbox,
            connections: Slab::new(),
            waiting: VecDeque::new(),
            interval_ns,
            begun: Instant::now(),
            read: vec![0; READ_BYTES],
            out: Vec::new(),
        })
    }

    fn now_ns(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// Returns only when epoll fails.
    fn run(&mut self) -> io::Result<()> {
        let mut happened = Vec::new();
        loop {
            let longest = self.send_due();
            self.poll.wait(longest, &mut happened)?;
            for &(key, flags) in &happened {
                match key {
                    BELL => self.welcome(),
                    _ => self.go_on(key, flags),
                }
            }
        }
    }

    /// Sends all that is due; gives how long nothing will be.
    fn send_due(&mut self) -> Option<Duration> {
        let now = self.now_ns();
        loop {
            let key = *self.waiting.front()?;
            let due = match self
                .connections
                .get(key)
                .and_then(|one| one.due_ns(self.interval_ns))
            {
                Some(due) => due,
                // It has gone.
                None => {
                    self.waiting.pop_front();
                    continue;
                }
            };
            if due > now {
                let tick = due + TICK_NS - due % TICK_NS;
                return Some(Duration::from_nanos(tick - now));
            }
            self.waiting.pop_front();
            let (poll, out) = (&self.poll, &mut self.out);
            let one = self.connections.get(key);
            match one.map(|one| one.send_next(poll, key, out)) {
                Some(Ok(())) => self.waiting.push_back(key),
                _ => drop(self.connections.remove(key)),
            }
        }
    }

    fn welcome(&mut self) {
        for socket in self.mailbox.take() {
            let key = self.connections.insert(Connection::new(socket));
            let known = self
                .connections
                .get(key)
                .map(|one| one.register(&self.poll, key));
            if !matches!(known, Some(Ok(()))) {
                self.connections.remove(key);
            }
        }
    }

    fn go_on(&mut self, key: Key, flags: Interest) {
        let (poll, out, begun) = (&self.poll, &mut self.out, self.begun);
        let one = match self.connections.get(key) {
            Some(one) => one,
            None => return,
        };
        let state = match flags {
            _ if flags.intersects(Interest::HUP | Interest::ERR) => State::Over,
            _ if flags.contains(Interest::OUT) => one.write_rest(poll, key, out),
            _ => one.read(&mut self.read),
        };
        let stays = match state {
            State::Same => return,
            State::Begun => one
                .begin(poll, key, out, || begun.elapsed().as_nanos() as u64)
                .is_ok(),
            State::Over => false,
        };
        match stays {
            true => self.waiting.push_back(key),
            false => drop(self.connections.remove(key)),
        }
    }
}
