//! Streams held open: every message is checked.

use crate::common::driving::*;
use crate::common::server::{dribble, request, Server};
use crate::common::*;
use serde_json::{json, Value};
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A stream of messages, each a chunk.
fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

const STREAM: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

fn stream_changes() -> Value {
    json!({
        "protocol": "stream", "connections": 3, "requests": null, "duration_s": 4,
        "request": {"target": "/test/{id}", "headers": [["Host", "here"]]},
        "stream": {"first": "Welcome: {id}", "chunk": "Chunk {k} for {id}", "interval_s": 0.1},
    })
}

/// Serves what `messages` gives for an id, one after another, then waits.
fn streaming(messages: impl Fn(u64) -> Vec<String> + Send + Sync + 'static) -> Server {
    Server::start(move |mut stream, _| {
        let head = request(&mut stream).unwrap_or_default();
        let id = head.split(&['/', ' '][..]).nth(3).and_then(|id| id.parse().ok()).unwrap();
        let mut bytes = STREAM.to_string();
        for message in messages(id) {
            bytes.push_str(&chunk(&message));
        }
        dribble(&mut stream, bytes.as_bytes(), 11);
        let _ = stream.read(&mut [0]);
    })
}

#[test]
fn streams_are_checked_message_by_message() {
    let good =
        |id| vec![format!("Welcome: {id}\n"), format!("Chunk 1 for {id}"), format!("Chunk 2 for {id}\n")];
    let bad = |id| {
        vec![
            format!("Welcome: {id}"),
            format!("Chunk 1 for {id}"),
            format!("Chunk 1 for {id}"),
            format!("Chunk 5 for {id}"),
            format!("Chunk 3 for {id}"),
            format!("Chunk 6 for {}", id + 1),
            format!("Chunk six for {id}"),
        ]
    };
    let outcome = drive(&streaming(good), stream_changes());
    assert_eq!(outcome["messages"], 9, "{outcome:#}");
    let faults = outcome["sequence"].as_object().unwrap();
    let wrong = faults.keys().find(|kind| *kind != "early");
    assert_eq!(wrong, None, "{outcome:#}");
    assert_eq!(outcome["histograms"]["lateness"]["count"], 6);
    assert_eq!(outcome["errors"], json!({}));
    assert_eq!(outcome["connections"]["open_at_end"], 3);
    let outcome = drive(&streaming(bad), stream_changes());
    let found = &outcome["sequence"];
    for (kind, count) in [("repeats", 3), ("gaps", 9), ("swaps", 3), ("foreign", 3), ("malformed", 3)] {
        assert_eq!(found[kind], count, "{kind}: {found}");
    }
}

