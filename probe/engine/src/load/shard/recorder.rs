//! Records the events of a shard, in its record and for the live view.

use super::config::ShardConfig;
use super::connection::Connection;
use crate::load::course::Timeline;
use crate::load::decoder::ReplyEvent;
use crate::load::error::ErrorKind;
use crate::load::interval::Interval;
use crate::load::record::{Record, Replies};
use std::sync::{Arc, Mutex};
use wire::units::nanoseconds;

/// Replies in succession with the same status, for the same target: most have that of the one before.
#[derive(Default)]
struct Run {
    status: u16,
    target: usize,
    count: u64,
}

pub struct Recorder {
    /// Without what `finish` adds.
    pub record: Record,
    run: Run,
    /// Whether each latency is the service time: it is recorded once, and copied at the end.
    is_service_latency: bool,
    /// Whether anybody looks at the live view.
    is_live: bool,
    interval: Interval,
    live: Arc<Mutex<Interval>>,
    start_ns: u64,
}

impl Recorder {
    /// `targets`: their number; one is not recorded by itself. `is_service_latency`: replies have no other latency than
    /// their service time.
    pub fn new(config: &ShardConfig, targets: usize, is_service_latency: bool) -> Recorder {
        let slot_ns = config.plan.course_s.map_or(0, nanoseconds);
        let mut record = Record {
            course: Timeline::new(slot_ns),
            ..Record::default()
        };
        if targets > 1 {
            record.targets.resize_with(targets, Replies::default);
        }
        Recorder {
            record,
            run: Run::default(),
            is_service_latency,
            is_live: config.plan.progress_s.is_some(),
            interval: Interval::default(),
            live: Arc::clone(&config.live),
            start_ns: config.start_ns,
        }
    }

    /// The whole record.
    pub fn finish(mut self) -> Record {
        self.end_run();
        let mut record = self.record;
        if self.is_service_latency {
            for replies in std::iter::once(&mut record.replies).chain(&mut record.targets) {
                // Requests that timed out are there already: they have a latency only.
                replies.latency.merge(&replies.service);
            }
        }
        record
    }

    /// Counts the statuses of replies in succession.
    fn end_run(&mut self) {
        let Run {
            status,
            target,
            count,
        } = std::mem::take(&mut self.run);
        if count > 0 {
            self.note(Some(target), |replies| {
                *replies.statuses.entry(status).or_default() += count;
            });
        }
    }

    #[inline]
    fn status(&mut self, status: u16, target: usize) {
        if (self.run.status, self.run.target) != (status, target) {
            self.end_run();
            (self.run.status, self.run.target) = (status, target);
        }
        self.run.count += 1;
    }

