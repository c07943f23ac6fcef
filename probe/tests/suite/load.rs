//! The load engine against real servers, good ones and bad ones. Both back-ends must count the same.

use crate::common::driving::*;
use crate::common::server::{dribble, request, reset, Server};
use crate::common::*;
use serde_json::{json, Value};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[test]
fn a_closed_loop_sends_as_many_as_were_asked_for() {
    for (connections, threads, requests) in [(1, 1, 1), (3, 1, 100), (7, 3, 101), (5, 2, 3)] {
        let server = Server::replying(OK, false);
        let changes = json!({
            "connections": connections, "threads": threads, "requests": requests,
            "expect": {"status": 200, "equals": "hello"},
        });
        for outcome in both(&plan(&server, changes)) {
            assert_eq!(outcome["outcome"], "ok", "{outcome:#}");
            assert_eq!(outcome["requests"], requests);
            assert_eq!(outcome["errors"], json!({}));
            assert_eq!(outcome["statuses"], json!({"200": requests}));
            assert_eq!(outcome["histograms"]["latency"]["count"], requests);
            assert_eq!(outcome["bytes_in"], requests * OK.len());
            assert_eq!(outcome["intended"], Value::Null);
        }
    }
}

#[test]
fn an_open_loop_keeps_the_schedule_and_the_count() {
    let server = Server::replying(OK, false);
    for pacing in [
        json!({"kind": "constant", "rate_per_s": 200}),
        json!({"kind": "staircase", "steps": [
            {"rate_per_s": 100, "duration_s": 0.5}, {"rate_per_s": 300, "duration_s": 0.5}]}),
    ] {
        let changes = json!({"pacing": pacing, "requests": null, "duration_s": 1, "threads": 2});
        for outcome in both(&plan(&server, changes)) {
            assert_eq!(outcome["intended"], 200, "{outcome:#}");
            let sum = ["requests", "late_requests", "unfinished"];
            let sum: u64 = sum.iter().map(|key| outcome[key].as_u64().unwrap()).sum();
            assert_eq!(sum, 200);
            assert_eq!(outcome["histograms"]["latency"]["count"], 200);
            assert!(outcome["duration_ns"].as_u64().unwrap() >= 1_000_000_000);
        }
    }
}

#[test]
fn every_request_has_its_schedule_error() {
    let server = Server::replying(OK, false);
    let open = json!({"pacing": {"kind": "constant", "rate_per_s": 200}, "requests": null, "duration_s": 1});
    for outcome in both(&plan(&server, open)) {
        let (histograms, late) = (&outcome["histograms"], &outcome["late_requests"]);
        let sent = outcome["requests"].as_u64().unwrap() + late.as_u64().unwrap();
        assert!(histograms["schedule_error"]["count"].as_u64().unwrap() >= sent);
        assert!(
            histograms["schedule_error"]["max_ns"].as_u64()
                <= histograms["latency"]["max_ns"].as_u64(),
            "{outcome:#}"
        );
    }
    for outcome in both(&plan(&server, json!({"requests": 50, "connections": 2}))) {
        let histograms = &outcome["histograms"];
        assert_eq!(histograms["schedule_error"]["count"], 50);
        // Both begin when the request goes to the kernel.
        assert_eq!(histograms["service"], histograms["latency"], "{outcome:#}");
    }
}

#[test]
fn replies_after_the_end_count_by_their_share() {
    let server = Server::start(|mut stream, _| {
        while request(&mut stream).is_some() {
            std::thread::sleep(Duration::from_millis(700));
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    });
    let changes = json!({"connections": 10, "requests": null, "duration_s": 1});
    for outcome in both(&plan(&server, changes)) {
        assert_eq!(outcome["requests"], 10, "{outcome:#}");
        assert_eq!(outcome["late_requests"], 10);
        // Little's law: ten requests are in flight all the time. Without the shares it were seven.
        let service_s = outcome["histograms"]["service"]["mean_ns"]
            .as_f64()
            .unwrap()
            / 1e9;
        let in_flight = outcome["achieved_rate_per_s"].as_f64().unwrap() * service_s;
        assert!((9.0..10.5).contains(&in_flight), "{outcome:#}");
    }
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
        let [busy, cpu] =
            ["busy_share_most", "cpu_share_most"].map(|key| outcome[key].as_f64().unwrap());
        assert!(0.0 < busy && busy <= cpu, "{busy} {cpu}");
        busy < cpu
    };
    assert!((0..10).any(|_| both(&plan(&server, changes.clone())).iter().all(polls)));
}