#[test]
fn streams_that_end_or_fall_silent() {
    let ends = Server::start(|mut stream, _| {
        request(&mut stream);
        let _ = stream.write_all(format!("{STREAM}{}0\r\n\r\n", chunk("Welcome: 1")).as_bytes());
    });
    let truncated = Server::start(|mut stream, _| {
        request(&mut stream);
        let _ = stream.write_all(format!("{STREAM}{}5\r\nCh", chunk("Welcome: 1")).as_bytes());
    });
    let silent = Server::start(|mut stream, _| {
        request(&mut stream);
        let _ = stream.write_all(STREAM.as_bytes());
        let _ = stream.read(&mut [0]);
    });
    let refused = Server::replying(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", false);
    let cases = [(ends, "ended"), (truncated, "truncated"), (silent, "timeout"), (refused, "status")];
    let check = &|server: &Server, kind: &str| {
        let mut changes = with(stream_changes(), "/duration_s", json!(4));
        // Only silent streams should be given up: this process may itself stand still for a second.
        changes["timeout_s"] = json!(if kind == "timeout" { 1 } else { 100 });
        let outcome = drive(server, changes);
        let errors = outcome["errors"].as_object().unwrap();
        assert!(errors.contains_key(kind), "{kind}: {outcome:#}");
        let other = errors.keys().find(|one| *one != kind && *one != "connect-timeout");
        assert_eq!(other, None, "{kind}: {outcome:#}");
    };
    thread::scope(|scope| {
        for (server, kind) in &cases {
            scope.spawn(move || check(server, kind));
        }
    });
}

/// Replies that are complete are no streams, whether the end of the connection ends them or not.
#[test]
fn replies_of_a_plain_server_are_not_streams() {
    let replies: [(&[u8], bool); 3] = [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", false),
        (b"HTTP/1.0 200 OK\r\n\r\nhello", true),
    ];
    for (reply, close) in replies {
        let server = Server::replying(reply, close);
        let changes = json!({
            "protocol": "stream", "requests": null, "duration_s": 0.5,
            "stream": {"framing": if close { "line" } else { "chunk" }},
        });
        let outcome = drive(&server, changes);
        let errors = outcome["errors"].as_object().unwrap();
        assert_eq!(errors.keys().collect::<Vec<_>>(), ["ended"], "{outcome:#}");
        assert_eq!(outcome["statuses"]["200"], errors["ended"], "{outcome:#}");
        assert_eq!(outcome["outcome"], "load-failed");
        let detail = outcome["detail"].as_str().unwrap();
        assert!(detail.starts_with("the server held no response open"), "{detail}");
    }
}

/// The server says when each message was due, and keeps its own lateness.
#[test]
fn lateness_is_what_the_server_made_it() {
    let known = Arc::new(Mutex::new(Vec::new()));
    let own = known.clone();
    let late = Server::start(move |mut stream, _| {
        request(&mut stream);
        let _ = stream.write_all(STREAM.as_bytes());
        for k in 1..=20u64 {
            let due = monotonic_ns();
            std::thread::sleep(Duration::from_millis(k * 2));
            own.lock().unwrap().push(monotonic_ns() - due);
            let _ = stream.write_all(chunk(&format!("k due={due}")).as_bytes());
        }
        let _ = stream.read(&mut [0]);
    });
    let mut changes = with(stream_changes(), "/stream", json!({"due_field": "due="}));
    changes["connections"] = json!(1);
    changes["duration_s"] = json!(4);
    let request = plan(&late, changes);
    let outcome = load(&request.clone()).outcome;
    let found = &outcome["histograms"]["lateness"];
    let mut truth: Vec<u64> = known.lock().unwrap().drain(..).collect();
    // All twenty, unless this process stood still for seconds.
    let count = found["count"].as_u64().unwrap() as usize;
    assert!((10..=truth.len()).contains(&count), "{outcome:#}");
    truth.truncate(count);
    truth.sort_unstable();
    // Never less than the server's, by more than the histogram's three digits.
    let below = |found: &Value, truth: u64| (found.as_u64().unwrap() as f64) < truth as f64 * 0.998;
    assert!(!below(&found["min_ns"], truth[0]), "{found} {truth:?}");
    assert!(!below(&found["p50_ns"], truth[(count - 1) / 2]), "{found} {truth:?}");
    assert!(!below(&found["max_ns"], truth[count - 1]), "{found} {truth:?}");
}

/// Every stream has the delay of its opening and of its request, whether its messages are stamped or not.
#[test]
fn every_stream_has_its_schedule_error() {
    let server = streaming(|id| vec![format!("Welcome: {id}"), format!("Chunk 1 for {id}")]);
    let changes = with(stream_changes(), "/duration_s", json!(2));
    let outcome = drive(&server, changes);
    let [reads, stamped] = ["reads", "stamped_reads"].map(|key| outcome[key].as_u64().unwrap());
    assert!(stamped > 0, "{outcome:#}");
    // A first message and a chunk may be read at once.
    let errors = outcome["histograms"]["schedule_error"]["count"].as_u64().unwrap();
    let least = 3 + reads - stamped;
    assert!((least..=least + 3).contains(&errors), "{outcome:#}");
}

/// An engine that stands still during its ramp opens streams late, and reports it.
#[test]
fn a_ramp_that_the_engine_does_not_keep() {
    let server = streaming(|id| vec![format!("Welcome: {id}")]);
    let mut changes = with(stream_changes(), "/ramp_per_s", json!(50));
    changes["connections"] = json!(40);
    changes["duration_s"] = json!(1.5);
    let request = plan(&server, changes.clone());
    let mut probe = start(&request);
    let mut lines = reader(&mut probe);
    let begun = answer(&mut lines)["monotonic_ns"].as_u64().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    signal(probe.id(), rustix::process::Signal::STOP);
    std::thread::sleep(Duration::from_millis(400));
    signal(probe.id(), rustix::process::Signal::CONT);
    // On a host that stalls all of it may be over by then.
    let is_in_time = monotonic_ns() - begun < 1_000_000_000;
    let mut text = String::new();
    lines.read_to_string(&mut text).unwrap();
    probe.wait().unwrap();
    let outcome: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let error = &outcome["histograms"]["schedule_error"];
    if is_in_time {
        assert!(error["max_ns"].as_u64().unwrap() > 300_000_000, "{error}");
        // Twenty of forty were due meanwhile, and 200 ms late on average.
        assert!(error["mean_ns"].as_f64().unwrap() > 40e6, "{error}");
        let warnings = outcome["warnings"].to_string();
        assert!(warnings.contains("lag"), "{warnings}");
        assert!(warnings.contains("generator-bound"), "{warnings}");
    }
}

/// Ten thousand chunks fall due together, and are read late: they keep the times of their arrival.
#[test]
fn chunks_that_are_read_late_have_come_in_time() {
    use rustix::process::{getrlimit, setrlimit, Resource, Rlimit, Signal};
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(u64::MAX, |most| most.saturating_sub(1000));
    let streams = most.min(10_000) as usize;
    let wanted = Rlimit { current: limit.maximum.map(|most| most.min(1 << 20)), ..limit };
    setrlimit(Resource::Nofile, wanted).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // This many connects can be pending.
    rustix::net::listen(&listener, 4096).unwrap();
    listener.set_nonblocking(true).unwrap();
    let changes = json!({
        "addresses": [listener.local_addr().unwrap().to_string()], "connections": streams,
        "protocol": "stream", "requests": null, "duration_s": 600,
        "request": {"target": "/", "headers": [["Host", "here"]]},
        "stream": {"due_field": "due="}, "progress_s": 0.1,
    });
    let server = Server::replying(b"", true);
    let mut probe = start(&plan(&server, changes));
    let mut lines = reader(&mut probe);
    answer(&mut lines);
    let mut open: Vec<_> = (0..streams)
        .map(|_| {
            let mut accepted = listener.accept();
            eventually("a stream is opened", || {
                accepted.is_ok() || {
                    accepted = listener.accept();
                    accepted.is_ok()
                }
            });
            let mut stream = accepted.unwrap().0;
            request(&mut stream).unwrap();
            stream.write_all(STREAM.as_bytes()).unwrap();
            stream
        })
        .collect();
    // The heads have been read by now, or will be with the chunks; it is the chunks whose times count.
    std::thread::sleep(Duration::from_millis(300));
    signal(probe.id(), Signal::STOP);
    let due_ns = monotonic_ns();
    let bytes = chunk(&format!("1 due={due_ns}"));
    for stream in &mut open {
        stream.write_all(bytes.as_bytes()).unwrap();
    }
    let sent_ns = monotonic_ns() - due_ns;
    std::thread::sleep(Duration::from_secs(1));
    signal(probe.id(), Signal::CONT);
    let mut read = 0;
    while read < streams as u64 {
        let progress = answer(&mut lines);
        assert_eq!(progress["type"], "progress", "{progress:#}");
        read += progress["requests"].as_u64().unwrap();
    }
    signal(probe.id(), Signal::INT);
    let mut text = String::new();
    lines.read_to_string(&mut text).unwrap();
    probe.wait().unwrap();
    let outcome: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(outcome["errors"], json!({}), "{outcome:#}");
    let lateness = &outcome["histograms"]["lateness"];
    assert_eq!(lateness["count"], streams, "{outcome:#}");
    let ns = |key: &str| lateness[key].as_u64().unwrap();
    // By the server's account all were sent within this time, and the reader began a second later. On a busy host
    // the kernel may hand over a chunk late itself.
    let most_ns = sent_ns + 500_000_000;
    assert!(ns("max_ns") < most_ns, "{sent_ns} {lateness}");
}
