//! The schedule of an open loop: instants, counts, and what latency counts from.

use crate::common::driving::*;
use crate::common::server::{request, Server, OK};
use serde_json::{json, Value};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn an_open_loop_keeps_the_schedule_and_the_count() {
    let server = Server::replying(OK, false);
    for pacing in [
        json!({"kind": "constant", "rate_per_s": 200}),
        json!({"kind": "staircase", "steps": [
            {"rate_per_s": 100, "duration_s": 0.5}, {"rate_per_s": 300, "duration_s": 0.5}]}),
    ] {
        let changes = json!({"pacing": pacing, "requests": null, "duration_s": 1, "threads": 2});
        let outcome = drive(&server, changes);
        assert_eq!(outcome["intended"], 200, "{outcome:#}");
        let sum = ["requests", "late_requests", "unfinished"];
        let sum: u64 = sum.iter().map(|key| outcome[key].as_u64().unwrap()).sum();
        assert_eq!(sum, 200);
        assert_eq!(outcome["histograms"]["latency"]["count"], 200);
        assert!(outcome["duration_ns"].as_u64().unwrap() >= 1_000_000_000);
    }
}

#[test]
fn every_request_has_its_schedule_error() {
    let server = Server::replying(OK, false);
    let open = json!({"pacing": {"kind": "constant", "rate_per_s": 200}, "requests": null, "duration_s": 1});
    let outcome = drive(&server, open);
    let (histograms, late) = (&outcome["histograms"], &outcome["late_requests"]);
    let sent = outcome["requests"].as_u64().unwrap() + late.as_u64().unwrap();
    assert!(histograms["schedule_error"]["count"].as_u64().unwrap() >= sent);
    assert!(
        histograms["schedule_error"]["max_ns"].as_u64() <= histograms["latency"]["max_ns"].as_u64(),
        "{outcome:#}"
    );
    // So many that the first connection surely has some on a busy host as well.
    let outcome = drive(&server, json!({"requests": 2000, "connections": 2}));
    let histograms = &outcome["histograms"];
    // For the first connection, between a stamped reply and the next request.
    let errors = histograms["schedule_error"]["count"].as_u64().unwrap();
    assert!((1..2000).contains(&errors), "{outcome:#}");
    let stamped = outcome["stamped_reads"].as_u64().unwrap();
    assert!((errors..=errors + 1).contains(&stamped), "{outcome:#}");
    // Both begin when the request goes to the kernel.
    assert_eq!(histograms["service"], histograms["latency"], "{outcome:#}");
}

#[test]
fn replies_after_the_end_count_by_their_share() {
    let server = Server::answering(|_| {
        std::thread::sleep(Duration::from_millis(700));
        OK.to_vec()
    });
    let changes = json!({"connections": 10, "requests": null, "duration_s": 1});
    let outcome = drive(&server, changes);
    assert_eq!(outcome["requests"], 10, "{outcome:#}");
    assert_eq!(outcome["late_requests"], 10);
    // Little's law: ten requests are in flight all the time. Without the shares it were seven.
    let service_s = outcome["histograms"]["service"]["mean_ns"].as_f64().unwrap() / 1e9;
    let in_flight = outcome["achieved_rate_per_s"].as_f64().unwrap() * service_s;
    assert!((9.0..10.5).contains(&in_flight), "{outcome:#}");
}

#[test]
fn busy_polling_is_not_work() {
    let server = Server::replying(OK, false);
    let changes = json!({
        "pacing": {"kind": "constant", "rate_per_s": 20_000}, "requests": null, "duration_s": 0.3,
        "connections": 20,
    });
    // On a host that gives it no time to wait, an engine never polls: then it is asked again.
    let polls = |outcome: &Value| {
        let [busy, cpu] = ["busy_share_most", "cpu_share_most"].map(|key| outcome[key].as_f64().unwrap());
        assert!(0.0 < busy && busy <= cpu, "{busy} {cpu}");
        busy < cpu
    };
    assert!((0..10).any(|_| polls(&drive(&server, changes.clone()))));
}

#[test]
fn the_rate_of_a_load_with_one_burst() {
    let server = Server::replying(OK, false);
    let pacing = json!({"kind": "constant", "rate_per_s": 50, "burst": 100});
    let changes = json!({"pacing": pacing, "requests": null, "duration_s": 1});
    let outcome = drive(&server, changes);
    assert_eq!(outcome["intended"], 100);
    assert_eq!(outcome["intended_rate_per_s"], 50.0);
    // The burst stands for the load's second, not for the two until the next burst.
    let achieved_per_s = outcome["achieved_rate_per_s"].as_f64().unwrap();
    assert!((80.0..=100.0).contains(&achieved_per_s), "{outcome:#}");
    let warnings = outcome["warnings"].to_string();
    assert!(warnings.contains("uneven-bursts"), "{warnings}");
}

