//! The counts of the live view.

const BUCKETS: usize = 256;

/// What happened in an interval: coarse, and small enough to be copied.
#[derive(Clone)]
pub struct Interval {
    pub requests: u64,
    pub errors: u64,
    pub intended: u64,
    pub max_ns: u64,
    pub open: u64,
    pub in_flight: u64,
    counts: [u32; BUCKETS],
}

impl Default for Interval {
    fn default() -> Interval {
        Interval {
            requests: 0,
            errors: 0,
            intended: 0,
            max_ns: 0,
            open: 0,
            in_flight: 0,
            counts: [0; BUCKETS],
        }
    }
}

impl Interval {
    /// Takes the counts; open connections and requests in flight stay.
    pub fn take(&mut self) -> Interval {
        let (open, in_flight) = (self.open, self.in_flight);
        let empty = Interval {
            open,
            in_flight,
            ..Interval::default()
        };
        std::mem::replace(self, empty)
    }

    /// Adds the interval of another shard, with its open connections and requests in flight.
    pub fn add_shard(&mut self, other: &Interval) {
        self.merge(other);
        self.open += other.open;
        self.in_flight += other.in_flight;
    }

    /// Counts a time: four buckets to a doubling.
    pub fn add(&mut self, ns: u64) {
        let ns = ns.max(4);
        let power = 63 - ns.leading_zeros();
        let bucket = power * 4 + ((ns >> (power - 2)) & 3) as u32;
        self.counts[bucket as usize] += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds the counts of another interval, without open connections and requests in flight.
    pub fn merge(&mut self, other: &Interval) {
        self.requests += other.requests;
        self.errors += other.errors;
        self.intended += other.intended;
        self.max_ns = self.max_ns.max(other.max_ns);
        for (own, others) in self.counts.iter_mut().zip(&other.counts) {
            *own += others;
        }
    }

    /// `(upper_ns, count)` of the buckets that are not empty.
    pub fn buckets(&self) -> Vec<(u64, u32)> {
        let used = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, &count)| count > 0);
        used.map(|(bucket, &count)| (upper_ns(bucket), count))
            .collect()
    }

    /// An upper bound of the quantile; None when empty.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let total: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let rank = ((total as f64 * quantile).ceil() as u64).max(1);
        let mut cumulated = 0;
        for (upper_ns, count) in self.buckets() {
            cumulated += u64::from(count);
            if cumulated >= rank {
                return Some(upper_ns.min(self.max_ns));
            }
        }
        None
    }
}

fn upper_ns(bucket: usize) -> u64 {
    let (power, quarter) = (bucket as u32 / 4, bucket as u64 % 4);
    ((4 + quarter + 1) << (power - 2)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_their_values() {
        for ns in (4..100_000).chain([3_600_000_000_000, u64::MAX / 8]) {
            let mut interval = Interval::default();
            interval.add(ns);
            let (upper, count) = interval.buckets()[0];
            assert_eq!(count, 1);
            assert!(ns <= upper && upper - ns <= ns / 4 + 1, "{ns} {upper}");
            assert_eq!(interval.quantile_ns(0.5), Some(ns));
        }
        assert_eq!(Interval::default().quantile_ns(0.5), None);
    }

    fn interval(scale: u64) -> Interval {
        let mut interval = Interval {
            requests: scale,
            errors: 2 * scale,
            intended: 3 * scale,
            open: 4 * scale,
            in_flight: 5 * scale,
            ..Interval::default()
        };
        interval.add(1000 * scale);
        interval
    }

    #[test]
    fn shards_are_added_with_their_connections() {
        let mut all = interval(1);
        all.merge(&interval(2));
        assert_eq!((all.requests, all.errors, all.intended), (3, 6, 9));
        assert_eq!((all.open, all.in_flight), (4, 5));
        all.add_shard(&interval(4));
        assert_eq!((all.requests, all.errors, all.intended), (7, 14, 21));
        assert_eq!((all.open, all.in_flight, all.max_ns), (20, 25, 4000));
        assert_eq!(all.buckets(), [(1023, 1), (2047, 1), (4095, 1)]);
    }

    #[test]
    fn counts_are_taken_and_connections_stay() {
        let mut rest = interval(1);
        let taken = rest.take();
        assert_eq!((taken.requests, taken.errors, taken.intended), (1, 2, 3));
        assert_eq!((taken.open, taken.in_flight), (4, 5));
        assert_eq!((rest.requests, rest.errors, rest.intended), (0, 0, 0));
        assert_eq!((rest.open, rest.in_flight, rest.max_ns), (4, 5, 0));
        assert!(rest.buckets().is_empty());
    }

    #[test]
    fn quantiles_by_rank() {
        let mut interval = Interval::default();
        for ns in [1000, 1000, 1000, 8000] {
            interval.add(ns);
        }
        assert_eq!(interval.quantile_ns(0.0), Some(1023));
        assert_eq!(interval.quantile_ns(0.75), Some(1023));
        assert_eq!(interval.quantile_ns(0.76), Some(8000));
        assert_eq!(interval.quantile_ns(1.0), Some(8000));
    }
}
