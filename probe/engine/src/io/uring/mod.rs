//! The fast back-end: io_uring with multishot receives into a ring of buffers, one system call for all of a turn, and one
//! for each send, so that it has a time of its own. What follows from each completion is here; the operations themselves
//! are in `operations`.

mod entries;
mod operations;
mod stamps;

use super::buffers::Buffers;
use super::outbox::Queued;
use super::ring::COMPLETIONS;
use super::stamp::Stamping;
use super::{Ending, Handler, Io, Next, Part, Slot, Wait};
use operations::{Completion, Kind, Operations};
use rustix::fd::OwnedFd;
use rustix::net::SocketAddrAny;
use std::io;
use std::rc::Rc;
use wire::clock::now_ns;

pub struct Uring {
    operations: Operations,
    buffers: Buffers,
    completed: Vec<Completion>,
    /// Entries of which a send has failed, perhaps closed since: what the peer has sent before is read first.
    failed: Vec<u32>,
}

impl Uring {
    /// The error: the kernel or the container does not allow an operation that is needed (Linux 6.1).
    pub fn new(slots: usize, stamping: Stamping) -> io::Result<Uring> {
        let operations = Operations::new(slots, stamping)?;
        let buffers = Buffers::new(operations.submitter())?;
        Ok(Uring {
            operations,
            buffers,
            completed: Vec::with_capacity(COMPLETIONS as usize),
            failed: Vec::new(),
        })
    }

    fn end(&mut self, index: u32, reason: Ending, handler: &mut impl Handler) -> io::Result<()> {
        let entry = self.operations.entries.get(index);
        let slot = entry.and_then(|entry| entry.slot);
        let failed = entry.and_then(|entry| entry.failed);
        let reason = failed.map_or(reason, Ending::SendFailed);
        self.operations.retire(index)?;
        if let Some(slot) = slot {
            handler.ended(slot, reason);
        }
        Ok(())
    }

    fn follow(&mut self, index: u32, next: Next, handler: &mut impl Handler) -> io::Result<()> {
        match next {
            Next::Wait => Ok(()),
            Next::Close => self.operations.retire(index),
            Next::Send(bytes) => {
                let Some(entry) = self.operations.entries.get_mut(index) else {
                    return Ok(());
                };
                match entry.out.queue(bytes) {
                    Queued::Next => {
                        self.send_next(index, handler);
                        Ok(())
                    }
                    Queued::Behind => Ok(()),
                    Queued::TooMany => self.end(index, Ending::SendFailed(libc::ENOBUFS), handler),
                }
            }
        }
    }

    /// Sends what an entry has queued.
    fn send_next(&mut self, index: u32, handler: &mut impl Handler) {
        let begins = |slot, at_ns| handler.sending(slot, at_ns);
        if let Err(error) = self.operations.send(index, begins) {
            self.fail(index, error.raw_os_error().unwrap_or(libc::EIO));
        }
    }

    fn fail(&mut self, index: u32, errno: i32) {
        if let Some(entry) = self.operations.entries.get_mut(index) {
            entry.failed = Some(errno);
            self.failed.push(index);
        }
    }

    /// `later`: the completions of the same turn that follow.
    fn complete(
        &mut self,
        completion: &Completion,
        later: &[Completion],
        handler: &mut impl Handler,
    ) -> io::Result<()> {
        let &Completion {
            index,
            kind,
            result,
            more,
            buffer,
        } = completion;
        let slot = match self.operations.entries.get_mut(index) {
            Some(entry) => {
                entry.operations -= u32::from(!more);
                entry.slot
            }
            None => None,
        };
        let Some(slot) = slot else {
            if let Some(buffer) = buffer {
                self.buffers.give_back(buffer);
            }
            return self.operations.retire(index);
        };
        match kind {
            Kind::Connect if result < 0 => self.end(index, Ending::NotConnected(-result), handler),
            Kind::Connect => {
                self.operations.receive(index)?;
                let next = handler.connected(slot);
                self.follow(index, next, handler)
            }
            Kind::Send if result < 0 => {
                self.fail(index, -result);
                Ok(())
            }
            Kind::Send => {
                if let Some(entry) = self.operations.entries.get_mut(index) {
                    entry.out.sent(result as usize);
                }
                self.send_next(index, handler);
                Ok(())
            }
            Kind::Receive => self.received(slot, completion, later, handler),
            Kind::Cancel => Ok(()),
        }
    }

