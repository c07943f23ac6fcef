//! Servers under load: step after step, with upstreams that the probe plays.

use crate::common::served::*;
use crate::common::*;
use serde_json::{json, Value};
use std::thread;

fn service(mode: &str, steps: Value) -> Value {
    with(python("gateway.py", &[mode]), "/service", service_of(steps))
}

fn gateway(mode: &str) -> Value {
    with_upstreams(service(mode, json!([step("all", identified(4))])))
}

#[test]
fn steps_one_after_another_and_loads_at_the_same_time() {
    let plan = || service_plan(json!({}));
    let both = json!({"name": "both", "loads": [
        {"name": "few", "plan": plan()}, {"name": "more", "plan": with(plan(), "/requests", json!(50))}]});
    let trial = run(&service("plain", json!([step("first", plan()), both])));
    trial.is("ok", "");
    let loads = trial.of("load");
    let told: Vec<_> = loads.iter().map(|one| (&one["step"], &one["name"], &one["requests"])).collect();
    assert_eq!(told.len(), 3);
    assert!(told.contains(&(&json!("first"), &json!("all"), &json!(20))));
    assert!(told.contains(&(&json!("both"), &json!("few"), &json!(20))));
    assert!(told.contains(&(&json!("both"), &json!("more"), &json!(50))));
    let samples = trial.of("sample");
    let marks: Vec<_> = samples.iter().filter_map(|sample| sample["mark"].as_str()).collect();
    let steps = ["begin first", "end first", "begin both", "end both"];
    assert_eq!(marks, [&["ready", "idle"][..], &steps].concat());
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
    let request = service("lies", json!([step("all", service_plan(json!({})))]));
    run(&request).is(
        "wrong-evidence",
        "step all: 1 of 20 answers were not what was expected; the first: 'GET /' was answered with 'hell0' \
         instead of 'hello'",
    );
    let request = service("silent", json!([step("all", service_plan(json!({"timeout_s": 1})))]));
    run(&request).is("load-failed", "timeout");
    let request = service("portless", json!([step("all", service_plan(json!({})))]));
    run(&request).is("wrong-evidence", "names no port");
    let request = service("dies", json!([step("all", service_plan(json!({})))]));
    run(&request).is("crashed", "the server ended by itself: exit status 3");
    // Its load is over before its end is there to be seen.
    let short = service_plan(json!({"requests": null, "duration_s": 0.5}));
    let request = service("falls", json!([step("all", short)]));
    run(&request).is("crashed", "the server ended by itself: killed by signal 14");
}

#[test]
fn no_further_step_when_one_was_too_slow() {
    let mut slow = step("slow", service_plan(json!({})));
    slow["last_above_p99_s"] = json!(1e-7);
    let steps = json!([step("first", service_plan(json!({}))), slow, step("never", service_plan(json!({})))]);
    let trial = run(&service("plain", steps));
    trial.is("ok", "");
    let names: Vec<_> = trial.of("load").iter().map(|one| &one["step"]).collect();
    assert_eq!(names, ["first", "slow"]);
}

#[test]
fn gateways_must_call_all_upstreams_at_the_same_time() {
    let trial = run(&gateway("parallel"));
    trial.is("ok", "");
    let seen = &trial.of("load")[0]["upstreams"];
    assert_eq!(seen["requests"], 4, "{seen:#}");
    let slowest = seen["slowest"]["min_ns"].as_u64().unwrap();
    assert!(slowest >= 1_990_000_000);
    let overhead = seen["overhead"]["min_ns"].as_u64().unwrap();
    let service = trial.of("load")[0]["histograms"]["service"]["min_ns"].as_u64();
    assert!(overhead + 1_990_000_000 <= service.unwrap(), "{seen:#}");
    run(&gateway("one-by-one")).is("wrong-evidence", "one after another");
    run(&gateway("two")).is("wrong-evidence", "made 2 calls that the upstreams answered, not 3");
}

/// Six feeds with a chunk every 200 ms; `mode` says what is wrong with them.
fn feed(mode: &str, timeout_s: f64) -> Trial {
    feed_of(mode, timeout_s, json!({}))
}

/// The same with changes to the load's `stream`.
fn feed_of(mode: &str, timeout_s: f64, changes: Value) -> Trial {
    let mut plan = json!({
        "protocol": "stream", "connections": 6, "duration_s": 6, "timeout_s": timeout_s,
        "request": {"target": "/test/{id}", "headers": [["Host", "here"]]},
        "stream": {"first": "Welcome: {id}", "chunk": "Chunk {k} for {id}", "interval_s": 0.2},
    });
    for (key, value) in changes.as_object().unwrap() {
        plan["stream"][key] = value.clone();
    }
    let mut step = step("held", plan);
    step["marks"] = json!([{"name": "early", "at_s": 0.5}, {"name": "middle", "at_s": 3}]);
    let request = with(python("feed.py", &[mode]), "/service", service_of(json!([step])));
    run(&with(request, "/timeline", json!(true)))
}

