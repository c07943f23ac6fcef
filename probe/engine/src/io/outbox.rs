//! The bytes that wait until the kernel takes them, of one connection.

use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::{self, SendFlags};
use std::rc::Rc;
use wire::clock::now_ns;

/// If more bytes wait, the peer is at fault: it does not read the answers that it asks for.
const MAX_WAITING_BYTES: usize = 1 << 20;

/// The result of a request to send bytes.
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
    /// The bytes that the kernel gets now, and how many of them it has taken.
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

    /// Whether the kernel has taken all bytes.
    pub fn is_empty(&self) -> bool {
        self.current.is_none()
    }

    /// Sends all bytes, each call apart: the sends of a batch would have one time, before the first of them. `begins`
    /// gets the instant before the first call for what was queued. The error: that of the call; AGAIN where the kernel
    /// has no room for the rest.
    pub fn send(&mut self, socket: impl AsFd, mut begins: impl FnMut(u64)) -> Result<(), Errno> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        while let Some((bytes, sent)) = &mut self.current {
            if !std::mem::replace(&mut self.has_begun, true) {
                begins(now_ns());
            }
            match net::send(&socket, &bytes[*sent..], flags) {
                Ok(count) => *sent += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
            if *sent == bytes.len() {
                self.current = self.waiting.take().map(|next| (next, 0));
                self.has_begun = false;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    fn bytes(text: &str) -> Rc<[u8]> {
        text.as_bytes().into()
    }

    #[test]
    fn bytes_are_sent_in_their_order() {
        let (own, mut peer) = UnixStream::pair().unwrap();
        let mut outbox = Outbox::default();
        let mut begun = 0;
        assert_eq!(outbox.queue(bytes("first")), Queued::Next);
        assert_eq!(outbox.queue(bytes("second")), Queued::Behind);
        assert_eq!(outbox.queue(bytes("third")), Queued::Behind);
        assert!(!outbox.is_empty());
        assert_eq!(outbox.send(&own, |_| begun += 1), Ok(()));
        assert!(outbox.is_empty());
        assert_eq!(begun, 2, "the second and the third are one");
        let mut read = [0; 16];
        peer.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"firstsecondthird");
    }

    #[test]
    fn what_the_kernel_has_no_room_for_is_sent_later() {
        let (own, mut peer) = UnixStream::pair().unwrap();
        let mut outbox = Outbox::default();
        let mut begun = 0;
        let large: Rc<[u8]> = (0..4_000_000u32).map(|number| number as u8).collect();
        assert_eq!(outbox.queue(Rc::clone(&large)), Queued::Next);
        assert_eq!(outbox.send(&own, |_| begun += 1), Err(Errno::AGAIN));
        assert!(!outbox.is_empty());
        let mut read = vec![0; large.len()];
        let mut count = 0;
        while count < read.len() {
            count += peer.read(&mut read[count..]).unwrap();
            let sent = outbox.send(&own, |_| begun += 1);
            assert!(matches!(sent, Ok(()) | Err(Errno::AGAIN)));
        }
        assert!(read[..] == large[..] && outbox.is_empty());
        assert_eq!(begun, 1, "it had begun");
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
