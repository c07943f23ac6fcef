//! The wakeup latency of this thread: estimated, so that requests go out at their instants.

/// No sleep is shortened by more: a thread that wakes up much later has another problem than its timer, and would
/// spend more on polling than on anything else.
const MAX_NS: f64 = 30_000.0;
/// Polling for longer takes more than a sleep does.
const SHORT_POLL_NS: u64 = 10_000;
/// By how much each longer poll in place of a sleep moves the estimate down. Otherwise a thread that never sleeps
/// would keep an estimate that forbids it.
const POLLED_STEP_NS: f64 = 50.0;
/// By how much a wakeup moves the estimate.
const STEP_NS: f64 = 200.0;
/// The quantile: this share of wakeups is earlier than the estimate, and the thread spins until the instant.
const EARLY_SHARE: f64 = 0.25;

/// A quantile of wakeup latencies, estimated by stochastic approximation (H. Robbins, S. Monro, Ann. Math. Stat. 22
/// (1951) 400-407): a step down for each lower latency, a third of a step up for each higher one.
#[derive(Debug, Default)]
pub struct WakeupLatency {
    estimate_ns: f64,
}

impl WakeupLatency {
    /// Until when to sleep, so that the wakeup is at an instant; None where that is too near for a sleep.
    pub fn sleep_until_ns(&self, now_ns: u64, at_ns: u64) -> Option<u64> {
        let until_ns = at_ns.saturating_sub(self.estimate_ns as u64);
        Some(until_ns).filter(|&until_ns| until_ns > now_ns)
    }

    /// Whether an instant is too near for a sleep.
    pub fn is_near(&self, left_ns: u64) -> bool {
        left_ns <= self.estimate_ns as u64
    }

    /// The thread polls for so long in place of a sleep.
    pub fn polls(&mut self, left_ns: u64) {
        if left_ns > SHORT_POLL_NS {
            self.estimate_ns = (self.estimate_ns - POLLED_STEP_NS).max(0.0);
        }
    }

    /// A wakeup was so late, and nothing but the time had ended the sleep.
    pub fn observe(&mut self, late_ns: u64) {
        let step = if late_ns as f64 > self.estimate_ns {
            STEP_NS * (EARLY_SHARE / (1.0 - EARLY_SHARE))
        } else {
            -STEP_NS
        };
        self.estimate_ns = (self.estimate_ns + step).clamp(0.0, MAX_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(wakeups: impl Iterator<Item = u64>) -> WakeupLatency {
        let mut latency = WakeupLatency::default();
        for late_ns in wakeups {
            latency.observe(late_ns);
        }
        latency
    }

    #[test]
    fn the_first_sleep_is_not_shortened() {
        let latency = WakeupLatency::default();
        assert_eq!(latency.sleep_until_ns(5, 7_005), Some(7_005));
        assert!(!latency.is_near(1));
    }

    #[test]
    fn the_estimate_is_a_quantile() {
        let mut random = fastrand::Rng::with_seed(3);
        let latency = after((0..20_000).map(|_| 10_000 + random.u64(0..8_000)));
        let estimate = 50_000 - latency.sleep_until_ns(0, 50_000).unwrap();
        // A quarter of them lies below 12 µs.
        assert!((11_000..13_000).contains(&estimate), "{estimate}");
        assert!(latency.is_near(estimate));
        assert!(!latency.is_near(14_000));
        assert_eq!(latency.sleep_until_ns(45_000, 50_000), None);
    }

    #[test]
    fn stalls_of_the_host_do_not_make_it_spin_for_long() {
        let latency = after((0..20_000).map(|_| 500_000_000));
        assert_eq!(latency.sleep_until_ns(0, 150_000), Some(150_000 - 30_000));
        let mut random = fastrand::Rng::with_seed(3);
        let stalls = after((0..20_000).map(|_| {
            if random.u8(0..10) == 0 {
                9_000_000
            } else {
                3_000
            }
        }));
        assert!(stalls.is_near(2_000) && !stalls.is_near(4_000));
    }

    #[test]
    fn a_thread_that_never_sleeps_tries_it_again() {
        let mut latency = after((0..20_000).map(|_| 40_000));
        assert_eq!(latency.sleep_until_ns(0, 25_000), None);
        for _ in 0..101 {
            latency.polls(25_000);
        }
        assert!(latency.sleep_until_ns(0, 25_000).is_some());
        // Short polls are cheaper than a sleep.
        for _ in 0..10_000 {
            latency.polls(10_000);
        }
        assert_eq!(latency.sleep_until_ns(0, 20_000), None);
        for _ in 0..10_000 {
            latency.polls(10_001);
        }
        assert_eq!(latency.sleep_until_ns(0, 5), Some(5));
    }

    #[test]
    fn punctual_wakeups_do_not_make_it_spin() {
        let latency = after((0..1000).map(|_| 0));
        assert_eq!(latency.sleep_until_ns(0, 5_000), Some(5_000));
    }
}