#[test]
fn the_last_request_of_a_rate_stands_for_an_interval() {
    let server = Server::replying(OK, false);
    for requests in [1, 2] {
        let pacing = json!({"kind": "constant", "rate_per_s": 4});
        let outcome = drive(&server, json!({"pacing": pacing, "requests": requests}));
        assert!(outcome["duration_ns"].as_u64().unwrap() < requests * 250_000_000, "{outcome:#}");
        assert_eq!(outcome["achieved_rate_per_s"], 4.0, "{outcome:#}");
    }
}

#[test]
fn slack_keeps_count_and_instants() {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let notes = sent.clone();
    let server = Server::answering(move |_| {
        notes.lock().unwrap().push(monotonic_ns());
        OK.to_vec()
    });
    let pacing = json!({"kind": "constant", "rate_per_s": 500});
    let changes = json!({
        "connections": 64, "requests": null, "duration_s": 1, "pacing": pacing, "slack_s": 0.1,
    });
    let trial = load(&plan(&server, changes.clone()));
    let begun = trial.of("started")[0]["monotonic_ns"].as_u64().unwrap();
    let outcome = &trial.outcome;
    assert_eq!(outcome["intended"], 500, "{outcome:#}");
    assert_eq!(outcome["histograms"]["latency"]["count"], 500);
    let error = &outcome["histograms"]["schedule_error"];
    assert!(error["mean_ns"].as_f64().unwrap() >= 45e6, "{error}");
    // None is sent before it is due, nor any before the first has waited for its slack.
    let mut sent: Vec<u64> = sent.lock().unwrap().drain(..).collect();
    sent.sort_unstable();
    for (number, at) in sent.iter().enumerate() {
        let due_ns = number as u64 * 2_000_000;
        assert!(*at >= begun + due_ns.max(100_000_000), "{number}: {at}");
    }
}

/// Replies wait for a millisecond at most, however long the slack is, and their latency is that of their stamps.
#[test]
fn replies_wait_with_requests() {
    let server = Server::replying(OK, false);
    let pacing = json!({"kind": "constant", "rate_per_s": 1000});
    let changes = json!({
        "connections": 64, "requests": 1000, "pacing": pacing, "slack_s": 0.02, "timeout_s": 100,
    });
    let outcome = drive(&server, changes);
    let sum = ["requests", "late_requests"].map(|key| outcome[key].as_u64().unwrap());
    assert_eq!(sum[0] + sum[1], 1000, "{outcome:#}");
    assert_eq!(outcome["errors"], json!({}));
    let [reads, stamped] = ["reads", "stamped_reads"].map(|key| outcome[key].as_u64().unwrap());
    assert!(stamped > reads / 2, "{outcome:#}");
    // Half of the slack, on average, is the schedule's.
    let mean = |name: &str| outcome["histograms"][name]["mean_ns"].as_f64().unwrap();
    assert!(mean("latency") >= mean("schedule_error"), "{outcome:#}");
    assert!(mean("schedule_error") >= 8e6, "{outcome:#}");
}

/// Latency counts from the intended instant: the server notes when it answered which request, and the
/// instants are known, so no latency may be below the difference, whatever stalls.
#[test]
fn latency_counts_from_the_intended_instant() {
    let answered = Arc::new(Mutex::new(Vec::new()));
    let notes = answered.clone();
    let freezing = Server::start(move |mut stream, _| {
        let mut count = 0;
        while request(&mut stream).is_some() {
            count += 1;
            if count % 100 == 50 {
                std::thread::sleep(Duration::from_millis(200));
            }
            notes.lock().unwrap().push(monotonic_ns());
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    });
    let pacing = json!({"kind": "constant", "rate_per_s": 200});
    let changes = json!({"connections": 1, "requests": 200, "pacing": pacing});
    let request = plan(&freezing, changes);
    let trial = load(&request.clone());
    let begun = trial.of("started")[0]["monotonic_ns"].as_u64().unwrap();
    let times: Vec<u64> = answered.lock().unwrap().drain(..).collect();
    let mut least: Vec<u64> = times
        .iter()
        .enumerate()
        .map(|(number, at)| at.saturating_sub(begun + number as u64 * 5_000_000))
        .collect();
    least.sort_unstable();
    let latency = &trial.outcome["histograms"]["latency"];
    assert_eq!(latency["count"], 200);
    for (key, place) in [("p50_ns", 99), ("p90_ns", 179), ("p95_ns", 189), ("max_ns", 199)] {
        let found = latency[key].as_u64().unwrap() as f64;
        assert!(found >= least[place] as f64 * 0.998, "{key}: {found} {}", least[place]);
    }
    // A freeze of 200 ms at 200 a second reaches 40 requests: two freezes in 200.
    assert!(latency["p90_ns"].as_u64().unwrap() > 50_000_000, "{latency}");
    // The client's own queue is told apart: there is one connection only.
    assert!(trial.outcome["histograms"]["queue"]["max_ns"].as_u64().unwrap() > 100_000_000);
}
