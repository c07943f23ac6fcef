//! Loads of a service that engines on other machines carry out: what the driver tells the probe of them, and what has
//! come of each so far.

use crate::load::engine::Outcome;
use crate::load::plan::Plan;
use serde::Deserialize;
use std::sync::Arc;

/// A line of the driver's while a step is under way.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Notice {
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
    /// The back-end of the engine.
    pub io: String,
    /// As the engine wrote it.
    pub record: Outcome,
}

impl Notice {
    /// The error is one line.
    pub fn parse(line: &[u8]) -> Result<Notice, String> {
        serde_json::from_slice(line).map_err(|error| format!("the driver's notice: {error}"))
    }
}

/// How engines shared a load that has ended.
#[derive(Clone, Copy)]
pub struct Sharing {
    pub engines: usize,
    pub within_ns: u64,
}

/// A load whose engines have not all ended.
pub struct Awaited {
    pub load: usize,
    pub plan: Arc<Plan>,
    /// None until the engines have started.
    pub sharing: Option<Sharing>,
    ended: usize,
    io: Vec<String>,
    outcome: Outcome,
}

impl Awaited {
    pub fn new(load: usize, plan: Arc<Plan>) -> Awaited {
        Awaited {
            load,
            plan,
            sharing: None,
            ended: 0,
            io: Vec::new(),
            outcome: Outcome::default(),
        }
    }

    /// Adds what one engine counted. The error: no part of this load is missing.
    pub fn add(&mut self, part: &PartRecord) -> Result<(), String> {
        if !self.is_missing_a_part() {
            return Err(format!("a record too many of load {}", self.load));
        }
        self.ended += 1;
        self.outcome.merge(&part.record);
        if !self.io.contains(&part.io) {
            self.io.push(part.io.clone());
        }
        Ok(())
    }

    pub fn is_missing_a_part(&self) -> bool {
        self.sharing
            .is_some_and(|sharing| self.ended < sharing.engines)
    }

    /// The names of the engines' back-ends, and what they counted together.
    pub fn whole(mut self) -> (String, Outcome) {
        self.io.sort_unstable();
        (self.io.join(", "), self.outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn awaited(engines: usize) -> Awaited {
        let plan = json!({"protocol": "tcp", "line": "1", "requests": 1});
        let mut awaited = Awaited::new(0, Arc::new(serde_json::from_value(plan).unwrap()));
        awaited.sharing = Some(Sharing {
            engines,
            within_ns: 0,
        });
        awaited
    }

    fn part(io: &str, requests: u64) -> PartRecord {
        let mut record = Outcome::default();
        record.record.replies.requests = requests;
        PartRecord {
            load: 0,
            io: io.into(),
            record,
        }
    }

    #[test]
    fn parts_are_added_until_all_are_there() {
        let mut two = awaited(2);
        assert!(two.add(&part("uring", 3)).is_ok());
        assert!(two.is_missing_a_part());
        assert!(two.add(&part("epoll", 4)).is_ok());
        assert!(!two.is_missing_a_part());
        assert!(two.add(&part("epoll", 5)).is_err());
        let (io, outcome) = two.whole();
        assert_eq!(io, "epoll, uring");
        assert_eq!(outcome.record.replies.requests, 7);
    }

    #[test]
    fn nothing_is_missing_before_the_beginning() {
        let mut early = awaited(1);
        early.sharing = None;
        assert!(!early.is_missing_a_part());
        assert!(early.add(&part("epoll", 1)).is_err());
    }

    #[test]
    fn notices() {
        let begun = Notice::parse(br#"{"begun":{"engines":[2,1],"within_ns":5}}"#);
        assert!(matches!(begun, Ok(Notice::Begun(begun)) if begun.engines == [2, 1]));
        let failed = Notice::parse(br#"{"failed":"no route"}"#);
        assert!(matches!(failed, Ok(Notice::Failed(why)) if why == "no route"));
        for line in ["", "{}", r#"{"begun":{}}"#, r#"{"ended":1}"#] {
            let Err(why) = Notice::parse(line.as_bytes()) else {
                panic!("{line}");
            };
            assert!(why.starts_with("the driver's notice: "), "{why}");
        }
    }
}
