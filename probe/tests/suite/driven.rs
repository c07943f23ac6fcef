//! Servers under load: step after step, with upstreams that the probe plays.

use crate::common::*;
use serde_json::{json, Value};

fn plan(changes: Value) -> Value {
    let mut plan = json!({
        "protocol": "http", "requests": 20, "connections": 2, "timeout_s": 100,
        "request": {"headers": [["Host", "here"]]}, "expect": {"status": 200, "equals": "hello"},
    });
    for (key, value) in changes.as_object().unwrap() {
        plan[key] = value.clone();
    }
    plan
}

fn step(name: &str, plan: Value) -> Value {
    json!({"name": name, "loads": [{"name": "all", "plan": plan}]})
}

fn service(mode: &str, steps: Value) -> Value {
    let service = json!({"ready_s": 100, "idle_s": 0.1, "end_s": 30, "steps": steps});
    with(python("gateway.py", &[mode]), "/service", service)
}

fn with_upstreams(mode: &str) -> Value {
    let changes = json!({
        "request": {"headers": [["Host", "here"], ["X-Request-Id", "all-{n}"]]},
        "requests": 4, "connections": 4, "timeout_s": 100,
    });
    let request = service(mode, json!([step("all", plan(changes))]));
    // Longer than a host stands still between two calls that are made at once.
    let delay = json!({"kind": "constant", "s": 2.0});
    let upstream = json!({ "delay": delay });
    let stub = json!({"upstreams": [upstream, upstream, upstream], "seed": 1});
    let mut request = with(request, "/service/stub", stub);
    let argv = request["argv"].as_array_mut().unwrap();
    argv.push(json!("upstreams={upstreams}"));
    request
}

#[test]
fn steps_one_after_another_and_loads_at_the_same_time() {
    let plan = || plan(json!({}));
    let both = json!({"name": "both", "loads": [
        {"name": "few", "plan": plan()}, {"name": "more", "plan": with(plan(), "/requests", json!(50))}]});
    let trial = run(&service("plain", json!([step("first", plan()), both])));
    trial.is("ok", "");
    let loads = trial.of("load");
    let told: Vec<_> = loads
        .iter()
        .map(|one| (&one["step"], &one["name"], &one["requests"]))
        .collect();
    assert_eq!(told.len(), 3);
    assert!(told.contains(&(&json!("first"), &json!("all"), &json!(20))));
    assert!(told.contains(&(&json!("both"), &json!("few"), &json!(20))));
    assert!(told.contains(&(&json!("both"), &json!("more"), &json!(50))));
    let cpu = |mark: &str| trial.marked(mark)["cpu_ns"].as_u64().unwrap();
    assert!(cpu("idle") <= cpu("begin first"));
    assert!(cpu("begin first") < cpu("end first"));
    assert!(cpu("begin both") < cpu("end both"));
    let ends = |name: &str| {
        let found = loads.iter().find(|one| one["name"] == name).unwrap();
        found["end_ns"].as_u64().unwrap()
    };
    assert!(ends("all") <= ends("few").min(ends("more")));
}

#[test]
fn servers_that_answer_wrongly_or_not_at_all() {
    let request = service("lies", json!([step("all", plan(json!({})))]));
    run(&request).is(
        "wrong-evidence",
        "all, all: 1 of 20 answers were not what was expected",
    );
    let request = service(
        "silent",
        json!([step("all", plan(json!({"timeout_s": 1})))]),
    );
    run(&request).is("load-failed", "timeout");
    let request = service("portless", json!([step("all", plan(json!({})))]));
    run(&request).is("wrong-evidence", "names no port");
    let request = service("dies", json!([step("all", plan(json!({})))]));
    run(&request).is("crashed", "the server ended by itself: exit status 3");
    // Its load is over before its end is there to be seen.
    let short = plan(json!({"requests": null, "duration_s": 0.5}));
    let request = service("falls", json!([step("all", short)]));
    run(&request).is("crashed", "the server ended by itself: exit status 3");
}

#[test]
fn no_further_step_when_one_was_too_slow() {
    let mut slow = step("slow", plan(json!({})));
    slow["last_above_p99_s"] = json!(1e-7);
    let steps = json!([
        step("first", plan(json!({}))),
        slow,
        step("never", plan(json!({})))
    ]);
    let trial = run(&service("plain", steps));
    trial.is("ok", "");
    let names: Vec<_> = trial.of("load").iter().map(|one| &one["step"]).collect();
    assert_eq!(names, ["first", "slow"]);
}

#[test]
fn gateways_must_call_all_upstreams_at_the_same_time() {
    let trial = run(&with_upstreams("parallel"));
    trial.is("ok", "");
    let seen = &trial.of("load")[0]["upstreams"];
    assert_eq!(seen["requests"], 4, "{seen:#}");
    let slowest = seen["slowest"]["min_ns"].as_u64().unwrap();
    assert!(slowest >= 1_990_000_000);
    let overhead = seen["overhead"]["min_ns"].as_u64().unwrap();
    let service = trial.of("load")[0]["histograms"]["service"]["min_ns"].as_u64();
    assert!(overhead + 1_990_000_000 <= service.unwrap(), "{seen:#}");
    run(&with_upstreams("one-by-one")).is("wrong-evidence", "one after another");
    run(&with_upstreams("two")).is(
        "wrong-evidence",
        "made 2 calls that the upstreams answered, not 3",
    );
}

#[test]
fn bad_steps_get_one_line() {
    for (steps, said) in [
        (json!([{"name": "a", "loads": []}]), "needs a load"),
        (
            json!([step("a", plan(json!({"addresses": ["127.0.0.1:1"]})))]),
            "the program's own",
        ),
        (
            json!([step("a", plan(json!({"timeout_s": 0})))]),
            "timeout_s",
        ),
        (json!([{"name": "a", "loads": [], "colour": 1}]), "colour"),
    ] {
        let talk = refused(&format!("{}\n", service("plain", steps)));
        assert!(talk.contains(said), "{talk}");
    }
    let mut request = with_upstreams("parallel");
    request["service"]["stub"]["upstreams"][0]["delay"]["s"] = json!(-1);
    assert!(refused(&format!("{request}\n")).contains("times are"));
}
