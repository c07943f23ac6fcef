//! The configuration of a shard.

use crate::load::decoder::ReplyFormat;
use crate::load::interval::Interval;
use crate::load::outgoing::Outgoing;
use crate::load::plan::Plan;
use crate::load::share::Share;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

pub struct ShardConfig {
    pub plan: Arc<Plan>,
    pub outgoing: Arc<Outgoing>,
    pub replies: Arc<ReplyFormat>,
    /// The number of the shard, from 0, among those of all engines.
    pub shard: usize,
    /// The part of the load that it has.
    pub share: Share,
    pub start_ns: u64,
    /// Open loop: how long a request that is due may wait for others that are sent with it.
    pub slack_ns: u64,
    /// How late sleeps end as a rule.
    pub sleeps_late_ns: u64,
    /// Set to end the load early.
    pub stop: Arc<AtomicBool>,
    /// The counts for the live view.
    pub live: Arc<Mutex<Interval>>,
}

impl ShardConfig {
    /// The number of connections of the shard.
    pub fn connections(&self) -> usize {
        self.share.connections() as usize
    }

    /// The number of slots of the shard: requests that can be in flight.
    pub fn slots(&self) -> usize {
        self.connections() * self.plan.lanes()
    }

    /// The number of a slot's connection among all shards', from 0.
    pub fn connection_number(&self, slot: usize) -> u64 {
        self.share.connection((slot / self.plan.lanes()) as u64)
    }

    /// The number of a slot among all shards', from 1.
    pub fn connection_id(&self, slot: usize) -> u64 {
        self.share.connection(slot as u64) + 1
    }

    /// The number of a request among all shards', from 1. `sent`: how many this shard sent before.
    pub fn request_number(&self, sent: u64) -> u64 {
        self.share.request(sent) + 1
    }

    pub fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
