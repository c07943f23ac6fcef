//! The floor for fib: a thread for each core, which waits in epoll, reads,
//! computes and writes.
#![forbid(unsafe_code)]

mod connection;
mod recursion;

use std::io;
use std::net::{SocketAddrV4, TcpStream};
use std::process::exit;
use std::thread;

use limit::mailbox::{mailbox, Mailbox};
use limit::poll::{Interest, Poll, BELL};
use limit::slab::{Key, Slab};
use limit::{server, settings};

use connection::Connection;

const READ_BYTES: usize = 16 * 1024;

fn main() {
    let (at, cores) = settings::read("fib", |given| Ok((given.address()?, given.cores()?)));
    if let Err(error) = serve(at, cores) {
        eprintln!("fib: cannot serve: {error}");
        exit(1);
    }
}

fn serve(at: SocketAddrV4, cores: usize) -> io::Result<()> {
    let mut addresses = Vec::new();
    for _ in 0..cores {
        let (address, mailbox) = mailbox()?;
        thread::Builder::new().spawn(move || {
            if let Err(error) = Worker::new(mailbox).and_then(|mut worker| worker.run()) {
                eprintln!("fib: cannot wait: {error}");
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
    read: Vec<u8>,
    answers: Vec<u8>,
}

impl Worker {
    fn new(mailbox: Mailbox<TcpStream>) -> io::Result<Self> {
        Ok(Worker {
            poll: Poll::new(mailbox.bell())?,
            mailbox,
            connections: Slab::new(),
            read: vec![0; READ_BYTES],
            answers: Vec::new(),
        })
    }

    /// Returns only when epoll fails.
    fn run(&mut self) -> io::Result<()> {
        let mut happened = Vec::new();
        loop {
            self.poll.wait(None, &mut happened)?;
            for &(key, flags) in &happened {
                match key {
                    BELL => self.welcome(),
                    _ => self.go_on(key, flags),
                }
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
        let stays = match self.connections.get(key) {
            Some(one) if flags.contains(Interest::OUT) => one.write_rest(&self.poll, key),
            Some(one) => one.read(&mut self.read, &mut self.answers, &self.poll, key),
            None => return,
        };
        if !matches!(stays, Ok(true)) {
            self.connections.remove(key);
        }
    }
}
