//! The record of a load: what each shard counts, and how shards are merged.

use super::course::Timeline;
use super::error::ErrorKind;
use super::histogram::Histogram;
use super::sequence_errors::SequenceErrors;
use super::service_times::ServiceTimes;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A server that keeps up has at most so many times its average number of requests in flight when the load ends.
const MAX_GROWTH: f64 = 1.25;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondStats {
    pub requests: u64,
    pub errors: u64,
    pub max_ns: u64,
    /// The most connections open at a sweep.
    pub open: u64,
}

/// What became of requests: of all, or of those for one of several targets.
#[derive(Default, Serialize, Deserialize)]
pub struct Replies {
    pub latency: Histogram,
    pub service: Histogram,
    /// By kind.
    pub errors: [u64; ErrorKind::NAMES.len()],
    pub statuses: BTreeMap<u16, u64>,
    pub requests: u64,
    pub late_requests: u64,
    pub unfinished: u64,
}

impl Replies {
    fn merge(&mut self, other: &Replies) {
        self.latency.merge(&other.latency);
        self.service.merge(&other.service);
        for (own, others) in self.errors.iter_mut().zip(other.errors) {
            *own += others;
        }
        for (&status, count) in &other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.requests += other.requests;
        self.late_requests += other.late_requests;
        self.unfinished += other.unfinished;
    }
}

#[derive(Default, Serialize, Deserialize)]
pub struct Record {
    /// Of all requests.
    pub replies: Replies,
    /// By target, where there are several.
    pub targets: Vec<Replies>,
    pub queue: Histogram,
    pub connect: Histogram,
    /// From the connect of a socket to the end of the handshake above it.
    pub handshake: Histogram,
    pub first_byte: Histogram,
    pub lateness: Histogram,
    /// How much later than possible each request was sent. Of streams also: how late bytes without a stamp were read at most.
    pub schedule_error: Histogram,
    pub intended: u64,
    /// Requests that were due and never sent.
    pub unsent: u64,
    /// Requests that were given up with their connect or its handshake. Their age is a latency.
    pub connects_timed_out: u64,
    /// Requests that waited until a stream of HTTP/2 was free.
    pub stream_waits: u64,
    /// How many streams of HTTP/2 the server allows on a connection, where requests waited for them.
    #[serde(default)]
    pub stream_limit: u64,
    /// The shares of late requests that were served before the end.
    pub late_shares: f64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Reads of replies, and those of them whose bytes the kernel had stamped.
    pub reads: u64,
    pub stamped_reads: u64,
    pub opened: u64,
    pub idle_closes: u64,
    pub open_at_end: u64,
    pub most_open: u64,
    pub messages: u64,
    /// Of streams: connections that received a message.
    pub fed: u64,
    /// Of streams: messages after the first of each connection.
    pub chunks: u64,
    /// Of streams: chunks that were due at the end and had not arrived on open connections.
    pub behind: u64,
    /// Of streams: connections whose response had begun, and was still open at the end.
    pub held: u64,
    /// Streams that had received nothing for too long at the end.
    pub silent: u64,
    /// Connections whose reader was paused by a fault, and that were reset by one.
    pub paused: u64,
    pub reset: u64,
    /// Of requests that their numbers identify to upstreams.
    #[serde(default, skip_serializing_if = "ServiceTimes::is_empty")]
    pub service_times: ServiceTimes,
    /// By number, when the clients of such requests hung up.
    #[serde(default, skip_serializing_if = "ServiceTimes::is_empty")]
    pub hung_up_ns: ServiceTimes,
    #[serde(default)]
    pub course: Timeline,
    pub sequence: SequenceErrors,
    pub series: Vec<SecondStats>,
    /// Requests in flight, summed over regular sweeps, and the number of these sweeps.
    pub in_flight_sum: u64,
    pub sweeps: u64,
    pub cpu_ns: u64,
    /// CPU time of the busiest thread while it sent requests, and that time without busy-polling.
    pub max_thread_cpu_ns: u64,
    pub max_thread_busy_ns: u64,
    /// Version and cipher of TLS, and why the first connection failed above its socket; of one shard.
    pub security: String,
    pub fault: String,
    /// The first answer that was not what was expected, in words; of one shard.
    pub first_wrong: String,
    /// Length and hash of some right bodies, each once.
    #[serde(default)]
    pub bodies: BTreeSet<(u64, u64)>,
}

