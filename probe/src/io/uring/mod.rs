//! The fast back-end: io_uring with multishot receives into a ring of buffers, and one system
//! call for each turn.
#![allow(unsafe_code)]

mod entries;
mod stamps;

use super::buffers::{Buffers, GROUP};
use super::ring::{Ring, ALL, COMPLETIONS, SUBMISSIONS};
use super::stamp;
use super::{CloseReason, Handler, Io, Next, Slot, Wait};
use crate::clock::now_ns;
use entries::{Entries, Entry, Queued};
use io_uring::types::{CancelBuilder, Fixed};
use io_uring::{cqueue, opcode, squeue};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::SocketAddrAny;
use stamps::Stamps;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long is waited for one of them.
const LOOK_NS: u64 = 100_000_000;
/// The longest wait for pending operations when the ring is dropped.
const DRAIN_TIME: Duration = Duration::from_secs(5);

const CONNECT: u64 = 0;
const SEND: u64 = 1;
const RECEIVE: u64 = 2;
const CANCEL: u64 = 3;
/// The cancellation of all operations, which belongs to no entry.
const CANCEL_ALL: u64 = u64::MAX;

pub struct Uring {
    ring: Ring,
    buffers: Buffers,
    entries: Entries,
    completed: Vec<(u64, i32, u32)>,
    /// Sends in the submission queue, and sends that went to the kernel since the last turn.
    queued: Vec<Slot>,
    submitted: Vec<(Slot, u64)>,
    /// Where reads are stamped.
    stamps: Option<Stamps>,
}

impl Uring {
    /// The error: the kernel or the container does not allow an operation that is needed (Linux 6.1).
    /// `stamped`: whether reads have the kernel's stamps.
    pub fn new(slots: usize, stamped: bool) -> io::Result<Uring> {
        let ring = Ring::new()?;
        let entries = Entries::new(slots);
        let files = entries.capacity();
        ring.submitter().register_files_sparse(files)?;
        let buffers = Buffers::new(ring.submitter())?;
        Ok(Uring {
            ring,
            buffers,
            entries,
            completed: Vec::with_capacity(COMPLETIONS as usize),
            queued: Vec::with_capacity(SUBMISSIONS as usize),
            submitted: Vec::with_capacity(SUBMISSIONS as usize),
            stamps: stamped.then(Stamps::new),
        })
    }

    fn push(&mut self, index: u32, kind: u64, operation: squeue::Entry) -> io::Result<()> {
        let operation = operation.user_data(u64::from(index) << 2 | kind);
        // SAFETY: the entry owns the memory that the operation points to, until the operation has completed.
        while unsafe { self.ring.submission().push(&operation) }.is_err() {
            self.stamp_sends();
            self.ring.flush()?;
        }
        if let Some(entry) = self.entries.get_mut(index) {
            entry.operations += 1;
        }
        Ok(())
    }

    fn push_receive(&mut self, index: u32) -> io::Result<()> {
        if let Some(entry) = self.entries.get_mut(index) {
            entry.receiving = true;
        }
        let receive = match &self.stamps {
            None => opcode::RecvMulti::new(Fixed(index), GROUP).build(),
            Some(stamps) => opcode::RecvMsgMulti::new(Fixed(index), stamps.header(), GROUP).build(),
        };
        self.push(index, RECEIVE, receive)
    }

    fn push_send(&mut self, index: u32) -> io::Result<()> {
        if let Some(entry) = self.entries.get(index) {
            if let Some((bytes, begins)) = entry.unsent() {
                let first = entry.slot.filter(|_| begins);
                let send = opcode::Send::new(Fixed(index), bytes.as_ptr(), bytes.len() as u32);
                let send = send.flags(libc::MSG_NOSIGNAL).build();
                self.push(index, SEND, send)?;
                self.queued.extend(first);
            }
        }
        Ok(())
    }

    /// The queued sends go to the kernel now.
    fn stamp_sends(&mut self) {
        if !self.queued.is_empty() {
            let now = now_ns();
            let queued = self.queued.drain(..);
            self.submitted.extend(queued.map(|slot| (slot, now)));
        }
    }

    /// Closes an entry; where operations are pending they are cancelled first.
    fn retire(&mut self, index: u32) -> io::Result<()> {
        let was_open = self.entries.part(index);
        let Some(entry) = self.entries.get(index) else {
            return Ok(());
        };
        if entry.operations == 0 {
            self.entries.remove(index);
            self.ring.submitter().register_files_update(index, &[-1])?;
            self.entries.release(index);
        } else if was_open {
            let all = CancelBuilder::fd(Fixed(index)).all();
            return self.push(index, CANCEL, opcode::AsyncCancel2::new(all).build());
        }
        Ok(())
    }

