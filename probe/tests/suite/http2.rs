//! HTTP/2, from servers that speak frames by hand, good ones and bad ones.

use crate::common::certificates::{file, serve};
use crate::common::driving::*;
use crate::common::is_refused;
use crate::common::server::{dribble, Server};
use serde_json::{json, Value};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
/// `:status: 200` in HPACK.
pub const OK: &[u8] = b"\x88";

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Kind, flags, stream and payload of the next frame.
fn read_frame(stream: &mut impl Read) -> Option<(u8, u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).ok()?;
    let number = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    Some((head[3], head[4], number, payload))
}

/// Reads the preface, and sends settings.
pub fn begin(stream: &mut (impl Read + Write)) -> bool {
    let mut preface = [0; 24];
    if stream.read_exact(&mut preface).is_err() || &preface != b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" {
        return false;
    }
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).is_ok()
}

/// The server allows one stream at a time, and takes 5 ms for each request: a request waits for three others.
#[test]
fn the_wait_for_a_stream_is_the_queue() {
    const SERVICE: Duration = Duration::from_millis(5);
    let server = Server::start(|mut stream, _| {
        let max_concurrent_streams = [0, 3, 0, 0, 0, 1];
        let settings = frame(SETTINGS, 0, 0, &max_concurrent_streams);
        if !begin(&mut stream) || stream.write_all(&settings).is_err() {
            return;
        }
        while let Some(number) = request(&mut stream) {
            std::thread::sleep(SERVICE);
            if stream.write_all(&reply(number)).is_err() {
                return;
            }
        }
    });
    for pacing in [json!({"kind": "closed"}), json!({"kind": "constant", "rate_per_s": 1e6})] {
        let changes = json!({"connections": 1, "requests": 80, "pacing": pacing});
        let outcome = drive(&server, http2(4, changes));
        assert_eq!(outcome["requests"], 80, "{outcome:#}");
        let histograms = &outcome["histograms"];
        let [latency, service, queue, error] = ["latency", "service", "queue", "schedule_error"]
            .map(|name| histograms[name]["mean_ns"].as_f64().unwrap());
        // Those of the first four requests that were sent before the server's settings arrived did not wait.
        let waited = histograms["queue"]["count"].as_u64().unwrap();
        assert!(waited >= 76, "{outcome:#}");
        assert!(queue >= 76.0 / 80.0 * 15e6, "{outcome:#}");
        let parts = service + queue * waited as f64 / 80.0 + error;
        assert!((latency / parts - 1.0).abs() < 0.01, "{latency} {parts}");
        assert!(service < 0.5 * latency, "{outcome:#}");
        let warnings = outcome["warnings"].to_string();
        assert!(warnings.contains("stream-limit"), "{warnings}");
    }
}

/// The stream of the next request that is complete.
pub fn request(stream: &mut (impl Read + Write)) -> Option<u32> {
    loop {
        let (kind, flags, number, payload) = read_frame(stream)?;
        match kind {
            SETTINGS if flags & 1 == 0 => stream.write_all(&frame(SETTINGS, 1, 0, &[])).ok()?,
            PING if flags & 1 == 0 => stream.write_all(&frame(PING, 1, 0, &payload)).ok()?,
            HEADERS | DATA if flags & END_STREAM > 0 => return Some(number),
            _ => {}
        }
    }
}

fn reply(number: u32) -> Vec<u8> {
    let head = frame(HEADERS, END_HEADERS, number, OK);
    [head, frame(DATA, END_STREAM, number, b"hello")].concat()
}

