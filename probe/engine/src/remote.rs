//! Loads of a service that engines on other machines carry out: the driver's messages about them, and the results so
//! far.

use crate::from_json;
use crate::load::engine::Outcome;
use crate::load::plan::Plan;
use crate::load::record::Record;
use serde::Deserialize;
use std::sync::Arc;
use wire::refuse;

/// A line of the driver's while a step is under way.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum DriverNotice {
    Begun(Begun),
    /// An engine has ended its part of a load.
    Record(Box<PartRecord>),
    /// Why the loads do not take place.
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
    /// The engines' counts together.
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
        refuse!(!self.is_missing_a_part(), "too many records of load {}", self.load);
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
        let answered = replies.requests.saturating_add(replies.late_requests);
        let answered = if self.has_service_times { answered } else { 0 };
        let count = times.len() as u64;
        refuse!(count != answered, "service times of {count} requests, where {answered} are due");
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

    /// A load of six requests that their numbers identify, which two engines share.
    fn awaited(has_upstreams: bool) -> Awaited {
        let plan = json!({
            "protocol": "http", "requests": 6, "connections": 2,
            "request": {"headers": [["Host", "here"], ["X-Request-Id", "all-{n}"]]},
        });
        let mut load = Awaited::new(3, Arc::new(serde_json::from_value(plan).unwrap()), has_upstreams);
        load.started = Some(StartedEngines { engines: 2, within_ns: 0 });
        load
    }

    /// A record of these requests that were answered, and of those whose clients hung up.
    fn record(answered: &[u64], hung_up: &[u64]) -> PartRecord {
        let mut outcome = Outcome::default();
        outcome.record.replies.requests = answered.len() as u64;
        outcome.record.service_times = answered.iter().map(|&number| (number, 7)).collect();
        outcome.record.hung_up_ns = hung_up.iter().map(|&number| (number, 7)).collect();
        PartRecord { load: 3, record: outcome }
    }

    #[test]
    fn parts_are_added_until_all_are_there() {
        let mut load = awaited(true);
        load.add(&record(&[1, 3], &[5, 4])).unwrap();
        assert!(load.is_missing_a_part());
        let mut late = record(&[2, 6], &[]);
        let replies = &mut late.record.record.replies;
        (replies.requests, replies.late_requests) = (1, 1);
        load.add(&late).unwrap();
        assert!(!load.is_missing_a_part());
        assert!(load.add(&record(&[], &[])).unwrap_err().contains("too many"));
        let total = &load.outcome.record;
        assert_eq!((total.replies.requests, total.service_times.len()), (3, 4));
        assert_eq!(total.hung_up_ns, [(4, 7), (5, 7)]);
        // Before the engines have started nothing is missing.
        load.started = None;
        assert!(!load.is_missing_a_part() && load.add(&record(&[], &[])).is_err());
    }

    #[test]
    fn records_that_cannot_be() {
        let counted = |requests, late_requests| {
            let mut part = record(&[2, 4], &[]);
            let replies = &mut part.record.record.replies;
            (replies.requests, replies.late_requests) = (requests, late_requests);
            part
        };
        for (wrong, word) in [
            (counted(3, 0), "service times of 2 requests, where 3 are due"),
            (counted(1, 0), "service times of 2 requests, where 1 are due"),
            (counted(u64::MAX, 2), "where 18446744073709551615 are due"),
            (record(&[2, 7], &[]), "request 7, of 6"),
            (record(&[0, 2], &[]), "request 0, of 6"),
            (record(&[2, 2], &[]), "request 2 was answered before"),
            (record(&[2, 3], &[]), "request 3 was answered before"),
            (record(&[], &[2, 7]), "request 7, of 6"),
            (record(&[], &[0, 2]), "request 0, of 6"),
            (record(&[], &[2, 2]), "request 2 lost its client before"),
            (record(&[], &[2, 5]), "request 5 lost its client before"),
        ] {
            let mut load = awaited(true);
            load.add(&record(&[1, 3], &[5])).unwrap();
            let why = load.add(&wrong).unwrap_err();
            assert!(why.starts_with("record 2 of load 3: ") && why.contains(word), "{why}");
        }
        // The trial has no such loads.
        let why = awaited(false).add(&record(&[2], &[])).unwrap_err();
        assert!(why.contains("where 0 are due"), "{why}");
    }

    #[test]
    fn notices() {
        let begun = DriverNotice::parse(br#"{"begun":{"engines":[2,1],"within_ns":5}}"#);
        assert!(matches!(begun, Ok(DriverNotice::Begun(begun)) if begun.engines == [2, 1]));
        let failed = DriverNotice::parse(br#"{"failed":"no route"}"#);
        assert!(matches!(failed, Ok(DriverNotice::Failed(why)) if why == "no route"));
        for line in ["", "{}", r#"{"begun":{}}"#, r#"{"ended":1}"#, r#"{"record": {"a\nkey\r": 1}}"#] {
            let why = DriverNotice::parse(line.as_bytes()).err().unwrap();
            assert!(why.starts_with("the driver's notice: ") && why.lines().count() == 1, "{why}");
        }
    }
}
