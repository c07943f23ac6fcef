//! Receives with stamps: the kernel puts a header before the bytes of each.

use crate::io::stamp::{self, ClockOffset};
use io_uring::types::RecvMsgOut;

pub struct Stamps {
    /// What is the same for all receives; the kernel reads it when one begins.
    header: Box<libc::msghdr>,
    /// The clocks at the last wake-up.
    clocks: ClockOffset,
}

impl Stamps {
    pub fn new() -> Stamps {
        Stamps {
            header: Box::new(stamp::header_of_provided()),
            clocks: ClockOffset::default(),
        }
    }

    pub fn header(&self) -> &libc::msghdr {
        &self.header
    }

    /// The thread has woken now.
    pub fn woken(&mut self) {
        self.clocks = ClockOffset::read();
    }

    /// The bytes of a received message, and when they came.
    pub fn split<'a>(&self, message: &'a [u8]) -> (&'a [u8], Option<u64>) {
        let Ok(parts) = RecvMsgOut::parse(message, &self.header) else {
            return (&[], None);
        };
        let stamp_ns = stamp::of_control(parts.control_data());
        // `parts` borrows from itself; the payload ends the message.
        let bytes = &message[message.len() - parts.payload_data().len()..];
        (
            bytes,
            stamp_ns.and_then(|stamp_ns| self.clocks.monotonic_ns(stamp_ns)),
        )
    }
}
