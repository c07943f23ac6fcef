//! Requests joined with the calls of their upstreams.

use super::judgement::{judge_replies, judge_requests, judge_unanswered};
use super::*;
use crate::load::counts::Counts;
use crate::load::error::{ErrorKind, Judgement};
use crate::load::record::Record;

const REQUESTS: u64 = 600;

fn steps() -> Vec<LoadStep> {
    let plan = json!({
        "protocol": "http", "requests": REQUESTS, "connections": 60,
        "request": {"headers": [["Host", "here"], ["X-Request-Id", "all-{n}"]]},
    });
    let steps = json!([{"name": "measured", "loads": [{"name": "all", "plan": plan}]}]);
    serde_json::from_value(steps).unwrap()
}

fn upstreams() -> stub::StubPlan {
    let upstream = json!({"median_s": 0, "sigma": 0});
    serde_json::from_value(json!({"upstreams": [upstream]})).unwrap()
}

/// The longest delay among a request's upstreams, and its service time.
fn times_ns(number: u64) -> (u64, u64) {
    let slowest_ns = 3_000_000 * (number % 11 + 1);
    // Some in less than the stub's own clock has for the call: their overhead is 0.
    let overhead_ns = (number * 7919 % 1000) * 1000;
    (slowest_ns, (slowest_ns + overhead_ns).saturating_sub(20_000))
}

/// Three calls of each request; those of every fifth one after another.
fn ledger() -> Ledger {
    let mut ledger = Ledger::default();
    for number in 1..=REQUESTS {
        let (slowest_ns, _) = times_ns(number);
        let id = format!("all-{number}");
        let mut arrival_ns = 1_000_000_000 + number;
        for part in 1..=3 {
            let answer_ns = arrival_ns + slowest_ns * part / 3;
            ledger.add(Some(id.as_bytes()), arrival_ns, answer_ns);
            arrival_ns = match number % 5 {
                0 => answer_ns,
                _ => arrival_ns + 1,
            };
        }
    }
    ledger
}

/// The counts of an engine that answered these requests, the last of them first.
fn outcome(numbers: impl DoubleEndedIterator<Item = u64>) -> Outcome {
    let mut outcome = Outcome::default();
    for number in numbers.rev() {
        let (_, service_ns) = times_ns(number);
        outcome.record.replies.requests += 1;
        outcome.record.replies.service.add(service_ns);
        outcome.record.service_times.push((number, service_ns));
    }
    outcome
}

/// The first load of a step, which has ended with this outcome.
fn finished(steps: &[LoadStep], step: usize, outcome: Outcome) -> FinishedLoad {
    let plan = Arc::new(steps[step].loads[0].plan.clone());
    FinishedLoad { step, load: 0, plan, begin_ns: 1, end_ns: 9, outcome, started: None }
}

/// The figures of upstreams where this many engines elsewhere had the load.
fn joined(engines: u64) -> Value {
    let mut runner = LoadRunner { steps: steps(), stub_plan: Some(upstreams()), ..LoadRunner::default() };
    runner.await_engines(0, ([127, 0, 0, 1], 1).into());
    let begun = Begun { engines: vec![engines as usize], within_ns: 5 };
    runner.engines_begun(&begun, 1).unwrap();
    for engine in 0..engines {
        let own = (1..=REQUESTS).filter(|number| number % engines == engine);
        let line = json!({"record": {"load": 0, "record": outcome(own)}});
        let Ok(DriverNotice::Record(part)) = DriverNotice::parse(line.to_string().as_bytes()) else {
            panic!("no record");
        };
        let ended = runner.engine_ended(&part, 9).unwrap();
        assert_eq!(ended.is_some(), engine + 1 == engines);
    }
    let ledger = ledger();
    assert_eq!(runner.check_calls(&ledger, 3), Ok(()));
    let why = runner.check_calls(&ledger, 2).unwrap_err();
    assert!(why.contains("made 3 calls"), "{why}");
    runner.finished[0].overhead(&ledger)
}

#[test]
fn upstreams_of_engines_elsewhere_are_those_of_one_here() {
    let here = finished(&steps(), 0, outcome(1..=REQUESTS));
    let here = here.overhead(&ledger());
    assert_eq!(here["requests"], REQUESTS);
    assert_eq!(here["overlapped"], REQUESTS * 4 / 5);
    assert_eq!(here["slowest"]["max_ns"], 33_000_000);
    assert_eq!(times_ns(1), (6_000_000, 6_899_000));
    // The least is 0, which counts as 1; the greatest: 999,000 less 20,000.
    assert_eq!(here["overhead"]["min_ns"], 1);
    assert_eq!(here["overhead"]["max_ns"], 979_000);
    for engines in 1..=5 {
        assert_eq!(joined(engines), here, "{engines} engines");
    }
}

#[test]
fn calls_may_come_one_after_another_once_clients_hang_up() {
    let with = |patience: Option<f64>| {
        let mut steps = steps();
        let mut before = self::steps();
        before[0].loads[0].plan.patience_s = patience;
        steps.splice(0..0, before);
        steps
    };
    let mut ledger = Ledger::default();
    for number in 1..=REQUESTS {
        let id = format!("all-{number}");
        for part in 0..3 {
            let arrival_ns = 1_000_000_000 + part * 10_000_000;
            ledger.add(Some(id.as_bytes()), arrival_ns, arrival_ns + 5_000_000);
        }
    }
    for (patience, is_refused) in [(None, true), (Some(0.05), false)] {
        let mut runner =
            LoadRunner { steps: with(patience), stub_plan: Some(upstreams()), ..LoadRunner::default() };
        runner.finished.push(finished(&runner.steps, 1, outcome(1..=REQUESTS)));
        assert_eq!(runner.check_calls(&ledger, 3).is_err(), is_refused);
        assert!(runner.check_calls(&ledger, 2).is_err());
    }
}

