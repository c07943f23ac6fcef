//! Loads of a service that engines on other machines carry out: what the driver tells the probe of them, and what has
//! come of each so far.

use crate::from_json;
use crate::load::engine::Outcome;
use crate::load::plan::Plan;
use crate::load::record::Record;
use serde::Deserialize;
use std::sync::Arc;

/// A line of the driver's while a step is under way.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum DriverNotice {
    /// The engines have been started.
    Begun(Begun),
    /// An engine has ended its part of a load.
    Record(Box<PartRecord>),
    /// The loads do not take place: why.
    Failed(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begun {
    /// How many engines share each load of the step.
    pub engines: Vec<usize>,
    /// How far apart they started at most, by the driver's clock.
    pub within_ns: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartRecord {
    /// The load's number in its step.
    pub load: usize,
    /// As the engine wrote it.
    pub record: Outcome,
}

impl DriverNotice {
    /// The error is one line.
    pub fn parse(line: &[u8]) -> Result<DriverNotice, String> {
        from_json(line).map_err(|why| format!("the driver's notice: {why}"))
    }
}

/// The engines of a load.
#[derive(Clone, Copy)]
pub struct StartedEngines {
    pub engines: usize,
    pub within_ns: u64,
}

/// A load whose engines have not all ended.
pub struct Awaited {
    pub load: usize,
    pub plan: Arc<Plan>,
    /// None until the engines have started.
    pub started: Option<StartedEngines>,
    /// Records have the service times of answered requests, which are joined with calls of upstreams.
    has_service_times: bool,
    ended: usize,
    /// What the engines counted together.
    pub outcome: Outcome,
}

impl Awaited {
    pub fn new(load: usize, plan: Arc<Plan>, has_upstreams: bool) -> Awaited {
        Awaited {
            has_service_times: has_upstreams && plan.keeps_service_times(),
            load,
            plan,
            started: None,
            ended: 0,
            outcome: Outcome::default(),
        }
    }

    /// Adds what one engine counted. The error: no part of this load is missing, or the record contradicts itself,
    /// the plan or another record.
    pub fn add(&mut self, part: &PartRecord) -> Result<(), String> {
        if !self.is_missing_a_part() {
            return Err(format!("a record too many of load {}", self.load));
        }
        self.ended += 1;
        let name = format!("record {} of load {}", self.ended, self.load);
        self.check_service_times(&part.record.record).map_err(|why| format!("{name}: {why}"))?;
        self.outcome.merge(&part.record);
        let record = &mut self.outcome.record;
        for (times, what) in
            [(&mut record.service_times, "was answered"), (&mut record.hung_up_ns, "lost its client")]
        {
            times.sort_unstable();
            if let Some(pair) = times.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(format!("{name}: request {} {what} before", pair[0].0));
            }
        }
        Ok(())
    }

    /// Whether there is a service time for each answered request, and for no other, and whether the numbers of requests
    /// are those of the plan.
    fn check_service_times(&self, record: &Record) -> Result<(), String> {
        let (times, replies) = (&record.service_times, &record.replies);
        let answered = match self.has_service_times {
            true => replies.requests.saturating_add(replies.late_requests),
            false => 0,
        };
        if times.len() as u64 != answered {
            let count = times.len();
            return Err(format!("service times of {count} requests, where {answered} are due"));
        }
        let most = self.plan.requests.unwrap_or(u64::MAX);
        let mut numbers = times.iter().chain(&record.hung_up_ns).map(|(number, _)| number);
        match numbers.find(|number| !(1..=most).contains(*number)) {
            Some(number) => Err(format!("request {number}, of {most}")),
            None => Ok(()),
        }
    }

    pub fn is_missing_a_part(&self) -> bool {
        self.started.is_some_and(|started| self.ended < started.engines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn awaited(engines: usize) -> Awaited {
        let plan = json!({"protocol": "tcp", "line": "1", "requests": 1});
        let plan = Arc::new(serde_json::from_value(plan).unwrap());
        let mut awaited = Awaited::new(0, plan, true);
        awaited.started = Some(StartedEngines { engines, within_ns: 0 });
        awaited
    }

    fn part(requests: u64) -> PartRecord {
        let mut record = Outcome::default();
        record.record.replies.requests = requests;
        PartRecord { load: 0, record }
    }

    #[test]
    fn an_error_is_one_line() {
        let error = DriverNotice::parse(b"{\"record\": {\"a\\nkey\\r\": 1}}").err().unwrap();
        assert!(error.starts_with("the driver's notice: unknown field `a key `"), "{error}");
    }

    #[test]
    fn parts_are_added_until_all_are_there() {
        let mut two = awaited(2);
        assert!(two.add(&part(3)).is_ok());
        assert!(two.is_missing_a_part());
        assert!(two.add(&part(4)).is_ok());
        assert!(!two.is_missing_a_part());
        assert!(two.add(&part(5)).is_err());
        assert_eq!(two.outcome.record.replies.requests, 7);
    }

    /// A record of requests by their numbers.
    fn numbered(numbers: &[u64]) -> PartRecord {
        let mut part = part(numbers.len() as u64);
        for &number in numbers {
            part.record.record.service_times.push((number, 7));
        }
        part
    }

    /// A load of six requests that their numbers identify.
    fn whole(has_upstreams: bool) -> Awaited {
        let plan = json!({
            "protocol": "http", "requests": 6, "connections": 2,
            "request": {"headers": [["Host", "here"], ["X-Request-Id", "all-{n}"]]},
        });
        let plan = Arc::new(serde_json::from_value(plan).unwrap());
        let mut whole = Awaited::new(3, plan, has_upstreams);
        whole.started = awaited(2).started;
        whole
    }

    #[test]
    fn service_times_that_cannot_be() {
        let mut right = whole(true);
        right.add(&numbered(&[1, 3, 5])).unwrap();
        let mut late = numbered(&[2, 6]);
        let replies = &mut late.record.record.replies;
        (replies.requests, replies.late_requests) = (1, 1);
        right.add(&late).unwrap();
        assert_eq!(right.outcome.record.service_times.len(), 5);

        let mut fewer = numbered(&[2, 4]);
        fewer.record.record.replies.requests = 3;
        let mut more = numbered(&[2, 4]);
        more.record.record.replies.requests = 1;
        let mut countless = numbered(&[2]);
        countless.record.record.replies.requests = u64::MAX;
        countless.record.record.replies.late_requests = 2;
        for (wrong, word) in [
            (fewer, "service times of 2 requests, where 3 are due"),
            (more, "service times of 2 requests, where 1 are due"),
            (countless, "where 18446744073709551615 are due"),
            (numbered(&[2, 7]), "request 7, of 6"),
            (numbered(&[0, 2]), "request 0, of 6"),
            (numbered(&[2, 2]), "request 2 was answered before"),
            (numbered(&[2, 3]), "request 3 was answered before"),
        ] {
            let mut load = whole(true);
            load.add(&numbered(&[1, 3, 5])).unwrap();
            let why = load.add(&wrong).unwrap_err();
            assert!(why.starts_with("record 2 of load 3: "), "{why}");
            assert!(why.contains(word), "{why}");
        }
        // Nobody asked for them.
        let mut alone = whole(false);
        alone.add(&part(3)).unwrap();
        let why = alone.add(&numbered(&[2])).unwrap_err();
        assert!(why.contains("where 0 are due"), "{why}");
    }

    #[test]
    fn clients_that_cannot_have_hung_up() {
        let hung_up = |numbers: &[u64]| {
            let mut part = part(0);
            part.record.record.hung_up_ns = numbers.iter().map(|&number| (number, 7)).collect();
            part
        };
        let mut right = whole(true);
        right.add(&hung_up(&[5, 1])).unwrap();
        right.add(&hung_up(&[6])).unwrap();
        assert_eq!(right.outcome.record.hung_up_ns, [(1, 7), (5, 7), (6, 7)]);
        for (numbers, word) in [
            ([2, 7], "request 7, of 6"),
            ([0, 2], "request 0, of 6"),
            ([2, 2], "request 2 lost its client before"),
            ([2, 5], "request 5 lost its client before"),
        ] {
            let mut load = whole(true);
            load.add(&hung_up(&[5, 1])).unwrap();
            let why = load.add(&hung_up(&numbers)).unwrap_err();
            assert!(why.starts_with("record 2 of load 3: ") && why.contains(word), "{why}");
        }
    }

    #[test]
    fn nothing_is_missing_before_the_beginning() {
        let mut early = awaited(1);
        early.started = None;
        assert!(!early.is_missing_a_part());
        assert!(early.add(&part(1)).is_err());
    }

    #[test]
    fn notices() {
        let begun = DriverNotice::parse(br#"{"begun":{"engines":[2,1],"within_ns":5}}"#);
        assert!(matches!(begun, Ok(DriverNotice::Begun(begun)) if begun.engines == [2, 1]));
        let failed = DriverNotice::parse(br#"{"failed":"no route"}"#);
        assert!(matches!(failed, Ok(DriverNotice::Failed(why)) if why == "no route"));
        for line in ["", "{}", r#"{"begun":{}}"#, r#"{"ended":1}"#] {
            let Err(why) = DriverNotice::parse(line.as_bytes()) else {
                panic!("{line}");
            };
            assert!(why.starts_with("the driver's notice: "), "{why}");
        }
    }
}
