//! The load engine against real servers.

use crate::common::certificates::{file, serve};
use crate::common::driving::*;
use crate::common::server::{dribble, request, Server, OK};
use crate::common::*;
use serde_json::{json, Value};
use std::io::{Read, Write};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

#[test]
fn a_closed_loop_sends_as_many_as_were_asked_for() {
    for (connections, threads, requests) in [(1, 1, 1), (3, 1, 100), (7, 3, 101), (5, 2, 3)] {
        let server = Server::replying(OK, false);
        let changes = json!({
            "connections": connections, "threads": threads, "requests": requests,
            "expect": {"status": 200, "equals": "hello"},
        });
        let outcome = drive(&server, changes);
        all_answered(&outcome, requests);
        assert_eq!(outcome["statuses"], json!({"200": requests}));
        assert_eq!(outcome["histograms"]["latency"]["count"], requests);
        assert_eq!(outcome["bytes_in"], requests * OK.len());
        assert_eq!(outcome["intended"], Value::Null);
    }
}

#[test]
fn a_connection_for_each_request() {
    for pacing in [json!({"kind": "closed"}), json!({"kind": "constant", "rate_per_s": 500})] {
        let server = Server::replying(OK, true);
        let closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
        let told = Server::replying(closing, true);
        let own = json!({"request": {"headers": [["Host", "here"]], "close": true}, "pacing": pacing});
        let theirs = json!({ "pacing": pacing });
        for (server, changes) in [(&server, own), (&told, theirs)] {
            let outcome = drive(server, changes);
            all_answered(&outcome, 20);
            assert!(outcome["connections"]["opened"].as_u64().unwrap() >= 20);
        }
    }
}

#[test]
fn replies_byte_by_byte() {
    let chunked =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;a=b\r\nllo\r\n0\r\nA: b\r\n\r\n";
    for reply in [OK.to_vec(), chunked.to_vec()] {
        let server = Server::start(move |mut stream, number| {
            while request(&mut stream).is_some() {
                dribble(&mut stream, &reply, 1 + number as usize);
            }
        });
        let changes = json!({"requests": 6, "expect": {"equals": "hello"}});
        let outcome = drive(&server, changes);
        all_answered(&outcome, 6);
    }
}

#[test]
fn large_replies_and_large_requests() {
    let body = "y".repeat(3 << 20);
    let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let plain = reply.clone();
    let servers = [
        Server::start(move |stream, _| check_large(stream, &plain)),
        serve("good", &[], move |stream, _| check_large(stream, &reply)),
    ];
    let tls = json!({"server_name": "localhost", "cacert": file("ca.pem")});
    for (server, tls) in servers.iter().zip([Value::Null, tls]) {
        let request = json!({"method": "POST", "headers": [["Host", "here"]], "body": "é".repeat(2 << 20)});
        let changes = json!({"requests": 6, "request": request, "expect": {"equals": body}, "tls": tls});
        all_answered(&drive(server, changes), 6);
    }
}

/// Answers requests whose bodies are right.
fn check_large(mut stream: impl Read + Write, reply: &str) {
    while let Some(head) = request(&mut stream) {
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let mut sent = vec![0; length.unwrap().parse().unwrap()];
        stream.read_exact(&mut sent).unwrap();
        assert!(sent.iter().all(|&byte| byte == 0xe9));
        stream.write_all(reply.as_bytes()).unwrap();
    }
}

#[test]
fn bodies_are_matched_and_requests_numbered() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let own = seen.clone();
    let server = Server::start(move |mut stream, _| {
        while let Some(head) = request(&mut stream) {
            let number = head.split("X-Number: a").nth(1).unwrap_or_default();
            let number: u64 = number.lines().next().unwrap().parse().unwrap();
            own.lock().unwrap().push(number);
            let body = if number % 10 == 0 { "..200.503" } else { "..200.200" };
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            dribble(&mut stream, (head + body).as_bytes(), 7);
        }
    });
    let changes = json!({
        "connections": 3, "threads": 2, "expect": {"matches": r"\.*200(\.*200)*"},
        "request": {"headers": [["Host", "here"], ["X-Number", "a{n}"]]},
    });
    let outcome = drive(&server, changes);
    assert_eq!(outcome["requests"], 18, "{outcome:#}");
    assert_eq!(outcome["errors"], json!({"content": 2}));
    let mut numbers = seen.lock().unwrap().clone();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(1..=20), "{numbers:?}");
}