#[test]
fn feeds_are_held_and_every_chunk_accounted_for() {
    let trial = feed("good", 60.0);
    trial.is("ok", "");
    let load = &trial.of("load")[0];
    let count = |key: &str| load["streams"][key].as_u64().unwrap();
    assert_eq!(count("fed"), 6, "{load:#}");
    assert_eq!(load["messages"].as_u64().unwrap(), 6 + count("chunks"));
    // Thirty were due on each that was fed at once; this process may stand still for seconds.
    let due = count("chunks") + count("behind");
    assert!(due >= 60, "{load:#}");
    let at = |mark: &str| trial.marked(mark)["t_ns"].as_u64().unwrap();
    assert!(at("early") - at("begin held") >= 500_000_000);
    assert!(at("middle") - at("begin held") >= 3_000_000_000);
    // The time line: what the kernel holds, and who had the CPU.
    let middle = trial.marked("middle");
    assert!(middle["kernel_bytes"].as_u64().unwrap() > 0, "{middle:#}");
    assert!(middle["tcp_bytes"].is_u64(), "{middle:#}");
    let threads = trial.outcome["threads"].as_array().unwrap();
    let names = threads.iter().map(|one| one["name"].as_str().unwrap());
    let python = names.filter(|name| name.starts_with("python"));
    assert!(python.count() > 6, "{threads:#?}");
    let samples = trial.of("sample");
    let told = samples.iter().filter_map(|one| one["cpu_by_thread"].as_array()).flatten();
    let told: std::collections::BTreeSet<i64> = told.map(|one| one[0].as_i64().unwrap()).collect();
    // Some had nothing to do, and no time to be told.
    let mut busy = threads.iter().filter(|one| one["cpu_ns"] != 0);
    assert!(busy.all(|one| told.contains(&one["tid"].as_i64().unwrap())));
    let open = |one: &Value| one["open"].as_u64().unwrap();
    assert_eq!(load["series"].as_array().unwrap().iter().map(open).max(), Some(6));
}

#[test]
fn readers_that_stop_and_connections_that_vanish() {
    let changes = json!({
        "slow": {"percent": 40, "at_s": 3, "for_s": 1},
        "vanish": {"percent": 20, "at_s": 3.5},
    });
    let trial = feed_of("good", 60.0, changes.clone());
    trial.is("ok", "");
    let load = &trial.of("load")[0];
    let streams = &load["streams"];
    // 1, 3 and 6 stop reading; 5 goes.
    assert_eq!((&streams["slowed"], &streams["vanished"]), (&json!(3), &json!(1)));
    assert_eq!((&streams["fed"], &load["errors"]), (&json!(6), &json!({})), "{load:#}");
    assert_eq!(load["connections"]["open_at_end"], 5, "{load:#}");
    // Messages that reached the slow ones after that do not count as late.
    let (late, chunks) = (&load["histograms"]["lateness"]["count"], &streams["chunks"]);
    let after = chunks.as_u64().unwrap() - late.as_u64().unwrap();
    assert!(after > 0 && after <= 3 * 40, "{load:#}");
    // Chunks that they had not read were there when they read again: none is lost.
    assert_eq!(load["sequence"]["gaps"], json!(null));
}

#[test]
fn feeds_that_are_not_what_they_should_be() {
    thread::scope(|scope| {
        for (how, why) in
            [("skips", "gaps"), ("repeats", "repeats"), ("mixes", "foreign"), ("hurries", "early")]
        {
            scope.spawn(move || feed(how, 60.0).is("wrong-evidence", why));
        }
    });
}

#[test]
fn feeds_that_cease_or_never_begin() {
    let halted = feed("halts", 2.0);
    halted.is("load-failed", "timeout");
    // The same where a host may stand still for longer: only streams that are silent at the end count.
    let halted = feed_of("halts", 60.0, json!({"silent_s": 4}));
    // Three of them; more where this host stands still at the end.
    halted.is("load-failed", "of 6 connections had fallen silent");
    let few = feed("few", 60.0);
    few.is("load-failed", "4 of 6 connections were fed; errors: ");
    few.is("load-failed", "closed-early");
    let starved = feed("starves", 60.0);
    let why = "4 of 6 connections were fed; the others got nothing until the end";
    starved.is("load-failed", why);
}

