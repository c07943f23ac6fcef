//! Whether replies may wait in the kernel until the thread has something else to do. This saves a wake-up for each, and
//! the kernel has stamped when it came.

/// Replies wait at most so long.
const MAX_DEFERRAL_NS: u64 = 1_000_000;
/// So many replies in succession must have come whole before any waits: the rest of a reply may depend on the reading
/// of its first part (a full buffer, an acknowledgement).
const WHOLE_REPLIES: u32 = 64;
/// Replies that wait are read when so many requests were sent since the last look, or after so long: not at each sending,
/// where reading one reply takes as many system calls as reading several of them does.
const UNREAD_SENDS: u32 = 8;
const UNREAD_NS: u64 = 500_000;
/// Read coalescing: chunks of many streams are read together, once in so long. Without stamps a lateness can be too
/// large by this.
const COALESCE_NS: u64 = 500_000;
/// With stamps for longer: at most a quarter of the interval between two chunks of a stream. Chunks that are read at once
/// share the stamp of the last, which makes the lateness of the first too large. Two chunks of one stream can only meet
/// within a quarter of their interval if the first is late by three quarters, so this adds at most a third to it.
const COALESCE_STAMPED_NS: u64 = 8_000_000;
const COALESCED_PARTS: u64 = 4;
/// Where the interval is not known.
const COALESCE_UNKNOWN_NS: u64 = 2_000_000;

#[derive(Debug)]
pub struct Deferral {
    coalesced_ns: u64,
    is_stamped: bool,
    whole: u32,
    /// The last look at what has arrived, and the requests sent since.
    looked_ns: u64,
    sent: u32,
    /// Nothing had arrived by the last look, and nothing was sent since.
    is_quiet: bool,
}

impl Deferral {
    /// `interval_ns`: between two chunks of a stream, where the plan has it.
    pub fn new(interval_ns: Option<u64>) -> Deferral {
        let part_ns = interval_ns.map(|interval_ns| interval_ns / COALESCED_PARTS);
        Deferral {
            coalesced_ns: part_ns
                .unwrap_or(COALESCE_UNKNOWN_NS)
                .min(COALESCE_STAMPED_NS),
            is_stamped: false,
            whole: 0,
            looked_ns: 0,
            sent: 0,
            is_quiet: false,
        }
    }

    /// Bytes were read. `is_whole`: they completed a reply.
    pub fn read(&mut self, is_stamped: bool, is_whole: bool) {
        self.is_stamped = is_stamped;
        self.is_quiet = false;
        self.whole = match is_whole {
            true => self.whole.saturating_add(1),
            false => 0,
        };
    }

    /// Until when replies wait if the next requests are sent at `at_ns`; the present where they do not.
    pub fn until_ns(&self, now_ns: u64, at_ns: u64) -> u64 {
        // The first of those that come late ends a wait, rather than many looks in vain.
        match self.is_stamped && self.whole >= WHOLE_REPLIES && !self.is_quiet {
            true => at_ns.min(now_ns + MAX_DEFERRAL_NS),
            false => now_ns,
        }
    }

    /// A request goes to the kernel.
    pub fn sent(&mut self) {
        self.sent += 1;
        self.is_quiet = false;
    }

    /// What had arrived is handed over now.
    pub fn looked(&mut self, now_ns: u64) {
        self.looked_ns = now_ns;
        self.sent = 0;
        self.is_quiet = true;
    }

    /// Whether replies that wait need not even be read when the request that is due at `at_ns` is sent. `free`: how many
    /// of the connections have no request. Where fewer are, replies come late, and are looked for each time.
    pub fn stay_unread(&self, at_ns: u64, free: usize, connections: usize) -> bool {
        let is_recent = at_ns < self.looked_ns + UNREAD_NS;
        self.sent < UNREAD_SENDS && is_recent && 2 * free > connections
    }

    /// Until when the chunks of streams wait.
    pub fn coalesced_until_ns(&self, last_event_ns: u64) -> u64 {
        last_event_ns
            + match self.is_stamped {
                true => self.coalesced_ns,
                false => self.coalesced_ns.min(COALESCE_NS),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(reads: &[(bool, bool)]) -> Deferral {
        let mut deferral = Deferral::new(None);
        for &(is_stamped, is_whole) in reads {
            deferral.read(is_stamped, is_whole);
        }
        deferral
    }

    #[test]
    fn replies_wait_where_they_are_stamped_and_whole() {
        let whole = [(true, true); WHOLE_REPLIES as usize];
        assert_eq!(after(&whole).until_ns(5, 900_005), 900_005);
        assert_eq!(after(&whole).until_ns(5, 90_000_000), 1_000_005);
        assert_eq!(after(&whole[1..]).until_ns(5, 10), 5);
        let in_parts = [&whole[..], &[(true, false)], &whole[1..]].concat();
        assert_eq!(after(&in_parts).until_ns(5, 10), 5);
        let unstamped = [&whole[..], &[(false, true)]].concat();
        assert_eq!(after(&unstamped).until_ns(5, 10), 5);
        assert_eq!(after(&[]).until_ns(5, 10), 5);
    }

    #[test]
    fn a_look_in_vain_is_followed_by_a_wait_for_what_arrives() {
        let mut deferral = after(&[(true, true); WHOLE_REPLIES as usize]);
        deferral.looked(5);
        assert_eq!(deferral.until_ns(5, 900_005), 5);
        deferral.read(true, true);
        assert_eq!(deferral.until_ns(5, 900_005), 900_005);
        deferral.looked(5);
        deferral.sent();
        assert_eq!(deferral.until_ns(5, 900_005), 900_005);
    }

    #[test]
    fn replies_stay_unread_for_some_requests_or_some_time() {
        let mut deferral = Deferral::new(None);
        deferral.looked(1_000);
        assert!(deferral.stay_unread(500_999, 33, 64));
        assert!(!deferral.stay_unread(501_000, 33, 64));
        assert!(!deferral.stay_unread(1_001, 32, 64));
        assert!(!deferral.stay_unread(1_001, 0, 1));
        for _ in 0..UNREAD_SENDS {
            assert!(deferral.stay_unread(1_001, 64, 64));
            deferral.sent();
        }
        assert!(!deferral.stay_unread(1_001, 64, 64));
        deferral.looked(600_000);
        assert!(deferral.stay_unread(1_000_000, 64, 64));
    }

    #[test]
    fn chunks_wait_longer_where_they_are_stamped() {
        assert_eq!(after(&[(true, false)]).coalesced_until_ns(7), 2_000_007);
        assert_eq!(after(&[(false, false)]).coalesced_until_ns(7), 500_007);
    }

    #[test]
    fn chunks_wait_for_a_part_of_their_interval() {
        for (interval_ns, stamped_ns, unstamped_ns) in [
            (1_000_000_000, 8_000_000, 500_000),
            (32_000_000, 8_000_000, 500_000),
            (20_000_000, 5_000_000, 500_000),
            (1_000_000, 250_000, 250_000),
        ] {
            let mut deferral = Deferral::new(Some(interval_ns));
            assert_eq!(deferral.coalesced_until_ns(7), 7 + unstamped_ns);
            deferral.read(true, false);
            assert_eq!(deferral.coalesced_until_ns(7), 7 + stamped_ns);
        }
    }
}
