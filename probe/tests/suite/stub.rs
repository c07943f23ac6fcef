//! Upstreams that the probe plays, called over real sockets.

use crate::common::*;
use serde_json::{json, Value};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

struct Stub {
    probe: std::process::Child,
    lines: std::io::BufReader<std::process::ChildStdout>,
    ports: Vec<u16>,
}

impl Stub {
    fn start(upstreams: Value) -> Stub {
        let request = json!({"version": 1, "stub": {"upstreams": upstreams, "seed": 7}});
        let mut probe = std::process::Command::new(PROBE)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(probe.stdin.as_mut().unwrap(), "{request}").unwrap();
        let mut lines = reader(&mut probe);
        let listening = answer(&mut lines);
        assert_eq!(listening["type"], "listening");
        let ports = serde_json::from_value(listening["ports"].clone()).unwrap();
        Stub { probe, lines, ports }
    }

    fn connect(&self, upstream: usize) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.ports[upstream])).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Ends it by the end of its stdin.
    fn end(mut self) -> Value {
        drop(self.probe.stdin.take());
        let outcome = answer(&mut self.lines);
        assert!(self.probe.wait().unwrap().success());
        outcome
    }
}

fn ask(stream: &mut TcpStream, id: &str) {
    write!(stream, "GET /?id={id} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
}

fn reply(stream: &mut TcpStream, length: usize) -> String {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

const OK: &str = "HTTP/1.1 200 Stub\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn answers_after_its_delay_and_sees_what_overlaps() {
    let upstream = json!({"delay": {"kind": "constant", "s": 1.5}, "body": "ok"});
    let stub = Stub::start(json!([upstream, upstream, upstream]));
    let mut streams: Vec<_> = (0..3).map(|number| stub.connect(number)).collect();
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
    let outcome = stub.end();
    assert_eq!(outcome["calls"], json!([4, 2, 2]));
    assert_eq!(outcome["calls_per_request"], json!({"3": 1, "4": 1}));
    assert_eq!((&outcome["overlapped"], &outcome["apart"]), (&json!(1), &json!(1)), "{outcome}");
    assert_eq!(outcome["without_id"], 1);
}

#[test]
fn requests_in_any_pieces_and_many_at_once() {
    let stub = Stub::start(json!([{"delay": {"kind": "constant", "s": 0}, "body": "ok"}]));
    let mut stream = stub.connect(0);
    for byte in b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" {
        stream.write_all(&[*byte]).unwrap();
    }
    assert_eq!(reply(&mut stream, OK.len()), OK);
    let many = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc".repeat(50);
    stream.write_all(many.as_bytes()).unwrap();
    assert_eq!(reply(&mut stream, OK.len() * 50), OK.repeat(50));
    write!(stream, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "HTTP/1.1 200 Stub\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
    assert_eq!(stub.end()["calls"], json!([52]));
}

#[test]
fn upstreams_that_say_no_and_requests_that_are_none() {
    let stub = Stub::start(json!([{"delay": {"kind": "constant", "s": 0}, "status": 503}]));
    let mut refuses = stub.connect(0);
    ask(&mut refuses, "a");
    assert!(reply(&mut refuses, 12).ends_with("503"));
    let mut garbage = stub.connect(0);
    garbage.write_all(b"\0\0\0\r\n\r\n").unwrap();
    assert_eq!(garbage.read(&mut [0]).unwrap_or(0), 0);
    assert_eq!(stub.end()["refused"], 1);
}

#[test]
fn a_signal_ends_it_and_bad_plans_get_one_line() {
    let mut stub = Stub::start(json!([{"delay": {"kind": "lognormal", "median_s": 0.1, "sigma": 0.3}}]));
    signal(stub.probe.id(), rustix::process::Signal::TERM);
    assert_eq!(answer(&mut stub.lines)["outcome"], "ok");
    assert!(stub.probe.wait().unwrap().success());
    for (upstreams, said) in [
        (json!([]), "upstreams"),
        (json!([{"delay": {"kind": "constant", "s": -1}}]), "times"),
        (json!([{"delay": {"kind": "often"}}]), "variant"),
        (json!([{"delay": {"kind": "constant", "s": 1}, "status": 20}]), "status"),
    ] {
        let request = json!({"version": 1, "stub": {"upstreams": upstreams}});
        let talk = refused(&format!("{request}\n"));
        assert!(talk.contains(said), "{talk}");
    }
}

/// An answer that the stub itself gives late took as long as it took: the time is not the gateway's.
#[test]
fn what_the_stub_adds_to_its_delay_is_its_own() {
    let is_counted = || {
        let stub = Stub::start(json!([{"delay": {"kind": "constant", "s": 0.5}, "body": "ok"}]));
        let mut stream = stub.connect(0);
        ask(&mut stream, "late");
        std::thread::sleep(Duration::from_millis(200));
        let stopped = Instant::now();
        signal(stub.probe.id(), rustix::process::Signal::STOP);
        std::thread::sleep(Duration::from_millis(800));
        let stood_still = stopped.elapsed();
        signal(stub.probe.id(), rustix::process::Signal::CONT);
        assert_eq!(reply(&mut stream, OK.len()), OK);
        let slowest_ns = stub.end()["slowest_ns"]["max"].as_u64().unwrap();
        slowest_ns >= stood_still.as_nanos() as u64
    };
    // On a busy host the request may not have been read when the stub is stopped.
    assert!((0..10).any(|_| is_counted()));
}
