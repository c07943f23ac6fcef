//! The record of a load: what each shard counts, and how shards are merged.

use super::counts::Counts;
use super::course::Timeline;
use super::error::ErrorKind;
use super::histogram::Histogram;
use super::sequence::SequenceFault;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::AddAssign;

/// A server that keeps up has at most this many times its average number of requests in flight when the load ends.
const MAX_GROWTH: f64 = 1.25;

/// Declares what is counted, and how the counts of another shard, or of another time, are added to each field.
macro_rules! merged {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* $field:ident: $type:ty, $add:path;)*
    }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $name {
            /// Adds what was counted elsewhere.
            pub fn merge(&mut self, other: &$name) {
                $($add(&mut self.$field, &other.$field);)*
            }
        }
    };
}

pub(super) use merged;

pub fn add<T: Copy + AddAssign>(own: &mut T, other: &T) {
    *own += *other;
}

fn max(own: &mut u64, other: &u64) {
    *own = (*own).max(*other);
}

fn first(own: &mut String, other: &String) {
    if own.is_empty() {
        own.clone_from(other);
    }
}

/// Adds each of these to the own of its place.
pub fn add_each<T: Default>(own: &mut Vec<T>, others: &[T], add: impl Fn(&mut T, &T)) {
    own.resize_with(own.len().max(others.len()), T::default);
    own.iter_mut().zip(others).for_each(|(own, other)| add(own, other));
}

fn add_targets(own: &mut Vec<Replies>, other: &[Replies]) {
    add_each(own, other, Replies::merge);
}

fn add_seconds(own: &mut Vec<SecondStats>, other: &[SecondStats]) {
    add_each(own, other, SecondStats::merge);
}

merged! {
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct SecondStats {
    requests: u64, add;
    errors: u64, add;
    max_ns: u64, max;
    /// The most connections open at a sweep.
    open: u64, add;
}
}

merged! {
/// The outcomes of requests: of all, or of those for one of several targets.
#[derive(Default, Serialize, Deserialize)]
pub struct Replies {
    latency: Histogram, Histogram::merge;
    service: Histogram, Histogram::merge;
    errors: Counts<ErrorKind>, Counts::merge;
    statuses: Counts<u16>, Counts::merge;
    requests: u64, add;
    late_requests: u64, add;
    unfinished: u64, add;
}
}

merged! {
/// The counts of the layers above the sockets.
#[derive(Default, Serialize, Deserialize)]
pub struct LayerRecord {
    /// How many streams of HTTP/2 the server allows on a connection, where requests waited for them.
    stream_limit: u64, max;
    /// TLS sessions that were resumed.
    resumed: u64, add;
    /// Replies of HTTP/2 for which the server waited for more window.
    window_waits: u64, add;
    /// Requests of HTTP/2 that were given up while their bodies waited for the server's window.
    upload_waits: u64, add;
    /// Version and cipher of the first TLS session.
    security: String, first;
    /// Why the first connection failed above its socket, or for a reason that no kind of error names.
    fault: String, first;
}
}

merged! {
#[derive(Default, Serialize, Deserialize)]
pub struct Record {
    replies: Replies, Replies::merge;
    /// By target, where there are several.
    targets: Vec<Replies>, add_targets;
    queue: Histogram, Histogram::merge;
    connect: Histogram, Histogram::merge;
    /// From the connect of a socket to the end of the handshake above it.
    handshake: Histogram, Histogram::merge;
    first_byte: Histogram, Histogram::merge;
    lateness: Histogram, Histogram::merge;
    /// How much later than possible each request was sent. For streams also how late bytes without a stamp may have been
    /// read.
    schedule_error: Histogram, Histogram::merge;
    intended: u64, add;
    /// Requests that were due and never sent.
    unsent: u64, add;
    /// Requests that were given up with their connect or its handshake. Their age is a latency.
    connects_timed_out: u64, add;
    /// Requests that waited until a stream of HTTP/2 was free.
    stream_waits: u64, add;
    layers: LayerRecord, LayerRecord::merge;
    /// The shares of late requests that were served before the end.
    late_shares: f64, add;
    bytes_in: u64, add;
    bytes_out: u64, add;
    /// Reads of replies, and those of them whose bytes the kernel had stamped.
    reads: u64, add;
    stamped_reads: u64, add;
    opened: u64, add;
    idle_closes: u64, add;
    open_at_end: u64, add;
    most_open: u64, add;
    messages: u64, add;
    /// Streams: connections that received a message.
    fed: u64, add;
    /// Streams: messages after the first of each connection.
    chunks: u64, add;
    /// Streams: chunks that were due at the end and had not arrived on open connections.
    behind: u64, add;
    /// Streams: connections whose response had begun, and was still open at the end.
    held: u64, add;
    /// Streams that had received nothing for too long at the end.
    silent: u64, add;
    /// Connections whose reader was paused by a fault, and that were reset by one.
    paused: u64, add;
    reset: u64, add;
    /// Number and service time of each answered request that its number identifies to upstreams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    service_times: Vec<(u64, u64)>, Extend::extend;
    /// Number of each such request whose client hung up, and when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hung_up_ns: Vec<(u64, u64)>, Extend::extend;
    #[serde(default)]
    course: Timeline, Timeline::merge;
    sequence: Counts<SequenceFault>, Counts::merge;
    series: Vec<SecondStats>, add_seconds;
    /// Requests in flight, summed over regular sweeps, and the number of these sweeps.
    in_flight_sum: u64, add;
    sweeps: u64, max;
    cpu_ns: u64, add;
    /// CPU time of the busiest thread while it sent requests, and that time without busy-polling.
    max_thread_cpu_ns: u64, max;
    max_thread_busy_ns: u64, max;
    /// The first answer that was not what was expected, in words; of one shard.
    first_wrong: String, first;
    /// Length and hash of some right bodies, each once.
    #[serde(default)]
    bodies: BTreeSet<(u64, u64)>, Extend::extend;
}
}

impl Record {
    /// The statistics of the second that a time, counted from the start, falls into.
    pub fn second(&mut self, at_ns: u64) -> &mut SecondStats {
        let second = (at_ns / 1_000_000_000) as usize;
        if second >= self.series.len() {
            self.series.resize_with(second + 1, SecondStats::default);
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

    /// Mean number of requests in flight at regular sweeps.
    pub fn concurrency(&self) -> f64 {
        self.in_flight_sum as f64 / self.sweeps.max(1) as f64
    }

    /// Expected replies within the duration. A later reply counts by the share of its service time before the end:
    /// otherwise a slow server's rate would be too low. In an open loop it counts fully if the server kept up, which is
    /// when hardly more requests were in flight at the end than on average.
    pub fn answered(&self, open_loop: bool) -> f64 {
        let late = self.replies.late_requests as f64;
        let keeps_up = self.replies.unfinished == 0 && late <= MAX_GROWTH * self.concurrency();
        let of_late = if open_loop && keeps_up { late } else { self.late_shares };
        self.replies.requests as f64 + of_late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_replies_count_as_a_whole_where_the_server_keeps_up() {
        let record = |unfinished, late_requests, in_flight_sum| Record {
            replies: Replies { requests: 170, late_requests, unfinished, ..Replies::default() },
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
