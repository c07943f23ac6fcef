//! Programs that listen.

use crate::common::*;
use serde_json::{json, Value};

fn service(script: &str) -> [Value; 2] {
    let times = json!({"ready_s": 20, "idle_s": 0.2});
    both_ways(with(sh(script), "/service", times))
}

#[test]
fn a_server_that_keeps_the_contract() {
    let script = "trap 'exit 0' TERM; echo '::ready port=40123'; while :; do sleep 0.05; done";
    for request in service(script) {
        let trial = run(&request);
        trial.is("ok", "");
        assert_eq!(trial.of("ready")[0]["port"], 40123);
        trial.marked("ready");
        let ready = trial.of("ready")[0]["t_ns"].as_u64().unwrap();
        let idle = trial.marked("idle")["t_ns"].as_u64().unwrap();
        assert!(idle - ready >= 200_000_000);
        assert!(trial.marked("idle")["pss_bytes"].as_u64().unwrap() > 0);
    }
}

#[test]
fn a_server_that_the_signal_itself_ends() {
    for request in service("echo '::ready port=40123'; exec sleep 500") {
        let trial = run(&request);
        trial.is("ok", "");
        assert_eq!(trial.outcome["signal"], 15);
    }
}

#[test]
fn servers_that_break_it() {
    for request in service("trap '' TERM; echo '::ready port=1'; while :; do sleep 0.05; done") {
        let trial = run(&with(request, "/service/end_s", json!(0.3)));
        trial.is("timed-out", "still ran 0.3 s after SIGTERM");
    }
    for request in service("echo '::ready port=1'") {
        // Longer than its end can take: a shell has to go after that line.
        run(&with(request, "/service/idle_s", json!(10))).is("crashed", "ended by itself: exit status 0");
    }
    for request in service("exit 0") {
        run(&request).is("never-ready", "ended before ::ready");
    }
    for request in service("exec sleep 500") {
        run(&with(request, "/service/ready_s", json!(0.2))).is("never-ready", "within 0.2 s, the limit of");
    }
    for request in service("trap 'exit 5' TERM; echo '::ready port=1'; while :; do sleep 0.05; done") {
        run(&request).is("crashed", "exit status 5 after SIGTERM");
    }
}
