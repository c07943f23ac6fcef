//! WebSockets: echo, and streams of messages, from good servers and bad ones.

use crate::common::certificates::{file, serve};
use crate::common::driving::*;
use crate::common::server::{dribble, request, Server};
use ring::digest::{digest, SHA1_FOR_LEGACY_USE_ONLY};
use serde_json::{json, Value};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;
use tungstenite::protocol::{Role, WebSocket};
use tungstenite::Message;

pub fn websocket(mut changes: Value) -> Value {
    let own = json!({"protocol": "ws", "line": "message {n}", "templates": {}});
    for (key, value) in own.as_object().unwrap() {
        if changes.get(key).is_none() {
            changes[key] = value.clone();
        }
    }
    changes
}

/// Text in base64, by openssl: the engine has an implementation of its own.
fn base64(bytes: &[u8]) -> String {
    let mut command = Command::new("openssl");
    let command = command.args(["base64", "-A"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

/// Accepts the handshake; the head of the request.
pub fn accept(stream: &mut (impl Read + Write)) -> Option<String> {
    let head = request(stream)?;
    let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "))?;
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let accept = base64(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()).as_ref());
    let reply = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    stream.write_all(reply.as_bytes()).ok()?;
    Some(head)
}

/// A WebSocket on this connection.
pub fn opened<S: Read + Write>(mut stream: S) -> WebSocket<S> {
    accept(&mut stream);
    WebSocket::from_raw_socket(stream, Role::Server, None)
}

/// Sends every message back.
pub fn echo(stream: impl Read + Write) {
    let mut socket = opened(stream);
    while let Ok(message) = socket.read() {
        // A ping in between, which must be answered and is no message.
        let _ = socket.send(Message::Ping(vec![1, 2].into()));
        if socket.send(message).is_err() {
            return;
        }
    }
}

#[test]
fn every_message_comes_back() {
    let plain = Server::start(|stream, _| echo(stream));
    let secure = serve("good", &["http/1.1"], |stream, _| echo(stream));
    let tls = json!({"server_name": "localhost", "cacert": file("ca.pem")});
    for (server, tls) in [(plain, Value::Null), (secure, tls)] {
        for pacing in [json!({"kind": "closed"}), json!({"kind": "constant", "rate_per_s": 200})] {
            let changes = websocket(json!({
                "connections": 3, "threads": 2, "requests": 60, "pacing": pacing, "tls": tls,
            }));
            let outcome = drive(&server, changes);
            all_answered(&outcome, 60);
            for histogram in ["latency", "first_byte"] {
                assert_eq!(outcome["histograms"][histogram]["count"], 60, "{histogram}");
            }
            let opened = &outcome["connections"]["opened"];
            assert_eq!(&outcome["histograms"]["handshake"]["count"], opened);
        }
    }
}

#[test]
fn messages_of_any_size_and_kind_in_any_pieces() {
    let slow = Server::start(|mut stream, number| {
        accept(&mut stream);
        let mut socket = WebSocket::from_raw_socket(stream.try_clone().unwrap(), Role::Server, None);
        while let Ok(message) = socket.read() {
            let bytes = message.into_data();
            // A text in two fragments.
            let (head, tail) = bytes.split_at(bytes.len() / 2);
            for (first, part) in [(0x01, head), (0x80, tail)] {
                let length = part.len() as u8;
                dribble(&mut stream, &[&[first, length], part].concat(), 1 + number as usize);
            }
        }
    });
    let changes = websocket(json!({"requests": 6, "connections": 2}));
    let outcome = drive(&slow, changes);
    assert_eq!(outcome["requests"], 6, "{outcome:#}");
    let server = Server::start(|stream, _| echo(stream));
    for line in [String::new(), "\u{ff}\u{fe}".into(), "x".repeat(300), "y".repeat(65_536)] {
        let changes = websocket(json!({"requests": 4, "line": line, "templates": null}));
        let outcome = drive(&server, changes);
        all_answered(&outcome, 4);
    }
}

#[test]
fn what_is_expected_replaces_the_echo() {
    let server = Server::start(|stream, _| {
        let mut socket = opened(stream);
        while socket.read().is_ok() {
            let _ = socket.send(Message::text("pong 1"));
        }
    });
    for (expect, kinds) in [
        (json!({"equals": "pong 1"}), vec![]),
        (json!({"matches": "pong [0-9]"}), vec![]),
        (json!({"contains": "ping"}), vec!["content"]),
        (json!({}), vec!["content"]),
    ] {
        let outcome = drive(&server, websocket(json!({"expect": expect, "line": "ping"})));
        assert_eq!(errors(&outcome), kinds, "{outcome:#}");
    }
}

#[test]
fn streams_of_messages() {
    let server = Server::start(|mut stream, _| {
        let head = accept(&mut stream).unwrap();
        let id = head.split(&['/', ' '][..]).nth(3).unwrap().to_owned();
        assert!(head.contains("\r\nX-One: 1\r\n"), "{head}");
        let mut socket = WebSocket::from_raw_socket(stream, Role::Server, None);
        for text in [format!("Welcome: {id}"), format!("Chunk 1 for {id}"), format!("Chunk 3 for {id}")] {
            socket.send(Message::text(text)).unwrap();
        }
        let _ = socket.read();
    });
    let changes = json!({
        "protocol": "stream", "connections": 3, "requests": null, "duration_s": 1,
        "request": {"target": "/test/{id}", "headers": [["Host", "here"], ["X-One", "1"]]},
        "stream": {
            "framing": "message", "first": "Welcome: {id}", "chunk": "Chunk {k} for {id}", "interval_s": 0.1,
        },
    });
    let outcome = drive(&server, changes.clone());
    assert_eq!(outcome["messages"], 9, "{outcome:#}");
    assert_eq!(outcome["sequence"]["gaps"], 3);
    assert_eq!(outcome["errors"], json!({}));
    assert_eq!(outcome["connections"]["open_at_end"], 3);
    // One that asks for its messages, and whose server ends it.
    let asked = Server::start(|stream, _| {
        let mut socket = opened(stream);
        assert_eq!(socket.read().unwrap(), Message::text("subscribe"));
        socket.send(Message::text("a")).unwrap();
        let _ = socket.close(None);
        let _ = socket.read();
    });
    let changes = json!({
        "protocol": "stream", "requests": null, "duration_s": 1, "line": "subscribe",
        "stream": {"framing": "message"},
    });
    let outcome = drive(&asked, changes);
    assert_eq!(errors(&outcome), ["ended"], "{outcome:#}");
    assert!(outcome["messages"].as_u64().unwrap() >= 2);
}

/// The error, and the bytes that the server sends after its handshake when the first message has come.
#[test]
fn frames_that_break_the_rules() {
    let huge = [&b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"[..], &[0; 1000]].concat();
    let long = [&b"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x01"[..], &[0; 65_537]].concat();
    let large_ping = [&b"\x89\x7e\x00\x7e"[..], &[0; 126]].concat();
    let cases: [(&str, Vec<u8>); 13] = [
        // Masked, as a server's must not be.
        ("protocol", b"\x81\x81\x01\x02\x03\x04\x60".to_vec()),
        ("protocol", b"\xf1\x01x".to_vec()),
        ("protocol", b"\x83\x01x".to_vec()),
        ("protocol", b"\x80\x01x".to_vec()),
        // A ping in fragments; text that is not UTF-8.
        ("protocol", b"\x09\x01x".to_vec()),
        ("protocol", b"\x81\x02\xff\xfe".to_vec()),
        ("too-large", huge),
        ("too-large", long),
        ("closed-early", b"\x88\x02\x03\xe8".to_vec()),
        // Control frames that are too long; close frames with half a code, a reserved one (an end all the same), and what is
        // not UTF-8.
        ("protocol", large_ping),
        ("protocol", b"\x88\x01\x03".to_vec()),
        ("closed-early", b"\x88\x02\x03\xed".to_vec()),
        ("protocol", b"\x88\x04\x03\xe8\xff\xfe".to_vec()),
    ];
    for (kind, frame) in cases {
        let bytes = frame.clone();
        let server = Server::start(move |mut stream, _| {
            accept(&mut stream);
            let _ = stream.read(&mut [0; 100]);
            let _ = stream.write_all(&bytes);
            let _ = stream.read(&mut [0; 100]);
        });
        let outcome = drive(&server, websocket(json!({"requests": 4})));
        assert_eq!(errors(&outcome), [kind], "{frame:?} {outcome:#}");
        assert!(outcome["peak_memory_bytes"].as_u64().unwrap() < 64 << 20);
    }
}

#[test]
fn floods_are_bounded() {
    type Serve = fn(&mut TcpStream);
    let fragments: Serve = |stream| {
        let _ = stream.write_all(b"\x01\x01x");
        while stream.write_all(&b"\x00\x01x".repeat(1000)).is_ok() {}
    };
    // Without a byte between them, so that they are never too large.
    let nothing: Serve = |stream| {
        let _ = stream.write_all(b"\x01\x00");
        while stream.write_all(&b"\x00\x00".repeat(1000)).is_ok() {}
    };
    // They are not read, so that the answers find no room.
    let pings: Serve = |stream| while stream.write_all(&b"\x89\x04ping".repeat(1000)).is_ok() {};
    for (serve, kinds) in [
        (fragments, ["too-large"].as_slice()),
        (nothing, &["timeout"]),
        (pings, &["send", "timeout", "reset"]),
    ] {
        let server = Server::start(move |mut stream, _| {
            accept(&mut stream);
            serve(&mut stream);
        });
        let outcome = drive(&server, websocket(json!({"requests": 2, "timeout_s": 2})));
        let found = errors(&outcome);
        assert!(!found.is_empty() && found.iter().all(|kind| kinds.contains(kind)), "{outcome:#}");
        assert!(outcome["peak_memory_bytes"].as_u64().unwrap() < 96 << 20);
    }
    // A message that nobody asked for.
    let chatty = Server::start(|stream, _| {
        let mut socket = opened(stream);
        while let Ok(message) = socket.read() {
            let _ = socket.write(message);
            let _ = socket.send(Message::text("more"));
        }
    });
    let outcome = drive(&chatty, websocket(json!({})));
    assert!(errors(&outcome).iter().all(|kind| ["unsolicited", "content"].contains(kind)), "{outcome:#}");
    assert_ne!(outcome["errors"], json!({}));
}

#[test]
fn handshakes_that_fail() {
    for (kind, reply, text) in [
        ("upgrade", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "it answers 404"),
        ("upgrade", "HTTP/1.1 101 Fine\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n", "Accept is wrong"),
        ("protocol", "220 mail\r\n", "not HTTP/1.1"),
        ("handshake-timeout", "HTTP/1.1 101 Switching", ""),
    ] {
        let server = Server::start(move |mut stream, _| {
            request(&mut stream);
            let _ = stream.write_all(reply.as_bytes());
            std::thread::sleep(Duration::from_secs(5));
        });
        let changes = websocket(json!({"requests": null, "duration_s": 30, "timeout_s": 1}));
        let outcome = drive(&server, changes);
        assert_eq!(errors(&outcome), [kind], "{outcome:#}");
        assert!(outcome["detail"].as_str().unwrap().contains(text), "{outcome:#}");
    }
}
