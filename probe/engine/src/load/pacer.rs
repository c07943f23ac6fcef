//! The instants at which requests are due. Pure: no clock. Times are nanoseconds from the start.

use super::partition::Partition;
use super::plan::{Pacing, StepPlan};
use wire::units::nanoseconds;

impl StepPlan {
    /// When a request, by its number from 0, is due in the step; None after its end.
    fn instant_ns(&self, number: u64) -> Option<u64> {
        let StepPlan { rate_per_s, duration_s, to_per_s } = *self;
        let number = number as f64;
        let per_s_per_s = (to_per_s.unwrap_or(rate_per_s) - rate_per_s) / duration_s;
        // The root of `rate * t + per_s_per_s * t² / 2 = number`; not a number where a falling rate ends before.
        let root = (rate_per_s * rate_per_s + 2.0 * per_s_per_s * number).sqrt();
        let at_s = 2.0 * number / (rate_per_s + root);
        (at_s < duration_s).then_some((at_s * 1e9) as u64)
    }
}

/// The instants of one shard, in order.
#[derive(Debug)]
pub struct Pacer {
    schedule: Schedule,
    partition: Partition,
    next_ns: Option<u64>,
    until_ns: u64,
    left: u64,
}

#[derive(Debug)]
enum Schedule {
    Never,
    /// A request is due when its burst is. `index`: the number of the shard's next.
    Even {
        rate_per_s: f64,
        burst: u64,
        index: u64,
    },
    Poisson {
        mean_gap_ns: f64,
        at_ns: f64,
        random: fastrand::Rng,
    },
    /// The present step, its start, and the number of the shard's next request in it.
    Stairs {
        steps: Vec<StepPlan>,
        step: usize,
        start_ns: u64,
        index: u64,
    },
}

impl Pacer {
    /// Instants are before `until_ns`, and there are at most `max` in
    /// all shards together.
    pub fn new(pacing: &Pacing, partition: Partition, until_ns: Option<u64>, max: Option<u64>) -> Pacer {
        let schedule = match pacing {
            Pacing::Closed {} => Schedule::Never,
            Pacing::Constant { rate_per_s, burst } => {
                Schedule::Even { rate_per_s: *rate_per_s, burst: (*burst).max(1) as u64, index: 0 }
            }
            Pacing::Poisson { rate_per_s, seed } => Schedule::Poisson {
                mean_gap_ns: 1e9 / partition.of_rate(*rate_per_s),
                at_ns: 0.0,
                random: partition.random(*seed),
            },
            Pacing::Staircase { steps, .. } => {
                Schedule::Stairs { steps: steps.clone(), step: 0, start_ns: 0, index: 0 }
            }
        };
        let mut pacer = Pacer {
            schedule,
            partition,
            next_ns: None,
            until_ns: until_ns.unwrap_or(u64::MAX),
            left: max.map_or(u64::MAX, |max| partition.requests(max)),
        };
        pacer.advance();
        pacer
    }

    /// The next instant; None when there are no more.
    pub fn peek(&self) -> Option<u64> {
        self.next_ns
    }

    /// Takes the next instant.
    pub fn take(&mut self) -> Option<u64> {
        let taken = self.next_ns;
        if taken.is_some() {
            self.left -= 1;
            self.advance();
        }
        taken
    }

    fn advance(&mut self) {
        let next_ns = if self.left == 0 { None } else { self.schedule.next(&self.partition) };
        self.next_ns = next_ns.filter(|&at| at < self.until_ns);
    }
}

