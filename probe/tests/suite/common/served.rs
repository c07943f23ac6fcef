//! Services whose loads the probe carries out, or others.

use super::*;

/// A load of twenty requests, with changes.
pub fn service_plan(changes: Value) -> Value {
    let mut plan = json!({
        "protocol": "http", "requests": 20, "connections": 4, "timeout_s": 100,
        "request": {"headers": [["Host", "here"]]}, "expect": {"status": 200, "equals": "hello"},
    });
    for (key, value) in changes.as_object().unwrap() {
        plan[key] = value.clone();
    }
    plan
}

pub fn step(name: &str, plan: Value) -> Value {
    json!({"name": name, "loads": [{"name": "all", "plan": plan}]})
}

/// The keys of a service that takes these steps.
pub fn service_of(steps: Value) -> Value {
    json!({"ready_s": 100, "idle_s": 0.1, "end_s": 30, "steps": steps})
}

/// A request whose program gets three upstreams, which the probe plays.
pub fn with_upstreams(request: Value) -> Value {
    // Longer than a host stands still between two calls that are made at once.
    let upstream = json!({"median_s": 2, "sigma": 0});
    let stub = json!({"upstreams": [upstream, upstream, upstream], "seed": 1});
    let mut request = with(request, "/service/stub", stub);
    request["argv"].as_array_mut().unwrap().push(json!("upstreams={upstreams}"));
    request
}

/// A load of this many requests, each at once, which upstreams know by their ids.
pub fn identified(requests: usize) -> Value {
    let request = json!({"headers": [["Host", "here"], ["X-Request-Id", "all-{n}"]]});
    service_plan(json!({"request": request, "requests": requests, "connections": requests}))
}