impl Record {
    /// The statistics of the second that a time, counted from the start, falls into.
    pub fn second(&mut self, at_ns: u64) -> &mut SecondStats {
        let second = (at_ns / 1_000_000_000) as usize;
        if second >= self.series.len() {
            self.series.resize(second + 1, SecondStats::default());
        }
        &mut self.series[second]
    }

    /// Histograms by their names.
    pub fn histograms(&self) -> [(&'static str, &Histogram); 8] {
        [
            ("latency", &self.replies.latency),
            ("service", &self.replies.service),
            ("queue", &self.queue),
            ("connect", &self.connect),
            ("handshake", &self.handshake),
            ("first_byte", &self.first_byte),
            ("lateness", &self.lateness),
            ("schedule_error", &self.schedule_error),
        ]
    }

    /// Adds the record of another shard.
    pub fn merge(&mut self, other: &Record) {
        for (own, others) in [
            (&mut self.queue, &other.queue),
            (&mut self.connect, &other.connect),
            (&mut self.handshake, &other.handshake),
            (&mut self.first_byte, &other.first_byte),
            (&mut self.lateness, &other.lateness),
            (&mut self.schedule_error, &other.schedule_error),
        ] {
            own.merge(others);
        }
        self.replies.merge(&other.replies);
        let count = self.targets.len().max(other.targets.len());
        self.targets.resize_with(count, Replies::default);
        for (own, others) in self.targets.iter_mut().zip(&other.targets) {
            own.merge(others);
        }
        for (own, others) in [
            (&mut self.security, &other.security),
            (&mut self.fault, &other.fault),
            (&mut self.first_wrong, &other.first_wrong),
        ] {
            if own.is_empty() {
                own.push_str(others);
            }
        }
        self.intended += other.intended;
        self.unsent += other.unsent;
        self.connects_timed_out += other.connects_timed_out;
        self.stream_waits += other.stream_waits;
        self.stream_limit = self.stream_limit.max(other.stream_limit);
        self.bodies.extend(&other.bodies);
        self.late_shares += other.late_shares;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.reads += other.reads;
        self.stamped_reads += other.stamped_reads;
        self.opened += other.opened;
        self.idle_closes += other.idle_closes;
        self.open_at_end += other.open_at_end;
        self.most_open += other.most_open;
        self.messages += other.messages;
        self.fed += other.fed;
        self.chunks += other.chunks;
        self.behind += other.behind;
        self.held += other.held;
        self.silent += other.silent;
        self.paused += other.paused;
        self.reset += other.reset;
        self.service_times.merge(&other.service_times);
        self.hung_up_ns.merge(&other.hung_up_ns);
        self.course.merge(&other.course);
        self.sequence.merge(&other.sequence);
        if self.series.len() < other.series.len() {
            self.series
                .resize(other.series.len(), SecondStats::default());
        }
        for (own, others) in self.series.iter_mut().zip(&other.series) {
            own.requests += others.requests;
            own.errors += others.errors;
            own.max_ns = own.max_ns.max(others.max_ns);
            own.open += others.open;
        }
        self.in_flight_sum += other.in_flight_sum;
        self.sweeps = self.sweeps.max(other.sweeps);
        self.cpu_ns += other.cpu_ns;
        self.max_thread_cpu_ns = self.max_thread_cpu_ns.max(other.max_thread_cpu_ns);
        self.max_thread_busy_ns = self.max_thread_busy_ns.max(other.max_thread_busy_ns);
    }

    /// Mean number of requests in flight at regular sweeps.
    pub fn concurrency(&self) -> f64 {
        self.in_flight_sum as f64 / self.sweeps.max(1) as f64
    }

    /// Right replies within the time of the load. Of a request that was answered later the share of its service before
    /// the end counts: a slow server's rate would be too low otherwise. In an open loop it counts as a whole where no more
    /// were in flight at the end than all the time: the server kept up, and these were due just before the end.
    pub fn answered(&self, open_loop: bool) -> f64 {
        let late = self.replies.late_requests as f64;
        let keeps_up = self.replies.unfinished == 0 && late <= MAX_GROWTH * self.concurrency();
        let of_late = match open_loop && keeps_up {
            true => late,
            false => self.late_shares,
        };
        self.replies.requests as f64 + of_late
    }

    pub fn errors_total(&self) -> u64 {
        self.replies.errors.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_replies_count_as_a_whole_where_the_server_keeps_up() {
        let record = |unfinished, late_requests, in_flight_sum| Record {
            replies: Replies {
                requests: 170,
                late_requests,
                unfinished,
                ..Replies::default()
            },
            late_shares: 15.0,
            in_flight_sum,
            sweeps: 10,
            ..Record::default()
        };
        assert_eq!(record(0, 30, 280).answered(true), 200.0);
        assert_eq!(record(0, 30, 280).answered(false), 185.0);
        assert_eq!(record(1, 30, 280).answered(true), 185.0);
        // A queue that grew all the time is twice as long at its end as on average.
        assert_eq!(record(0, 30, 150).answered(true), 185.0);
    }

    #[test]
    fn records_add_up() {
        let mut all = Record::default();
        for shard in 1..=3u64 {
            let mut record = Record::default();
            record.replies.requests = shard;
            record.replies.latency.add(shard * 1000);
            record.replies.errors[ErrorKind::Timeout as usize] = shard;
            record.replies.statuses.insert(200, shard);
            record.second(shard * 1_000_000_000).requests = 1;
            record.late_shares = shard as f64 / 4.0;
            all.merge(&record);
        }
        assert_eq!(all.replies.requests, 6);
        assert_eq!(all.replies.latency.len(), 3);
        assert_eq!(all.replies.errors[ErrorKind::Timeout as usize], 6);
        assert_eq!(all.replies.statuses[&200], 6);
        assert_eq!(all.series.len(), 4);
        assert_eq!(all.late_shares, 1.5);
    }

    /// A record in which every figure differs; `scale` is 1 or more.
    fn sample(scale: u64) -> Record {
        let mut record = Record {
            intended: scale,
            late_shares: scale as f64 / 2.0,
            bytes_in: 6 * scale,
            bytes_out: 7 * scale,
            reads: 38 * scale,
            stamped_reads: 39 * scale,
            opened: 8 * scale,
            idle_closes: 9 * scale,
            open_at_end: 10 * scale,
            most_open: 11 * scale,
            messages: 12 * scale,
            fed: 13 * scale,
            chunks: 14 * scale,
            behind: 15 * scale,
            held: 32 * scale,
            silent: 16 * scale,
            paused: 17 * scale,
            reset: 18 * scale,
            in_flight_sum: 19 * scale,
            sweeps: 20 * scale,
            cpu_ns: 21 * scale,
            max_thread_cpu_ns: 22 * scale,
            max_thread_busy_ns: 23 * scale,
            security: format!("TLS {scale}"),
            fault: format!("fault {scale}"),
            first_wrong: format!("wrong {scale}"),
            ..Record::default()
        };
        let mut target = Replies {
            requests: 33 * scale,
            late_requests: 34 * scale,
            unfinished: 35 * scale,
            ..Replies::default()
        };
        target.statuses.insert(201, 36 * scale);
        target.errors[ErrorKind::Status as usize] = 37 * scale;
        target.latency.add(scale);
        target.service.add(2 * scale);
        record.targets.push(target);
        record.service_times.add(scale, 24);
        record.replies.requests = 2 * scale;
        record.replies.late_requests = 3 * scale;
        record.replies.unfinished = 4 * scale;
        record.sequence.repeated = 25 * scale;
        record.replies.statuses.insert(200, 26 * scale);
        record.replies.errors[ErrorKind::Reset as usize] = 27 * scale;
        for (number, histogram) in [
            &mut record.replies.latency,
            &mut record.replies.service,
            &mut record.queue,
            &mut record.connect,
            &mut record.handshake,
            &mut record.first_byte,
            &mut record.lateness,
            &mut record.schedule_error,
        ]
        .into_iter()
        .enumerate()
        {
            histogram.add(scale * (number as u64 + 1));
        }
        *record.second(1_500_000_000) = SecondStats {
            requests: 28 * scale,
            errors: 29 * scale,
            max_ns: 30 * scale,
            open: 31 * scale,
        };
        record
    }

    #[test]
    fn every_figure_is_merged() {
        let mut merged = sample(1);
        merged.merge(&sample(4));
        let counts = [
            (merged.intended, 1),
            (merged.replies.requests, 2),
            (merged.replies.late_requests, 3),
            (merged.replies.unfinished, 4),
            (merged.bytes_in, 6),
            (merged.bytes_out, 7),
            (merged.reads, 38),
            (merged.stamped_reads, 39),
            (merged.opened, 8),
            (merged.idle_closes, 9),
            (merged.open_at_end, 10),
            (merged.most_open, 11),
            (merged.messages, 12),
            (merged.fed, 13),
            (merged.chunks, 14),
            (merged.behind, 15),
            (merged.held, 32),
            (merged.silent, 16),
            (merged.paused, 17),
            (merged.reset, 18),
            (merged.in_flight_sum, 19),
            (merged.cpu_ns, 21),
            (merged.sequence.repeated, 25),
            (merged.replies.statuses[&200], 26),
            (merged.errors_total(), 27),
        ];
        for (sum, factor) in counts {
            assert_eq!(sum, 5 * factor);
        }
        let maxima = [
            (merged.sweeps, 20),
            (merged.max_thread_cpu_ns, 22),
            (merged.max_thread_busy_ns, 23),
        ];
        for (maximum, factor) in maxima {
            assert_eq!(maximum, 4 * factor);
        }
        let second = SecondStats {
            requests: 5 * 28,
            errors: 5 * 29,
            max_ns: 4 * 30,
            open: 5 * 31,
        };
        assert_eq!(merged.series, [SecondStats::default(), second]);
        assert_eq!(
            (merged.security.as_str(), merged.fault.as_str()),
            ("TLS 1", "fault 1")
        );
        assert_eq!(merged.first_wrong, "wrong 1");
        assert_eq!(merged.late_shares, 2.5);
        let times: Vec<_> = merged.service_times.iter().collect();
        assert_eq!(times, [(1, 24), (4, 24)]);
        let [target] = merged.targets.as_slice() else {
            panic!("one target");
        };
        assert_eq!((target.requests, target.late_requests), (5 * 33, 5 * 34));
        assert_eq!((target.unfinished, target.statuses[&201]), (5 * 35, 5 * 36));
        assert_eq!(target.errors[ErrorKind::Status as usize], 5 * 37);
        assert_eq!((target.latency.max(), target.service.max()), (4, 8));
        assert_eq!(merged.concurrency(), 5.0 * 19.0 / 80.0);
        let names = [
            "latency",
            "service",
            "queue",
            "connect",
            "handshake",
            "first_byte",
            "lateness",
            "schedule_error",
        ];
        for (number, (name, histogram)) in merged.histograms().into_iter().enumerate() {
            let factor = number as u64 + 1;
            assert_eq!(name, names[number]);
            assert_eq!((histogram.min(), histogram.max()), (factor, 4 * factor));
        }
    }

    #[test]
    fn a_series_grows_to_its_last_second() {
        let mut record = Record::default();
        record.second(2_000_000_000).errors += 1;
        record.second(999_999_999).errors += 2;
        let errors: Vec<_> = record.series.iter().map(|second| second.errors).collect();
        assert_eq!(errors, [2, 0, 1]);
        assert_eq!(record.concurrency(), 0.0);
        let mut longer = Record::default();
        longer.second(3_000_000_000).errors += 4;
        record.merge(&longer);
        longer.merge(&record);
        assert_eq!((record.series.len(), longer.series[3].errors), (4, 8));
    }
}
