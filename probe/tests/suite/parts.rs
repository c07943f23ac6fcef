//! Loads that several engines share do together what one engine with all their threads does.

use crate::common::driving::*;
use crate::common::server::{Server, OK};
use crate::common::*;
use serde_json::{json, Value};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Child;
use std::sync::{Arc, Mutex};

fn probe(line: &Value) -> Child {
    let mut probe = spawn();
    writeln!(probe.stdin.as_mut().unwrap(), "{line}").unwrap();
    probe
}

fn values(text: &str) -> Vec<Value> {
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

/// The messages of each engine of a load. All are ready before the first is started. `service_times`: of requests by
/// their numbers.
pub fn carried_out(whole: &Value, engines: usize, service_times: bool) -> Vec<Vec<Value>> {
    let mut ready = Vec::new();
    for engine in 0..engines {
        let part = json!({"engine": engine, "engines": engines, "service_times": service_times});
        let mut engine = probe(&with(whole.clone(), "/load/part", part));
        let mut reader = BufReader::new(engine.stdout.take().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        ready.push((engine, reader, line));
    }
    for (engine, ..) in &mut ready {
        engine.stdin.take().unwrap().write_all(b"\n").unwrap();
    }
    let mut parts = Vec::new();
    for (mut engine, mut reader, mut text) in ready {
        reader.read_to_string(&mut text).unwrap();
        assert!(engine.wait().unwrap().success());
        parts.push(values(&text));
    }
    parts
}

/// The messages of each engine, and those of their records merged.
fn shared(whole: &Value, engines: usize) -> (Vec<Vec<Value>>, Vec<Value>) {
    let parts = carried_out(whole, engines, false);
    let load = &whole["load"];
    let request = json!({"version": 1, "merge": {"load": load, "records": engines}});
    let mut merging = probe(&request);
    let mut stdin = merging.stdin.take().unwrap();
    for part in &parts {
        writeln!(stdin, "{}", of(part, "record")).unwrap();
    }
    drop(stdin);
    let output = merging.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    (parts, values(&String::from_utf8(output.stdout).unwrap()))
}

pub fn of<'a>(messages: &'a [Value], kind: &str) -> &'a Value {
    let message = messages.iter().find(|message| message["type"] == kind);
    message.unwrap_or_else(|| panic!("no {kind} in {messages:?}"))
}

#[test]
fn every_request_and_connection_belongs_to_one_engine() {
    let paths = Arc::new(Mutex::new(Vec::new()));
    let seen = paths.clone();
    let server = Server::answering(move |request| {
        seen.lock().unwrap().push(request.split(' ').nth(1).unwrap().to_owned());
        OK.to_vec()
    });
    for (connections, threads, engines) in [(7, 1, 3), (9, 2, 2), (4, 1, 1)] {
        paths.lock().unwrap().clear();
        let changes = json!({
            "connections": connections, "threads": threads, "requests": 101,
            "request": {"target": "/{n}", "headers": [["Host", "here"]]},
            "templates": {},
        });
        let (parts, merged) = shared(&plan(&server, changes), engines);
        let mut numbers: Vec<u64> =
            paths.lock().unwrap().iter().map(|path| path[1..].parse().unwrap()).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(1..=101));
        let opened: Vec<u64> =
            parts.iter().map(|part| of(part, "started")["connections"].as_u64().unwrap()).collect();
        assert_eq!(opened.iter().sum::<u64>(), connections);
        assert!(opened.iter().max().unwrap() - opened.iter().min().unwrap() <= 1, "{opened:?}");
        let outcome = of(&merged, "outcome");
        all_answered(outcome, 101);
        assert_eq!(outcome["statuses"], json!({"200": 101}));
        assert_eq!(outcome["connections"]["opened"], connections);
        let total = |key: &str| -> u64 {
            let values = parts.iter().map(|part| of(part, "outcome")[key].as_u64());
            values.map(Option::unwrap).sum()
        };
        for key in ["requests", "bytes_in", "bytes_out", "cpu_ns", "peak_memory_bytes"] {
            assert_eq!(outcome[key], total(key), "{key}");
        }
        let latency = &outcome["histograms"]["latency"];
        let extreme = |key: &str| {
            parts
                .iter()
                .map(|part| of(part, "outcome")["histograms"]["latency"][key].as_u64().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(latency["count"], 101);
        assert_eq!(latency["max_ns"], *extreme("max_ns").iter().max().unwrap());
        assert_eq!(latency["min_ns"], *extreme("min_ns").iter().min().unwrap());
        let histograms = merged.iter().filter(|message| message["type"] == "histogram");
        let latencies = histograms.filter(|message| message["name"] == "latency");
        let counts: u64 = latencies
            .flat_map(|message| message["counts"].as_array().unwrap())
            .map(|pair| pair[1].as_u64().unwrap())
            .sum();
        assert_eq!(counts, 101);
    }
}

#[test]
fn records_have_service_times_where_they_are_asked_for() {
    let server = Server::replying(OK, false);
    let whole = |id: &str| {
        let headers = json!([["Host", "here"], ["X-Request-Id", id]]);
        let request = json!({ "headers": headers });
        plan(&server, json!({"connections": 5, "requests": 23, "request": request}))
    };
    let mut numbers = Vec::new();
    for part in carried_out(&whole("a-{n}"), 3, true) {
        let record = &of(&part, "record")["record"];
        let pairs: Vec<(u64, u64)> = serde_json::from_value(record["service_times"].clone()).unwrap();
        numbers.extend(pairs.iter().map(|(number, _)| *number));
        let longest = pairs.iter().map(|(_, ns)| *ns).max().unwrap();
        assert_eq!(record["replies"]["service"]["max_ns"], longest);
    }
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=23));
    for (id, service_times) in [("a-{n}", false), ("a", true)] {
        for part in carried_out(&whole(id), 2, service_times) {
            assert_eq!(of(&part, "record")["record"].get("service_times"), None);
        }
    }
}