/// The last stream that the server processes, and why it goes away.
fn go_away(last: u32, code: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

/// Answers every request.
pub fn answer(stream: impl Read + Write) {
    answer_with(stream, reply);
}

/// Answers every request with what this makes of the number of its stream.
pub fn answer_with(mut stream: impl Read + Write, reply: impl Fn(u32) -> Vec<u8>) {
    if !begin(&mut stream) {
        return;
    }
    while let Some(number) = request(&mut stream) {
        if stream.write_all(&reply(number)).is_err() {
            return;
        }
    }
}

pub fn http2(streams: usize, mut changes: Value) -> Value {
    changes["http2"] = json!({ "streams": streams });
    changes
}

#[test]
fn several_requests_on_each_connection() {
    let plain = Server::start(|stream, _| answer(stream));
    let secure = serve("good", &["h2"], |stream, _| answer(stream));
    let tls = json!({"server_name": "localhost", "cacert": file("ca.pem")});
    for (server, tls) in [(plain, Value::Null), (secure, tls)] {
        for pacing in [json!({"kind": "closed"}), json!({"kind": "constant", "rate_per_s": 300})] {
            for (connections, threads, streams) in [(1, 1, 1), (3, 2, 5)] {
                let changes = http2(
                    streams,
                    json!({
                        "connections": connections, "threads": threads, "requests": 90, "pacing": pacing,
                        "tls": tls, "expect": {"status": 200, "equals": "hello"},
                    }),
                );
                let outcome = drive(&server, changes);
                all_answered(&outcome, 90);
                assert_eq!(outcome["statuses"], json!({"200": 90}));
                // On a busy machine all requests can be over before the last handshake is.
                let opened = outcome["connections"]["opened"].as_u64().unwrap();
                assert!((1..=connections).contains(&opened), "{outcome:#}");
                assert_eq!(outcome["connections"]["most_open"], opened);
                assert_eq!(outcome["connections"]["open_at_end"], opened);
                for histogram in ["latency", "service", "schedule_error", "first_byte"] {
                    assert_eq!(outcome["histograms"][histogram]["count"], 90, "{histogram}");
                }
                let connects = outcome["histograms"]["connect"]["count"].as_u64().unwrap();
                assert!((opened..=connections).contains(&connects), "{outcome:#}");
                let handshakes = if tls.is_null() { Value::Null } else { json!(opened) };
                assert_eq!(outcome["histograms"]["handshake"]["count"], handshakes);
            }
        }
    }
}

#[test]
fn frames_in_any_pieces_and_order() {
    // Two requests, whose replies are mixed, with a ping, empty data, padding and trailers, byte by byte.
    let server = Server::start(|mut stream, number| {
        begin(&mut stream);
        while let (Some(first), Some(second)) = (request(&mut stream), request(&mut stream)) {
            let bytes = [
                frame(HEADERS, END_HEADERS, second, OK),
                frame(HEADERS, END_HEADERS, first, OK),
                frame(DATA, 0, first, b"he"),
                frame(PING, 0, 0, &[7; 8]),
                frame(DATA, 8, second, b"\x02hel\0\0"),
                frame(DATA, 0, second, b""),
                frame(DATA, END_STREAM, first, b"llo"),
                frame(DATA, 0, second, b"lo"),
                // `:method` in trailers would be wrong; this is `a: b`.
                frame(HEADERS, END_HEADERS | END_STREAM, second, b"\x00\x01a\x01b"),
            ];
            dribble(&mut stream, &bytes.concat(), 1 + number as usize * 3);
        }
    });
    let changes = http2(2, json!({"requests": 8, "connections": 1, "expect": {"equals": "hello"}}));
    let outcome = drive(&server, changes);
    all_answered(&outcome, 8);
}

#[test]
fn large_bodies_in_both_directions() {
    let server = Server::start(|mut stream, _| {
        begin(&mut stream);
        // All that is sent must fit, though this server never reads a window.
        let window = frame(8, 0, 0, &(1u32 << 30).to_be_bytes());
        stream.write_all(&window).unwrap();
        let mut bodies = 0;
        loop {
            let Some((kind, flags, number, payload)) = read_frame(&mut stream) else { return };
            if kind == SETTINGS && flags & 1 == 0 {
                stream.write_all(&frame(SETTINGS, 1, 0, &[])).unwrap();
            }
            if kind == HEADERS {
                let window = frame(8, 0, number, &(1u32 << 30).to_be_bytes());
                stream.write_all(&window).unwrap();
                bodies = 0;
            }
            if kind == DATA {
                bodies += payload.len();
            }
            if kind == DATA && flags & END_STREAM > 0 {
                assert_eq!(bodies, 1 << 20);
                let mut bytes = frame(HEADERS, END_HEADERS, number, OK);
                for _ in 0..40 {
                    bytes.extend(frame(DATA, 0, number, &[b'y'; 16_384]));
                }
                bytes.extend(frame(DATA, END_STREAM, number, b""));
                stream.write_all(&bytes).unwrap();
            }
        }
    });
    let request = json!({"method": "POST", "headers": [["Host", "here"]], "body": "x".repeat(1 << 20)});
    let expect = json!({"equals": "y".repeat(40 * 16_384)});
    let changes = http2(1, json!({"requests": 6, "request": request, "expect": expect}));
    let outcome = drive(&server, changes);
    assert_eq!(outcome["requests"], 6, "{:#}", outcome["detail"]);
}

/// Sends bodies of this length as far as the window goes, and the rest when there is more.
fn keep_to_the_window(mut stream: impl Read + Write, length: usize) {
    let (mut initial, mut answered) = (65_535, 0);
    begin(&mut stream);
    while let Some((kind, flags, number, payload)) = read_frame(&mut stream) {
        let word = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().unwrap()) as usize;
        if kind == SETTINGS && flags & 1 == 0 {
            let settings = (0..payload.len()).step_by(6);
            let mut window = settings.filter(|&at| payload[at..at + 2] == [0, 4]);
            initial = window.next_back().map_or(initial, |at| word(at + 2));
            stream.write_all(&frame(SETTINGS, 1, 0, &[])).unwrap();
        }
        if kind == HEADERS {
            stream.write_all(&frame(HEADERS, END_HEADERS, number, OK)).unwrap();
            answered += 1;
            let (mut window, mut left) = (initial, length);
            while left > 0 {
                let size = left.min(window).min(16_384);
                let flags = if size == left { END_STREAM } else { 0 };
                if size > 0 {
                    let body = vec![b'y'; size];
                    stream.write_all(&frame(DATA, flags, number, &body)).unwrap();
                } else if let Some((8, _, of, more)) = read_frame(&mut stream) {
                    let more = u32::from_be_bytes(more.try_into().unwrap()) as usize;
                    window += if of == number { more } else { 0 };
                }
                (window, left) = (window - size, left - size);
            }
        }
    }
    assert!(answered > 0);
}

