//! Stands in for the kernel, and for a load, in tests of what calls them.

use super::{Arrival, Ending, Handler, Io, Next, ReplyPart, Slot, Wait};
use rustix::fd::OwnedFd;
use rustix::net::SocketAddrAny;
use std::io;
use std::rc::Rc;
use wire::clock::{now_ns, sleep_until};

/// A back-end without connections, which notes what is asked of it.
#[derive(Default)]
pub struct FakeIo {
    /// The wait of each turn.
    pub waits: Vec<Wait>,
    /// How long it takes to open a connection, before its connect begins; connects end with the next turn.
    pub open_ns: u64,
    /// Slots and their connects' beginnings; how long each connect took.
    pub opened: Vec<(Slot, u64)>,
    pub connects_ns: Vec<u64>,
    pub sends: usize,
    /// Whether a turn takes until the instant that its wait names, and how long it takes beside.
    pub sleeps: bool,
    pub turn_ns: u64,
    /// Each turn brings an event.
    pub brings_events: bool,
}

impl Io for FakeIo {
    fn open(&mut self, slot: Slot, _: OwnedFd, _: &SocketAddrAny) -> io::Result<u64> {
        sleep_until(now_ns() + self.open_ns);
        let began_ns = now_ns();
        self.opened.push((slot, began_ns));
        Ok(began_ns)
    }
    fn send(&mut self, _: Slot, _: Rc<[u8]>, _: &mut impl Handler) {
        self.sends += 1;
    }
    fn close(&mut self, _: Slot) {}
    fn socket(&self, _: Slot) -> Option<&OwnedFd> {
        None
    }
    fn pause(&mut self, _: Slot) {}
    fn resume(&mut self, _: Slot, _: &mut impl Handler) {}
    fn turn(&mut self, wait: Wait, handler: &mut impl Handler) -> io::Result<bool> {
        self.waits.push(wait);
        match wait {
            Wait::Event(at) | Wait::Instant(at) | Wait::Sleep(at) if self.sleeps => sleep_until(at),
            _ => {}
        }
        let woken_ns = now_ns();
        handler.woken(woken_ns);
        for (slot, began_ns) in std::mem::take(&mut self.opened) {
            self.connects_ns.push(woken_ns - began_ns);
            handler.connected(slot);
        }
        if self.turn_ns > 0 {
            sleep_until(now_ns() + self.turn_ns);
        }
        Ok(self.brings_events)
    }
}

/// A load that does nothing.
pub struct Idle;

impl Handler for Idle {
    fn connected(&mut self, _: Slot) -> Next {
        Next::Wait
    }
    fn received(&mut self, _: Slot, _: ReplyPart<'_>, _: Arrival) -> Next {
        Next::Wait
    }
    fn sending(&mut self, _: Slot, _: u64) {}
    fn woken(&mut self, _: u64) {}
    fn ended(&mut self, _: Slot, _: Ending) {}
}
