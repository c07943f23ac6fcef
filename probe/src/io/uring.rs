//! The fast back-end: io_uring with multishot receives into a ring of buffers, and one system
//! call for each turn. A connection's entry lives until all its operations have completed, so a late
//! completion never meets a stranger.
#![allow(unsafe_code)]

use super::{Fate, Handler, Io, Next, Slot};
use io_uring::types::{BufRingEntry, CancelBuilder, Fixed, SubmitArgs, Timespec};
use io_uring::{cqueue, opcode, squeue, IoUring};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::SocketAddrAny;
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

const SUBMISSIONS: u32 = 4096;
const COMPLETIONS: u32 = 65_536;
/// Few enough to stay in a cache: the kernel takes them in turn.
const BUFFERS: u16 = 512;
const BUFFER_BYTES: usize = 4096;
const GROUP: u16 = 0;

const CONNECT: u64 = 0;
const SEND: u64 = 1;
const RECEIVE: u64 = 2;
const CANCEL: u64 = 3;

struct Entry {
    socket: OwnedFd,
    /// None when it was closed, and only waits for its operations to complete.
    slot: Option<Slot>,
    /// The kernel reads it until the connect has completed.
    _address: Box<SocketAddrAny>,
    /// The kernel reads these bytes until the send has completed.
    out: Option<(Rc<[u8]>, usize)>,
    /// What is to be sent after that.
    next_out: Option<Rc<[u8]>>,
    operations: u32,
    /// The kernel has a receive of it.
    receiving: bool,
    paused: bool,
}

pub struct Uring {
    // Dropped first: from then on the kernel touches no memory of ours.
    ring: IoUring,
    buffers: Buffers,
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    slots: Vec<Option<u32>>,
    completed: Vec<(u64, i32, u32)>,
}

