//! How late bytes are read, at most: by what the thread did since it could have seen them.

/// A wait that takes longer was ended by an event: what it hands over has just arrived.
const MAX_LOOK_NS: u64 = 10_000;

#[derive(Debug)]
pub struct ReadLateness {
    wait_began_ns: u64,
    /// What is read now arrived at this time or later.
    unread_from_ns: u64,
    woken_ns: u64,
}

impl ReadLateness {
    pub fn new(now_ns: u64) -> ReadLateness {
        ReadLateness {
            wait_began_ns: now_ns,
            unread_from_ns: now_ns,
            woken_ns: now_ns,
        }
    }

    pub fn wait_begins(&mut self, now_ns: u64) {
        self.wait_began_ns = now_ns;
    }

    /// A wait has ended. Bytes that were there at once may have arrived at any time since the look before.
    pub fn woken(&mut self, now_ns: u64) {
        let was_ready = now_ns.saturating_sub(self.wait_began_ns) <= MAX_LOOK_NS;
        self.unread_from_ns = if was_ready { self.woken_ns } else { now_ns };
        self.woken_ns = now_ns;
    }

    /// When the last wait ended: what is handed over now had happened by then.
    pub fn woken_ns(&self) -> u64 {
        self.woken_ns
    }

    /// How late bytes are read now, at most; or, of those that came before others, how much earlier at most.
    pub fn late_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.unread_from_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_end_a_wait_have_just_arrived() {
        let mut read_lateness = ReadLateness::new(0);
        read_lateness.wait_begins(1_000);
        read_lateness.woken(500_000);
        assert_eq!(read_lateness.late_ns(500_300), 300);
    }

    #[test]
    fn bytes_that_were_there_at_once_may_have_come_since_the_look_before() {
        let mut read_lateness = ReadLateness::new(0);
        read_lateness.wait_begins(1_000);
        read_lateness.woken(500_000);
        // Two milliseconds of reading, or of coalescing.
        read_lateness.wait_begins(2_500_000);
        read_lateness.woken(2_501_000);
        assert_eq!(read_lateness.late_ns(2_501_500), 2_001_500);
        read_lateness.wait_begins(2_600_000);
        read_lateness.woken(2_601_000);
        assert_eq!(read_lateness.late_ns(2_601_000), 100_000);
    }
}
