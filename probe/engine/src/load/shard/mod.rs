//! One shard: a thread with its own connections, clock and record. Shards share only the flag that stops them and the
//! counts of the live view.

mod arrivals;
mod config;
mod connection;
mod dialer;
mod faults;
mod recorder;
mod state;
mod wait;

use super::record::Record;
use crate::io::Io;
use crate::load::plan::Plan;
pub use config::ShardConfig;
use state::Shard;
use std::io;
use wait::Waiter;
use wire::clock::{now_ns, thread_cpu_ns};
use wire::units::nanoseconds;

/// How often time-outs are checked and the live view gets its counts.
const SWEEP_NS: u64 = 100_000_000;
const MIN_SWEEP_NS: u64 = 1_000_000;
/// A turn of a back-end handles at least so many events, where there are as many.
const MIN_EVENTS_PER_TURN: usize = 1024;

/// Clients that wait for so long hang up in time.
fn sweep_period_ns(plan: &Plan) -> u64 {
    let patience_ns = plan.patience_s.map_or(u64::MAX, nanoseconds);
    (patience_ns / 10).clamp(MIN_SWEEP_NS, SWEEP_NS)
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
                shard.stop(now, cpu_ns, cpu_ns.saturating_sub(waiter.busy_poll_ns()))
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
    let record = shard.into_record(cpu_ns, io.report());
    Ok((record, stopped_ns.unwrap_or(now)))
}
