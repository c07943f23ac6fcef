//! Records the events of a shard, in its record and for the live view.

use super::connection::RequestProgress;
use super::ShardConfig;
use crate::load::course::Timeline;
use crate::load::decoder::ReplyEvent;
use crate::load::error::ErrorKind;
use crate::load::histogram::Histogram;
use crate::load::interval::Interval;
use crate::load::record::{Record, Replies};
use crate::load::sequence::SequenceFault;
use std::sync::{Arc, Mutex};

/// Consecutive replies with the same status and target. Counting runs saves a look-up for each reply.
#[derive(Default)]
struct Run {
    status: u16,
    target: usize,
    count: u64,
}

#[derive(Default)]
pub struct ReplyTimes {
    pub latency_ns: u64,
    pub service_ns: u64,
    /// For a reply that came in one read.
    pub first_byte_ns: Option<u64>,
    /// For a reply after the end of the load: the share of its service before the end.
    pub late_share: Option<f64>,
    /// The number of a request whose service time is kept under that number.
    pub number: Option<u64>,
    pub target: usize,
}

pub struct Recorder {
    /// Without what `finish` adds.
    pub record: Record,
    run: Run,
    /// Replies whose latency, service time and first byte are one time: it is recorded once, and added to the three at
    /// the end. None if targets have figures of their own.
    whole: Option<Histogram>,
    /// Whether anybody looks at the live view.
    is_live: bool,
    interval: Interval,
    live: Arc<Mutex<Interval>>,
    start_ns: u64,
}

impl Recorder {
    /// `targets`: their number; one is not recorded by itself.
    pub fn new(config: &ShardConfig, targets: usize) -> Recorder {
        let plan = &config.plan;
        let mut record = Record { course: Timeline::new(plan), ..Record::default() };
        if targets > 1 {
            record.targets.resize_with(targets, Replies::default);
        }
        Recorder {
            record,
            run: Run::default(),
            whole: (targets == 1).then(Histogram::default),
            is_live: config.plan.progress_s.is_some(),
            interval: Interval::default(),
            live: Arc::clone(&config.live),
            start_ns: config.start_ns,
        }
    }

    pub fn finish(mut self) -> Record {
        self.settle();
        self.record
    }

    /// Adds what is kept apart to the record.
    pub fn settle(&mut self) {
        self.end_run();
        if let Some(whole) = self.whole.as_mut().map(std::mem::take) {
            let record = &mut self.record;
            record.replies.latency.merge(&whole);
            record.replies.service.merge(&whole);
            record.first_byte.merge(&whole);
        }
    }

    /// The load begins: from the time before, only errors count.
    pub fn begin(&mut self) {
        self.settle();
        let record = &mut self.record;
        for replies in std::iter::once(&mut record.replies).chain(&mut record.targets) {
            *replies = Replies { errors: std::mem::take(&mut replies.errors), ..Replies::default() };
        }
        record.first_byte = Histogram::default();
        record.schedule_error = Histogram::default();
        record.queue = Histogram::default();
        record.intended = 0;
    }