#[test]
fn a_server_that_waits_for_the_window() {
    let server = Server::start(|stream, _| keep_to_the_window(stream, 300_000));
    for (http2, waits) in [
        (json!({"streams": 1, "window_bytes": 65_536}), true),
        (json!({"streams": 1, "window_bytes": 300_000}), false),
        (json!({"streams": 1}), false),
    ] {
        let outcome = drive(&server, json!({"requests": 6, "http2": http2}));
        all_answered(&outcome, 6);
        let warnings = outcome["warnings"].to_string();
        assert_eq!(warnings.contains("in 6 replies"), waits, "{warnings}");
    }
}

/// It reads all that comes and gives no more window, so a body beyond the first 65,535 bytes never ends.
#[test]
fn an_upload_that_waits_for_the_window() {
    let server = Server::start(|mut stream, _| {
        begin(&mut stream);
        while request(&mut stream).is_some() {}
    });
    for (bytes, waits) in [(1 << 20, true), (1000, false)] {
        let request = json!({"method": "POST", "headers": [["Host", "here"]], "body": "x".repeat(bytes)});
        let changes = json!({"requests": 2, "connections": 1, "timeout_s": 1, "request": request});
        let outcome = drive(&server, http2(2, changes));
        assert_eq!(outcome["errors"], json!({"timeout": 2}), "{outcome:#}");
        let warnings = outcome["warnings"].to_string();
        assert_eq!(warnings.contains("no room for the rest of 2 request bodies"), waits, "{warnings}");
    }
}

/// `grpc-status` in HPACK: a literal field without indexing; also the content type, whose name is in the static table.
fn grpc(number: u32, ends: &[&[u8]]) -> Vec<u8> {
    let kind: &[u8] = &[&b"\x88\x0f\x10\x10"[..], b"application/grpc"].concat();
    let mut bytes = frame(HEADERS, END_HEADERS, number, kind);
    bytes.extend(frame(DATA, 0, number, b"\0\0\0\0\0"));
    match ends {
        [] => bytes.extend(frame(DATA, END_STREAM, number, b"")),
        [status, ..] => {
            let field = [&b"\0\x0bgrpc-status"[..], &[status.len() as u8], status].concat();
            bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, number, &field));
        }
    }
    bytes
}

