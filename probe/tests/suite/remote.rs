//! Servers whose loads come from engines elsewhere: the driver starts these, and hands the probe what they counted.

use crate::common::served::*;
use crate::common::*;
use crate::parts::{carried_out, of};
use serde_json::{json, Value};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};

const HOST: &str = "127.0.0.2";

fn service(mode: &str, steps: Value) -> Value {
    let mut service = service_of(steps);
    (service["host"], service["remote"]) = (json!(HOST), json!(true));
    let host = format!("host={HOST}");
    with(python("gateway.py", &[mode, &host]), "/service", service)
}

fn gateway(mode: &str) -> Value {
    with_upstreams(service(mode, json!([step("all", identified(6))])))
}

/// A probe that carries out a trial, and the answers so far.
struct Driven {
    probe: Child,
    stdin: Option<ChildStdin>,
    reader: BufReader<ChildStdout>,
    request: Value,
    text: String,
    /// The engines' counts.
    records: Vec<Value>,
}

impl Driven {
    fn start(request: Value) -> Driven {
        let mut probe = spawn();
        let mut stdin = probe.stdin.take();
        writeln!(stdin.as_mut().unwrap(), "{request}").unwrap();
        Driven { reader: reader(&mut probe), probe, stdin, request, text: String::new(), records: Vec::new() }
    }

    /// Waits for the next answer of a kind.
    fn answer(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            let count = self.reader.read_line(&mut line).unwrap();
            assert!(count > 0, "no {kind}: {}", self.text);
            self.text += &line;
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["type"] == kind {
                return answer;
            }
        }
    }

    /// Waits until the probe asks for a step; its number, and the port.
    fn asked(&mut self) -> (usize, u64) {
        let answer = self.answer("drive");
        let step = answer["step"].as_u64().unwrap() as usize;
        (step, answer["port"].as_u64().unwrap())
    }

    fn tell(&mut self, notice: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{notice}").unwrap();
    }

    /// Carries out the step that the probe asks for, each load by this many engines.
    fn carry_out(&mut self, engines: usize) {
        let (step, port) = self.asked();
        let has_upstreams = !self.request["service"]["stub"].is_null();
        let loads = self.request["service"]["steps"][step]["loads"].clone();
        let loads = loads.as_array().unwrap();
        let counts = vec![engines; loads.len()];
        self.tell(&json!({"begun": {"engines": counts, "within_ns": 7}}));
        for (number, load) in loads.iter().enumerate() {
            let mut plan = load["plan"].clone();
            plan["addresses"] = json!([format!("{HOST}:{port}")]);
            let whole = json!({"version": 1, "load": plan});
            for part in carried_out(&whole, engines, has_upstreams) {
                let record = of(&part, "record");
                self.tell(&json!({"record": {"load": number, "record": record}}));
                self.records.push(record.clone());
            }
        }
    }

    /// The driver's line is impossible: the probe says why, and ends with its server.
    fn ends_unusable(self, word: &str) {
        let output = self.probe.wait_with_output().unwrap();
        let why = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{why}");
        assert!(why.contains(word) && why.lines().count() == 1, "{why}");
        eventually("the server ends", || alive(&self.request).is_empty());
    }

    /// The trial, when it has ended.
    fn end(mut self) -> Trial {
        self.answer("outcome");
        // It may wait for another trial.
        drop(self.stdin.take());
        self.reader.read_to_string(&mut self.text).unwrap();
        let mut output = self.probe.wait_with_output().unwrap();
        output.stdout = self.text.into_bytes();
        let trial = parse(output);
        nothing_alive(&self.request);
        trial
    }
}