    /// A time for the live view.
    #[inline]
    fn show(&mut self, ns: u64) {
        if self.is_live {
            self.interval.times.add(ns);
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

    /// A request was due then, and sent or not.
    pub fn intended(&mut self, at_ns: u64) {
        let at_ns = at_ns.saturating_sub(self.start_ns);
        self.record.course.due(at_ns);
        self.record.intended += 1;
        self.interval.intended += 1;
    }

    /// A request that was intended is to be sent again, and counts then.
    pub fn uncount_intended(&mut self, at_ns: u64) {
        let at_ns = at_ns.saturating_sub(self.start_ns);
        self.record.course.uncount_intended(at_ns);
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
        let is_one = self.is_service_latency;
        debug_assert!(!is_one || latency_ns == service_ns);
        self.note(Some(target), |replies| {
            if !is_one {
                replies.latency.add(latency_ns);
            }
            replies.service.add(service_ns);
            match late_share {
                None => replies.requests += 1,
                Some(_) => replies.late_requests += 1,
            }
        });
        self.show(latency_ns);
        let due_ns = now_ns.saturating_sub(self.start_ns + latency_ns);
        self.record.course.answered(due_ns, latency_ns);
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

    /// The client of a request has hung up. `number`: of one that upstreams know by it.
    pub fn hung_up(&mut self, now_ns: u64, number: Option<u64>, target: usize) {
        self.error(now_ns, ErrorKind::HungUp, Some(target));
        if let Some(number) = number {
            self.record.hung_up_ns.add(number, now_ns);
        }
    }

    /// A request waited for a connection until its client had no patience any more.
    pub fn never_sent(&mut self, at_ns: u64) {
        self.intended(at_ns);
        self.record.unsent += 1;
        self.record.replies.unfinished += 1;
    }

    /// A request was given up after this time, which its latency is at least.
    pub fn timed_out(&mut self, now_ns: u64, age_ns: u64, target: Option<usize>) {
        self.note(target, |replies| replies.latency.add(age_ns));
        self.show(age_ns);
        let second = self.record.second(now_ns - self.start_ns);
        second.max_ns = second.max_ns.max(age_ns);
    }

    /// A part of a reply. `fed`: whether the connection has had a message; `was_paused`: lateness does not count.
    pub fn event(
        &mut self,
        now_ns: u64,
        event: ReplyEvent,
        fed: &mut bool,
        was_paused: bool,
        target: usize,
    ) {
        let message = match event {
            ReplyEvent::Status(status) => return self.status(status, target),
            ReplyEvent::Message(message) => message,
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
            self.show(late_ns);
        }
    }

    /// Hands the interval over to the live view. `open`: connections. `running`: the load has not ended.
    pub fn publish(&mut self, now_ns: u64, open: u64, in_flight: u64, running: bool) {
        if running {
            let second = self.record.second(now_ns - self.start_ns);
            second.open = second.open.max(open);
        }
        if !self.is_live {
            return;
        }
        if let Ok(mut live) = self.live.lock() {
            live.merge(&self.interval);
            live.open = open;
            live.in_flight = in_flight;
        }
        self.interval = Interval::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::decoder::ReplyFormat;
    use crate::load::outgoing::Outgoing;
    use crate::load::plan::Plan;

    fn recorder(progress: &str, is_service_latency: bool) -> Recorder {
        let plan = format!(
            r#"{{"protocol": "http", "addresses": ["127.0.0.1:1"], "duration_s": 9, {progress}
                "request": {{"headers": [["Host", "h"]]}}}}"#
        );
        let plan: Arc<Plan> = Arc::new(serde_json::from_str(&plan).unwrap());
        let config = ShardConfig {
            outgoing: Arc::new(Outgoing::new(&plan).unwrap()),
            replies: Arc::new(ReplyFormat::new(&plan)),
            shard: 0,
            share: plan.share(0),
            start_ns: 1000,
            slack_ns: 0,
            sleeps_late_ns: 0,
            stop: Arc::default(),
            live: Arc::default(),
            plan,
        };
        Recorder::new(&config, 2, is_service_latency)
    }

    /// Some replies of each of two targets, with their statuses, some of them late, and time-outs.
    fn record(recorder: &mut Recorder) {
        let mut random = fastrand::Rng::with_seed(5);
        for number in 0..2000 {
            let (ns, target) = (
                1u64 << random.u64(4..33) | random.u64(0..999),
                number / 7 % 2,
            );
            let status = [200, 200, 200, 503, 204][random.usize(0..5)];
            recorder.event(ns, ReplyEvent::Status(status), &mut false, false, target);
            match random.u8(0..10) {
                0 => recorder.timed_out(1000 + ns, ns, Some(target)),
                1 => recorder.reply(1000 + ns, ns, ns, Some(0.5), None, target),
                2 => recorder.error(1000 + ns, ErrorKind::Status, Some(target)),
                _ => recorder.reply(1000 + ns, ns, ns, None, None, target),
            }
        }
    }

    #[test]
    fn a_latency_that_is_the_service_time_is_recorded_once() {
        let [twice, once] = [false, true].map(|is_one| {
            let mut recorder = recorder("", is_one);
            record(&mut recorder);
            serde_json::to_value(recorder.finish()).unwrap()
        });
        assert_eq!(twice, once);
        assert_ne!(twice["replies"]["latency"], twice["replies"]["service"]);
    }

    #[test]
    fn a_request_that_was_given_up_is_the_slowest_of_its_second() {
        let mut recorder = recorder("", false);
        recorder.reply(1000 + 10, 7, 7, None, None, 0);
        recorder.timed_out(1000 + 1_500_000_000, 900, Some(0));
        recorder.error(1000 + 1_500_000_000, ErrorKind::Timeout, Some(0));
        let series = recorder.finish().series;
        let seconds: Vec<_> = series
            .iter()
            .map(|each| (each.requests, each.errors, each.max_ns))
            .collect();
        assert_eq!(seconds, [(1, 0, 7), (0, 1, 900)]);
    }

    #[test]
    fn statuses_are_counted_by_target() {
        let mut recorder = recorder("", true);
        for (status, target) in [(200, 0), (200, 0), (200, 1), (503, 1), (200, 1), (200, 0)] {
            recorder.event(1, ReplyEvent::Status(status), &mut false, false, target);
        }
        let record = recorder.finish();
        let counts = |replies: &Replies| replies.statuses.clone().into_iter().collect::<Vec<_>>();
        assert_eq!(counts(&record.replies), [(200, 5), (503, 1)]);
        assert_eq!(counts(&record.targets[0]), [(200, 3)]);
        assert_eq!(counts(&record.targets[1]), [(200, 2), (503, 1)]);
        assert!(counts(&super::tests::recorder("", true).finish().replies).is_empty());
    }

    #[test]
    fn the_live_view_is_fed_where_it_is_wanted() {
        for (progress, is_wanted) in [("", false), (r#""progress_s": 1,"#, true)] {
            let mut recorder = recorder(progress, true);
            record(&mut recorder);
            recorder.publish(2000, 3, 4, true);
            let mut live = recorder.live.lock().unwrap();
            assert_eq!(live.open, if is_wanted { 3 } else { 0 });
            let taken = live.take();
            assert_eq!(!taken.times.is_empty(), is_wanted);
            assert_eq!(taken.requests > 0, is_wanted);
        }
    }
}