#[test]
fn the_status_of_a_grpc_call_is_in_its_trailers() {
    for (status, counted) in [(&[&b"0"[..]][..], "200"), (&[b"14"], "14"), (&[], "2"), (&[b"x"], "2")] {
        let replies: Vec<Vec<u8>> = status.iter().map(|text| text.to_vec()).collect();
        let server = Server::start(move |stream, _| {
            let ends: Vec<&[u8]> = replies.iter().map(Vec::as_slice).collect();
            answer_with(stream, |number| grpc(number, &ends));
        });
        let outcome = drive(&server, http2(3, json!({})));
        assert_eq!(outcome["statuses"], json!({counted: 20}), "{outcome:#}");
        let errors = if counted == "200" { json!({}) } else { json!({"status": 20}) };
        assert_eq!(outcome["errors"], errors, "{outcome:#}");
        let wrong = outcome["first_wrong"].as_str().unwrap();
        assert_eq!(wrong.contains(&format!("grpc-status {counted}")), counted != "200", "{wrong}");
    }
}

#[test]
fn streams_of_messages() {
    let messages = |number| {
        let head = frame(HEADERS, END_HEADERS, number, OK);
        [head, frame(DATA, 0, number, b"a0"), frame(DATA, 0, number, b"a1\n")].concat()
    };
    let server = Server::start(move |stream, _| answer_with(stream, messages));
    let changes = http2(
        4,
        json!({
            "protocol": "stream", "connections": 2, "requests": null, "duration_s": 1,
            "stream": {"first": "a0", "chunk": "a{k}", "interval_s": 0.001},
        }),
    );
    let outcome = drive(&server, changes);
    assert_eq!(outcome["messages"], 16, "{outcome:#}");
    assert_eq!(outcome["errors"], json!({}));
    assert_eq!(outcome["connections"]["open_at_end"], 2);
}

/// A server that takes some requests on a connection, and tells that it took no more, as proxies do.
#[test]
fn requests_that_were_not_processed_are_sent_again() {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    let server = Server::start(move |mut stream, _| {
        begin(&mut stream);
        for turn in 0.. {
            let Some(number) = request(&mut stream) else { return };
            count.fetch_add(1, Ordering::Relaxed);
            let mut bytes = reply(number);
            if turn == 4 {
                bytes.extend(go_away(number, 0));
            }
            if stream.write_all(&bytes).is_err() || turn == 4 {
                // Later bytes are not processed.
                let _ = stream.read_to_end(&mut Vec::new());
                return;
            }
        }
    });
    for pacing in [json!({"kind": "closed"}), json!({"kind": "constant", "rate_per_s": 200})] {
        let changes = http2(3, json!({"requests": 60, "connections": 2, "pacing": pacing}));
        seen.store(0, Ordering::Relaxed);
        let outcome = drive(&server, changes);
        let answered = ["requests", "late_requests"].map(|key| outcome[key].as_u64().unwrap());
        assert_eq!(answered[0] + answered[1], 60, "{outcome:#}");
        assert_eq!(outcome["errors"], json!({}), "{outcome:#}");
        assert!(outcome["connections"]["opened"].as_u64().unwrap() >= 12, "{outcome:#}");
        assert_eq!(outcome["histograms"]["latency"]["count"], 60);
        assert!(pacing["kind"] == "closed" || outcome["intended"] == 60);
        // No request was processed twice.
        assert_eq!(seen.load(Ordering::Relaxed), 60);
    }
}

