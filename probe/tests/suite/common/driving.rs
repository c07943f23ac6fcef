//! Loads by the probe.

use super::server::Server;
use super::*;
use serde_json::{json, Value};

/// A plan for a server, with changes.
pub fn plan(server: &Server, changes: Value) -> Value {
    let mut plan = json!({
        "protocol": "http", "addresses": [server.address.to_string()], "connections": 2,
        "requests": 20, "timeout_s": 100, "request": {"headers": [["Host", "here"]]},
    });
    for (key, value) in changes.as_object().unwrap() {
        plan[key] = value.clone();
    }
    if plan["protocol"] == "tcp" {
        plan.as_object_mut().unwrap().remove("request");
    }
    json!({"version": 1, "load": plan})
}

pub fn load(request: &Value) -> Trial {
    parse(start(request).wait_with_output().unwrap())
}

/// The outcome of a load of a server, with changes to its plan.
pub fn drive(server: &Server, changes: Value) -> Value {
    load(&plan(server, changes)).outcome
}

/// Checks that this many requests were answered, and no other.
pub fn all_answered(outcome: &Value, requests: impl Into<Value>) {
    assert_eq!(outcome["outcome"], "ok", "{outcome:#}");
    assert_eq!(outcome["requests"], requests.into(), "{outcome:#}");
    assert_eq!(outcome["errors"], json!({}), "{outcome:#}");
}

/// The kinds of errors that occurred.
pub fn errors(outcome: &Value) -> Vec<&str> {
    outcome["errors"].as_object().unwrap().keys().map(String::as_str).collect()
}

pub fn monotonic_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
