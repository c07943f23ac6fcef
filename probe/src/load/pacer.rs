//! When requests are due: pure values, without a clock. Times are nanoseconds from the start.

/// The pace of a whole load.
#[derive(Clone, Debug, PartialEq)]
pub enum Pacing {
    /// A connection sends its next request when the reply has come: nothing is due at any time.
    Closed,
    /// Requests per second, evenly, and how many of them are due at one time.
    Constant(f64, u64),
    /// Requests per second on average, with exponential gaps; a seed.
    Poisson(f64, u64),
    /// Constant rates, one after the other.
    Staircase(Vec<Step>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub rate_per_s: f64,
    pub duration_ns: u64,
}

/// The instants that fall to one shard, in order.
#[derive(Debug)]
pub struct Pacer {
    kind: Kind,
    next_ns: Option<u64>,
    until_ns: u64,
    left: u64,
}

#[derive(Debug)]
enum Kind {
    Never,
    /// Instant number `index` of all is that of the first of its burst, `index / rate`; the shard has each
    /// `stride`-th.
    Even {
        rate_per_s: f64,
        burst: u64,
        index: u64,
        stride: u64,
    },
    Poisson {
        mean_gap_ns: f64,
        at_ns: f64,
        random: fastrand::Rng,
    },
    Stairs {
        steps: Vec<Step>,
        /// The step, its start, and the number within it.
        step: usize,
        start_ns: u64,
        index: u64,
        stride: u64,
    },
}

impl Pacer {
    /// For shard `shard` of `shards`. Instants lie before `until_ns`, and there are `most` in all shards
    /// together at most.
    pub fn new(
        pacing: &Pacing,
        shard: u64,
        shards: u64,
        until_ns: Option<u64>,
        most: Option<u64>,
    ) -> Pacer {
        let kind = match pacing {
            Pacing::Closed => Kind::Never,
            Pacing::Constant(rate_per_s, burst) => Kind::Even {
                rate_per_s: *rate_per_s,
                burst: (*burst).max(1),
                index: shard,
                stride: shards,
            },
            Pacing::Poisson(rate_per_s, seed) => Kind::Poisson {
                mean_gap_ns: 1e9 / rate_per_s * shards as f64,
                at_ns: 0.0,
                random: fastrand::Rng::with_seed(seed.wrapping_mul(1009).wrapping_add(shard)),
            },
            Pacing::Staircase(steps) => Kind::Stairs {
                steps: steps.clone(),
                step: 0,
                start_ns: 0,
                index: shard,
                stride: shards,
            },
        };
        let mut pacer = Pacer {
            kind,
            next_ns: None,
            until_ns: until_ns.unwrap_or(u64::MAX),
            left: most.map_or(u64::MAX, |most| share(most, shard, shards)),
        };
        pacer.find();
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
            self.find();
        }
        taken
    }

    fn find(&mut self) {
        let found = if self.left == 0 {
            None
        } else {
            self.kind.next()
        };
        self.next_ns = found.filter(|&at| at < self.until_ns);
    }
}

impl Kind {
    fn next(&mut self) -> Option<u64> {
        match self {
            Kind::Never => None,
            Kind::Even {
                rate_per_s,
                burst,
                index,
                stride,
            } => {
                let at = (*index - *index % *burst) as f64 / *rate_per_s * 1e9;
                *index += *stride;
                Some(at as u64)
            }
            Kind::Poisson {
                mean_gap_ns,
                at_ns,
                random,
            } => {
                // 1 - u is never 0.
                *at_ns -= (1.0 - random.f64()).ln() * *mean_gap_ns;
                Some(*at_ns as u64)
            }
            Kind::Stairs {
                steps,
                step,
                start_ns,
                index,
                stride,
            } => loop {
                let current = steps.get(*step)?;
                let at = (*index as f64 / current.rate_per_s * 1e9) as u64;
                if at < current.duration_ns {
                    *index += *stride;
                    return Some(*start_ns + at);
                }
                // The next step's numbers go on with the same shard.
                *start_ns += current.duration_ns;
                *step += 1;
                *index %= *stride;
            },
        }
    }
}

/// The part of `total` that falls to a shard.
pub fn share(total: u64, shard: u64, shards: u64) -> u64 {
    total / shards + u64::from(shard < total % shards)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pacing: &Pacing, shards: u64, until_ns: Option<u64>, most: Option<u64>) -> Vec<u64> {
        let mut found = Vec::new();
        for shard in 0..shards {
            let mut pacer = Pacer::new(pacing, shard, shards, until_ns, most);
            let mut last = 0;
            while let Some(at) = pacer.take() {
                assert!(at >= last);
                last = at;
                found.push(at);
            }
        }
        found.sort_unstable();
        found
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_table_of_paces() {
        let constant = Pacing::Constant(4.0, 1);
        let pairs = Pacing::Constant(4.0, 2);
        let quarters = [0, 250_000_000, 500_000_000, 750_000_000];
        for shards in 1..=5 {
            assert_eq!(all(&constant, shards, Some(SECOND), None), quarters);
            assert_eq!(all(&constant, shards, None, Some(3)), quarters[..3]);
            assert!(all(&constant, shards, Some(SECOND), Some(0)).is_empty());
            let halves = [0, 0, 500_000_000, 500_000_000];
            assert_eq!(all(&pairs, shards, Some(SECOND), None), halves);
            assert_eq!(all(&pairs, shards, None, Some(3)), halves[..3]);
        }
        assert!(all(&Pacing::Closed, 1, None, Some(5)).is_empty());
        let step = |rate_per_s, seconds| Step {
            rate_per_s,
            duration_ns: seconds * SECOND,
        };
        let stairs = Pacing::Staircase(vec![step(2.0, 1), step(1.0, 2), step(4.0, 1)]);
        let halves = [0, 2, 4, 8, 12, 13, 14, 15].map(|quarter| quarter * SECOND / 4);
        for shards in 1..=4 {
            assert_eq!(all(&stairs, shards, None, None), halves, "{shards}");
        }
    }

    #[test]
    fn poisson_has_the_rate_and_the_gaps() {
        let pacing = Pacing::Poisson(1000.0, 7);
        for shards in [1, 3] {
            let found = all(&pacing, shards, Some(100 * SECOND), None);
            let count = found.len() as f64;
            // Five standard deviations.
            assert!(
                (count - 100_000.0).abs() < 5.0 * 100_000f64.sqrt(),
                "{count}"
            );
            let gaps: Vec<f64> = found
                .windows(2)
                .map(|pair| (pair[1] - pair[0]) as f64)
                .collect();
            let long = gaps.iter().filter(|&&gap| gap > 1e6).count() as f64 / gaps.len() as f64;
            assert!((long - (-1f64).exp()).abs() < 0.01, "{long}");
        }
        assert_eq!(
            all(&pacing, 2, Some(SECOND), None),
            all(&pacing, 2, Some(SECOND), None)
        );
    }

    #[test]
    fn shares_add_up() {
        for total in 0..40 {
            for shards in 1..7 {
                let sum: u64 = (0..shards).map(|shard| share(total, shard, shards)).sum();
                assert_eq!(sum, total);
            }
        }
    }
}