/// The error, and the server's reaction when a request has come.
#[test]
fn servers_that_break_the_rules() {
    let long = frame(DATA, 0, 1, &vec![0; 20_000]);
    let cut = |number: u32| {
        let head = frame(HEADERS, END_HEADERS, number, OK);
        [head, frame(DATA, 0, number, b"hel")].concat()
    };
    type Reply = Box<dyn Fn(u32) -> Vec<u8> + Send + Sync>;
    let cases: Vec<(&str, Reply)> = vec![
        ("stream-reset", Box::new(|number| frame(RST_STREAM, 0, number, &2u32.to_be_bytes()))),
        (
            "stream-reset",
            Box::new(move |number| [cut(number), frame(RST_STREAM, 0, number, &8u32.to_be_bytes())].concat()),
        ),
        ("goaway", Box::new(|_| frame(GOAWAY, 0, 0, b"\0\0\0\0\0\0\0\x02debug\x1b[31m"))),
        // Nothing is ever processed.
        ("goaway", Box::new(|_| frame(GOAWAY, 0, 0, &[0; 8]))),
        ("goaway", Box::new(|number| frame(RST_STREAM, 0, number, &7u32.to_be_bytes()))),
        ("protocol", Box::new(move |_| long.clone())),
        ("protocol", Box::new(|number| frame(DATA, END_STREAM, number, b"no head"))),
        ("protocol", Box::new(|number| frame(HEADERS, END_HEADERS, number, b"\xff\xff\xff\xff\xff"))),
        ("protocol", Box::new(|_| frame(HEADERS, END_HEADERS, 2, OK))),
        ("protocol", Box::new(|_| frame(SETTINGS, 0, 0, b"odd"))),
        ("protocol", Box::new(|number| frame(8, 0, number, &[0; 4]))),
        ("protocol", Box::new(|_| frame(5, END_HEADERS, 1, b"\0\0\0\x02\x82"))),
        ("status", Box::new(|number| frame(HEADERS, END_HEADERS | END_STREAM, number, b"\x8e"))),
    ];
    for (case, (kind, reply)) in cases.into_iter().enumerate() {
        let server = Server::start(move |stream, _| answer_with(stream, &reply));
        let outcome = drive(&server, http2(1, json!({"requests": 4, "timeout_s": 2})));
        assert_eq!(outcome["requests"], 0, "{case}: {outcome:#}");
        assert_eq!(errors(&outcome), [kind], "{case}: {outcome:#}");
        let detail = outcome["detail"].as_str().unwrap();
        assert!(!detail.contains('\x1b') && !detail.contains("debug"), "{detail}");
    }
}

/// Node does so where the bodies that it holds take too much memory.
#[test]
fn why_some_streams_were_reset() {
    let server = Server::start(move |stream, _| {
        answer_with(stream, |number: u32| match number {
            1 => frame(HEADERS, END_HEADERS | END_STREAM, number, OK),
            _ => frame(RST_STREAM, 0, number, &11u32.to_be_bytes()),
        });
    });
    let outcome = drive(&server, http2(1, json!({"requests": 4, "timeout_s": 2})));
    assert_eq!((&outcome["outcome"], errors(&outcome)), (&json!("ok"), vec!["stream-reset"]), "{outcome:#}");
    assert!(outcome["first_wrong"].as_str().unwrap().contains("ENHANCE_YOUR_CALM"), "{outcome:#}");
}

#[test]
fn floods_are_bounded() {
    let headers = |number: u32| frame(HEADERS, 0, number, OK);
    type Flood = Box<dyn Fn(u32) -> (Vec<u8>, Vec<u8>) + Send + Sync>;
    let floods: Vec<(&str, &[&str], Flood)> = vec![
        (
            "continuation",
            &["too-large"],
            Box::new(move |number| {
                (headers(number), frame(CONTINUATION, 0, number, b"\x00\x01a\x01b").repeat(100))
            }),
        ),
        ("settings", &["send", "timeout"], Box::new(|_| (vec![], frame(SETTINGS, 0, 0, &[]).repeat(500)))),
        ("ping", &["send", "timeout"], Box::new(|_| (vec![], frame(PING, 0, 0, &[1; 8]).repeat(500)))),
        (
            "empty data",
            &["too-large"],
            Box::new(|number| {
                (frame(HEADERS, END_HEADERS, number, OK), frame(DATA, 0, number, b"").repeat(500))
            }),
        ),
        (
            "resets",
            &["stream-reset", "timeout"],
            Box::new(|_| (vec![], frame(RST_STREAM, 0, 1, &8u32.to_be_bytes()).repeat(500))),
        ),
    ];
    for (name, kinds, flood) in floods {
        // It reads nothing any more, so that the answers find no room.
        let server = Server::start(move |mut stream, _| {
            begin(&mut stream);
            let Some(number) = request(&mut stream) else { return };
            let (first, repeated) = flood(number);
            let _ = stream.write_all(&first);
            while stream.write_all(&repeated).is_ok() {}
        });
        let outcome = drive(&server, http2(2, json!({"requests": 2, "connections": 1, "timeout_s": 2})));
        assert_eq!(outcome["requests"], 0, "{name}: {outcome:#}");
        let found = errors(&outcome);
        assert!(!found.is_empty() && found.iter().all(|kind| kinds.contains(kind)), "{name}: {found:?}");
        assert!(outcome["peak_memory_bytes"].as_u64().unwrap() < 96 << 20, "{name}");
    }
}

