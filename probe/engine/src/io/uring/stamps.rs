//! Receives with stamps: the kernel puts a header before the bytes of each.

use crate::io::stamp::{self, ClockOffset};
use io_uring::types::RecvMsgOut;

pub struct Stamps {
    /// What is the same for all receives; the kernel reads it when one begins.
    header: Box<libc::msghdr>,
    /// The clocks since the last wake-up, once a stamp was read.
    clocks: Option<ClockOffset>,
}

impl Stamps {
    pub fn new() -> Stamps {
        Stamps {
            header: Box::new(stamp::header_of_provided()),
            clocks: None,
        }
    }

    pub fn header(&self) -> &libc::msghdr {
        &self.header
    }

    /// The thread has woken now.
    pub fn woken(&mut self) {
        self.clocks = None;
    }

    /// The bytes of a received message, and when they came.
    pub fn split<'a>(&mut self, message: &'a [u8]) -> (&'a [u8], Option<u64>) {
        let Ok(parts) = RecvMsgOut::parse(message, &self.header) else {
            return (&[], None);
        };
        let stamp_ns = stamp::of_control(parts.control_data());
        // `parts` borrows from itself; the payload ends the message.
        let bytes = &message[message.len() - parts.payload_data().len()..];
        let clocks = self.clocks.get_or_insert_with(ClockOffset::read);
        let arrived_ns = stamp_ns.and_then(|stamp_ns| clocks.monotonic_ns(stamp_ns));
        (bytes, arrived_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A received message as the kernel lays it out: struct io_uring_recvmsg_out, the control message, the bytes.
    fn message(control: &[u8], bytes: &[u8]) -> Vec<u8> {
        let lengths = [0, control.len() as u32, bytes.len() as u32, 0];
        let mut message: Vec<u8> = lengths.iter().flat_map(|part| part.to_ne_bytes()).collect();
        message.extend_from_slice(control);
        message.resize(16 + stamp::CONTROL_BYTES, 0);
        message.extend_from_slice(bytes);
        message
    }

    /// SCM_TIMESTAMPING with this time.
    fn control(seconds: i64, nanoseconds: i64) -> Vec<u8> {
        let mut control = stamp::CONTROL_BYTES.to_ne_bytes().to_vec();
        for part in [libc::SOL_SOCKET, libc::SCM_TIMESTAMPING] {
            control.extend_from_slice(&part.to_ne_bytes());
        }
        for part in [seconds, nanoseconds] {
            control.extend_from_slice(&part.to_ne_bytes());
        }
        control.resize(stamp::CONTROL_BYTES, 0);
        control
    }

    #[test]
    fn a_message_is_its_bytes_and_its_stamp() {
        let mut stamps = Stamps::new();
        stamps.clocks = Some(ClockOffset::default());
        let stamped = message(&control(2, 5), b"bytes");
        assert_eq!(stamps.split(&stamped), (&b"bytes"[..], Some(2_000_000_005)));
        assert_eq!(stamps.split(&message(&[], b"bytes")), (&b"bytes"[..], None));
        assert_eq!(stamps.split(&message(&control(2, 5), b"")).0, b"");
    }

    #[test]
    fn messages_that_are_cut_have_no_more_bytes_than_there_are() {
        let mut stamps = Stamps::new();
        stamps.clocks = Some(ClockOffset::default());
        let whole = message(&control(2, 5), b"bytes");
        for length in 0..whole.len() {
            let (bytes, _) = stamps.split(&whole[..length]);
            assert!(b"bytes".starts_with(bytes), "{length}");
        }
    }
}