/// Requests belong to threads as connections do, so that each connection has the same part of the rate.
#[test]
fn threads_share_connections_and_requests() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let own = seen.clone();
    let server = Server::answering(move |head| {
        let numbers = head.split(['/', ' ']).skip(2).take(2);
        let numbers: Vec<u64> = numbers.map(|text| text.parse().unwrap()).collect();
        own.lock().unwrap().push((numbers[0] - 1, numbers[1] - 1));
        OK.to_vec()
    });
    for (connections, threads) in [(3, 2), (8, 3), (4, 4)] {
        let changes = json!({
            "connections": connections, "threads": threads, "requests": 100,
            "pacing": {"kind": "constant", "rate_per_s": 1000},
            "request": {"target": "/{id}/{n}", "headers": [["Host", "here"]]},
        });
        let outcome = drive(&server, changes);
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        for &(id, number) in &seen {
            assert_eq!(id % threads, number % connections % threads);
        }
        let mut numbers: Vec<u64> = seen.iter().map(|&(_, number)| number).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..100), "{seen:?}");
        // The figures are the sums of the threads'.
        assert_eq!(outcome["requests"], 100, "{outcome:#}");
        assert_eq!(outcome["intended"], 100);
        assert_eq!(outcome["histograms"]["latency"]["count"], 100);
        assert_eq!(outcome["statuses"], json!({"200": 100}));
        assert_eq!(outcome["bytes_in"], 100 * OK.len());
        assert_eq!(outcome["reads"], 100);
        assert_eq!(outcome["connections"]["opened"], connections);
    }
}

#[test]
fn a_redirect_is_an_answer_and_is_not_followed() {
    let other = Server::replying(OK, false);
    let reply =
        format!("HTTP/1.1 302 Found\r\nLocation: http://{}/\r\nContent-Length: 0\r\n\r\n", other.address);
    let server = Server::replying(reply.as_bytes(), false);
    let outcome = drive(&server, json!({}));
    assert_eq!(outcome["statuses"], json!({"302": 20}));
    assert_eq!(other.accepted.load(Ordering::Relaxed), 0);
}

#[test]
fn lines_over_tcp() {
    let fibonacci = |wrong: bool| {
        Server::start(move |mut stream, number| {
            while let Some(line) = request(&mut stream) {
                assert_eq!(line, "30 and 1\n");
                let answer = if wrong { "832041\n" } else { "832040\n" };
                dribble(&mut stream, answer.as_bytes(), 1 + number as usize * 7);
            }
        })
    };
    let changes = json!({"protocol": "tcp", "line": "30 and 1", "expect": {"equals": "832040"}});
    let outcome = drive(&fibonacci(false), changes.clone());
    assert_eq!(outcome["requests"], 20, "{outcome:#}");
    let outcome = drive(&fibonacci(true), changes.clone());
    assert_eq!(outcome["errors"], json!({"content": 20}), "{outcome:#}");
    let endless = Server::start(|mut stream, _| while stream.write_all(&[b'x'; 4096]).is_ok() {});
    let outcome = drive(&endless, with(changes, "/requests", json!(4)));
    let errors = outcome["errors"].as_object().unwrap();
    assert!(errors.keys().all(|kind| kind == "too-large" || kind == "unsolicited"), "{outcome:#}");
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let server = Server::replying(OK, false);
    let changes = json!({"requests": null, "duration_s": 600, "progress_s": 0.2});
    let mut probe = start(&plan(&server, changes.clone()));
    let mut lines = reader(&mut probe);
    while answer(&mut lines)["requests"].as_u64().unwrap_or(0) == 0 {}
    signal(probe.id(), rustix::process::Signal::INT);
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    let outcome: Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
    assert_eq!(outcome["outcome"], "interrupted");
    assert!(outcome["requests"].as_u64().unwrap() > 0);
    assert!(probe.wait().unwrap().success());
}

#[test]
fn bad_plans_get_one_line() {
    let server = Server::replying(OK, false);
    for (key, value, said) in [
        ("connections", json!(0), "connections"),
        ("connections", json!(900_000), "descriptors"),
        ("addresses", json!([]), "addresses"),
        ("addresses", json!(["nowhere"]), "address"),
        ("threads", json!(3), "each needs a connection, of 2"),
        ("slack_s", json!(0.001), "only an open loop"),
        ("requests", json!(null), "an end is needed"),
        ("timeout_s", json!(0), "timeout_s"),
        ("pacing", json!({"kind": "constant", "rate_per_s": -1}), "rate_per_s"),
        ("pacing", json!({"kind": "constant", "rate_per_s": 9, "burst": 0}), "burst: 1 to"),
        ("pacing", json!({"kind": "constant", "rate_per_s": 9, "burst": 1_000_001}), "burst: 1 to"),
        ("pacing", json!({"kind": "sometimes"}), "unknown variant"),
        ("request", json!({}), "Host"),
        ("request", json!({"target": "/a b", "headers": [["Host", "x"]]}), "target"),
        ("request", json!({"headers": [["Host", "x"]], "body": "…"}), "U+00FF"),
        ("cpus", json!([4_000]), "over 1023"),
        ("cpus", json!([1_000]), "cannot be used"),
        ("expect", json!({"matches": "a["}), "matches: \"a[\""),
        ("expect", json!({"matches": "a", "equals": "a"}), "stands alone"),
        ("line", json!("x"), "no `line`"),
        ("colour", json!(1), "colour"),
    ] {
        is_refused(&plan(&server, json!({ key: value })), said);
    }
}
