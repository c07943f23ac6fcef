//! Loads by the probe, on both back-ends.

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

/// Outcomes by epoll and by io_uring; without the latter where the kernel has none. (For streams and open loops
/// `auto` takes epoll, so a kernel without io_uring fails the test.)
pub fn both(request: &Value) -> Vec<Value> {
    let mut outcomes = vec![load(&with(request.clone(), "/load/io", json!("epoll"))).outcome];
    let auto = load(&with(request.clone(), "/load/io", json!("auto")));
    let pacing = request["load"]["pacing"]["kind"].as_str();
    let is_open_loop = pacing.is_some_and(|kind| kind != "closed");
    let chosen = request["load"]["protocol"] == "stream" || is_open_loop;
    let io = &auto.of("started")[0]["io"];
    if chosen {
        assert_eq!(io, "epoll");
    }
    if chosen || io == "uring" {
        outcomes.push(load(&with(request.clone(), "/load/io", json!("uring"))).outcome);
    } else {
        let missing = auto.of("started")[0]["missing"].to_string();
        assert!(missing.contains("io_uring"), "{missing}");
    }
    outcomes
}

pub fn monotonic_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
