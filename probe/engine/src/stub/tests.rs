//! Upstreams, called over real sockets.

use super::background::Background;
use super::*;
use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// This many upstreams, which answer after this time.
fn plan(upstreams: usize, median_s: f64) -> StubPlan {
    let upstream = json!({"median_s": median_s, "sigma": 0});
    serde_json::from_value(json!({"upstreams": vec![upstream; upstreams], "seed": 7})).unwrap()
}

/// Such upstreams at work, and connections to each.
fn started(upstreams: usize, median_s: f64) -> (Background, Vec<TcpStream>) {
    let plan = plan(upstreams, median_s);
    let stub = Stub::listen(&plan).unwrap();
    let streams = stub.ports.iter().map(|&port| connect(port)).collect();
    (Background::start(stub).unwrap(), streams)
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

fn ask(stream: &mut TcpStream, id: &str) {
    write!(stream, "GET /?id={id} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
}

/// Reads this many answers.
fn read_answers(stream: &mut TcpStream, count: usize) {
    let mut bytes = vec![0; KEPT.len() * count];
    stream.read_exact(&mut bytes).unwrap();
    assert!(bytes == KEPT.repeat(count));
}

#[test]
fn answers_after_its_delay_and_sees_what_overlaps() {
    let (stub, mut streams) = started(3, 1.5);
    let begun = Instant::now();
    streams.iter_mut().for_each(|stream| ask(stream, "together"));
    for stream in &mut streams {
        read_answers(stream, 1);
    }
    let least = Duration::from_millis(1500);
    assert!(begun.elapsed() >= least);
    for stream in &mut streams {
        let begun = Instant::now();
        ask(stream, "apart");
        read_answers(stream, 1);
        assert!(begun.elapsed() >= least);
    }
    // Without an id, and by the header.
    write!(streams[0], "GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    read_answers(&mut streams[0], 1);
    write!(streams[0], "POST / HTTP/1.1\r\nX-Request-ID: apart\r\nContent-Length: 3\r\n\r\nabc").unwrap();
    read_answers(&mut streams[0], 1);
    let ledger = stub.finish().unwrap().ledger;
    let (count, overlapped, slowest_ns) = ledger.calls_of("together").unwrap();
    assert_eq!((count, overlapped), (3, true));
    assert!(slowest_ns >= 1_500_000_000);
    let (count, overlapped, _) = ledger.calls_of("apart").unwrap();
    assert_eq!((count, overlapped), (4, false));
}

#[test]
fn requests_in_any_pieces_and_many_at_once() {
    let (_stub, mut streams) = started(1, 0.0);
    let stream = &mut streams[0];
    for byte in b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" {
        stream.write_all(&[*byte]).unwrap();
    }
    read_answers(stream, 1);
    let many = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc".repeat(50);
    stream.write_all(many.as_bytes()).unwrap();
    read_answers(stream, 50);
    write!(stream, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert!(rest == LAST);
}

#[test]
fn what_is_no_request_ends_its_connection() {
    let (_stub, mut streams) = started(1, 0.0);
    streams[0].write_all(b"\0\0\0\r\n\r\n").unwrap();
    assert_eq!(streams[0].read(&mut [0]).unwrap_or(0), 0);
}

#[test]
fn bad_plans_are_refused() {
    let right = json!({"median_s": 1, "sigma": 1, "tail_s": 1, "tail_share": 0.5});
    for (key, value) in [("median_s", -1.0), ("sigma", 9.0), ("tail_s", 1e9), ("tail_share", 1.1)] {
        let mut upstream = right.clone();
        upstream[key] = value.into();
        let plan: StubPlan = serde_json::from_value(json!({"upstreams": [right, upstream]})).unwrap();
        let why = plan.check().unwrap_err();
        assert!(why.contains(key), "{why}");
    }
    assert!(plan(0, 0.0).check().is_err() && plan(65, 0.0).check().is_err());
    assert_eq!(plan(64, 0.0).check(), Ok(()));
}

/// A caller that reads no answer is asked for none: requests wait, in bounded memory.
#[test]
fn answers_that_are_not_read_take_no_memory() {
    let mut stub = Stub::listen(&plan(1, 0.0)).unwrap();
    let mut stream = connect(stub.ports[0]);
    stream.set_nonblocking(true).unwrap();
    let many = "GET / HTTP/1.1\r\n\r\n".repeat(1000);
    let (mut events, mut buffer) = (Vec::with_capacity(EVENTS), vec![0; BUFFER_BYTES]);
    let mut is_open = true;
    while is_open {
        is_open =
            !matches!(stream.write(many.as_bytes()), Err(error) if error.kind() != ErrorKind::WouldBlock);
        stub.turn(&mut events, &mut buffer);
        assert!(stub.held_bytes <= 4 * BUFFER_BYTES, "{}", stub.held_bytes);
    }
    assert_eq!((stub.held_bytes, stub.flood()), (0, None));
}

/// Incomplete requests are held in a bounded amount of memory.
#[test]
fn callers_that_hold_too_much_are_a_flood() {
    let mut stub = Stub::listen(&plan(1, 0.0)).unwrap();
    let mut stream = connect(stub.ports[0]);
    stub.held_bytes = MAX_HELD_BYTES - 100;
    write!(stream, "GET / HTTP/1.1\r\nA: {}", "x".repeat(200)).unwrap();
    let (mut events, mut buffer) = (Vec::with_capacity(EVENTS), vec![0; BUFFER_BYTES]);
    while stub.flood().is_none() {
        stub.turn(&mut events, &mut buffer);
    }
    assert_eq!(stub.held_bytes, MAX_HELD_BYTES - 100);
    assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
}

/// If the stub itself answers late, the call counts with its real length: that time is not the gateway's.
#[test]
fn what_the_stub_adds_to_its_delay_is_its_own() {
    let mut stub = Stub::listen(&plan(1, 0.01)).unwrap();
    let mut stream = connect(stub.ports[0]);
    ask(&mut stream, "late");
    let (mut events, mut buffer) = (Vec::with_capacity(EVENTS), vec![0; BUFFER_BYTES]);
    while stub.ledger.calls_of("late").is_none() {
        stub.turn(&mut events, &mut buffer);
    }
    std::thread::sleep(Duration::from_millis(300));
    stub.turn(&mut events, &mut buffer);
    read_answers(&mut stream, 1);
    let (.., slowest_ns) = stub.ledger.calls_of("late").unwrap();
    assert!(slowest_ns >= 300_000_000);
}