#[test]
fn engines_elsewhere_make_the_rows_that_one_here_would() {
    let marks = json!([{"name": "soon", "at_s": 0.0}]);
    let mut both = json!({"name": "both", "loads": [
        {"name": "few", "plan": service_plan(json!({}))},
        {"name": "more", "plan": service_plan(json!({"requests": 50}))},
    ]});
    both["marks"] = marks;
    let mut driven = Driven::start(service("plain", json!([step("first", service_plan(json!({}))), both])));
    driven.carry_out(3);
    driven.carry_out(2);
    let trial = driven.end();
    trial.is("ok", "");
    let loads = trial.of("load");
    let told: Vec<_> = loads
        .iter()
        .map(|load| {
            let keys = ["step", "name", "requests", "engines", "started_within_ns"];
            keys.map(|key| load[key].clone())
        })
        .collect();
    assert_eq!(
        json!(told),
        json!([["first", "all", 20, 3, 7], ["both", "few", 20, 2, 7], ["both", "more", 50, 2, 7]])
    );
    for load in &loads {
        assert_eq!(load["outcome"], "ok");
        let latency = &load["histograms"]["latency"];
        assert_eq!(latency["count"], load["requests"]);
        assert_eq!(load["connections"]["opened"], 4);
        assert!(load["begin_ns"].as_u64() < load["end_ns"].as_u64());
    }
    let cpu = |mark: &str| trial.marked(mark)["cpu_ns"].as_u64().unwrap();
    assert!(cpu("idle") <= cpu("begin first"));
    assert!(cpu("begin first") < cpu("end first"));
    assert!(cpu("begin both") < cpu("end both"));
    assert!(trial.marked("soon")["t_ns"].as_u64() < trial.marked("end both")["t_ns"].as_u64());
}

#[test]
fn what_engines_elsewhere_saw_is_judged_as_here() {
    let mut driven = Driven::start(service("lies", json!([step("all", service_plan(json!({})))])));
    driven.carry_out(2);
    driven.end().is(
        "wrong-evidence",
        "step all: 1 of 20 answers were not what was expected; the first: 'GET /' was answered with 'hell0' \
         instead of 'hello'",
    );
    let silent = step("all", service_plan(json!({"timeout_s": 1})));
    let mut driven = Driven::start(service("silent", json!([silent])));
    driven.carry_out(1);
    driven.end().is("load-failed", "timeout");
    let mut slow = step("slow", service_plan(json!({})));
    slow["last_above_p99_s"] = json!(1e-7);
    let mut driven = Driven::start(service("plain", json!([slow, step("never", service_plan(json!({})))])));
    driven.carry_out(2);
    let trial = driven.end();
    trial.is("ok", "");
    assert_eq!(trial.of("load").len(), 1);
}

#[test]
fn calls_of_upstreams_here_are_joined_with_requests_of_engines_elsewhere() {
    let mut driven = Driven::start(gateway("parallel"));
    driven.carry_out(3);
    let trial = driven.end();
    trial.is("ok", "");
    let load = &trial.of("load")[0];
    assert_eq!((&load["engines"], &load["requests"]), (&json!(3), &json!(6)));
    let joined = &load["upstreams"];
    assert_eq!(joined["requests"], 6, "{joined:#}");
    assert!(joined["slowest"]["min_ns"].as_u64().unwrap() >= 1_990_000_000);
    // The time of a request is that of its slowest upstream, and the rest.
    let mean = |histogram: &Value| histogram["mean_ns"].as_f64().unwrap();
    let service = mean(&load["histograms"]["service"]);
    let whole = mean(&joined["slowest"]) + mean(&joined["overhead"]);
    assert!((service / whole - 1.0).abs() < 0.003, "{load:#}");

    for (mode, why) in
        [("one-by-one", "one after another"), ("two", "made 2 calls that the upstreams answered, not 3")]
    {
        let mut driven = Driven::start(gateway(mode));
        driven.carry_out(2);
        driven.end().is("wrong-evidence", why);
    }
}

