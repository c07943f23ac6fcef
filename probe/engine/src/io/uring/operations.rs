//! The operations of io_uring: begins them, counts them by entry, and cancels them. What the kernel reads for an
//! operation belongs to the entry, until the operation has completed.
#![allow(unsafe_code)]

use super::entries::{Entries, Entry};
use super::stamps::Stamps;
use crate::io::buffers::GROUP;
use crate::io::ring::{Ring, ALL};
use crate::io::stamp::{self, Stamping};
use crate::io::{Slot, Wait};
use io_uring::types::{CancelBuilder, Fd};
use io_uring::{cqueue, opcode, squeue, Submitter};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SocketAddrAny;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};
use wire::clock::now_ns;

/// The longest wait for pending operations when the ring is dropped, and for one of them.
const DRAIN_TIME: Duration = Duration::from_secs(5);
const LOOK_NS: u64 = 100_000_000;
/// The cancellation of all operations, which belongs to no entry.
const CANCEL_ALL: u64 = u64::MAX;

/// The low two bits of what the kernel hands back with a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Connect,
    Send,
    Receive,
    Cancel,
}

/// An operation has completed; a receive, perhaps, only in part.
pub struct Completion {
    pub index: u32,
    pub kind: Kind,
    pub result: i32,
    /// Others of the same operation follow.
    pub more: bool,
    /// The buffer that holds what was received.
    pub buffer: Option<u16>,
}

impl Completion {
    fn of(entry: &cqueue::Entry) -> Completion {
        let (data, flags) = (entry.user_data(), entry.flags());
        Completion {
            index: (data >> 2) as u32,
            kind: match data & 3 {
                0 => Kind::Connect,
                1 => Kind::Send,
                2 => Kind::Receive,
                _ => Kind::Cancel,
            },
            result: entry.result(),
            more: cqueue::more(flags),
            buffer: cqueue::buffer_select(flags),
        }
    }
}

pub struct Operations {
    ring: Ring,
    pub entries: Entries,
    stamping: Stamping,
    stamps: Stamps,
}

impl Operations {
    /// The error: the kernel or the container does not allow an operation that is needed.
    pub fn new(slots: usize, stamping: Stamping) -> io::Result<Operations> {
        Ok(Operations {
            ring: Ring::new()?,
            entries: Entries::new(slots),
            stamping,
            stamps: Stamps::new(),
        })
    }

