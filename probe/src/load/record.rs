//! What a shard has seen, and how shards are added up.

use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// An hour: nothing that is measured here takes longer.
const MOST_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

pub const KINDS: [&str; 17] = [
    "connect-refused",
    "connect-timeout",
    "connect-failed",
    "ports-exhausted",
    "descriptors-exhausted",
    "send",
    "reset",
    "closed-early",
    "truncated",
    "timeout",
    "protocol",
    "tls",
    "http2",
    "too-large",
    "unsolicited",
    "status",
    "content",
];

/// Errors, in the order of [`KINDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    ConnectRefused,
    ConnectTimeout,
    ConnectFailed,
    PortsExhausted,
    DescriptorsExhausted,
    Send,
    Reset,
    ClosedEarly,
    Truncated,
    Timeout,
    Protocol,
    /// A record of TLS came where HTTP was spoken.
    Tls,
    /// A frame of HTTP/2, likely.
    Http2,
    TooLarge,
    Unsolicited,
    Status,
    Content,
}

/// A histogram of nanoseconds, three significant digits.
pub struct Times(pub Histogram<u64>);

impl Default for Times {
    fn default() -> Times {
        let made = Histogram::new_with_bounds(1, MOST_NS, DIGITS);
        Times(made.expect("the bounds are right"))
    }
}

impl Times {
    pub fn add(&mut self, ns: u64) {
        self.0.saturating_record(ns.max(1));
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    pub requests: u64,
    pub errors: u64,
    pub max_ns: u64,
    /// The most connections that were open at a look.
    pub open: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    pub gaps: u64,
    pub repeats: u64,
    pub swaps: u64,
    pub foreign: u64,
    pub malformed: u64,
    pub early: u64,
}

#[derive(Default)]
pub struct Record {
    pub latency: Times,
    pub service: Times,
    pub queue: Times,
    pub connect: Times,
    pub first_byte: Times,
    pub lateness: Times,
    pub errors: [u64; KINDS.len()],
    pub statuses: BTreeMap<u16, u64>,
    pub intended: u64,
    pub requests: u64,
    pub late_requests: u64,
    pub unfinished: u64,
    pub largest_lag_ns: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub opened: u64,
    pub idle_closes: u64,
    pub open_at_end: u64,
    pub most_open: u64,
    pub messages: u64,
    /// Of streams: connections that got a message, chunks that came, and chunks that were due and had
    /// not come at the end on those that were open.
    pub fed: u64,
    pub chunks: u64,
    pub behind: u64,
    /// Connections on which nothing had come for too long at the end.
    pub silent: u64,
    /// Connections that stopped reading, and that were reset.
    pub slowed: u64,
    pub vanished: u64,
    /// `(number, service_ns)` of requests that have a number of their own.
    pub numbered: Vec<(u64, u64)>,
    pub sequence: Sequence,
    pub series: Vec<Second>,
    /// Requests in flight at regular looks: their sum, and how many looks.
    pub in_flight_sum: u64,
    pub looks: u64,
    pub cpu_ns: u64,
    /// Of the thread that had most, while it sent: CPU time, and what of it was not spent looking for what
    /// was due next.
    pub cpu_most_ns: u64,
    pub busy_most_ns: u64,
}

impl Sequence {
    /// Each kind with its count.
    pub fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("gaps", self.gaps),
            ("repeats", self.repeats),
            ("swaps", self.swaps),
            ("foreign", self.foreign),
            ("malformed", self.malformed),
            ("early", self.early),
        ]
    }
}

impl Record {
    pub fn second(&mut self, at_ns: u64) -> &mut Second {
        let second = (at_ns / 1_000_000_000) as usize;
        if second >= self.series.len() {
            self.series.resize(second + 1, Second::default());
        }
        &mut self.series[second]
    }