#[test]
fn records_whose_service_times_cannot_be() {
    let mut driven = Driven::start(gateway("parallel"));
    driven.carry_out(2);
    let (first, second) = (driven.records[0].clone(), driven.records[1].clone());
    driven.end().is("ok", "");
    let times = |pairs: Value| with(second.clone(), "/record/service_times", pairs);
    let least = "/record/replies/latency/min_ns";
    for (hostile, word) in [
        (times(json!([[2, 5], [4, 5], [7, 5]])), "record 2 of load 0: request 7, of 6"),
        (times(json!("2 5")), "invalid type: string"),
        (first.clone(), "request 1 was answered before"),
        (with(second.clone(), least, json!(u64::MAX)), "the least is above the greatest"),
    ] {
        let mut driven = Driven::start(gateway("parallel"));
        driven.asked();
        driven.tell(&json!({"begun": {"engines": [2], "within_ns": 0}}));
        for record in [&first, &hostile] {
            driven.tell(&json!({"record": {"load": 0, "record": record}}));
        }
        driven.ends_unusable(word);
    }
}

#[test]
fn a_server_that_dies_under_the_load_of_others() {
    let server = service("dies", json!([step("all", service_plan(json!({})))]));
    // In namespaces of the probe's own it would have no number here.
    let mut driven = Driven::start(with(server, "/namespaces", json!("off")));
    driven.asked();
    let pid = {
        let started: Value = serde_json::from_str(driven.text.lines().next().unwrap()).unwrap();
        started["pid"].as_u64().unwrap()
    };
    signal(pid as u32, rustix::process::Signal::KILL);
    driven.end().is("crashed", "killed by signal 9");
}

#[test]
fn what_ends_a_trial_whose_loads_are_elsewhere() {
    let held = || service("plain", json!([step("all", service_plan(json!({})))]));
    let mut driven = Driven::start(held());
    driven.asked();
    driven.tell(&json!({"failed": "east: no route"}));
    driven.end().is("load-failed", "east: no route");

    let mut driven = Driven::start(held());
    driven.asked();
    driven.tell(&json!({"begun": {"engines": [2], "within_ns": 0}}));
    drop(driven.stdin.take());
    driven.end().is("interrupted", "the driver has hung up");

    let mut driven = Driven::start(with(held(), "/limits/wall_s", json!(6)));
    driven.asked();
    driven.end().is("timed-out", "still ran after 6 s");
}

#[test]
fn notices_that_cannot_be() {
    for (notices, word) in [
        (vec![json!({"begun": {"engines": [1, 1], "within_ns": 0}})], "of 1 loads"),
        (vec![json!({"begun": {"engines": [0], "within_ns": 0}})], "of 1 loads"),
        (vec![json!({"begun": {"engines": [1], "within_ns": 0}}); 2], "not awaited"),
        (vec![json!({"ended": 1})], "the driver's notice: "),
        (vec![json!({"record": {"load": 0, "record": {}}})], "missing field"),
    ] {
        let request = service("plain", json!([step("all", service_plan(json!({})))]));
        let mut driven = Driven::start(request);
        driven.asked();
        for notice in notices {
            driven.tell(&notice);
        }
        driven.ends_unusable(word);
    }
}

#[test]
fn a_server_that_does_not_listen_where_others_reach_it() {
    let request = service("plain", json!([step("all", service_plan(json!({})))]));
    // Loads of this machine go there, too.
    let here = with(request, "/service/remote", json!(false));
    run(&here).is("ok", "");
    let elsewhere = with(here, "/service/host", json!("127.0.0.3"));
    run(&elsewhere).is("wrong-evidence", "has no listener on 127.0.0.3");
}

#[test]
fn services_that_are_refused() {
    let request = || service("plain", json!([step("all", service_plan(json!({})))]));
    for (key, value, word) in [
        ("host", json!("0.0.0.0"), "name the address of one machine"),
        ("host", json!("here"), "not an IP address"),
    ] {
        is_refused(&with(request(), &format!("/service/{key}"), value), word);
    }
    // The engines' report about each request must fit into a line.
    let many = with(gateway("parallel"), "/service/steps/0/loads/0/plan/requests", json!(1_000_001));
    is_refused(&many, "service times by request");
}
