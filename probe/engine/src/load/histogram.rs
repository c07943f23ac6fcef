//! Histograms of times, with exact extremes.

use hdrhistogram::Histogram as Counts;
use serde::{Deserialize, Serialize};
use wire::refuse;

/// One hour: longer times are counted as this.
const MAX_COUNTED_NS: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;
/// The most counts of one that comes from another process: far more than a load has, and a thousand of them add up.
const MAX_COUNTS: u64 = 1 << 50;
/// Enough for a curve: a value is at most 1 % too high.
const CURVE_DIGITS: u8 = 2;

/// A histogram of nanoseconds with three significant digits; its minimum and maximum are exact.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Buckets", into = "Buckets")]
pub struct Histogram {
    counts: Counts<u64>,
    min_ns: u64,
    max_ns: u64,
}

/// A histogram on its way to another process: `(upper_ns, count)` of its buckets, and the extremes.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Buckets {
    counts: Vec<(u64, u64)>,
    min_ns: u64,
    max_ns: u64,
}

impl From<Histogram> for Buckets {
    fn from(histogram: Histogram) -> Buckets {
        Buckets { counts: histogram.buckets().collect(), min_ns: histogram.min_ns, max_ns: histogram.max_ns }
    }
}

impl TryFrom<Buckets> for Histogram {
    type Error = String;

    /// The error: no times make these counts or these extremes.
    fn try_from(buckets: Buckets) -> Result<Histogram, String> {
        let mut counts = counts(SIGNIFICANT_DIGITS);
        let mut sizes = buckets.counts.iter().map(|(_, count)| *count);
        let total = sizes.try_fold(0u64, |total, count| total.checked_add(count));
        let is_wrong = total.map_or(true, |total| total > MAX_COUNTS);
        refuse!(is_wrong, "a histogram of more than {MAX_COUNTS} counts");
        for (upper_ns, count) in buckets.counts {
            // Into the bucket that it came from: all histograms have the same bounds.
            counts.saturating_record_n(upper_ns, count);
        }
        let (min_ns, max_ns) = (buckets.min_ns, buckets.max_ns);
        if counts.is_empty() {
            return Ok(Histogram::default());
        }
        let is_wrong = min_ns > max_ns;
        refuse!(is_wrong, "a histogram from {min_ns} to {max_ns} ns: the least is above the greatest");
        Ok(Histogram { counts, min_ns, max_ns })
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::with_digits(SIGNIFICANT_DIGITS)
    }
}

fn counts(significant_digits: u8) -> Counts<u64> {
    let counts = Counts::new_with_bounds(1, MAX_COUNTED_NS, significant_digits);
    counts.expect("the bounds are valid")
}

impl Histogram {
    /// With two significant digits, for time lines; to be merged with others of its kind only.
    pub fn compact() -> Histogram {
        Histogram::with_digits(CURVE_DIGITS)
    }

    fn with_digits(significant_digits: u8) -> Histogram {
        Histogram { counts: counts(significant_digits), min_ns: u64::MAX, max_ns: 0 }
    }