impl Schedule {
    fn next(&mut self, partition: &Partition) -> Option<u64> {
        match self {
            Schedule::Never => None,
            Schedule::Even { rate_per_s, burst, index } => {
                let number = partition.request(*index);
                let at = (number - number % *burst) as f64 / *rate_per_s * 1e9;
                *index += 1;
                Some(at as u64)
            }
            Schedule::Poisson { mean_gap_ns, at_ns, random } => {
                // 1 - u is never 0.
                *at_ns -= (1.0 - random.f64()).ln() * *mean_gap_ns;
                Some(*at_ns as u64)
            }
            Schedule::Stairs { steps, step, start_ns, index } => loop {
                let current = steps.get(*step)?;
                if let Some(at) = current.instant_ns(partition.request(*index)) {
                    *index += 1;
                    return Some(*start_ns + at);
                }
                *start_ns += nanoseconds(current.duration_s);
                *step += 1;
                *index = 0;
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pacing: &Pacing, shards: u64, until_ns: Option<u64>, max: Option<u64>) -> Vec<u64> {
        let mut instants = Vec::new();
        for shard in 0..shards {
            let share = Partition::new(shard, shards, shards + 2);
            let mut pacer = Pacer::new(pacing, share, until_ns, max);
            let mut last = 0;
            while let Some(at) = pacer.take() {
                assert!(at >= last);
                last = at;
                instants.push(at);
            }
        }
        instants.sort_unstable();
        instants
    }

    fn constant(rate_per_s: f64, burst: usize) -> Pacing {
        Pacing::Constant { rate_per_s, burst }
    }

    fn poisson(rate_per_s: f64, seed: u64) -> Pacing {
        Pacing::Poisson { rate_per_s, seed }
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn instants_of_each_pacing() {
        let single = constant(4.0, 1);
        let pairs = constant(4.0, 2);
        let quarters = [0, 250_000_000, 500_000_000, 750_000_000];
        for shards in 1..=5 {
            assert_eq!(all(&single, shards, Some(SECOND), None), quarters);
            assert_eq!(all(&single, shards, None, Some(3)), quarters[..3]);
            assert!(all(&single, shards, Some(SECOND), Some(0)).is_empty());
            let halves = [0, 0, 500_000_000, 500_000_000];
            assert_eq!(all(&pairs, shards, Some(SECOND), None), halves);
            assert_eq!(all(&pairs, shards, None, Some(3)), halves[..3]);
        }
        assert!(all(&Pacing::Closed {}, 1, None, Some(5)).is_empty());
        let step = |rate_per_s, duration_s| StepPlan { rate_per_s, duration_s, to_per_s: None };
        let staircase = |steps| Pacing::Staircase { steps, of: None };
        let stairs = staircase(vec![step(2.0, 1.0), step(1.0, 2.0), step(4.0, 1.0)]);
        let halves = [0, 2, 4, 8, 12, 13, 14, 15].map(|quarter| quarter * SECOND / 4);
        for shards in 1..=4 {
            assert_eq!(all(&stairs, shards, None, None), halves, "{shards}");
            // After t seconds: 20t + 10t² and 20t - 2.5t² requests.
            for (to_per_s, halfway, whole) in [(60.0, 30, 80), (10.0, 18, 30)] {
                let change = StepPlan { to_per_s: Some(to_per_s), ..step(20.0, 2.0) };
                let instants = all(&staircase(vec![change]), shards, None, None);
                let early = instants.iter().filter(|&&at| at < SECOND).count();
                assert_eq!((early, instants.len()), (halfway, whole), "{shards}");
            }
        }
    }

    #[test]
    fn poisson_has_the_rate_and_the_gaps() {
        let pacing = poisson(1000.0, 7);
        for shards in [1, 3] {
            let instants = all(&pacing, shards, Some(100 * SECOND), None);
            let count = instants.len() as f64;
            // Five standard deviations.
            assert!((count - 100_000.0).abs() < 5.0 * 100_000f64.sqrt(), "{count}");
            let gaps: Vec<f64> = instants.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
            let long = gaps.iter().filter(|&&gap| gap > 1e6).count() as f64 / gaps.len() as f64;
            assert!((long - (-1f64).exp()).abs() < 0.01, "{long}");
        }
        assert_eq!(all(&pacing, 2, Some(SECOND), None), all(&pacing, 2, Some(SECOND), None));
    }

    #[test]
    fn a_pacer_shows_its_next_instant() {
        let mut pacer = Pacer::new(&constant(2.0, 1), Partition::new(0, 1, 1), None, Some(2));
        assert_eq!(pacer.peek(), Some(0));
        assert_eq!((pacer.take(), pacer.peek()), (Some(0), Some(SECOND / 2)));
        assert_eq!((pacer.take(), pacer.peek()), (Some(SECOND / 2), None));
        assert_eq!((pacer.take(), pacer.take()), (None, None));
    }

    #[test]
    fn an_instant_at_the_end_is_not_due() {
        let pacing = constant(1.0, 1);
        assert_eq!(all(&pacing, 1, Some(SECOND), None), [0]);
        assert_eq!(all(&pacing, 1, Some(SECOND + 1), None), [0, SECOND]);
        // A burst of 0 is one of 1.
        assert_eq!(all(&constant(1.0, 0), 1, None, Some(2)), [0, SECOND]);
    }

    #[test]
    fn shards_of_a_poisson_process_differ() {
        let pacing = poisson(1000.0, 7);
        let share = |shard| Partition::new(shard, 2, 2);
        let first = |shard| Pacer::new(&pacing, share(shard), None, None).peek();
        assert_ne!(first(0), first(1));
        let other = poisson(1000.0, 8);
        assert_ne!(Pacer::new(&other, share(0), None, None).peek(), first(0));
    }
}