    fn end(
        &mut self,
        index: u32,
        reason: CloseReason,
        handler: &mut impl Handler,
    ) -> io::Result<()> {
        let slot = self.entries.slot_of(index);
        self.retire(index)?;
        if let Some(slot) = slot {
            handler.closed(slot, reason);
        }
        Ok(())
    }

    fn follow(&mut self, index: u32, next: Next, handler: &mut impl Handler) -> io::Result<()> {
        match next {
            Next::Wait => Ok(()),
            Next::Close => self.retire(index),
            Next::Send(bytes) => {
                let Some(entry) = self.entries.get_mut(index) else {
                    return Ok(());
                };
                match entry.queue(bytes) {
                    Queued::Next => self.push_send(index),
                    Queued::Behind => Ok(()),
                    Queued::TooMany => {
                        self.end(index, CloseReason::SendFailed(libc::ENOBUFS), handler)
                    }
                }
            }
        }
    }

    fn complete(
        &mut self,
        (data, result, flags): (u64, i32, u32),
        handler: &mut impl Handler,
    ) -> io::Result<()> {
        let (index, kind) = ((data >> 2) as u32, data & 3);
        let more = cqueue::more(flags);
        let slot = match self.entries.get_mut(index) {
            Some(entry) => {
                entry.operations -= u32::from(!more);
                entry.slot
            }
            None => None,
        };
        let buffer = cqueue::buffer_select(flags);
        match slot {
            None => {
                if let Some(buffer) = buffer {
                    self.buffers.give_back(buffer);
                }
                self.retire(index)
            }
            Some(slot) => match kind {
                CONNECT if result < 0 => {
                    self.end(index, CloseReason::NotConnected(-result), handler)
                }
                CONNECT => {
                    self.push_receive(index)?;
                    let next = handler.connected(slot);
                    self.follow(index, next, handler)
                }
                SEND if result < 0 => self.end(index, CloseReason::SendFailed(-result), handler),
                SEND => {
                    if let Some(entry) = self.entries.get_mut(index) {
                        entry.sent(result as usize);
                    }
                    self.push_send(index)
                }
                RECEIVE => self.received(index, slot, result, more, buffer, handler),
                _ => Ok(()),
            },
        }
    }

    fn received(
        &mut self,
        index: u32,
        slot: Slot,
        result: i32,
        more: bool,
        buffer: Option<u16>,
        handler: &mut impl Handler,
    ) -> io::Result<()> {
        let mut result = result;
        if let Some(buffer) = buffer {
            let whole = self.buffers.bytes(buffer, result.max(0) as usize);
            let (bytes, arrived_ns) = match &self.stamps {
                Some(stamps) => stamps.split(whole),
                None => (whole, None),
            };
            result = result.min(bytes.len() as i32);
            let next = match bytes.is_empty() {
                true => Next::Wait,
                false => handler.received(slot, bytes, arrived_ns),
            };
            self.buffers.give_back(buffer);
            self.follow(index, next, handler)?;
        }
        match result {
            0 => return self.end(index, CloseReason::Finished, handler),
            // It ended for want of buffers, or by `pause`.
            count if count >= 0 || [-libc::ENOBUFS, -libc::ECANCELED].contains(&count) => {}
            error => return self.end(index, CloseReason::ReceiveFailed(-error), handler),
        }
        if more || self.entries.slot_of(index) != Some(slot) {
            return Ok(());
        }
        match self.entries.get_mut(index) {
            Some(entry) if entry.paused => {
                entry.receiving = false;
                Ok(())
            }
            // It ended for want of buffers, or of room in the completion queue: started again.
            _ => self.push_receive(index),
        }
    }