#[test]
fn servers_have_the_descriptors_that_the_host_allows() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let script = "trap 'exit 0' TERM; ulimit -Sn; echo '::ready port=1'; while :; do sleep 0.05; done";
    let trial = run(&with(sh(script), "/service", json!({"ready_s": 100, "idle_s": 0.1, "end_s": 30})));
    let told = trial.outcome["stdout_tail"].as_str().unwrap();
    let most = limit.maximum.unwrap_or(u64::MAX).min(1 << 20);
    assert!(told.starts_with(&format!("{most}\n")), "{told}");
}

#[test]
fn bad_steps_get_one_line() {
    for (steps, said) in [
        (json!([{"name": "a", "loads": []}]), "needs a load"),
        (json!([step("a", service_plan(json!({"addresses": ["127.0.0.1:1"]})))]), "the program's own"),
        (json!([step("a", service_plan(json!({"timeout_s": 0})))]), "timeout_s"),
        (
            json!([step("a", service_plan(json!({"stream": {"vanish": {"percent": 1, "at_s": 1}}})))]),
            "slow and vanish are for streams only",
        ),
        (json!([{"name": "a", "loads": [], "colour": 1}]), "colour"),
        (
            json!([{"name": "a", "loads": [{"name": "b", "plan": service_plan(json!({}))}],
                    "marks": [{"name": "x", "at_s": 2}, {"name": "y", "at_s": 1}]}]),
            "in the order of their times",
        ),
    ] {
        is_refused(&service("plain", steps), said);
    }
    let mut request = gateway("parallel");
    request["service"]["stub"]["upstreams"][0]["median_s"] = json!(-1);
    is_refused(&request, "median_s: 0 to 3600, not -1");
}

/// The rates follow from what an earlier step has shown.
#[test]
fn rates_of_the_servers_own() {
    let stairs = |multiples: [f64; 3]| {
        let steps = multiples.map(|rate| json!({"rate_per_s": rate, "duration_s": 0.2}));
        json!({"kind": "staircase", "steps": steps, "of": "capacity"})
    };
    let overload = |multiples| {
        let pacing = stairs(multiples);
        let changes = json!({"pacing": pacing, "patience_s": 5, "course_s": 0.1, "requests": null});
        let steps =
            json!([step("capacity", service_plan(json!({}))), step("measured", service_plan(changes))]);
        service("plain", steps)
    };
    let trial = run(&overload([0.5, 2.0, 0.5]));
    trial.is("ok", "");
    let loads = trial.of("load");
    let number = |load: usize, key: &str| loads[load][key].as_f64().unwrap();
    let rate_per_s = number(0, "requests") / number(0, "duration_ns") * 1e9;
    // A step may begin with a request, and end just before one.
    assert!((number(1, "intended") - 0.6 * rate_per_s).abs() <= 3.0);
    let course = loads[1]["course"].as_array().unwrap();
    let sum = |key: &str| course.iter().map(|slot| slot[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("due"), loads[1]["intended"]);
    // Some may have been answered after the end.
    let late = number(1, "late_requests");
    assert_eq!(sum("answered") as f64, number(1, "requests") + late);
    assert_eq!(course.len(), 6);
    run(&overload([0.5, 1e8, 0.5])).is("load-failed", "rate_per_s");
}

/// Two clients hang up while the upstreams take longer; then one stays, until all calls have ended.
fn abandoned(mode: &str) -> Trial {
    let clients = |name: &str, changes: Value| {
        let id = format!("{name}-{{n}}");
        let mut plan = service_plan(json!({
            "request": {"headers": [["Host", "here"], ["X-Request-Id", id]]},
            "requests": 2, "connections": 2,
        }));
        for (key, value) in changes.as_object().unwrap() {
            plan[key] = value.clone();
        }
        step(name, plan)
    };
    let steps = json!([
        clients("leaving", json!({"patience_s": 0.5})),
        clients("staying", json!({"requests": 1, "connections": 1})),
    ]);
    let request = with(gateway(mode), "/service/steps", steps);
    run(&request)
}

#[test]
fn what_a_gateway_does_for_clients_that_have_hung_up() {
    let trial = abandoned("parallel");
    trial.is("ok", "");
    let loads = trial.of("load");
    assert_eq!(loads[0]["errors"], json!({"hung-up": 2}));
    let orphans = |load: &Value| load["upstreams"]["orphans"].clone();
    assert_eq!(orphans(loads[0]), json!({"requests": 2, "answered": 6, "cut": 0}));
    assert_eq!(orphans(loads[1]), json!({"requests": 0, "answered": 0, "cut": 0}));
    // The last client gets no answer of the upstreams either; that is no matter here.
    let cuts = abandoned("cuts");
    let loads = cuts.of("load");
    assert_eq!(orphans(loads[0]), json!({"requests": 2, "answered": 0, "cut": 6}));
    abandoned("waits").is("load-failed", "of all 2 requests hung up before the server had called");
}