    fn received(
        &mut self,
        slot: Slot,
        completion: &Completion,
        later: &[Completion],
        handler: &mut impl Handler,
    ) -> io::Result<()> {
        let index = completion.index;
        let mut result = completion.result;
        // A send can have been completed before the reply came, and be told of after it.
        let sends = |later: &&Completion| later.index == index && later.kind == Kind::Send;
        let later_sent = later
            .iter()
            .find(sends)
            .map_or(0, |send| send.result.max(0));
        let entry = self.operations.entries.get_mut(index);
        if result > 0 && entry.is_some_and(|entry| !entry.out.is_sent(later_sent as usize)) {
            handler.receiving_early(slot);
        }
        if let Some(buffer) = completion.buffer {
            let whole = self.buffers.bytes(buffer, result.max(0) as usize);
            let (bytes, arrived_ns) = self.operations.split(index, whole);
            result = result.min(bytes.len() as i32);
            let next = match bytes.is_empty() {
                true => Next::Wait,
                false => handler.received(slot, Part::Bytes(bytes), arrived_ns),
            };
            self.buffers.give_back(buffer);
            self.follow(index, next, handler)?;
        }
        match result {
            0 => return self.end(index, Ending::Finished, handler),
            // It ended for want of buffers, or by `pause`.
            count if count >= 0 || [-libc::ENOBUFS, -libc::ECANCELED].contains(&count) => {}
            error => return self.end(index, Ending::ReceiveFailed(-error), handler),
        }
        if completion.more || self.operations.entries.slot_of(index) != Some(slot) {
            return Ok(());
        }
        match self.operations.entries.get_mut(index) {
            Some(entry) if entry.paused => {
                entry.receiving = false;
                Ok(())
            }
            // It ended for want of buffers, or of room in the completion queue: started again.
            _ => self.operations.receive(index),
        }
    }
}

impl Io for Uring {
    const NONBLOCKING: bool = false;

    fn open(&mut self, slot: Slot, socket: OwnedFd, address: &SocketAddrAny) -> io::Result<u64> {
        self.operations.connect(slot, socket, address)
    }

    fn send(&mut self, slot: Slot, bytes: Rc<[u8]>, handler: &mut impl Handler) {
        if let Some(index) = self.operations.entries.index_of(slot) {
            if let Err(error) = self.follow(index, Next::Send(bytes), handler) {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                let _ = self.end(index, Ending::SendFailed(errno), handler);
            }
        }
    }

    fn close(&mut self, slot: Slot) {
        if let Some(index) = self.operations.entries.index_of(slot) {
            let _ = self.operations.retire(index);
        }
    }

    fn socket(&self, slot: Slot) -> Option<&OwnedFd> {
        let entries = &self.operations.entries;
        let entry = entries.get(entries.index_of(slot)?);
        entry.map(|entry| &entry.socket)
    }

    fn pause(&mut self, slot: Slot) {
        if let Some((index, entry)) = self.operations.entries.of_slot(slot) {
            entry.paused = true;
            // Where it cannot be cancelled, reading goes on: the peer is not held up, which is harmless.
            let _ = self.operations.cancel(index);
        }
    }

    fn resume(&mut self, slot: Slot, handler: &mut impl Handler) {
        let restarted = match self.operations.entries.of_slot(slot) {
            Some((index, entry)) if entry.paused => {
                entry.paused = false;
                (!entry.receiving).then_some(index)
            }
            _ => None,
        };
        if let Some(index) = restarted {
            if let Err(error) = self.operations.receive(index) {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                let _ = self.end(index, Ending::ReceiveFailed(errno), handler);
            }
        }
    }

    fn turn(&mut self, wait: Wait, handler: &mut impl Handler) -> io::Result<()> {
        // What comes of these was there before they failed.
        let failed = std::mem::take(&mut self.failed);
        self.operations
            .wait(if failed.is_empty() { wait } else { Wait::No })?;
        let mut completed = std::mem::take(&mut self.completed);
        self.operations.completed(&mut completed);
        handler.woken(now_ns());
        let mut done = Ok(());
        for (number, completion) in completed.iter().enumerate() {
            done = done.and(self.complete(completion, &completed[number + 1..], handler));
        }
        for index in failed {
            // Another connection can have its place by now.
            let entry = self.operations.entries.get(index);
            if let Some(errno) = entry.and_then(|entry| entry.failed) {
                done = done.and(self.end(index, Ending::SendFailed(errno), handler));
            }
        }
        self.buffers.publish();
        self.completed = completed;
        done
    }
}

