//! The other work: a beat every 10 ms.

use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(10);

pub struct Heartbeat {
    last: Instant,
    pub beats: u64,
    /// The longest time without one.
    pub gap: Duration,
}

impl Heartbeat {
    pub fn new(begun: Instant) -> Self {
        Heartbeat {
            last: begun,
            beats: 0,
            gap: Duration::ZERO,
        }
    }

    /// How long nothing is due.
    pub fn rest(&self, now: Instant) -> Duration {
        (self.last + INTERVAL).saturating_duration_since(now)
    }

    pub fn beat_if_due(&mut self, now: Instant) {
        if self.rest(now).is_zero() {
            self.beats += 1;
            self.end(now);
            self.last = now;
        }
    }

    /// The time since the last beat counts too.
    pub fn end(&mut self, now: Instant) {
        self.gap = self.gap.max(now - self.last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_is_due_10_ms_after_the_one_before() {
        let begun = Instant::now();
        let at = |ms| begun + Duration::from_millis(ms);
        let mut heart = Heartbeat::new(begun);
        // When it is looked at; the beats until then, and how long nothing is due after it.
        for (ms, beats, rest) in [
            (0, 0, 10),
            (9, 0, 1),
            (10, 1, 10),
            (12, 1, 8),
            (47, 2, 10),
            (50, 2, 7),
            (57, 3, 10),
        ] {
            heart.beat_if_due(at(ms));
            assert_eq!(heart.beats, beats, "at {ms} ms");
            assert_eq!(heart.rest(at(ms)), Duration::from_millis(rest));
        }
        assert_eq!(heart.gap, Duration::from_millis(37));
        heart.end(at(90));
        assert_eq!((heart.beats, heart.gap), (3, Duration::from_millis(37)));
        heart.end(at(95));
        assert_eq!(heart.gap, Duration::from_millis(38));
    }
}