    /// Cancels all pending operations, and waits for their completions.
    fn drain(&mut self) -> io::Result<()> {
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

impl Io for Uring {
    const NONBLOCKING: bool = false;

    fn open(&mut self, slot: Slot, socket: OwnedFd, address: &SocketAddrAny) -> io::Result<()> {
        if self.stamps.is_some() {
            stamp::enable(&socket);
        }
        let index = self
            .entries
            .reserve()
            .ok_or_else(|| io::Error::from_raw_os_error(libc::EMFILE))?;
        if let Err(error) = self
            .ring
            .submitter()
            .register_files_update(index, &[socket.as_raw_fd()])
        {
            self.entries.release(index);
            return Err(error);
        }
        let address = Box::new(address.clone());
        let (pointer, length) = (address.as_ptr(), address.addr_len());
        self.entries
            .insert(index, Entry::new(socket, slot, address));
        let connect = opcode::Connect::new(Fixed(index), pointer.cast(), length).build();
        self.push(index, CONNECT, connect)
    }

    fn send(&mut self, slot: Slot, bytes: Rc<[u8]>, handler: &mut impl Handler) {
        if let Some(index) = self.entries.index_of(slot) {
            if let Err(error) = self.follow(index, Next::Send(bytes), handler) {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                let _ = self.end(index, CloseReason::SendFailed(errno), handler);
            }
        }
    }

    fn close(&mut self, slot: Slot) {
        if let Some(index) = self.entries.index_of(slot) {
            let _ = self.retire(index);
        }
    }

    fn socket(&self, slot: Slot) -> Option<&OwnedFd> {
        let entry = self.entries.get(self.entries.index_of(slot)?);
        entry.map(|entry| &entry.socket)
    }

    fn pause(&mut self, slot: Slot) {
        if let Some((index, entry)) = self.entries.of_slot(slot) {
            entry.paused = true;
            let all = CancelBuilder::fd(Fixed(index)).all();
            // Where it cannot be cancelled, reading goes on: the peer is not held up, which is harmless.
            let _ = self.push(index, CANCEL, opcode::AsyncCancel2::new(all).build());
        }
    }

    fn resume(&mut self, slot: Slot, handler: &mut impl Handler) {
        let restarted = match self.entries.of_slot(slot) {
            Some((index, entry)) if entry.paused => {
                entry.paused = false;
                (!entry.receiving).then_some(index)
            }
            _ => None,
        };
        if let Some(index) = restarted {
            if let Err(error) = self.push_receive(index) {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                let _ = self.end(index, CloseReason::ReceiveFailed(errno), handler);
            }
        }
    }

    fn turn(&mut self, wait: Wait, handler: &mut impl Handler) -> io::Result<()> {
        self.stamp_sends();
        for (slot, at_ns) in self.submitted.drain(..) {
            handler.sending(slot, at_ns);
        }
        match wait {
            Wait::No => self.ring.submit()?,
            Wait::Event(until_ns) => self.ring.wait(1, until_ns)?,
            Wait::Instant(at_ns) => self.ring.wait(ALL, at_ns)?,
        }
        let now = now_ns();
        let queue = self.ring.completion();
        if let Some(stamps) = self.stamps.as_mut().filter(|_| !queue.is_empty()) {
            stamps.woken(now);
        }
        handler.woken(now);
        let mut completed = std::mem::take(&mut self.completed);
        completed.clear();
        completed.extend(queue.map(|entry| (entry.user_data(), entry.result(), entry.flags())));
        let mut done = Ok(());
        for &completion in &completed {
            done = done.and(self.complete(completion, handler));
        }
        self.buffers.publish();
        self.completed = completed;
        done
    }
}

/// The kernel may write into buffers, and read requests, until the operations that use them have completed.
impl Drop for Uring {
    fn drop(&mut self) {
        if self.drain().is_err() {
            // Memory that the kernel may still use is not freed.
            self.buffers.leak();
            self.entries.leak();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::socket;
    use std::io::{Read, Write};

    struct Ignore;

    impl Handler for Ignore {
        fn connected(&mut self, _: Slot) -> Next {
            Next::Wait
        }
        fn received(&mut self, _: Slot, _: &[u8], _: Option<u64>) -> Next {
            Next::Wait
        }
        fn sending(&mut self, _: Slot, _: u64) {}
        fn woken(&mut self, _: u64) {}
        fn closed(&mut self, _: Slot, _: CloseReason) {}
    }

    #[test]
    fn pending_operations_are_drained() {
        let Ok(mut uring) = Uring::new(2, false) else {
            return;
        };
        assert!(uring.drain().is_ok());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = SocketAddrAny::from(listener.local_addr().unwrap());
        for slot in 0..2 {
            let socket = socket::<Uring>(address.address_family()).unwrap();
            uring.open(slot, socket, &address).unwrap();
        }
        uring.turn(Wait::No, &mut Ignore).unwrap();
        let mut peers = [listener.accept(), listener.accept()].map(|peer| peer.unwrap().0);
        while (0..2).any(|index| !uring.entries.get(index).unwrap().receiving) {
            uring
                .turn(Wait::Event(now_ns() + 10_000_000), &mut Ignore)
                .unwrap();
        }
        peers[0].write_all(b"not read yet").unwrap();
        uring.close(1);
        assert!(uring.drain().is_ok());
        for index in 0..2 {
            uring.entries.get_mut(index).unwrap().operations = 0;
        }
        drop(uring);
        // The sockets are closed: nothing of the ring holds them.
        peers[1]
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        assert_eq!(peers[1].read_to_end(&mut Vec::new()).unwrap(), 0);
    }
}