    /// Counts the statuses of replies in succession.
    fn end_run(&mut self) {
        let Run { status, target, count } = std::mem::take(&mut self.run);
        if count > 0 {
            self.note(Some(target), |replies| replies.statuses.add(status, count));
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

    /// The status of the reply that came last; 0 before the first.
    pub fn last_status(&self) -> u16 {
        self.run.status
    }

    /// A time for the live view.
    #[inline]
    fn show(&mut self, ns: u64) {
        if self.is_live {
            self.interval.times.add(ns);
        }
    }

    /// Notes the outcome of a request in the record of all, and in that of its target, where it concerns one.
    fn note(&mut self, target: Option<usize>, note: impl Fn(&mut Replies)) {
        note(&mut self.record.replies);
        if let Some(own) = target.and_then(|target| self.record.targets.get_mut(target)) {
            note(own);
        }
    }

    /// `target`: that of the request, where it concerns one.
    pub fn error(&mut self, now_ns: u64, kind: ErrorKind, target: Option<usize>) {
        self.note(target, |replies| replies.errors.add(kind, 1));
        self.interval.errors += 1;
        self.record.second(now_ns - self.start_ns).errors += 1;
    }

    /// A request goes to the kernel now, or one of a stream that sends none could.
    #[inline]
    pub fn schedule_error(&mut self, request: &mut RequestProgress, now_ns: u64) {
        let open_late_ns = std::mem::take(&mut request.open_late_ns);
        let late_ns = now_ns.saturating_sub(request.ready_ns) + open_late_ns;
        self.record.schedule_error.add(late_ns);
    }

    /// A request was due then, and sent or not.
    pub fn intended(&mut self, at_ns: u64) {
        let at_ns = at_ns.saturating_sub(self.start_ns);
        self.record.course.due(at_ns);
        self.record.intended += 1;
        self.interval.intended += 1;
    }

    /// The time from the sending of a request to the first byte of its reply, if that has come now.
    #[inline]
    pub fn first_byte(&mut self, ns: Option<u64>) {
        if let Some(ns) = ns {
            self.record.first_byte.add(ns);
        }
    }

    pub fn reply(&mut self, now_ns: u64, reply: &ReplyTimes) {
        let &ReplyTimes { latency_ns, service_ns, first_byte_ns, late_share, number, target } = reply;
        let is_whole = latency_ns == service_ns && first_byte_ns == Some(service_ns);
        let whole = self.whole.as_mut().filter(|_| is_whole);
        let is_apart = whole.is_none();
        match whole {
            Some(whole) => whole.add(service_ns),
            None => self.first_byte(first_byte_ns),
        }
        self.note(Some(target), |replies| {
            if is_apart {
                replies.latency.add(latency_ns);
                replies.service.add(service_ns);
            }
            match late_share {
                None => replies.requests += 1,
                Some(_) => replies.late_requests += 1,
            }
        });
        self.show(latency_ns);
        let due_ns = now_ns.saturating_sub(self.start_ns + latency_ns);
        self.record.course.answered(due_ns, latency_ns);
        if let Some(number) = number {
            self.record.service_times.push((number, service_ns));
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
            self.record.hung_up_ns.push((number, now_ns));
        }
    }

    /// A request was due, and waited for a connection until its client hung up or the load ended.
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
    pub fn event(&mut self, now_ns: u64, event: ReplyEvent, fed: &mut bool, was_paused: bool, target: usize) {
        let message = match event {
            ReplyEvent::Status(status) => return self.status(status, target),
            ReplyEvent::Message(message) => message,
        };
        let early = message.is_early.then_some((SequenceFault::Early, 1));
        for (fault, count) in message.fault.into_iter().chain(early) {
            self.record.sequence.add(fault, count);
        }
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
    use crate::load::http_request::MessageTemplate;
    use crate::load::plan::Plan;

    fn recorder(progress: &str, targets: usize) -> Recorder {
        let plan = format!(
            r#"{{"protocol": "http", "addresses": ["127.0.0.1:1"], "duration_s": 9, {progress}
                "request": {{"headers": [["Host", "h"]]}}}}"#
        );
        let plan: Arc<Plan> = Arc::new(serde_json::from_str(&plan).unwrap());
        let config = ShardConfig {
            message: Arc::new(MessageTemplate::new(&plan).unwrap()),
            partition: plan.partition(0),
            start_ns: 1000,
            slack_ns: 0,
            sleeps_late_ns: 0,
            stop: Arc::default(),
            live: Arc::default(),
            log: None,
            plan,
        };
        Recorder::new(&config, targets)
    }

    /// Some replies of each of two targets, with their statuses, some of them late, and time-outs.
    fn record(recorder: &mut Recorder) {
        let mut random = fastrand::Rng::with_seed(5);
        for number in 0..2000 {
            let (ns, target) = (1u64 << random.u64(4..33) | random.u64(0..999), number / 7 % 2);
            let status = [200, 200, 200, 503, 204][random.usize(0..5)];
            recorder.event(ns, ReplyEvent::Status(status), &mut false, false, target);
            match random.u8(0..10) {
                0 => recorder.timed_out(1000 + ns, ns, Some(target)),
                1 => recorder.error(1000 + ns, ErrorKind::Status, Some(target)),
                kind => recorder.reply(
                    1000 + ns,
                    &ReplyTimes {
                        latency_ns: ns,
                        service_ns: ns / u64::from(1 + kind % 2),
                        first_byte_ns: Some(ns / u64::from(1 + kind % 3)),
                        late_share: (kind > 7).then_some(0.5),
                        number: None,
                        target,
                    },
                ),
            }
        }
    }

    #[test]
    fn times_that_are_the_same_are_recorded_once() {
        let [apart, together] = [2, 1].map(|targets| {
            let mut recorder = recorder("", targets);
            record(&mut recorder);
            if let Some(whole) = &recorder.whole {
                assert!(whole.len() > 100);
                assert!(recorder.record.first_byte.len() > 100);
            }
            let mut record = recorder.finish();
            record.targets.clear();
            serde_json::to_value(record).unwrap()
        });
        assert_eq!(apart, together);
        assert_ne!(apart["replies"]["latency"], apart["replies"]["service"]);
        assert_ne!(apart["first_byte"], apart["replies"]["service"]);
    }

    #[test]
    fn a_request_that_was_given_up_is_the_slowest_of_its_second() {
        let mut recorder = recorder("", 1);
        let reply = ReplyTimes { latency_ns: 7, ..ReplyTimes::default() };
        recorder.reply(1000 + 10, &reply);
        recorder.timed_out(1000 + 1_500_000_000, 900, Some(0));
        recorder.error(1000 + 1_500_000_000, ErrorKind::Timeout, Some(0));
        let series = recorder.finish().series;
        let seconds: Vec<_> = series.iter().map(|each| (each.requests, each.errors, each.max_ns)).collect();
        assert_eq!(seconds, [(1, 0, 7), (0, 1, 900)]);
    }

    #[test]
    fn statuses_are_counted_by_target() {
        let mut recorder = recorder("", 2);
        for (status, target) in [(200, 0), (200, 0), (200, 1), (503, 1), (200, 1), (200, 0)] {
            recorder.event(1, ReplyEvent::Status(status), &mut false, false, target);
        }
        let record = recorder.finish();
        let counts = |replies: &Replies| replies.statuses.iter().collect::<Vec<_>>();
        assert_eq!(counts(&record.replies), [(200, 5), (503, 1)]);
        assert_eq!(counts(&record.targets[0]), [(200, 3)]);
        assert_eq!(counts(&record.targets[1]), [(200, 2), (503, 1)]);
        assert!(counts(&super::tests::recorder("", 2).finish().replies).is_empty());
    }

    #[test]
    fn the_live_view_is_fed_where_it_is_wanted() {
        for (progress, is_wanted) in [("", false), (r#""progress_s": 1,"#, true)] {
            let mut recorder = recorder(progress, 1);
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