#[test]
fn a_rate_is_divided_and_added_up_again() {
    let server = Server::replying(OK, false);
    let changes = json!({
        "connections": 3, "requests": null, "duration_s": 0.5,
        "pacing": {"kind": "constant", "rate_per_s": 300},
    });
    let (parts, merged) = shared(&plan(&server, changes), 2);
    let rates: Vec<f64> =
        parts.iter().map(|part| of(part, "outcome")["intended_rate_per_s"].as_f64().unwrap()).collect();
    assert_eq!(rates, [200.0, 100.0]);
    let outcome = of(&merged, "outcome");
    assert_eq!(outcome["intended_rate_per_s"], 300.0);
    assert_eq!(outcome["intended"], 150);
}

#[test]
fn a_part_that_is_not_started_ends() {
    let server = Server::replying(OK, false);
    let part = json!({"engine": 0, "engines": 2});
    let probe = probe(&with(plan(&server, json!({})), "/load/part", part));
    let output = probe.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let why = String::from_utf8(output.stderr).unwrap();
    assert!(why.contains("before the other engines were ready"), "{why}");
    assert_eq!(server.accepted.load(std::sync::atomic::Ordering::Relaxed), 0);
}

#[test]
fn unusable_parts_and_records() {
    let server = Server::replying(OK, false);
    let whole = plan(&server, json!({}));
    for (part, word) in [
        (json!({"engine": 2, "engines": 2}), "engine: 0 to 1"),
        (json!({"engine": 0, "engines": 0}), "engines: 1 to"),
        (json!({"engine": 0, "engines": 3}), "each needs a connection"),
    ] {
        is_refused(&with(whole.clone(), "/load/part", part), word);
    }
    let headers = json!([["Host", "here"], ["X-Request-Id", "{n}"]]);
    let mut many = with(whole.clone(), "/load/request/headers", headers);
    many["load"]["part"] = json!({"engine": 0, "engines": 1, "service_times": true});
    for (key, value) in
        [("requests", json!(500_001)), ("requests", Value::Null), ("http2", json!({"streams": 2}))]
    {
        let mut many = many.clone();
        many["load"]["duration_s"] = json!(1);
        many["load"][key] = value;
        is_refused(&many, "service times by request: for HTTP/1.1");
    }
    let merge = |load: &Value, records| json!({"version": 1, "merge": {"load": load, "records": records}});
    is_refused(&merge(&whole["load"], 1), "1 is missing");
    is_refused(&format!("{}\n{{}}", merge(&whole["load"], 1)), "record 1: missing field");
    let part = with(whole, "/load/part", json!({"engine": 0, "engines": 2}));
    is_refused(&merge(&part["load"], 0), "leave `part` out");
}