#[test]
fn a_connection_for_each_request() {
    for pacing in [
        json!({"kind": "closed"}),
        json!({"kind": "constant", "rate_per_s": 500}),
    ] {
        let server = Server::replying(OK, true);
        let closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
        let told = Server::replying(closing, true);
        let own =
            json!({"request": {"headers": [["Host", "here"]], "close": true}, "pacing": pacing});
        let theirs = json!({ "pacing": pacing });
        for (server, changes) in [(&server, own), (&told, theirs)] {
            let outcomes = both(&plan(server, changes));
            for outcome in &outcomes {
                assert_eq!(outcome["requests"], 20, "{outcome:#}");
                assert_eq!(outcome["errors"], json!({}));
                assert!(outcome["connections"]["opened"].as_u64().unwrap() >= 20);
            }
        }
    }
}

/// What is wrong, and what the server sends before it waits or closes.
#[test]
fn errors_of_bad_servers_have_their_kinds() {
    let long_head = [b"HTTP/1.1 200 OK\r\nA: ".to_vec(), vec![b'x'; 40_000]].concat();
    let unasked = [OK, OK].concat();
    let cases: Vec<(&str, &[u8], bool)> = vec![
        ("protocol", b"garbage\r\n\r\n", false),
        ("tls", b"\x15\x03\x01\x00\x02\x02\x46", true),
        (
            "http2",
            b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00\x40\x00",
            false,
        ),
        (
            "protocol",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
            false,
        ),
        (
            "protocol",
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            false,
        ),
        ("too-large", &long_head, false),
        (
            "truncated",
            b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
            true,
        ),
        (
            "truncated",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            true,
        ),
        ("truncated", b"HTTP/1.1 200", true),
        ("closed-early", b"", true),
        (
            "status",
            b"HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nhello",
            false,
        ),
        (
            "content",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhallo",
            false,
        ),
        ("unsolicited", &unasked, false),
    ];
    for (kind, reply, close) in cases {
        let server = Server::replying(reply, close);
        let changes = json!({"requests": 6, "expect": {"status": 200, "equals": "hello"}});
        let outcomes = both(&plan(&server, changes));
        for outcome in &outcomes {
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
}

#[test]
fn hung_servers_are_given_up() {
    for reply in [
        &b""[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
    ] {
        let server = Server::replying(reply, false);
        let paced = json!({"kind": "constant", "rate_per_s": 100});
        for changes in [
            json!({"requests": 4, "timeout_s": 0.5}),
            json!({"requests": 4, "timeout_s": 0.5, "connections": 4, "pacing": paced}),
            json!({"requests": 4, "timeout_s": 0.5, "connections": 4, "pacing": paced, "tick_s": 0.02}),
        ] {
            for outcome in both(&plan(&server, changes)) {
                assert_eq!(outcome["errors"], json!({"timeout": 4}), "{outcome:#}");
                // Requests that timed out count in the latencies, and none of them did so early.
                let latency = &outcome["histograms"]["latency"];
                assert_eq!(latency["count"], 4);
                assert!(
                    latency["min_ns"].as_u64().unwrap() >= 500_000_000,
                    "{latency}"
                );
            }
        }
    }
    let deaf = Server::start(|stream, _| {
        std::thread::sleep(Duration::from_secs(20));
        drop(stream);
    });
    let body = "x".repeat(8 << 20);
    let request = json!({"method": "POST", "headers": [["Host", "here"]], "body": body});
    let changes = json!({"requests": 2, "timeout_s": 1, "request": request});
    for outcome in both(&plan(&deaf, changes)) {
        assert_eq!(outcome["errors"], json!({"timeout": 2}), "{outcome:#}");
    }
}

#[test]
fn resets_and_idle_closes() {
    let server = Server::start(|mut stream, _| {
        if request(&mut stream).is_some() {
            reset(stream);
        }
    });
    for outcome in both(&plan(&server, json!({"requests": 4}))) {
        assert_eq!(outcome["errors"], json!({"reset": 4}), "{outcome:#}");
    }
    // Closes what it has answered. That is nobody's error, unless the next request meets the close
    // halfway, when this process was kept from running for as long as the gap between two.
    let polite = Server::start(|mut stream, _| {
        request(&mut stream);
        let _ = stream.write_all(OK);
    });
    let pacing = json!({"kind": "constant", "rate_per_s": 10});
    let changes = json!({"requests": 10, "connections": 1, "pacing": pacing});
    for outcome in both(&plan(&polite, changes)) {
        let errors = outcome["errors"].as_object().unwrap();
        let met: u64 = errors.values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(
            outcome["requests"].as_u64().unwrap() + met,
            10,
            "{outcome:#}"
        );
        assert!(
            errors
                .keys()
                .all(|kind| kind == "closed-early" || kind == "reset"),
            "{outcome:#}"
        );
        // Every close is one or the other; the last may not have been seen.
        let idle = outcome["connections"]["idle_closes"].as_u64().unwrap();
        assert!(
            idle + met + 1 >= outcome["requests"].as_u64().unwrap(),
            "{outcome:#}"
        );
    }
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
        let changes =
            json!({"addresses": addresses, "duration_s": 1000, "requests": null, "threads": 2});
        for outcome in both(&plan(&server, changes)) {
            assert_eq!(outcome["outcome"], "load-failed");
            let detail = outcome["detail"].as_str().unwrap();
            let right = format!("no server listens at {address}");
            assert!(detail.contains(&right), "{detail}");
            let errors = outcome["errors"].as_object().unwrap();
            assert_eq!(errors.keys().collect::<Vec<_>>(), ["connect-refused"]);
        }
    }
}

#[test]
fn the_rate_of_a_load_with_one_burst() {
    let server = Server::replying(OK, false);
    let pacing = json!({"kind": "constant", "rate_per_s": 50, "burst": 100});
    let changes = json!({"pacing": pacing, "requests": null, "duration_s": 1});
    for outcome in both(&plan(&server, changes)) {
        assert_eq!(outcome["intended"], 100);
        assert_eq!(outcome["intended_rate_per_s"], 50.0);
        let warnings = outcome["warnings"].to_string();
        assert!(warnings.contains("uneven-bursts"), "{warnings}");
    }
}

#[test]
fn replies_byte_by_byte() {
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;a=b\r\nllo\r\n0\r\nA: b\r\n\r\n";
    for reply in [OK.to_vec(), chunked.to_vec()] {
        let server = Server::start(move |mut stream, number| {
            while request(&mut stream).is_some() {
                dribble(&mut stream, &reply, 1 + number as usize);
            }
        });
        let changes = json!({"requests": 6, "expect": {"equals": "hello"}});
        for outcome in both(&plan(&server, changes)) {
            assert_eq!(outcome["requests"], 6, "{outcome:#}");
            assert_eq!(outcome["errors"], json!({}));
        }
    }
}

#[test]
fn large_replies_and_large_requests() {
    let body = "y".repeat(3 << 20);
    let reply = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let server = Server::start(move |mut stream, _| {
        while let Some(head) = request(&mut stream) {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("Content-Length: "));
            let mut sent = vec![0; length.map_or(0, |length| length.parse().unwrap())];
            stream.read_exact(&mut sent).unwrap();
            assert!(sent.iter().all(|&byte| byte == 0xe9));
            stream.write_all(reply.as_bytes()).unwrap();
        }
    });
    let request =
        json!({"method": "POST", "headers": [["Host", "here"]], "body": "é".repeat(2 << 20)});
    let changes = json!({"requests": 6, "request": request, "expect": {"equals": body}});
    for outcome in both(&plan(&server, changes)) {
        assert_eq!(outcome["requests"], 6, "{:#}", outcome["errors"]);
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
            let body = if number % 10 == 0 {
                "..200.503"
            } else {
                "..200.200"
            };
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            dribble(&mut stream, (head + body).as_bytes(), 7);
        }
    });
    let changes = json!({
        "connections": 3, "threads": 2, "expect": {"matches": r"\.*200(\.*200)*"},
        "request": {"headers": [["Host", "here"], ["X-Number", "a{n}"]]},
    });
    for outcome in both(&plan(&server, changes)) {
        assert_eq!(outcome["requests"], 18, "{outcome:#}");
        assert_eq!(outcome["errors"], json!({"content": 2}));
    }
    // Three loads or two: each number came once in each of them.
    let mut numbers = seen.lock().unwrap().clone();
    numbers.sort_unstable();
    let loads = numbers.len() / 20;
    let right = (1..=20).flat_map(|number| std::iter::repeat(number).take(loads));
    assert!(right.eq(numbers.iter().copied()), "{numbers:?}");
}