impl Uring {
    /// An error where the kernel or the container does not allow what is needed (Linux 6.1).
    pub fn new(slots: usize) -> io::Result<Uring> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(COMPLETIONS)
            .build(SUBMISSIONS)?;
        // A slot that is opened again may have an entry that has not ended yet.
        let entries = slots * 2 + 64;
        ring.submitter().register_files_sparse(entries as u32)?;
        let buffers = Buffers::new(&ring)?;
        Ok(Uring {
            ring,
            buffers,
            entries: (0..entries).map(|_| None).collect(),
            free: (0..entries as u32).rev().collect(),
            slots: vec![None; slots],
            completed: Vec::with_capacity(COMPLETIONS as usize),
        })
    }

    fn push(&mut self, index: u32, kind: u64, operation: squeue::Entry) -> io::Result<()> {
        let operation = operation.user_data(u64::from(index) << 2 | kind);
        // SAFETY: what the operation points to lives in the entry until it has completed.
        while unsafe { self.ring.submission().push(&operation) }.is_err() {
            self.ring.submit()?;
        }
        if let Some(entry) = &mut self.entries[index as usize] {
            entry.operations += 1;
        }
        Ok(())
    }

    fn push_receive(&mut self, index: u32) -> io::Result<()> {
        if let Some(entry) = &mut self.entries[index as usize] {
            entry.receiving = true;
        }
        let receive = opcode::RecvMulti::new(Fixed(index), GROUP).build();
        self.push(index, RECEIVE, receive)
    }

    fn push_send(&mut self, index: u32) -> io::Result<()> {
        let out = self.entries[index as usize].as_ref();
        if let Some((bytes, sent)) = out.and_then(|entry| entry.out.as_ref()) {
            let rest = &bytes[*sent..];
            let send = opcode::Send::new(Fixed(index), rest.as_ptr(), rest.len() as u32);
            let send = send.flags(libc::MSG_NOSIGNAL).build();
            self.push(index, SEND, send)?;
        }
        Ok(())
    }

    /// Closes an entry, or asks its operations to end first.
    fn retire(&mut self, index: u32) -> io::Result<()> {
        let entry = match &mut self.entries[index as usize] {
            Some(entry) => entry,
            None => return Ok(()),
        };
        if let Some(slot) = entry.slot.take() {
            self.slots[slot] = None;
            if entry.operations > 0 {
                let all = CancelBuilder::fd(Fixed(index)).all();
                return self.push(index, CANCEL, opcode::AsyncCancel2::new(all).build());
            }
        }
        if entry.operations == 0 {
            self.entries[index as usize] = None;
            self.ring.submitter().register_files_update(index, &[-1])?;
            self.free.push(index);
        }
        Ok(())
    }

    fn end(&mut self, index: u32, fate: Fate, handler: &mut impl Handler) -> io::Result<()> {
        let slot = self.entries[index as usize]
            .as_ref()
            .and_then(|entry| entry.slot);
        self.retire(index)?;
        if let Some(slot) = slot {
            handler.ended(slot, fate);
        }
        Ok(())
    }

    fn follow(&mut self, index: u32, next: Next) -> io::Result<()> {
        match next {
            Next::Wait => Ok(()),
            Next::Close => self.retire(index),
            Next::Send(bytes) => {
                match &mut self.entries[index as usize] {
                    // The reply can be seen before the completion of its request's send.
                    Some(entry) if entry.out.is_some() => {
                        entry.next_out = Some(bytes);
                        Ok(())
                    }
                    Some(entry) => {
                        entry.out = Some((bytes, 0));
                        self.push_send(index)
                    }
                    None => Ok(()),
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
        let slot = match &mut self.entries[index as usize] {
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
                CONNECT if result < 0 => self.end(index, Fate::NotConnected(-result), handler),
                CONNECT => {
                    self.push_receive(index)?;
                    let next = handler.connected(slot);
                    self.follow(index, next)
                }
                SEND if result < 0 => self.end(index, Fate::SendFailed(-result), handler),
                SEND => {
                    if let Some(entry) = &mut self.entries[index as usize] {
                        if let Some((bytes, sent)) = &mut entry.out {
                            *sent += result as usize;
                            if *sent == bytes.len() {
                                entry.out = entry.next_out.take().map(|next| (next, 0));
                            }
                        }
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
        if let Some(buffer) = buffer {
            let next = match result {
                count if count > 0 => {
                    handler.received(slot, self.buffers.bytes(buffer, count as usize))
                }
                _ => Next::Wait,
            };
            self.buffers.give_back(buffer);
            self.follow(index, next)?;
        }
        match result {
            0 => return self.end(index, Fate::Finished, handler),
            // Ended for want of buffers, or by `pause`.
            count if count >= 0 || [-libc::ENOBUFS, -libc::ECANCELED].contains(&count) => {}
            error => return self.end(index, Fate::ReceiveFailed(-error), handler),
        }
        if more || self.slot_of(index) != Some(slot) {
            return Ok(());
        }
        match &mut self.entries[index as usize] {
            Some(entry) if entry.paused => {
                entry.receiving = false;
                Ok(())
            }
            // Ended for want of buffers or of room in the completion queue too: asked for again.
            _ => self.push_receive(index),
        }
    }

    fn entry(&mut self, slot: Slot) -> Option<(u32, &mut Entry)> {
        let index = self.slots[slot]?;
        let entry = self.entries[index as usize].as_mut()?;
        Some((index, entry))
    }

    fn slot_of(&self, index: u32) -> Option<Slot> {
        self.entries[index as usize]
            .as_ref()
            .and_then(|entry| entry.slot)
    }
}

impl Io for Uring {
    const NONBLOCKING: bool = false;

    fn open(&mut self, slot: Slot, socket: OwnedFd, address: &SocketAddrAny) -> io::Result<()> {
        let index = self
            .free
            .pop()
            .ok_or_else(|| io::Error::from_raw_os_error(libc::EMFILE))?;
        if let Err(error) = self
            .ring
            .submitter()
            .register_files_update(index, &[socket.as_raw_fd()])
        {
            self.free.push(index);
            return Err(error);
        }
        let address = Box::new(address.clone());
        let (pointer, length) = (address.as_ptr(), address.addr_len());
        self.entries[index as usize] = Some(Entry {
            socket,
            slot: Some(slot),
            _address: address,
            out: None,
            next_out: None,
            operations: 0,
            receiving: false,
            paused: false,
        });
        self.slots[slot] = Some(index);
        let connect = opcode::Connect::new(Fixed(index), pointer.cast(), length).build();
        self.push(index, CONNECT, connect)
    }

    fn send(&mut self, slot: Slot, bytes: Rc<[u8]>, handler: &mut impl Handler) {
        if let Some(index) = self.slots[slot] {
            if let Err(error) = self.follow(index, Next::Send(bytes)) {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                let _ = self.end(index, Fate::SendFailed(errno), handler);
            }
        }
    }

    fn close(&mut self, slot: Slot) {
        if let Some(index) = self.slots[slot] {
            let _ = self.retire(index);
        }
    }

    fn socket(&self, slot: Slot) -> Option<&OwnedFd> {
        let entry = self.entries[self.slots[slot]? as usize].as_ref();
        entry.map(|entry| &entry.socket)
    }

    fn pause(&mut self, slot: Slot) {
        if let Some((index, entry)) = self.entry(slot) {
            entry.paused = true;
            let all = CancelBuilder::fd(Fixed(index)).all();
            // Where it cannot be asked for it goes on reading: the peer is not held up, nothing worse.
            let _ = self.push(index, CANCEL, opcode::AsyncCancel2::new(all).build());
        }
    }

    fn resume(&mut self, slot: Slot, handler: &mut impl Handler) {
        let asked = match self.entry(slot) {
            Some((index, entry)) if entry.paused => {
                entry.paused = false;
                (!entry.receiving).then_some(index)
            }
            _ => None,
        };
        if let Some(index) = asked {
            if let Err(error) = self.push_receive(index) {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                let _ = self.end(index, Fate::ReceiveFailed(errno), handler);
            }
        }
    }

    fn turn(&mut self, timeout: Duration, handler: &mut impl Handler) -> io::Result<()> {
        let time = Timespec::from(timeout);
        let waited = self
            .ring
            .submitter()
            .submit_with_args(1, &SubmitArgs::new().timespec(&time));
        match waited {
            Ok(_) => {}
            Err(error) => match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => {}
                _ => return Err(error),
            },
        }
        let mut completed = std::mem::take(&mut self.completed);
        completed.clear();
        let queue = self.ring.completion();
        completed.extend(queue.map(|one| (one.user_data(), one.result(), one.flags())));
        let mut done = Ok(());
        for &one in &completed {
            done = done.and(self.complete(one, handler));
        }
        self.buffers.publish();
        self.completed = completed;
        done
    }
}

/// Buffers that the kernel takes for receives, and the ring through which it gets them.
struct Buffers {
    // Aligned to a page, as the kernel wants it; it holds BUFFERS entries.
    ring: Box<Pages>,
    bytes: Box<[u8]>,
    tail: u16,
}

#[repr(C, align(4096))]
struct Pages([u8; BUFFERS as usize * std::mem::size_of::<BufRingEntry>()]);

impl Buffers {
    fn new(ring: &IoUring) -> io::Result<Buffers> {
        let mut buffers = Buffers {
            ring: Box::new(Pages(
                [0; BUFFERS as usize * std::mem::size_of::<BufRingEntry>()],
            )),
            bytes: vec![0; usize::from(BUFFERS) * BUFFER_BYTES].into_boxed_slice(),
            tail: 0,
        };
        let address = buffers.ring.0.as_ptr() as u64;
        // SAFETY: ring and bytes outlive the IoUring, see the order of fields in `Uring`.
        unsafe {
            ring.submitter()
                .register_buf_ring_with_flags(address, BUFFERS, GROUP, 0)?;
        }
        for buffer in 0..BUFFERS {
            buffers.give_back(buffer);
        }
        buffers.publish();
        Ok(buffers)
    }

    fn bytes(&self, buffer: u16, count: usize) -> &[u8] {
        let start = usize::from(buffer) * BUFFER_BYTES;
        &self.bytes[start..start + count]
    }

    /// Gives a buffer to the kernel; it sees it at the next `publish`.
    fn give_back(&mut self, buffer: u16) {
        let start = usize::from(buffer) * BUFFER_BYTES;
        let address = self.bytes[start..].as_mut_ptr() as u64;
        let entries = self.ring.0.as_mut_ptr().cast::<BufRingEntry>();
        let place = usize::from(self.tail & (BUFFERS - 1));
        // SAFETY: the place is within the ring, and the kernel does not read it before the tail passes it.
        let entry = unsafe { &mut *entries.add(place) };
        entry.set_addr(address);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&mut self) {
        let entries = self.ring.0.as_ptr().cast::<BufRingEntry>();
        // SAFETY: the tail lies in the ring's first entry, is aligned, and is shared with the kernel.
        let tail = unsafe { &*BufRingEntry::tail(entries).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}
