//! How late the kernel wakes this thread: learned, so that what is due at an instant goes out at it.

use std::time::Duration;

/// No wait is cut by more: whoever wakes much later than that has another problem than its timer.
const MOST_NS: f64 = 100_000.0;
/// How far one wake moves what is believed.
const STEP_NS: f64 = 200.0;
/// The share of wakes that are less late than believed; for these the rest is spent spinning.
const EARLIER: f64 = 0.25;

/// A quantile of how late wakes were, found by small steps (H. Robbins, S. Monro, Ann. Math. Stat. 22 (1951)
/// 400-407): a step down for each that was less late, a third of it up for each that was later.
#[derive(Debug, Default)]
pub struct Alarm {
    late_ns: f64,
}

impl Alarm {
    /// How long to ask for, so that the wake is at an instant that far away.
    pub fn wait(&self, left_ns: u64) -> Duration {
        Duration::from_nanos(left_ns.saturating_sub(self.late_ns as u64))
    }

    /// Whether the rest of the way to the instant is what wakes are late by: too short for another wait.
    pub fn is_near(&self, left_ns: u64) -> bool {
        left_ns <= self.late_ns as u64
    }

    /// A wait was asked for, and took so long; nothing else ended it.
    pub fn rang(&mut self, asked: Duration, took_ns: u64) {
        let late_ns = took_ns as f64 - asked.as_nanos() as f64;
        let step = if late_ns > self.late_ns {
            STEP_NS * (EARLIER / (1.0 - EARLIER))
        } else {
            -STEP_NS
        };
        self.late_ns = (self.late_ns + step).clamp(0.0, MOST_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Duration = Duration::from_micros(50);

    fn after(wakes: impl Iterator<Item = u64>) -> Alarm {
        let mut alarm = Alarm::default();
        for late_ns in wakes {
            alarm.rang(ASKED, 50_000 + late_ns);
        }
        alarm
    }

    #[test]
    fn a_first_wait_is_as_long_as_it_should_be() {
        assert_eq!(Alarm::default().wait(7_000), Duration::from_nanos(7_000));
        assert!(!Alarm::default().is_near(1));
    }

    #[test]
    fn it_finds_a_quantile_of_how_late_wakes_are() {
        let mut random = fastrand::Rng::with_seed(3);
        let alarm = after((0..20_000).map(|_| 10_000 + random.u64(0..8_000)));
        let believed = 50_000 - alarm.wait(50_000).as_nanos() as u64;
        // A quarter of them lies below 12 µs.
        assert!((11_000..13_000).contains(&believed), "{believed}");
        assert!(alarm.is_near(believed));
        assert!(!alarm.is_near(14_000));
        assert_eq!(alarm.wait(5_000), Duration::ZERO);
    }

    #[test]
    fn a_machine_that_stands_still_does_not_make_it_spin_for_long() {
        let alarm = after((0..20_000).map(|_| 500_000_000));
        assert_eq!(alarm.wait(150_000), Duration::from_nanos(50_000));
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
    fn wakes_that_are_not_late_leave_nothing_to_spin() {
        let alarm = after((0..1000).map(|_| 0));
        assert_eq!(alarm.wait(5_000), Duration::from_nanos(5_000));
    }
}