/// The kernel may write into buffers, and read requests, until the operations that use them have completed.
impl Drop for Uring {
    fn drop(&mut self) {
        if self.operations.drain().is_err() {
            // Memory that the kernel may still use is not freed.
            self.buffers.leak();
            self.operations.leak();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{fakes::Counting, socket};
    use std::io::{Read, Write};
    use std::time::Duration;

    /// With a receive pending, the engine polls its memory: nothing is asked of the kernel until something has come.
    #[test]
    fn polling_makes_no_system_call() {
        let Ok(mut uring) = Uring::new(1, Stamping::All) else {
            return;
        };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = SocketAddrAny::from(listener.local_addr().unwrap());
        let socket = socket(address.address_family(), Uring::NONBLOCKING).unwrap();
        uring.open(0, socket, &address).unwrap();
        uring.turn(Wait::No, &mut Counting::default()).unwrap();
        let mut peer = listener.accept().unwrap().0;
        let is_receiving = |uring: &Uring| uring.operations.entries.get(0).unwrap().receiving;
        while !is_receiving(&uring) {
            uring
                .turn(Wait::Event(now_ns() + 10_000_000), &mut Counting::default())
                .unwrap();
        }
        // The receive goes to the kernel.
        uring.turn(Wait::No, &mut Counting::default()).unwrap();
        let before = uring.operations.calls();
        for _ in 0..10_000 {
            uring.turn(Wait::No, &mut Counting::default()).unwrap();
        }
        assert_eq!(uring.operations.calls(), before);
        peer.write_all(b"x").unwrap();
        while uring.operations.calls() == before {
            uring.turn(Wait::No, &mut Counting::default()).unwrap();
        }
    }

    #[test]
    fn pending_operations_are_drained() {
        let Ok(mut uring) = Uring::new(2, Stamping::None) else {
            return;
        };
        assert!(uring.operations.drain().is_ok());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = SocketAddrAny::from(listener.local_addr().unwrap());
        for slot in 0..2 {
            let socket = socket(address.address_family(), Uring::NONBLOCKING).unwrap();
            uring.open(slot, socket, &address).unwrap();
        }
        uring.turn(Wait::No, &mut Counting::default()).unwrap();
        let mut peers = [listener.accept(), listener.accept()].map(|peer| peer.unwrap().0);
        while (0..2).any(|index| !uring.operations.entries.get(index).unwrap().receiving) {
            uring
                .turn(Wait::Event(now_ns() + 10_000_000), &mut Counting::default())
                .unwrap();
        }
        peers[0].write_all(b"not read yet").unwrap();
        uring.close(1);
        assert!(uring.operations.drain().is_ok());
        for index in 0..2 {
            uring.operations.entries.get_mut(index).unwrap().operations = 0;
        }
        drop(uring);
        // The sockets are closed: nothing of the ring holds them.
        peers[1]
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        assert_eq!(peers[1].read_to_end(&mut Vec::new()).unwrap(), 0);
    }

    /// Answers what it receives, and notes when the answers went to the kernel.
    #[derive(Default)]
    struct Answering {
        received: usize,
        sent_ns: Vec<u64>,
    }

    impl Handler for Answering {
        fn connected(&mut self, _: Slot) -> Next {
            Next::Wait
        }
        fn received(&mut self, _: Slot, part: Part<'_>, _: Option<u64>) -> Next {
            let Part::Bytes(bytes) = part else {
                return Next::Close;
            };
            self.received += bytes.len();
            Next::Send(bytes.into())
        }
        fn sending(&mut self, _: Slot, now_ns: u64) {
            self.sent_ns.push(now_ns);
        }
        fn woken(&mut self, _: u64) {}
        fn ended(&mut self, _: Slot, _: Ending) {}
        fn last_event_ns(&self) -> u64 {
            0
        }
    }

    /// What the replies of a turn bring about needs no other turn.
    #[test]
    fn an_answer_is_sent_at_once() {
        let Ok(mut uring) = Uring::new(1, Stamping::All) else {
            return;
        };
        let mut handler = Answering::default();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = SocketAddrAny::from(listener.local_addr().unwrap());
        let socket = socket(address.address_family(), Uring::NONBLOCKING).unwrap();
        uring.open(0, socket, &address).unwrap();
        uring.turn(Wait::No, &mut handler).unwrap();
        let mut peer = listener.accept().unwrap().0;
        let before = now_ns();
        peer.write_all(b"x").unwrap();
        while handler.received == 0 {
            uring
                .turn(Wait::Event(now_ns() + 10_000_000), &mut handler)
                .unwrap();
        }
        let after = now_ns();
        peer.set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        assert_eq!(peer.read(&mut [0]).unwrap(), 1);
        assert!(matches!(handler.sent_ns[..], [at] if (before..=after).contains(&at)));
    }
}
