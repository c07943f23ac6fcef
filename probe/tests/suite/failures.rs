//! The load engine against servers that fail: each error has its kind, and none holds up the load.

use crate::common::driving::*;
use crate::common::server::{request, reset, Server, OK};
use crate::common::*;
use serde_json::json;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn errors_of_bad_servers_have_their_kinds() {
    let long_head = [b"HTTP/1.1 200 OK\r\nA: ".to_vec(), vec![b'x'; 300_000]].concat();
    let unasked = [OK, OK].concat();
    let cases: Vec<(&str, &[u8], bool)> = vec![
        ("protocol", b"garbage\r\n\r\n", false),
        ("tls", b"\x15\x03\x01\x00\x02\x02\x46", true),
        ("http2", b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00\x40\x00", false),
        (
            "protocol",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
            false,
        ),
        ("protocol", b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", false),
        ("too-large", &long_head, false),
        ("truncated", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", true),
        ("truncated", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", true),
        ("truncated", b"HTTP/1.1 200", true),
        ("closed-early", b"", true),
        ("status", b"HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nhello", false),
        ("content", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhallo", false),
        ("unsolicited", &unasked, false),
    ];
    for (kind, reply, close) in cases {
        let server = Server::replying(reply, close);
        let changes = json!({"requests": 6, "expect": {"status": 200, "equals": "hello"}});
        let outcome = drive(&server, changes);
        let mut errors = outcome["errors"].clone();
        if kind == "unsolicited" {
            // Each of them came after a good reply, that counts.
            assert!(outcome["requests"].as_u64().unwrap() <= 6, "{outcome:#}");
            assert!(errors[kind].as_u64().unwrap() > 0, "{outcome:#}");
            continue;
        }
        assert_eq!(outcome["outcome"], "load-failed", "{kind}: {outcome:#}");
        assert_eq!(outcome["requests"], 0);
        let count = errors.as_object_mut().unwrap().remove(kind);
        assert_eq!(count, Some(json!(6)), "{kind}: {outcome:#}");
        assert_eq!(errors, json!({}), "{kind}");
    }
}

#[test]
fn hung_servers_are_given_up() {
    for reply in [&b""[..], b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"] {
        let server = Server::replying(reply, false);
        let paced = json!({"kind": "constant", "rate_per_s": 100});
        for changes in [
            json!({"requests": 4, "timeout_s": 0.5}),
            json!({"requests": 4, "timeout_s": 0.5, "connections": 4, "pacing": paced}),
            json!({"requests": 4, "timeout_s": 0.5, "connections": 4, "pacing": paced, "slack_s": 0.02}),
        ] {
            let outcome = drive(&server, changes);
            assert_eq!(outcome["errors"], json!({"timeout": 4}), "{outcome:#}");
            // Requests that timed out count in the latencies, and none of them did so early.
            let latency = &outcome["histograms"]["latency"];
            assert_eq!(latency["count"], 4);
            assert!(latency["min_ns"].as_u64().unwrap() >= 500_000_000, "{latency}");
        }
    }
    let deaf = Server::start(|stream, _| {
        std::thread::sleep(Duration::from_secs(20));
        drop(stream);
    });
    let body = "x".repeat(8 << 20);
    let request = json!({"method": "POST", "headers": [["Host", "here"]], "body": body});
    let changes = json!({"requests": 2, "timeout_s": 1, "request": request});
    let outcome = drive(&deaf, changes);
    assert_eq!(outcome["errors"], json!({"timeout": 2}), "{outcome:#}");
}

#[test]
fn resets_and_idle_closes() {
    let server = Server::start(|mut stream, _| {
        if request(&mut stream).is_some() {
            reset(stream);
        }
    });
    let outcome = drive(&server, json!({"requests": 4}));
    assert_eq!(outcome["errors"], json!({"reset": 4}), "{outcome:#}");
    // Closes what it has answered. That is nobody's error, unless the next request meets the close
    // halfway, when this process was kept from running for as long as the gap between two.
    let polite = Server::start(|mut stream, _| {
        request(&mut stream);
        let _ = stream.write_all(OK);
    });
    let pacing = json!({"kind": "constant", "rate_per_s": 10});
    let changes = json!({"requests": 10, "connections": 1, "pacing": pacing});
    let outcome = drive(&polite, changes);
    let errors = outcome["errors"].as_object().unwrap();
    let met: u64 = errors.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(outcome["requests"].as_u64().unwrap() + met, 10, "{outcome:#}");
    assert!(errors.keys().all(|kind| kind == "closed-early" || kind == "reset"), "{outcome:#}");
    // Every close is one or the other; the last may not have been seen.
    let idle = outcome["connections"]["idle_closes"].as_u64().unwrap();
    assert!(idle + met + 1 >= outcome["requests"].as_u64().unwrap(), "{outcome:#}");
}

/// A connection that has answered is reopened at once, another only later.
#[test]
fn a_server_that_closes_without_a_word_is_asked_again_at_once() {
    let server = |answers: bool| {
        Server::start(move |mut stream, _| {
            request(&mut stream);
            if answers {
                let _ = stream.write_all(OK);
            }
        })
    };
    let body = json!({"method": "POST", "headers": [["Host", "here"]], "body": ""});
    let changes = |requests| json!({"connections": 1, "requests": requests, "request": body});
    let outcome = drive(&server(true), changes(200));
    let opened = outcome["connections"]["opened"].as_u64().unwrap();
    assert!(opened >= 100, "{outcome:#}");
    // Half of the requests meet a close, after each of which there was a pause of 0.1 s.
    let duration_ns = outcome["duration_ns"].as_u64().unwrap();
    assert!(duration_ns < 5_000_000_000, "{outcome:#}");
    let outcome = drive(&server(false), changes(6));
    let duration_ns = outcome["duration_ns"].as_u64().unwrap();
    assert!(duration_ns >= 500_000_000, "{outcome:#}");
}

#[test]
fn nobody_listens() {
    let address = {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        server.local_addr().unwrap()
    };
    let server = Server::replying(OK, false);
    let address = address.to_string();
    for addresses in [vec![&address], vec![&address, &address]] {
        // It ends long before the time-out, and before its duration.
        let changes = json!({"addresses": addresses, "duration_s": 1000, "requests": null, "threads": 2});
        let outcome = drive(&server, changes);
        assert_eq!(outcome["outcome"], "load-failed");
        let detail = outcome["detail"].as_str().unwrap();
        let right = format!("nothing listens at {address}");
        assert!(detail.contains(&right), "{detail}");
        let errors = outcome["errors"].as_object().unwrap();
        assert_eq!(errors.keys().collect::<Vec<_>>(), ["connect-refused"]);
    }
}

#[test]
fn a_server_that_freezes_for_good() {
    let count = Arc::new(AtomicU64::new(0));
    let seen = count.clone();
    let server = Server::start(move |mut stream, _| {
        while request(&mut stream).is_some() {
            if seen.fetch_add(1, Ordering::Relaxed) >= 100 {
                std::thread::sleep(Duration::from_secs(30));
                return;
            }
            let _ = stream.write_all(OK);
        }
    });
    let pacing = json!({"kind": "constant", "rate_per_s": 200});
    let changes =
        json!({"connections": 4, "requests": null, "duration_s": 1, "pacing": pacing, "timeout_s": 2});
    count.store(0, Ordering::Relaxed);
    let request = plan(&server, changes.clone());
    let outcome = load(&request).outcome;
    assert_eq!(outcome["intended"], 200);
    let lost = outcome["unfinished"].as_u64().unwrap() + outcome["errors"]["timeout"].as_u64().unwrap_or(0);
    let answered = ["requests", "late_requests"].map(|key| outcome[key].as_u64().unwrap());
    assert_eq!(answered.iter().sum::<u64>() + lost, 200, "{outcome:#}");
    // More where this process stood still itself.
    assert!(lost >= 100, "{outcome:#}");
    // All of them are in the latencies, with their ages.
    assert_eq!(outcome["histograms"]["latency"]["count"], 200);
    let codes = outcome["warnings"].to_string();
    assert!(codes.contains("rate-not-kept") && codes.contains("unfinished"), "{codes}");
}

#[test]
fn a_server_that_sends_without_end_cannot_hold_the_load() {
    let server = Server::start(|mut stream, _| {
        let _ = request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        let pieces = b"1\r\na\r\n".repeat(10_000);
        while stream.write_all(&pieces).is_ok() {}
    });
    let changes = json!({"connections": 2, "requests": null, "duration_s": 0.5, "timeout_s": 1});
    let outcome = drive(&server, changes);
    assert_eq!(outcome["outcome"], "load-failed", "{outcome:#}");
    assert_eq!(outcome["requests"], 0);
}

/// The limit of descriptors has room for the connections, but not twice.
#[test]
fn as_many_connections_as_descriptors_allow() {
    let server = Server::replying(OK, false);
    let changes = json!({"connections": 100, "requests": 300});
    let request = plan(&server, changes.clone());
    let mut probe = std::process::Command::new("sh")
        .args(["-c", "ulimit -n 200; exec \"$1\"", "sh", PROBE])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(probe.stdin.take().unwrap(), "{request}").unwrap();
    let outcome = parse(probe.wait_with_output().unwrap()).outcome;
    assert_eq!(outcome["requests"], 300, "{outcome:#}");
}