/// The number of windows that a warm-up takes of eight, by how many requests each answers, and the CPU time for each.
fn windows(answers: &[u64], cpu_ns: impl Fn(usize) -> u64) -> usize {
    let plan = json!({"protocol": "tcp", "line": "1", "connections": 1, "duration_s": 1.0});
    let step = |name: &str, while_faster: Option<f64>| json!({"name": name, "while_faster": while_faster, "loads": [{"name": "all", "plan": plan}]});
    let mut steps = vec![step("first", None)];
    steps.extend((0..8).map(|number| step(&format!("warm-up-{number}"), Some(0.05))));
    steps.push(step("measured", None));
    let steps: Vec<LoadStep> = serde_json::from_value(steps.into()).unwrap();
    let mut runner = LoadRunner { steps, ..LoadRunner::default() };
    let (mut taken, mut used_ns) = (0, 0);
    while runner.step + 1 < runner.steps.len() {
        let mut outcome = Outcome { duration_ns: 250_000_000, ..Outcome::default() };
        outcome.record.replies.requests = match runner.step {
            0 => 1,
            window => answers[window - 1],
        };
        runner.finished.push(finished(&runner.steps, runner.step, outcome));
        taken += usize::from(runner.step > 0);
        used_ns += cpu_ns(runner.step);
        runner.step = runner.judge(used_ns).unwrap().unwrap();
    }
    assert_eq!(runner.steps[runner.step].name, "measured");
    taken
}

#[test]
fn a_warm_up_goes_on_while_the_server_gets_faster() {
    for (answers, taken) in [
        (vec![100, 101, 99, 100], 4),
        (vec![100, 105, 105, 100], 4),
        // The best of the later half against the best of the earlier.
        (vec![100, 150, 155, 152], 4),
        (vec![100, 120, 150, 155, 156, 153], 6),
        (vec![100, 110, 121, 133, 146, 161, 177, 195], 8),
        // A stall of half a second is no sign of the end.
        (vec![100, 130, 165, 205, 60, 70, 230, 231], 8),
        (vec![100, 180, 140, 150, 178], 5),
        (vec![100, 50, 100, 100], 4),
        (vec![100, 100, 50, 50, 100], 5),
        // Long requests; one window of few is a stall.
        (vec![9, 9], 2),
        (vec![9, 100, 101, 102], 4),
    ] {
        assert_eq!(windows(&answers, |_| 1_000_000), taken, "{answers:?}");
    }
}

#[test]
fn a_warm_up_goes_on_while_an_answer_takes_less_cpu_time() {
    let calm = vec![100; 8];
    let settles = |window: usize| [9, 900, 700, 600, 595, 594][window.min(5)];
    assert_eq!(windows(&calm, settles), 6);
    assert_eq!(windows(&calm, |window| 1_000_000 >> window), 8);
}

#[test]
fn every_kind_of_error_is_judged() {
    for &kind in ErrorKind::ALL {
        let mut record = Record::default();
        record.replies.requests = 1000;
        record.replies.errors.add(kind, 2);
        let name = kind.name();
        let wrong = judge_replies("step measured", &record);
        let unanswered = judge_unanswered("step measured", &record);
        match kind.judgement() {
            Judgement::WrongAnswer => {
                assert!(matches!(&wrong, Some((Verdict::WrongEvidence, why)) if why.contains(name)), "{name}")
            }
            Judgement::Planned => assert!(wrong.is_none() && unanswered.is_none(), "{name}"),
            Judgement::Unanswered => assert!(
                wrong.is_none()
                    && matches!(&unanswered, Some((Verdict::LoadFailed, why)) if why.contains(name)),
                "{name}"
            ),
        }
        // One unanswered request in a thousand hides no slow ones.
        record.replies.errors = Counts::default();
        record.replies.errors.add(kind, 1);
        assert!(judge_unanswered("step measured", &record).is_none(), "{name}");
    }
}

/// Figures at a rate that the engine cannot send show the engine's limit; a rate that a user chose is judged by its
/// figures.
#[test]
fn an_overload_that_the_engine_cannot_produce() {
    let steps = |of: &str| -> Vec<LoadStep> {
        let stairs = json!([{"rate_per_s": 9, "duration_s": 1}]);
        let mut pacing = json!({"kind": "staircase", "steps": stairs});
        if !of.is_empty() {
            pacing["of"] = of.into();
        }
        let plan = json!({"protocol": "tcp", "line": "1", "pacing": pacing});
        let steps = json!([{"name": "measured", "loads": [{"name": "all", "plan": plan}]}]);
        serde_json::from_value(steps).unwrap()
    };
    for (of, busy_ns, is_judged) in
        [("capacity", 960_000_000, true), ("capacity", 500_000_000, false), ("", 960_000_000, false)]
    {
        let steps = steps(of);
        let mut outcome = Outcome { duration_ns: 1_000_000_000, ..Outcome::default() };
        outcome.record.max_thread_busy_ns = busy_ns;
        let load = finished(&steps, 0, outcome);
        let cause = judge_requests("step measured", &steps[0], &load);
        let is_right = matches!(&cause, Some((Verdict::LoadFailed, why)) if why.contains("busy for 96 %"));
        assert_eq!(is_right, is_judged, "{cause:?}");
    }
}
