//! The entries of connections: each has an index, by which the kernel knows its socket and its operations. An entry
//! lives until all its operations have completed, so that a late completion never belongs to another connection. Plain
//! bookkeeping: the operations themselves are begun elsewhere.

use crate::io::outbox::Outbox;
use crate::io::Slot;
use rustix::fd::OwnedFd;
use rustix::net::SocketAddrAny;
use std::rc::Rc;

pub struct Entry {
    pub socket: OwnedFd,
    /// None when it was closed, and waits for its operations to complete.
    pub slot: Option<Slot>,
    /// The kernel reads it until the connect has completed.
    _address: Rc<SocketAddrAny>,
    /// The kernel reads its bytes until the send has completed.
    pub out: Outbox,
    pub operations: u32,
    /// A receive is pending.
    pub receiving: bool,
    pub is_stamped: bool,
    pub paused: bool,
    /// Errno of a send: the peer takes no more.
    pub failed: Option<i32>,
}

impl Entry {
    pub fn new(socket: OwnedFd, slot: Slot, address: Rc<SocketAddrAny>, is_stamped: bool) -> Entry {
        Entry {
            socket,
            slot: Some(slot),
            _address: address,
            out: Outbox::default(),
            operations: 0,
            receiving: false,
            is_stamped,
            paused: false,
            failed: None,
        }
    }
}

#[derive(Default)]
pub struct Entries {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    slots: Vec<Option<u32>>,
}

impl Entries {
    pub fn new(slots: usize) -> Entries {
        // A slot that is opened again may have an earlier entry with pending operations.
        let entries = slots * 2 + 64;
        Entries {
            entries: (0..entries).map(|_| None).collect(),
            free: (0..entries as u32).rev().collect(),
            slots: vec![None; slots],
        }
    }

    /// Takes an entry, which stands for its slot from now on. Returns its index; None where there is no room.
    pub fn insert(&mut self, entry: Entry) -> Option<u32> {
        let index = self.free.pop()?;
        if let Some(slot) = entry.slot {
            self.slots[slot] = Some(index);
        }
        self.entries[index as usize] = Some(entry);
        Some(index)
    }

    /// Drops an entry, and its socket with it.
    pub fn remove(&mut self, index: u32) {
        self.entries[index as usize] = None;
        self.free.push(index);
    }

    /// Parts an entry from its slot, which is free then. Whether it had one.
    pub fn detach(&mut self, index: u32) -> bool {
        let slot = self.get_mut(index).and_then(|entry| entry.slot.take());
        if let Some(slot) = slot {
            self.slots[slot] = None;
        }
        slot.is_some()
    }

    pub fn get(&self, index: u32) -> Option<&Entry> {
        self.entries[index as usize].as_ref()
    }

    pub fn get_mut(&mut self, index: u32) -> Option<&mut Entry> {
        self.entries[index as usize].as_mut()
    }

    /// The slot for which an entry stands.
    pub fn slot_of(&self, index: u32) -> Option<Slot> {
        self.get(index)?.slot
    }

    /// The index of the entry that stands for a slot.
    pub fn index_of(&self, slot: Slot) -> Option<u32> {
        self.slots[slot]
    }

    /// The entry that stands for a slot, and its index.
    pub fn of_slot(&mut self, slot: Slot) -> Option<(u32, &mut Entry)> {
        let index = self.slots[slot]?;
        Some((index, self.get_mut(index)?))
    }

    /// The operations of all entries that have not completed.
    pub fn operations(&self) -> u64 {
        let entries = self.entries.iter().flatten();
        entries.map(|entry| u64::from(entry.operations)).sum()
    }

    /// Never frees the memory of the entries, nor closes their sockets.
    pub fn leak(&mut self) {
        std::mem::forget(std::mem::take(self));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(slot: Slot) -> Entry {
        let address: std::net::SocketAddr = "127.0.0.1:1".parse().unwrap();
        // Any file does, and Miri has no sockets.
        let file = std::fs::File::open("/dev/null").unwrap();
        Entry::new(file.into(), slot, Rc::new(address.into()), false)
    }

    #[test]
    fn an_entry_outlives_its_slot_while_it_has_operations() {
        let mut entries = Entries::new(1);
        let first = entries.insert(entry(0)).unwrap();
        entries.get_mut(first).unwrap().operations = 2;
        assert!(entries.detach(first));
        assert_eq!((entries.index_of(0), entries.slot_of(first)), (None, None));
        assert!(!entries.detach(first));
        let second = entries.insert(entry(0)).unwrap();
        assert_ne!(first, second);
        entries.get_mut(second).unwrap().operations = 3;
        assert_eq!(entries.index_of(0), Some(second));
        assert_eq!(entries.of_slot(0).unwrap().0, second);
        assert_eq!(entries.operations(), 5);
        entries.remove(first);
        assert_eq!(entries.operations(), 3);
        assert_eq!(entries.insert(entry(0)), Some(first));
    }

    #[test]
    fn indexes_come_to_an_end() {
        let mut entries = Entries::new(1);
        let indexes: Vec<u32> = std::iter::from_fn(|| entries.insert(entry(0))).collect();
        assert_eq!(indexes, (0..66).collect::<Vec<u32>>());
    }
}