    /// Histograms by their names.
    pub fn histograms(&self) -> [(&'static str, &Times); 6] {
        [
            ("latency", &self.latency),
            ("service", &self.service),
            ("queue", &self.queue),
            ("connect", &self.connect),
            ("first_byte", &self.first_byte),
            ("lateness", &self.lateness),
        ]
    }

    /// Adds another shard's.
    pub fn merge(&mut self, other: &Record) {
        let own = [
            &mut self.latency,
            &mut self.service,
            &mut self.queue,
            &mut self.connect,
            &mut self.first_byte,
            &mut self.lateness,
        ];
        for (own, (_, others)) in own.into_iter().zip(other.histograms()) {
            own.0.add(&others.0).expect("the bounds are the same");
        }
        for (own, others) in self.errors.iter_mut().zip(other.errors) {
            *own += others;
        }
        for (&status, count) in &other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.intended += other.intended;
        self.requests += other.requests;
        self.late_requests += other.late_requests;
        self.unfinished += other.unfinished;
        self.largest_lag_ns = self.largest_lag_ns.max(other.largest_lag_ns);
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.opened += other.opened;
        self.idle_closes += other.idle_closes;
        self.open_at_end += other.open_at_end;
        self.most_open += other.most_open;
        self.messages += other.messages;
        self.fed += other.fed;
        self.chunks += other.chunks;
        self.behind += other.behind;
        self.silent += other.silent;
        self.slowed += other.slowed;
        self.vanished += other.vanished;
        self.numbered.extend_from_slice(&other.numbered);
        let (own, others) = (&mut self.sequence, other.sequence);
        own.gaps += others.gaps;
        own.repeats += others.repeats;
        own.swaps += others.swaps;
        own.foreign += others.foreign;
        own.malformed += others.malformed;
        own.early += others.early;
        if self.series.len() < other.series.len() {
            self.series.resize(other.series.len(), Second::default());
        }
        for (own, others) in self.series.iter_mut().zip(&other.series) {
            own.requests += others.requests;
            own.errors += others.errors;
            own.max_ns = own.max_ns.max(others.max_ns);
            own.open += others.open;
        }
        self.in_flight_sum += other.in_flight_sum;
        self.looks = self.looks.max(other.looks);
        self.cpu_ns += other.cpu_ns;
        self.cpu_most_ns = self.cpu_most_ns.max(other.cpu_most_ns);
        self.busy_most_ns = self.busy_most_ns.max(other.busy_most_ns);
    }

    /// Mean number of requests in flight, from regular looks.
    pub fn concurrency(&self) -> f64 {
        self.in_flight_sum as f64 / self.looks.max(1) as f64
    }

    pub fn errors_total(&self) -> u64 {
        self.errors.iter().sum()
    }
}

const BUCKETS: usize = 256;

/// What happened since the last look, for the live view: coarse, and small enough to be copied.
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
    /// What it holds; it goes on empty, but for its present numbers.
    pub fn take(&mut self) -> Interval {
        let (open, in_flight) = (self.open, self.in_flight);
        let empty = Interval {
            open,
            in_flight,
            ..Interval::default()
        };
        std::mem::replace(self, empty)
    }

    /// Adds another shard's, with its present numbers.
    pub fn add_present(&mut self, other: &Interval) {
        self.merge(other);
        self.open += other.open;
        self.in_flight += other.in_flight;
    }

    /// Four buckets to a doubling.
    pub fn add(&mut self, ns: u64) {
        let ns = ns.max(4);
        let power = 63 - ns.leading_zeros();
        let bucket = power * 4 + ((ns >> (power - 2)) & 3) as u32;
        self.counts[bucket as usize] += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds another, but not its present numbers, which are set.
    pub fn merge(&mut self, other: &Interval) {
        self.requests += other.requests;
        self.errors += other.errors;
        self.intended += other.intended;
        self.max_ns = self.max_ns.max(other.max_ns);
        for (own, others) in self.counts.iter_mut().zip(&other.counts) {
            *own += others;
        }
    }

    /// `(upper_ns, count)` of the buckets that hold something.
    pub fn buckets(&self) -> Vec<(u64, u32)> {
        let held = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, &count)| count > 0);
        held.map(|(bucket, &count)| (upper_ns(bucket), count))
            .collect()
    }

    /// An upper bound of the quantile, None when nothing was added.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let total: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let wanted = ((total as f64 * quantile).ceil() as u64).max(1);
        let mut seen = 0;
        for (upper_ns, count) in self.buckets() {
            seen += u64::from(count);
            if seen >= wanted {
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
        for ns in (4..100_000).chain([MOST_NS, u64::MAX / 8]) {
            let mut interval = Interval::default();
            interval.add(ns);
            let (upper, count) = interval.buckets()[0];
            assert_eq!(count, 1);
            assert!(ns <= upper && upper - ns <= ns / 4 + 1, "{ns} {upper}");
            assert_eq!(interval.quantile_ns(0.5), Some(ns));
        }
        assert_eq!(Interval::default().quantile_ns(0.5), None);
    }

    #[test]
    fn records_add_up() {
        let mut all = Record::default();
        for shard in 1..=3u64 {
            let mut one = Record {
                requests: shard,
                ..Record::default()
            };
            one.latency.add(shard * 1000);
            one.errors[Kind::Timeout as usize] = shard;
            one.statuses.insert(200, shard);
            one.second(shard * 1_000_000_000).requests = 1;
            one.largest_lag_ns = shard;
            all.merge(&one);
        }
        assert_eq!(all.requests, 6);
        assert_eq!(all.latency.0.len(), 3);
        assert_eq!(all.errors[Kind::Timeout as usize], 6);
        assert_eq!(all.statuses[&200], 6);
        assert_eq!(all.series.len(), 4);
        assert_eq!(all.largest_lag_ns, 3);
        assert_eq!(KINDS[Kind::Content as usize], "content");
        assert_eq!(KINDS[Kind::Timeout as usize], "timeout");
    }
}