    pub fn submitter(&self) -> Submitter<'_> {
        self.ring.submitter()
    }

    /// The system calls so far that waited or looked.
    #[cfg(test)]
    pub fn calls(&self) -> u64 {
        self.ring.calls
    }

    fn push(&mut self, index: u32, kind: Kind, operation: squeue::Entry) -> io::Result<()> {
        let operation = operation.user_data(u64::from(index) << 2 | kind as u64);
        // SAFETY: the entry owns the memory that the operation points to, until the operation has completed.
        while unsafe { self.ring.submission().push(&operation) }.is_err() {
            self.ring.flush()?;
        }
        if let Some(entry) = self.entries.get_mut(index) {
            entry.operations += 1;
        }
        Ok(())
    }

    /// Begins the connect of a new entry, which stands for the slot, by a call of its own. Returns when.
    pub fn connect(
        &mut self,
        slot: Slot,
        socket: OwnedFd,
        address: &SocketAddrAny,
    ) -> io::Result<u64> {
        let is_stamped = self.stamping.includes(slot);
        if is_stamped {
            stamp::enable(&socket);
        }
        // Shared: a pointer into a box would be invalid once the box has moved.
        let address = Rc::new(address.clone());
        let (pointer, length) = (address.as_ptr(), address.addr_len());
        let connect = opcode::Connect::new(Fd(socket.as_raw_fd()), pointer.cast(), length).build();
        let entry = Entry::new(socket, slot, address, is_stamped);
        let index = self.entries.insert(entry);
        let index = index.ok_or_else(|| io::Error::from_raw_os_error(libc::EMFILE))?;
        let began_ns = now_ns();
        self.push(index, Kind::Connect, connect)?;
        self.ring.hand_over()?;
        Ok(began_ns)
    }

    pub fn receive(&mut self, index: u32) -> io::Result<()> {
        let Some(entry) = self.entries.get_mut(index) else {
            return Ok(());
        };
        entry.receiving = true;
        let socket = Fd(entry.socket.as_raw_fd());
        let receive = match entry.is_stamped {
            false => opcode::RecvMulti::new(socket, GROUP).build(),
            true => opcode::RecvMsgMulti::new(socket, self.stamps.header(), GROUP).build(),
        };
        self.push(index, Kind::Receive, receive)
    }

    /// Sends what an entry has queued by send(2), which needs no completion; what the kernel has no room for is sent by an
    /// operation, which waits. `begins` gets the slot and the instant before the first call for what was queued.
    pub fn send(&mut self, index: u32, mut begins: impl FnMut(Slot, u64)) -> io::Result<()> {
        let Some(entry) = self.entries.get_mut(index) else {
            return Ok(());
        };
        let (slot, socket) = (entry.slot, Fd(entry.socket.as_raw_fd()));
        let begun = |at_ns| {
            if let Some(slot) = slot {
                begins(slot, at_ns);
            }
        };
        match entry.out.send(&entry.socket, begun) {
            Err(Errno::AGAIN) => {}
            done => return done.map_err(io::Error::from),
        }
        let Some((bytes, _)) = entry.out.next() else {
            return Ok(());
        };
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let send = opcode::Send::new(socket, bytes.as_ptr(), length);
        self.push(index, Kind::Send, send.flags(libc::MSG_NOSIGNAL).build())
    }

    /// Cancels the operations of an entry.
    pub fn cancel(&mut self, index: u32) -> io::Result<()> {
        let Some(entry) = self.entries.get(index) else {
            return Ok(());
        };
        let all = CancelBuilder::fd(Fd(entry.socket.as_raw_fd())).all();
        self.push(index, Kind::Cancel, opcode::AsyncCancel2::new(all).build())
    }

    /// Closes an entry; where operations are pending they are cancelled first.
    pub fn retire(&mut self, index: u32) -> io::Result<()> {
        let was_open = self.entries.detach(index);
        let Some(entry) = self.entries.get(index) else {
            return Ok(());
        };
        if entry.operations == 0 {
            self.entries.remove(index);
        } else if was_open {
            return self.cancel(index);
        }
        Ok(())
    }

    /// Submits operations and waits.
    pub fn wait(&mut self, wait: Wait) -> io::Result<()> {
        match wait {
            Wait::No => self.ring.submit(),
            Wait::Event(until_ns) => self.ring.wait(1, until_ns),
            // One call sleeps and takes what has arrived.
            Wait::Instant(at_ns) | Wait::Sleep(at_ns) => self.ring.wait(ALL, at_ns),
        }
    }

    /// Takes the completions after a wait.
    pub fn completed(&mut self, completed: &mut Vec<Completion>) {
        let queue = self.ring.completion();
        self.stamps.woken();
        completed.clear();
        completed.extend(queue.map(|entry| Completion::of(&entry)));
    }

    /// The bytes of a message that an entry has received, and when they came, where that is stamped.
    pub fn split<'a>(&mut self, index: u32, message: &'a [u8]) -> (&'a [u8], Option<u64>) {
        match self.entries.get(index) {
            Some(entry) if entry.is_stamped => self.stamps.split(message),
            _ => (message, None),
        }
    }

    /// Never frees what the kernel may still read or write.
    pub fn leak(&mut self) {
        self.entries.leak();
        std::mem::forget(std::mem::replace(&mut self.stamps, Stamps::new()));
    }

    /// Cancels all pending operations, and waits for their completions.
    pub fn drain(&mut self) -> io::Result<()> {
        let mut pending = self.entries.operations();
        if pending == 0 {
            return Ok(());
        }
        let cancel = opcode::AsyncCancel2::new(CancelBuilder::any()).build();
        let cancel = cancel.user_data(CANCEL_ALL);
        // SAFETY: the operation points to no memory.
        while unsafe { self.ring.submission().push(&cancel) }.is_err() {
            self.ring.flush()?;
        }
        pending += 1;
        let start = Instant::now();
        while pending > 0 {
            self.ring.wait(1, now_ns() + LOOK_NS)?;
            let completions = self.ring.completion();
            pending -= completions
                .filter(|completion| !cqueue::more(completion.flags()))
                .count() as u64;
            if pending > 0 && start.elapsed() > DRAIN_TIME {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }
}
