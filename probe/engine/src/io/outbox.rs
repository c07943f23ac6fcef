//! The bytes that wait until the kernel takes them, of one connection: the one way to send of both back-ends.

use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::{self, SendFlags};
use std::rc::Rc;
use wire::clock::now_ns;

/// More bytes that wait are an error of the peer, which does not read what it asks for.
const MAX_WAITING_BYTES: usize = 1 << 20;

/// What becomes of bytes to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    /// They are the next ones.
    Next,
    /// They follow those that the kernel has not taken.
    Behind,
    /// A peer that reads nothing has asked for too many.
    TooMany,
}

#[derive(Default)]
pub struct Outbox {
    /// The bytes that the kernel gets now, and how many of them it has taken. It may read them until then.
    current: Option<(Rc<[u8]>, usize)>,
    has_begun: bool,
    /// The bytes after these.
    waiting: Option<Rc<[u8]>>,
}

impl Outbox {
    pub fn queue(&mut self, bytes: Rc<[u8]>) -> Queued {
        // A reply can arrive before all of its request is sent.
        if self.current.is_some() {
            let limit = MAX_WAITING_BYTES.max(4 * bytes.len());
            self.waiting = Some(match self.waiting.take() {
                None => bytes,
                Some(waiting) if waiting.len() > limit => return Queued::TooMany,
                Some(waiting) => [&waiting[..], &bytes[..]].concat().into(),
            });
            return Queued::Behind;
        }
        self.current = Some((bytes, 0));
        self.has_begun = false;
        Queued::Next
    }

    /// Whether the kernel has taken all bytes, if it has taken so many more than is known here.
    pub fn is_sent(&self, more: usize) -> bool {
        match &self.current {
            None => true,
            Some((bytes, sent)) => sent + more == bytes.len() && self.waiting.is_none(),
        }
    }

    /// The bytes of the next call, and whether it is the first for what was queued.
    pub fn next(&mut self) -> Option<(&[u8], bool)> {
        let (bytes, sent) = self.current.as_ref()?;
        let begins = !std::mem::replace(&mut self.has_begun, true);
        Some((&bytes[*sent..], begins))
    }

    /// Sends all bytes, each call apart: the sends of a batch would have one time, before the first of them. `begins`
    /// gets the instant before the first call for what was queued. The error: that of the call; AGAIN where the kernel
    /// has no room for the rest.
    pub fn send(&mut self, socket: impl AsFd, mut begins: impl FnMut(u64)) -> Result<(), Errno> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        while let Some((bytes, is_first)) = self.next() {
            if is_first {
                begins(now_ns());
            }
            match net::send(&socket, bytes, flags) {
                Ok(count) => self.sent(count),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The kernel has taken so many bytes.
    pub fn sent(&mut self, count: usize) {
        if let Some((bytes, sent)) = &mut self.current {
            *sent += count;
            if *sent == bytes.len() {
                self.current = self.waiting.take().map(|next| (next, 0));
                self.has_begun = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Rc<[u8]> {
        text.as_bytes().into()
    }

    #[test]
    fn bytes_are_sent_in_their_order() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.next(), None);
        assert_eq!(outbox.queue(bytes("first")), Queued::Next);
        assert_eq!(outbox.queue(bytes("second")), Queued::Behind);
        assert_eq!(outbox.queue(bytes("third")), Queued::Behind);
        assert_eq!(outbox.next(), Some((&b"first"[..], true)));
        outbox.sent(2);
        assert!(!outbox.is_sent(3), "others wait");
        assert_eq!(outbox.next(), Some((&b"rst"[..], false)));
        outbox.sent(3);
        assert_eq!(outbox.next(), Some((&b"secondthird"[..], true)));
        // The kernel took none of them: they were begun all the same.
        assert_eq!(outbox.next(), Some((&b"secondthird"[..], false)));
        assert!([0, 10].iter().all(|more| !outbox.is_sent(*more)));
        assert!(outbox.is_sent(11));
        outbox.sent(11);
        assert_eq!(outbox.next(), None);
        assert!(outbox.is_sent(0));
        assert_eq!(outbox.queue(bytes("fourth")), Queued::Next);
        assert_eq!(outbox.next(), Some((&b"fourth"[..], true)));
    }

    #[test]
    fn a_peer_that_reads_nothing_has_a_limit() {
        let mut outbox = Outbox::default();
        let large: Rc<[u8]> = vec![0; 700_000].into();
        assert_eq!(outbox.queue(bytes("x")), Queued::Next);
        let queued: Vec<Queued> = (0..6).map(|_| outbox.queue(Rc::clone(&large))).collect();
        assert_eq!(queued[..5], [Queued::Behind; 5]);
        assert_eq!(queued[5], Queued::TooMany);
        let mut outbox = Outbox::default();
        let small: Rc<[u8]> = vec![0; 1000].into();
        let count = (0..).take_while(|_| outbox.queue(Rc::clone(&small)) != Queued::TooMany);
        // The first is not waiting, and the last is the one beyond the limit.
        assert_eq!(count.count(), MAX_WAITING_BYTES / 1000 + 2);
    }
}