/// A server that goes away in the middle of a body: it completes what it has begun, or it does not.
#[test]
fn the_end_of_a_connection_while_a_body_arrives() {
    type Ending = fn(u32) -> Vec<u8>;
    let cases: [(&[&str], Ending); 3] = [
        // No error, and all of the body after it.
        (&[], |number| [go_away(number, 0), frame(DATA, END_STREAM, number, b"lo")].concat()),
        // An internal error, and no more of the body.
        (&["truncated"], |number| go_away(number, 2)),
        // No error, and no more of the body.
        (&["truncated"], |number| go_away(number, 0)),
    ];
    for (case, (kinds, ending)) in cases.into_iter().enumerate() {
        let server = Server::start(move |mut stream, _| {
            begin(&mut stream);
            if let Some(number) = request(&mut stream) {
                let head = frame(HEADERS, END_HEADERS, number, OK);
                let body = frame(DATA, 0, number, b"hel");
                let bytes = [head, body, ending(number)].concat();
                dribble(&mut stream, &bytes, 7);
                if !kinds.is_empty() {
                    stream.shutdown(std::net::Shutdown::Write).unwrap();
                }
                // A socket that is closed with bytes unread is reset.
                let _ = stream.read_to_end(&mut Vec::new());
            }
        });
        let changes = json!({"requests": 4, "timeout_s": 5, "expect": {"equals": "hello"}});
        let outcome = drive(&server, http2(1, changes));
        assert_eq!(errors(&outcome), kinds, "{case}: {outcome:#}");
        if kinds.is_empty() {
            assert_eq!(outcome["requests"], 4, "{outcome:#}");
        }
    }
}

/// The bytes that come instead of a server's settings.
#[test]
fn a_server_that_begins_wrongly() {
    for (kinds, bytes) in [
        (["protocol"], b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        // It does not begin, and what it sends is answered.
        (["timeout"], frame(PING, 0, 0, &[1; 8])),
        (["protocol"], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec()),
    ] {
        let sent = bytes.clone();
        let server = Server::start(move |mut stream, _| {
            let _ = stream.read(&mut [0; 24]);
            let _ = stream.write_all(&sent);
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let changes = json!({"requests": 4, "timeout_s": 2});
        let outcome = drive(&server, http2(2, changes));
        assert_eq!(errors(&outcome), kinds, "{bytes:?} {outcome:#}");
    }
}

#[test]
fn servers_without_http2() {
    let old = Server::replying(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", true);
    let outcome = drive(&old, http2(2, json!({"requests": 4, "timeout_s": 2})));
    assert_eq!(outcome["requests"], 0, "{outcome:#}");
    assert!(!errors(&outcome).contains(&"timeout"), "{outcome:#}");
    let silent = Server::start(|mut stream, _| {
        let _ = stream.read(&mut [0; 1000]);
        std::thread::sleep(Duration::from_secs(5));
    });
    let outcome = drive(&silent, http2(2, json!({"requests": 4, "timeout_s": 1})));
    assert_eq!(errors(&outcome), ["timeout"], "{outcome:#}");
    let tls = json!({"server_name": "localhost", "insecure": true});
    for protocols in [&["http/1.1"][..], &[]] {
        let server = serve("good", protocols, |mut stream, _| {
            let _ = stream.read(&mut [0; 100]);
        });
        let outcome = drive(&server, http2(2, json!({"requests": 4, "tls": tls})));
        assert_eq!(errors(&outcome), ["no-http2"], "{outcome:#}");
    }
    let modern = serve("good", &["h2"], |mut stream, _| {
        let _ = stream.read(&mut [0; 100]);
    });
    let outcome = drive(&modern, json!({"requests": 4, "tls": tls}));
    assert_eq!(errors(&outcome), ["http2"], "{outcome:#}");
    assert!(outcome["detail"].to_string().contains("refuses the protocol `http/1.1`"), "{outcome:#}");
}

#[test]
fn what_is_only_for_http1() {
    let server = Server::start(|stream, _| answer(stream));
    let request = json!({"headers": [["Host", "here"]], "close": true});
    for changes in [
        http2(0, json!({})),
        http2(10_001, json!({})),
        http2(1, json!({ "request": request })),
        http2(1, json!({"protocol": "tcp", "line": "1"})),
        http2(1, json!({"protocol": "ws", "line": "1"})),
    ] {
        is_refused(&plan(&server, changes), "http2");
    }
}
