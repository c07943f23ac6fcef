//! Records the events of a shard, in its record and for the live view.

use super::config::ShardConfig;
use super::connection::Connection;
use crate::load::decoder::Event;
use crate::load::error::ErrorKind;
use crate::load::interval::Interval;
use crate::load::record::{Record, Replies};
use std::sync::{Arc, Mutex};

pub struct Recorder {
    pub record: Record,
    interval: Interval,
    live: Arc<Mutex<Interval>>,
    start_ns: u64,
}

impl Recorder {
    /// `targets`: their number; one is not recorded by itself.
    pub fn new(config: &ShardConfig, targets: usize) -> Recorder {
        let mut record = Record::default();
        if targets > 1 {
            record.targets.resize_with(targets, Replies::default);
        }
        Recorder {
            record,
            interval: Interval::default(),
            live: Arc::clone(&config.live),
            start_ns: config.start_ns,
        }
    }

    /// Notes what became of a request in the record of all, and in that of its target, where it concerns one.
    fn note(&mut self, target: Option<usize>, note: impl Fn(&mut Replies)) {
        note(&mut self.record.replies);
        if let Some(own) = target.and_then(|target| self.record.targets.get_mut(target)) {
            note(own);
        }
    }

    /// `target`: that of the request, where it concerns one.
    pub fn error(&mut self, now_ns: u64, kind: ErrorKind, target: Option<usize>) {
        self.note(target, |replies| replies.errors[kind as usize] += 1);
        self.interval.errors += 1;
        self.record.second(now_ns - self.start_ns).errors += 1;
    }

    /// A request goes to the kernel now, or one of a stream that sends none could.
    #[inline]
    pub fn schedule_error(&mut self, connection: &mut Connection, now_ns: u64) {
        let open_late_ns = std::mem::take(&mut connection.open_late_ns);
        let late_ns = now_ns.saturating_sub(connection.ready_ns) + open_late_ns;
        self.record.schedule_error.add(late_ns);
    }

    /// A request was due, and sent or not.
    pub fn intended(&mut self) {
        self.record.intended += 1;
        self.interval.intended += 1;
    }

    /// A request that was intended is to be sent again, and counts then.
    pub fn taken_back(&mut self) {
        self.record.intended -= 1;
        self.interval.intended = self.interval.intended.saturating_sub(1);
    }

    /// A right reply. `late_share`: of one after the end of the load, the share of its service before it. `number`: of
    /// a request whose service time is kept by it.
    pub fn reply(
        &mut self,
        now_ns: u64,
        latency_ns: u64,
        service_ns: u64,
        late_share: Option<f64>,
        number: Option<u64>,
        target: usize,
    ) {
        self.note(Some(target), |replies| {
            replies.latency.add(latency_ns);
            replies.service.add(service_ns);
            match late_share {
                None => replies.requests += 1,
                Some(_) => replies.late_requests += 1,
            }
        });
        self.interval.add(latency_ns);
        if let Some(number) = number {
            self.record.service_times.add(number, service_ns);
        }
        if let Some(share) = late_share {
            self.record.late_shares += share;
            return;
        }
        self.interval.requests += 1;
        let second = self.record.second(now_ns - self.start_ns);
        second.requests += 1;
        second.max_ns = second.max_ns.max(latency_ns);
    }

    /// A request was given up after this time.
    pub fn timed_out(&mut self, age_ns: u64, target: usize) {
        self.note(Some(target), |replies| replies.latency.add(age_ns));
        self.interval.add(age_ns);
    }

    /// A part of a reply. `fed`: whether the connection has had a message; `was_paused`: lateness does not count.
    pub fn event(
        &mut self,
        now_ns: u64,
        event: Event,
        fed: &mut bool,
        was_paused: bool,
        target: usize,
    ) {
        let message = match event {
            Event::Status(status) => {
                return self.note(Some(target), |replies| {
                    *replies.statuses.entry(status).or_default() += 1;
                });
            }
            Event::Message(message) => message,
        };
        self.record.sequence.count(message.error, message.early);
        self.record.messages += 1;
        self.record.fed += u64::from(!std::mem::replace(fed, true));
        self.interval.requests += 1;
        let second = self.record.second(now_ns - self.start_ns);
        second.requests += 1;
        if let Some(late_ns) = message.late_ns.filter(|_| !was_paused) {
            second.max_ns = second.max_ns.max(late_ns);
            self.record.lateness.add(late_ns);
            self.interval.add(late_ns);
        }
    }

    /// Hands the interval over to the live view. `open`: connections. `running`: the load has not ended.
    pub fn publish(&mut self, now_ns: u64, open: u64, in_flight: u64, running: bool) {
        if running {
            let second = self.record.second(now_ns - self.start_ns);
            second.open = second.open.max(open);
        }
        if let Ok(mut live) = self.live.lock() {
            live.merge(&self.interval);
            live.open = open;
            live.in_flight = in_flight;
        }
        self.interval = Interval::default();
    }
}
