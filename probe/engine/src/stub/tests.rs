//! Upstreams, called over real sockets.

use super::background::Background;
use super::*;
use serde_json::{json, Value};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const OK: &str = "HTTP/1.1 200 Stub\r\nContent-Length: 2\r\n\r\nok";

fn plan(upstreams: Value) -> StubPlan {
    serde_json::from_value(json!({"upstreams": upstreams, "seed": 7})).unwrap()
}

/// Upstreams that answer, and connections to each.
fn started(upstreams: Value) -> (Background, Vec<TcpStream>) {
    let plan = plan(upstreams);
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

fn reply(stream: &mut TcpStream, length: usize) -> String {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn answers_after_its_delay_and_sees_what_overlaps() {
    let upstream = json!({"delay": {"kind": "constant", "s": 1.5}, "body": "ok"});
    let (stub, mut streams) = started(json!([upstream, upstream, upstream]));
    let begun = Instant::now();
    streams.iter_mut().for_each(|stream| ask(stream, "together"));
    for stream in &mut streams {
        assert_eq!(reply(stream, OK.len()), OK);
    }
    let least = Duration::from_millis(1500);
    assert!(begun.elapsed() >= least);
    for stream in &mut streams {
        let begun = Instant::now();
        ask(stream, "apart");
        assert_eq!(reply(stream, OK.len()), OK);
        assert!(begun.elapsed() >= least);
    }
    // Without an id, and by the header.
    write!(streams[0], "GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    reply(&mut streams[0], OK.len());
    write!(streams[0], "POST / HTTP/1.1\r\nX-Request-ID: apart\r\nContent-Length: 3\r\n\r\nabc").unwrap();
    reply(&mut streams[0], OK.len());
    let ledger = stub.finish().unwrap().ledger;
    let (count, overlapped, slowest_ns) = ledger.calls_of("together").unwrap();
    assert_eq!((count, overlapped), (3, true));
    assert!(slowest_ns >= 1_500_000_000);
    let (count, overlapped, _) = ledger.calls_of("apart").unwrap();
    assert_eq!((count, overlapped), (4, false));
}

#[test]
fn requests_in_any_pieces_and_many_at_once() {
    let (_stub, mut streams) = started(json!([{"delay": {"kind": "constant", "s": 0}, "body": "ok"}]));
    let stream = &mut streams[0];
    for byte in b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" {
        stream.write_all(&[*byte]).unwrap();
    }
    assert_eq!(reply(stream, OK.len()), OK);
    let many = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc".repeat(50);
    stream.write_all(many.as_bytes()).unwrap();
    assert_eq!(reply(stream, OK.len() * 50), OK.repeat(50));
    write!(stream, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "HTTP/1.1 200 Stub\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
}

#[test]
fn upstreams_that_say_no_and_requests_that_are_none() {
    let upstream = json!({"delay": {"kind": "constant", "s": 0}, "status": 503});
    let (_stub, mut streams) = started(json!([upstream, upstream]));
    ask(&mut streams[0], "a");
    assert!(reply(&mut streams[0], 12).ends_with("503"));
    streams[1].write_all(b"\0\0\0\r\n\r\n").unwrap();
    assert_eq!(streams[1].read(&mut [0]).unwrap_or(0), 0);
}

#[test]
fn bad_plans_are_refused() {
    for (upstreams, said) in [
        (json!([]), "upstreams"),
        (json!([{"delay": {"kind": "constant", "s": -1}}]), "times"),
        (json!([{"delay": {"kind": "constant", "s": 1}, "status": 20}]), "status"),
    ] {
        let why = plan(upstreams).check().unwrap_err();
        assert!(why.contains(said), "{why}");
    }
    let often: Result<StubPlan, _> =
        serde_json::from_value(json!({"upstreams": [{"delay": {"kind": "often"}}]}));
    assert!(often.is_err());
}

/// An answer that the stub itself gives late took as long as it took: the time is not the gateway's.
#[test]
fn what_the_stub_adds_to_its_delay_is_its_own() {
    let plan = plan(json!([{"delay": {"kind": "constant", "s": 0.01}, "body": "ok"}]));
    let mut stub = Stub::listen(&plan).unwrap();
    let mut stream = connect(stub.ports[0]);
    ask(&mut stream, "late");
    let (mut events, mut buffer) = (Vec::with_capacity(EVENTS), vec![0; BUFFER_BYTES]);
    while stub.ledger.calls_of("late").is_none() {
        stub.turn(&mut events, &mut buffer);
    }
    std::thread::sleep(Duration::from_millis(300));
    stub.turn(&mut events, &mut buffer);
    assert_eq!(reply(&mut stream, OK.len()), OK);
    let (.., slowest_ns) = stub.ledger.calls_of("late").unwrap();
    assert!(slowest_ns >= 300_000_000);
}
