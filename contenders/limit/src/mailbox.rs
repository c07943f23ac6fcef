//! Messages to a thread that waits in epoll: a queue, and a bell that wakes it.

use std::io;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;

use rustix::event::{eventfd, EventfdFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

pub struct Mailbox<M> {
    messages: Receiver<M>,
    bell: Arc<OwnedFd>,
}

pub struct Address<M> {
    messages: Sender<M>,
    bell: Arc<OwnedFd>,
}

impl<M> Clone for Address<M> {
    fn clone(&self) -> Self {
        Address {
            messages: self.messages.clone(),
            bell: Arc::clone(&self.bell),
        }
    }
}

pub fn mailbox<M>() -> io::Result<(Address<M>, Mailbox<M>)> {
    let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let (sender, receiver) = channel();
    let address = Address {
        messages: sender,
        bell: Arc::clone(&bell),
    };
    let mailbox = Mailbox {
        messages: receiver,
        bell,
    };
    Ok((address, mailbox))
}

impl<M> Address<M> {
    pub fn send(&self, message: M) {
        if self.messages.send(message).is_ok() {
            // It fails when the counter is full: then the bell rings already.
            let _ = rustix::io::write(self.bell.as_fd(), &1u64.to_ne_bytes());
        }
    }
}

impl<M> Mailbox<M> {
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    pub fn take(&self) -> impl Iterator<Item = M> + '_ {
        // Silenced first: a message that comes later rings again.
        let _ = rustix::io::read(self.bell(), &mut [0; 8]);
        self.messages.try_iter()
    }
}
