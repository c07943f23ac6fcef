//! Polling for a moment before a sleep, in closed loops whose threads have CPUs of their own. A generator that sleeps
//! between two replies has to be woken by the server, whose CPU pays for that: on loopback, not over a network.

/// A sleep and the wake-up from it take about so long on a virtual machine.
const MAX_POLL_NS: u64 = 20_000;
/// One of so many waits begins with polling where polling was in vain before: the load may have changed.
const ATTEMPT: u64 = 32;
/// The weight of the last attempt in the estimate.
const WEIGHT: f64 = 1.0 / 16.0;
/// The share of attempts during which something came, from which on polling saves more than it costs.
const MIN_SHARE: f64 = 0.5;

/// Whether to poll, by what polling brought about so far.
#[derive(Debug, Default)]
pub struct BriefPoll {
    is_allowed: bool,
    waits: u64,
    found_share: f64,
}

impl BriefPoll {
    pub fn new(is_allowed: bool) -> BriefPoll {
        BriefPoll {
            is_allowed,
            ..BriefPoll::default()
        }
    }

    /// Until when to poll before a sleep that lasts until `at_ns`; None where polling does not pay.
    pub fn until_ns(&mut self, now_ns: u64, at_ns: u64) -> Option<u64> {
        if !self.is_allowed {
            return None;
        }
        self.waits += 1;
        let pays = self.found_share >= MIN_SHARE || self.waits % ATTEMPT == 0;
        pays.then(|| at_ns.min(now_ns + MAX_POLL_NS))
    }

    /// Polling has ended. `found`: with an event.
    pub fn polled(&mut self, found: bool) {
        self.found_share += WEIGHT * (f64::from(u8::from(found)) - self.found_share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many waits began with polling, which found something or not.
    fn polls(poll: &mut BriefPoll, waits: u64, found: bool) -> u64 {
        (0..waits)
            .filter(|_| {
                let polls = poll.until_ns(0, u64::MAX).is_some();
                if polls {
                    poll.polled(found);
                }
                polls
            })
            .count() as u64
    }

    #[test]
    fn a_thread_without_a_cpu_of_its_own_sleeps() {
        assert_eq!(polls(&mut BriefPoll::new(false), 1_000, true), 0);
    }

    #[test]
    fn polling_begins_where_something_comes_and_ends_where_nothing_does() {
        let mut poll = BriefPoll::new(true);
        // The share passes a half with the eleventh attempt.
        assert_eq!(polls(&mut poll, 11 * ATTEMPT, true), 11);
        assert_eq!(polls(&mut poll, 1_000, true), 1_000);
        assert!(polls(&mut poll, 1_000, false) < 60);
        assert_eq!(polls(&mut poll, 10 * ATTEMPT, false), 10);
    }

    #[test]
    fn it_lasts_for_a_moment_at_most() {
        let mut poll = BriefPoll::new(true);
        polls(&mut poll, 20 * ATTEMPT, true);
        assert_eq!(poll.until_ns(7, 1_000_000), Some(7 + MAX_POLL_NS));
        assert_eq!(poll.until_ns(7, 8), Some(8));
    }
}
