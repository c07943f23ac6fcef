//! The back-end for all kernels: epoll, edge-triggered. A connection is registered once; a reply is read and the next
//! request written without another call.

use super::outbox::{Outbox, Queued};
use super::stamp::{self, Stamping};
use super::{Arrival, Ending, Handler, Io, Next, ReplyPart, Slot, Wait};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::Timespec;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SocketAddrAny};
use std::io;
use std::rc::Rc;
use wire::clock::{now_ns, sleep_until};

const EVENTS: usize = 1024;
const BUFFER_BYTES: usize = 64 * 1024;
/// Reads of one connection in one turn: a peer that never stops sending must not hold up the others, or the end of the
/// load.
const MAX_READS: usize = 16;

struct Entry {
    socket: OwnedFd,
    connecting: bool,
    paused: bool,
    is_stamped: bool,
    /// Distinguishes connections of the same slot.
    generation: u32,
    unread: bool,
    out: Outbox,
}

pub struct Epoll {
    file: OwnedFd,
    entries: Vec<Option<Entry>>,
    events: Vec<Event>,
    buffer: Box<[u8]>,
    generation: u32,
    /// Connections that may have more to read, though epoll reports no further edge: slot and generation.
    unread: Vec<(Slot, u32)>,
    stamping: Stamping,
    /// By [`stamp::monotonic_behind_ns`], since the last wake-up, once a stamp was read.
    behind_ns: Option<u64>,
}

impl Epoll {
    pub fn new(slots: usize, stamping: Stamping) -> io::Result<Epoll> {
        Ok(Epoll {
            file: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            entries: (0..slots).map(|_| None).collect(),
            events: Vec::with_capacity(EVENTS),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            generation: 0,
            unread: Vec::new(),
            stamping,
            behind_ns: None,
        })
    }

    fn handle(&mut self, event: Event, buffer: &mut [u8], handler: &mut impl Handler) {
        let data = event.data.u64();
        let slot = (data & 0xffff_ffff) as Slot;
        let flags = event.flags;
        let known = self.entries[slot].as_mut();
        let current = known.filter(|entry| u64::from(entry.generation) == data >> 32);
        let Some(entry) = current else { return };
        if entry.connecting {
            if let Err(error) = net::sockopt::socket_error(&entry.socket).and_then(|pending| pending) {
                return self.end(slot, Ending::NotConnected(error.raw_os_error()), handler);
            }
            if !flags.contains(EventFlags::OUT) {
                return;
            }
            entry.connecting = false;
            let next = handler.connected(slot);
            self.follow(slot, next, handler);
        } else if flags.contains(EventFlags::OUT) {
            self.send_rest(slot, handler);
        }
        // A read ends at urgent data, though there is more.
        let cut = EventFlags::PRI | EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        if flags.intersects(EventFlags::IN | cut) {
            let generation = (data >> 32) as u32;
            self.receive(slot, generation, flags.intersects(cut), buffer, handler);
        }
    }