    /// Adds a time; 0 is counted as 1.
    pub fn add(&mut self, ns: u64) {
        let ns = ns.max(1);
        self.counts.saturating_record(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    pub fn merge(&mut self, other: &Histogram) {
        let merged = self.counts.add(&other.counts);
        merged.expect("all histograms have the same bounds");
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub fn len(&self) -> u64 {
        self.counts.len()
    }

    pub fn mean(&self) -> f64 {
        self.counts.mean()
    }

    pub fn stdev(&self) -> f64 {
        self.counts.stdev()
    }

    /// The least time; 0 when empty.
    pub fn min(&self) -> u64 {
        self.min_ns.min(self.max_ns)
    }

    /// The greatest time; 0 when empty.
    pub fn max(&self) -> u64 {
        self.max_ns
    }

    /// A quantile, to three significant digits, and never outside the extremes; 0 when empty.
    pub fn quantile(&self, quantile: f64) -> u64 {
        let counted = self.counts.value_at_quantile(quantile);
        counted.clamp(self.min(), self.max())
    }

    /// `(upper_ns, count)` of the buckets that are not empty.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        recorded(&self.counts)
    }

    /// The buckets at two significant digits as `upper_ns count upper_ns count …`, ascending; none is above
    /// the maximum.
    pub fn curve(&self) -> String {
        let mut coarse = counts(CURVE_DIGITS);
        for (upper_ns, count) in self.buckets() {
            coarse.saturating_record_n(upper_ns, count);
        }
        let pairs = recorded(&coarse);
        let words = pairs.map(|(upper_ns, count)| format!("{} {count}", upper_ns.min(self.max())));
        words.collect::<Vec<_>>().join(" ")
    }
}

fn recorded(counts: &Counts<u64>) -> impl Iterator<Item = (u64, u64)> + '_ {
    let buckets = counts.iter_recorded();
    buckets.map(|bucket| (bucket.value_iterated_to(), bucket.count_since_last_iteration()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_exact() {
        let mut histogram = Histogram::default();
        // Three digits alone would round the first down to 999.8 ms, and the last up.
        for ns in [1_000_300_001, 1_000_300_000, 7_777_777_777] {
            histogram.add(ns);
        }
        assert_eq!(histogram.min(), 1_000_300_000);
        assert_eq!(histogram.max(), 7_777_777_777);
        assert_eq!(histogram.quantile(1.0), 7_777_777_777);
        assert_eq!(histogram.quantile(0.0), 1_000_300_000);
        assert_eq!(histogram.len(), 3);
        assert_eq!(histogram.buckets().map(|(_, count)| count).sum::<u64>(), 3);
    }

    #[test]
    fn what_no_times_make_is_refused() {
        let read = |text: &str| serde_json::from_str::<Histogram>(text);
        let histogram = read(r#"{"counts":[[5,1],[9,2]],"min_ns":5,"max_ns":9}"#).unwrap();
        assert_eq!((histogram.len(), histogram.quantile(1.0)), (3, 9));
        let empty = read(r#"{"counts":[],"min_ns":7,"max_ns":3}"#).unwrap();
        assert_eq!((empty.min(), empty.max(), empty.quantile(0.5)), (0, 0, 0));
        let most = 1u64 << 50;
        assert!(read(&format!(r#"{{"counts":[[5,{most}]],"min_ns":5,"max_ns":5}}"#)).is_ok());
        for (counts, word) in [
            ("[[5,1]],\"min_ns\":6,\"max_ns\":5".to_owned(), "from 6 to 5 ns"),
            (format!("[[5,{most}],[6,1]],\"min_ns\":5,\"max_ns\":6"), "counts"),
            (format!("[[5,{max}],[6,{max}]],\"min_ns\":5,\"max_ns\":6", max = u64::MAX), "counts"),
        ] {
            let Err(why) = read(&format!("{{\"counts\":{counts}}}")) else {
                panic!("{counts}");
            };
            assert!(why.to_string().contains(word), "{why}");
        }
    }

    #[test]
    fn extremes_of_merged_histograms() {
        let mut merged = Histogram::default();
        for ns in [5_000_001, 3_000_001] {
            let mut histogram = Histogram::default();
            histogram.add(ns);
            merged.merge(&histogram);
            merged.merge(&Histogram::default());
        }
        assert_eq!((merged.min(), merged.max()), (3_000_001, 5_000_001));
        assert_eq!(merged.len(), 2);
    }

    #[test]
    fn a_curve_has_all_counts_within_a_hundredth() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.curve(), "");
        for ns in [1_000_300_000, 1_000_400_000, 100, 7_777_777_777] {
            histogram.add(ns);
        }
        let curve = histogram.curve();
        let numbers: Vec<u64> = curve.split(' ').map(|word| word.parse().unwrap()).collect();
        assert_eq!((numbers[1], numbers[3], numbers[5]), (1, 2, 1));
        assert_eq!((numbers[0], numbers[4]), (100, 7_777_777_777));
        assert!((1_000_400_000..1_010_000_000).contains(&numbers[2]));
    }

    #[test]
    fn an_empty_histogram_is_zero() {
        let histogram = Histogram::default();
        assert!(histogram.is_empty());
        assert_eq!((histogram.min(), histogram.max()), (0, 0));
        assert_eq!((histogram.quantile(0.5), histogram.mean()), (0, 0.0));
        assert_eq!(histogram.stdev(), 0.0);
    }

    #[test]
    fn moments() {
        let mut histogram = Histogram::default();
        histogram.add(0);
        histogram.add(3);
        assert_eq!((histogram.min(), histogram.mean()), (1, 2.0));
        assert_eq!(histogram.stdev(), 1.0);
        assert!(!histogram.is_empty());
    }
}