/// Requests belong to threads as connections do, so that each connection has the same part of the rate.
#[test]
fn threads_share_connections_and_requests() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let own = seen.clone();
    let server = Server::start(move |mut stream, _| {
        while let Some(head) = request(&mut stream) {
            let numbers = head.split(['/', ' ']).skip(2).take(2);
            let numbers: Vec<u64> = numbers.map(|text| text.parse().unwrap()).collect();
            own.lock().unwrap().push((numbers[0] - 1, numbers[1] - 1));
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    });
    for (connections, threads) in [(3, 2), (8, 3), (4, 4)] {
        let changes = json!({
            "connections": connections, "threads": threads, "requests": 100,
            "pacing": {"kind": "constant", "rate_per_s": 1000},
            "request": {"target": "/{id}/{n}", "headers": [["Host", "here"]]},
        });
        let outcomes = both(&plan(&server, changes));
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        for &(id, number) in &seen {
            assert_eq!(id % threads, number % connections % threads);
        }
        let mut numbers: Vec<u64> = seen.iter().map(|&(_, number)| number).collect();
        numbers.sort_unstable();
        // Once in each load.
        let loads = numbers.len() / 100;
        let right = (0..100).flat_map(|number| std::iter::repeat(number).take(loads));
        assert!(right.eq(numbers), "{seen:?}");
        for outcome in outcomes {
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
}

#[test]
fn a_redirect_is_an_answer_and_is_not_followed() {
    let other = Server::replying(OK, false);
    let reply = format!(
        "HTTP/1.1 302 Found\r\nLocation: http://{}/\r\nContent-Length: 0\r\n\r\n",
        other.address
    );
    let server = Server::replying(reply.as_bytes(), false);
    for outcome in both(&plan(&server, json!({}))) {
        assert_eq!(outcome["statuses"], json!({"302": 20}));
    }
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
    for outcome in both(&plan(&fibonacci(false), changes.clone())) {
        assert_eq!(outcome["requests"], 20, "{outcome:#}");
    }
    for outcome in both(&plan(&fibonacci(true), changes.clone())) {
        assert_eq!(outcome["errors"], json!({"content": 20}), "{outcome:#}");
    }
    let endless = Server::start(|mut stream, _| while stream.write_all(&[b'x'; 4096]).is_ok() {});
    for outcome in both(&plan(&endless, with(changes, "/requests", json!(4)))) {
        let errors = outcome["errors"].as_object().unwrap();
        assert!(
            errors
                .keys()
                .all(|kind| kind == "too-large" || kind == "unsolicited"),
            "{outcome:#}"
        );
    }
}

/// In the coarse mode several requests go out together, each with its own intended instant.
#[test]
fn the_coarse_mode_keeps_count_and_instants() {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let notes = sent.clone();
    let server = Server::start(move |mut stream, _| {
        while request(&mut stream).is_some() {
            notes.lock().unwrap().push(monotonic_ns());
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    });
    let pacing = json!({"kind": "constant", "rate_per_s": 500});
    let changes = json!({
        "connections": 64, "requests": null, "duration_s": 1, "pacing": pacing, "tick_s": 0.1,
    });
    for io in ["epoll", "auto"] {
        let trial = load(&with(plan(&server, changes.clone()), "/load/io", json!(io)));
        let begun = trial.of("started")[0]["monotonic_ns"].as_u64().unwrap();
        let outcome = &trial.outcome;
        assert_eq!(outcome["intended"], 500, "{outcome:#}");
        assert_eq!(outcome["histograms"]["latency"]["count"], 500);
        let error = &outcome["histograms"]["schedule_error"];
        assert!(error["mean_ns"].as_f64().unwrap() >= 45e6, "{error}");
        // Nothing is sent between two ticks, nor before the tick after it was due.
        let mut sent: Vec<u64> = sent.lock().unwrap().drain(..).collect();
        sent.sort_unstable();
        for (number, at) in sent.iter().enumerate() {
            let due_ns = number as u64 * 2_000_000;
            let tick_ns = (due_ns + 99_999_999) / 100_000_000 * 100_000_000;
            assert!(*at >= begun + tick_ns, "{number}: {at}");
        }
        // Those of the last tick were sent when the load ended: they came late.
        let late = outcome["late_requests"].as_u64().unwrap();
        assert!(
            late + outcome["unfinished"].as_u64().unwrap() >= 49,
            "{outcome:#}"
        );
    }
}

/// Replies that wait in the kernel until the next request is due have the time at which they came.
#[test]
fn arrivals_have_the_time_of_the_kernel() {
    let server = Server::replying(OK, false);
    let pacing = json!({"kind": "constant", "rate_per_s": 2000});
    let changes = json!({"requests": 2000, "pacing": pacing, "connections": 8});
    for outcome in both(&plan(&server, changes)) {
        let [reads, stamped] = ["reads", "stamped_reads"].map(|key| outcome[key].as_u64().unwrap());
        assert_eq!(reads, 2000, "{outcome:#}");
        // The kernel begins to stamp some time after the first socket asks for it.
        assert!(stamped > 0 && stamped <= reads, "{outcome:#}");
    }
    for outcome in both(&plan(&server, json!({}))) {
        assert_eq!(outcome["stamped_reads"], 0, "{outcome:#}");
    }
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
    for io in ["epoll", "auto"] {
        let trial = load(&with(request.clone(), "/load/io", json!(io)));
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
        for (key, place) in [
            ("p50_ns", 99),
            ("p90_ns", 179),
            ("p95_ns", 189),
            ("max_ns", 199),
        ] {
            let found = latency[key].as_u64().unwrap() as f64;
            assert!(
                found >= least[place] as f64 * 0.998,
                "{key}: {found} {}",
                least[place]
            );
        }
        // A freeze of 200 ms at 200 a second reaches 40 requests: two freezes in 200.
        assert!(
            latency["p90_ns"].as_u64().unwrap() > 50_000_000,
            "{latency}"
        );
        // The client's own queue is told apart: there is one connection only.
        assert!(
            trial.outcome["histograms"]["queue"]["max_ns"]
                .as_u64()
                .unwrap()
                > 100_000_000
        );
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
    let changes = json!({"connections": 4, "requests": null, "duration_s": 1, "pacing": pacing, "timeout_s": 2});
    for io in ["epoll", "auto"] {
        count.store(0, Ordering::Relaxed);
        let request = with(plan(&server, changes.clone()), "/load/io", json!(io));
        let outcome = load(&request).outcome;
        assert_eq!(outcome["intended"], 200);
        let lost = outcome["unfinished"].as_u64().unwrap()
            + outcome["errors"]["timeout"].as_u64().unwrap_or(0);
        let answered = ["requests", "late_requests"].map(|key| outcome[key].as_u64().unwrap());
        assert_eq!(answered.iter().sum::<u64>() + lost, 200, "{outcome:#}");
        // More where this process stood still itself.
        assert!(lost >= 100, "{outcome:#}");
        // All of them are in the latencies, with their ages.
        assert_eq!(outcome["histograms"]["latency"]["count"], 200);
        let codes = outcome["warnings"].to_string();
        assert!(
            codes.contains("rate-not-kept") && codes.contains("unfinished"),
            "{codes}"
        );
    }
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let server = Server::replying(OK, false);
    let changes = json!({"requests": null, "duration_s": 600, "progress_s": 0.2});
    for io in ["epoll", "auto"] {
        let mut probe = start(&with(plan(&server, changes.clone()), "/load/io", json!(io)));
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
        ("tick_s", json!(0.001), "only an open loop"),
        ("requests", json!(null), "an end is needed"),
        ("timeout_s", json!(0), "timeout_s"),
        (
            "pacing",
            json!({"kind": "constant", "rate_per_s": -1}),
            "rate_per_s",
        ),
        (
            "pacing",
            json!({"kind": "constant", "rate_per_s": 9, "burst": 0}),
            "burst: from 1 to",
        ),
        (
            "pacing",
            json!({"kind": "constant", "rate_per_s": 9, "burst": 1_000_001}),
            "burst: from 1 to",
        ),
        ("pacing", json!({"kind": "sometimes"}), "unknown variant"),
        ("request", json!({}), "Host"),
        (
            "request",
            json!({"method": "GE T", "headers": [["Host", "x"]]}),
            "method",
        ),
        (
            "request",
            json!({"target": "/a b", "headers": [["Host", "x"]]}),
            "target",
        ),
        (
            "request",
            json!({"headers": [["Host", "x\r\nA: b"]]}),
            "Host",
        ),
        (
            "request",
            json!({"headers": [["Host", "x"], ["Connection", "close"]]}),
            "set by the engine",
        ),
        (
            "request",
            json!({"headers": [["Host", "x"]], "body": "…"}),
            "U+00FF",
        ),
        ("cpus", json!([4_000]), "over 1023"),
        ("cpus", json!([1_000]), "cannot be used"),
        ("expect", json!({"matches": "a["}), "matches: \"a[\""),
        (
            "expect",
            json!({"matches": "a", "equals": "a"}),
            "stands alone",
        ),
        ("line", json!("x"), "no `line`"),
        ("colour", json!(1), "colour"),
    ] {
        let request = plan(&server, json!({ key: value }));
        let talk = refused(&format!("{request}\n"));
        assert!(talk.contains(said), "{key}: {talk}");
    }
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
    for outcome in both(&plan(&server, changes)) {
        assert_eq!(outcome["outcome"], "load-failed", "{outcome:#}");
        assert_eq!(outcome["requests"], 0);
    }
}