    /// Reads the available bytes, in a bounded number of reads; what is left waits for the next turn. A short read
    /// means that there are no more, unless it may be `cut`.
    fn receive(
        &mut self,
        slot: Slot,
        generation: u32,
        cut: bool,
        buffer: &mut [u8],
        handler: &mut impl Handler,
    ) {
        for _ in 0..MAX_READS {
            let known = self.entries[slot].as_ref();
            let readable = known.filter(|entry| entry.generation == generation && !entry.paused);
            let Some(entry) = readable else { return };
            match read(entry, buffer, &mut self.behind_ns) {
                Ok((0, _)) => return self.end(slot, Ending::Finished, handler),
                Ok((count, stamp_ns)) => {
                    let is_early = !entry.out.is_empty();
                    let arrival = Arrival { stamp_ns, is_early };
                    let part = ReplyPart::Bytes(&buffer[..count]);
                    let next = handler.received(slot, part, arrival);
                    self.follow(slot, next, handler);
                    if count < buffer.len() && !cut {
                        return;
                    }
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(error) => {
                    let reason = Ending::ReceiveFailed(error.raw_os_error());
                    return self.end(slot, reason, handler);
                }
            }
        }
        let entry = self.entries[slot].as_mut();
        if let Some(entry) = entry.filter(|entry| entry.generation == generation && !entry.unread) {
            entry.unread = true;
            self.unread.push((slot, generation));
        }
    }

    fn follow(&mut self, slot: Slot, next: Next, handler: &mut impl Handler) {
        match next {
            Next::Wait => {}
            Next::Send(bytes) => self.send(slot, bytes, handler),
            Next::Close => self.close(slot),
        }
    }

    fn send_rest(&mut self, slot: Slot, handler: &mut impl Handler) {
        let Some(entry) = &mut self.entries[slot] else { return };
        match entry.out.send(&entry.socket, |at_ns| handler.sending(slot, at_ns)) {
            Ok(()) | Err(Errno::AGAIN) => {}
            Err(error) => {
                self.end_read(slot, Ending::SendFailed(error.raw_os_error()), handler);
            }
        }
    }

    /// The peer takes no more bytes. First reads what it has sent, which may be an early refusal.
    fn end_read(&mut self, slot: Slot, reason: Ending, handler: &mut impl Handler) {
        let mut buffer = vec![0; BUFFER_BYTES];
        for _ in 0..MAX_READS {
            let Some(entry) = &self.entries[slot] else { return };
            let Ok((count @ 1.., stamp_ns)) = read(entry, &mut buffer, &mut self.behind_ns) else { break };
            let is_early = true;
            let arrival = Arrival { stamp_ns, is_early };
            match handler.received(slot, ReplyPart::Bytes(&buffer[..count]), arrival) {
                Next::Wait => {}
                Next::Send(_) => break,
                Next::Close => return self.close(slot),
            }
        }
        self.end(slot, reason, handler);
    }

    fn end(&mut self, slot: Slot, reason: Ending, handler: &mut impl Handler) {
        self.entries[slot] = None;
        handler.ended(slot, reason);
    }
}

impl Io for Epoll {
    fn open(&mut self, slot: Slot, socket: OwnedFd, address: &SocketAddrAny) -> io::Result<u64> {
        debug_assert!(self.entries[slot].is_none());
        let is_stamped = self.stamping.includes(slot);
        if is_stamped {
            stamp::enable(&socket);
        }
        let began_ns = now_ns();
        match net::connect(&socket, address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        self.generation = self.generation.wrapping_add(1);
        let data = EventData::new_u64(u64::from(self.generation) << 32 | slot as u64);
        let flags = EventFlags::IN | EventFlags::PRI | EventFlags::OUT | EventFlags::RDHUP;
        let flags = flags | EventFlags::ET;
        epoll::add(&self.file, socket.as_fd(), data, flags)?;
        self.entries[slot] = Some(Entry {
            socket,
            connecting: true,
            paused: false,
            is_stamped,
            generation: self.generation,
            unread: false,
            out: Outbox::default(),
        });
        Ok(began_ns)
    }

    fn send(&mut self, slot: Slot, bytes: Rc<[u8]>, handler: &mut impl Handler) {
        let Some(entry) = &mut self.entries[slot] else { return };
        match entry.out.queue(bytes) {
            Queued::Next => self.send_rest(slot, handler),
            Queued::Behind => {}
            Queued::TooMany => self.end(slot, Ending::SendFailed(libc::ENOBUFS), handler),
        }
    }

    fn close(&mut self, slot: Slot) {
        self.entries[slot] = None;
    }

    fn socket(&self, slot: Slot) -> Option<&OwnedFd> {
        self.entries[slot].as_ref().map(|entry| &entry.socket)
    }

    fn pause(&mut self, slot: Slot) {
        if let Some(entry) = &mut self.entries[slot] {
            entry.paused = true;
        }
    }

    fn resume(&mut self, slot: Slot, handler: &mut impl Handler) {
        if let Some(entry) = &mut self.entries[slot] {
            entry.paused = false;
            // The edges of events during the pause have passed, including that of a hang-up.
            let generation = entry.generation;
            let mut buffer = std::mem::take(&mut self.buffer);
            self.receive(slot, generation, true, &mut buffer, handler);
            self.buffer = buffer;
        }
    }

    fn turn(&mut self, wait: Wait, handler: &mut impl Handler) -> io::Result<bool> {
        match wait {
            Wait::Instant(at_ns) if self.unread.is_empty() => sleep_until(at_ns),
            Wait::Sleep(at_ns) if self.unread.is_empty() => {
                sleep_until(at_ns);
                return Ok(false);
            }
            _ => {}
        }
        let left = std::mem::take(&mut self.unread);
        let timeout = match wait {
            Wait::Event(until_ns) if left.is_empty() => until_ns.saturating_sub(now_ns()),
            _ => 0,
        };
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        let (s, ns) = (timeout / 1_000_000_000, timeout % 1_000_000_000);
        let timeout = Timespec { tv_sec: s as i64, tv_nsec: ns as i64 };
        let waited = epoll::wait(&self.file, spare_capacity(&mut events), Some(&timeout));
        let now = now_ns();
        self.behind_ns = None;
        handler.woken(now);
        let mut buffer = std::mem::take(&mut self.buffer);
        for &event in &events {
            self.handle(event, &mut buffer, handler);
        }
        let has_any = !events.is_empty() || !left.is_empty();
        // Their peers may have closed meanwhile, so each is read until nothing is left.
        for (slot, generation) in left {
            let entry = self.entries[slot].as_mut();
            if let Some(entry) = entry.filter(|entry| entry.generation == generation) {
                entry.unread = false;
            }
            self.receive(slot, generation, true, &mut buffer, handler);
        }
        self.buffer = buffer;
        self.events = events;
        match waited {
            Ok(_) | Err(Errno::INTR) => Ok(has_any),
            Err(error) => Err(error.into()),
        }
    }
}

/// How many bytes were read, and when they had arrived, where the kernel stamps that.
type Read = Result<(usize, Option<u64>), Errno>;

#[inline]
fn read(entry: &Entry, buffer: &mut [u8], behind_ns: &mut Option<u64>) -> Read {
    if entry.is_stamped {
        return read_stamped(&entry.socket, buffer, behind_ns);
    }
    let read = net::recv(&entry.socket, buffer, RecvFlags::empty());
    read.map(|(count, _)| (count, None))
}

/// By itself, so that reads without stamps stay small.
#[inline(never)]
fn read_stamped(socket: &OwnedFd, buffer: &mut [u8], behind_ns: &mut Option<u64>) -> Read {
    let (count, stamp_ns) =
        stamp::receive(socket, buffer).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let behind_ns = behind_ns.get_or_insert_with(stamp::monotonic_behind_ns);
    Ok((count, stamp_ns.and_then(|stamp_ns| stamp_ns.checked_sub(*behind_ns))))
}
