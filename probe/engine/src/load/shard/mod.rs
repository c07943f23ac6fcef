//! One shard: a thread with its own connections, clock and record. Shards share only the flag that stops them and the
//! counts of the live view.

mod arrivals;
mod connection;
mod dialer;
mod recorder;
mod state;
mod wait;

use super::record::Record;
use crate::io::Io;
use crate::load::http_request::MessageTemplate;
use crate::load::interval::Interval;
use crate::load::partition::Partition;
use crate::load::plan::Plan;
use crate::load::request_log::Logger;
use state::Shard;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use wait::Waiter;
use wire::clock::{now_ns, thread_cpu_ns};
use wire::units::nanoseconds;

pub struct ShardConfig {
    pub plan: Arc<Plan>,
    pub message: Arc<MessageTemplate>,
    pub partition: Partition,
    pub start_ns: u64,
    /// Open loop: how long a request that is due may wait for others that are sent with it.
    pub slack_ns: u64,
    /// How late sleeps end as a rule.
    pub sleeps_late_ns: u64,
    /// Set to end the load early.
    pub stop: Arc<AtomicBool>,
    /// The counts for the live view.
    pub live: Arc<Mutex<Interval>>,
    pub log: Option<Logger>,
}

impl ShardConfig {
    /// The number of connections of the shard.
    pub fn connections(&self) -> usize {
        self.partition.connections() as usize
    }

    /// The number of slots of the shard: requests that can be in flight.
    pub fn slots(&self) -> usize {
        self.connections() * self.plan.lanes()
    }

    /// The number of a slot among all shards', from 1.
    pub fn connection_id(&self, slot: usize) -> u64 {
        self.partition.connection(slot as u64) + 1
    }

    pub fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// How often time-outs are checked and the live view gets its counts.
const SWEEP_NS: u64 = 100_000_000;
const MIN_SWEEP_NS: u64 = 1_000_000;
/// A turn of a back-end handles at least this many events, where there are as many.
const MIN_EVENTS_PER_TURN: usize = 1024;

/// Short enough to give up requests in time: those that wait for a time-out, or for the end of a client's
/// patience.
fn sweep_period_ns(plan: &Plan) -> u64 {
    let patience_s = plan.patience_s.unwrap_or(plan.timeout_s);
    (nanoseconds(patience_s.min(plan.timeout_s)) / 10).clamp(MIN_SWEEP_NS, SWEEP_NS)
}

/// Runs the shard's part of the load. Returns its record, and when it stopped sending.
pub fn run<I: Io>(config: ShardConfig, mut io: I) -> io::Result<(Record, u64)> {
    let cpu_before = thread_cpu_ns();
    let period_ns = sweep_period_ns(&config.plan);
    let mut sweep_ns = config.start_ns + period_ns;
    let mut waiter = Waiter::new(config.plan.polls_briefly(), config.sleeps_late_ns);
    let mut shard = Shard::new(config)?;
    let mut stopped_ns = None;
    loop {
        let now = now_ns();
        if shard.is_over(now) {
            if stopped_ns.is_none() {
                shard.dispatch_last(now, &mut io);
            }
            let stopped = *stopped_ns.get_or_insert_with(|| {
                // The share of a core is that of the load, not of the wait for the last replies.
                let cpu_ns = thread_cpu_ns() - cpu_before;
                shard.stop(now, cpu_ns, cpu_ns.saturating_sub(waiter.busy_poll_ns))
            });
            if shard.is_drained(now, stopped) {
                break;
            }
        } else {
            shard.dispatch(now, &mut io);
        }
        shard.open_connections(now, &mut io)?;
        shard.inject_faults(now, &mut io);
        if now >= sweep_ns {
            // A reply that has arrived while this thread stalled is read before its request times out.
            shard.poll_events(&mut io)?;
            let now = now_ns();
            shard.sweep(now, &mut io);
            shard.publish(now);
            sweep_ns = now + period_ns;
        }
        let now = now_ns();
        let wakeup = shard.wakeup(now, sweep_ns);
        waiter.wait(wakeup, now, &mut io, &mut shard)?;
    }
    if shard.streams() {
        // Reads what the kernel has buffered: this thread may have stalled for seconds.
        for _ in 0..=shard.connections() / MIN_EVENTS_PER_TURN {
            shard.poll_events(&mut io)?;
        }
    }
    let now = now_ns();
    shard.count_unfinished(now, stopped_ns.unwrap_or(now));
    shard.close_all(&mut io);
    shard.publish(now);
    let cpu_ns = thread_cpu_ns() - cpu_before;
    Ok((shard.into_record(cpu_ns, &mut io), stopped_ns.unwrap_or(now)))
}
