//! Requests and replies that are large.

use crate::common::certificates::{file, serve};
use crate::common::driving::*;
use crate::common::server::{request, Server, OK};
use crate::common::*;
use serde_json::{json, Value};
use std::io::{Read, Write};

/// A load whose body follows its request.
fn load_with_body(request: &Value, body: &[u8]) -> Trial {
    let probe = start_lines([request.to_string().as_bytes(), b"\n", body].concat());
    parse(probe.wait_with_output().unwrap())
}

/// Bytes of all values, whose place in a body shows.
fn body(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|place| (place % 257) as u8).collect()
}

/// Reads requests with a body of this size, checks it, and answers.
fn check_bodies(mut stream: impl Read + Write, bytes: usize) {
    let mut expected = vec![0; 257 * 256];
    expected.copy_from_slice(&body(257 * 256));
    let mut buffer = vec![0; expected.len()];
    while let Some(head) = request(&mut stream) {
        assert!(head.contains(&format!("Content-Length: {bytes}\r\n")), "{head}");
        let mut left = bytes;
        while left > 0 {
            let count = left.min(buffer.len());
            stream.read_exact(&mut buffer[..count]).unwrap();
            assert!(buffer[..count] == expected[..count]);
            left -= count;
        }
        if stream.write_all(OK).is_err() {
            return;
        }
    }
}

#[test]
fn a_body_of_100_megabytes_is_sent() {
    const BYTES: usize = 100 << 20;
    let server = Server::start(|stream, _| check_bodies(stream, BYTES));
    let post = json!({"method": "POST", "headers": [["Host", "h"]], "body_bytes": BYTES});
    let changes = json!({"request": post, "requests": 2, "connections": 1});
    let outcome = load_with_body(&plan(&server, changes), &body(BYTES)).outcome;
    all_answered(&outcome, 2);
    assert!(outcome["bytes_out"].as_u64().unwrap() > 2 * BYTES as u64);
}

#[test]
fn a_large_body_inside_tls() {
    const BYTES: usize = 20 << 20;
    let server = serve("good", &["http/1.1"], |stream, _| check_bodies(stream, BYTES));
    let tls = json!({"server_name": "localhost", "cacert": file("ca.pem")});
    let post = json!({"method": "POST", "headers": [["Host", "h"]], "body_bytes": BYTES});
    let changes = json!({"request": post, "tls": tls, "requests": 2, "connections": 1});
    let outcome = load_with_body(&plan(&server, changes), &body(BYTES)).outcome;
    all_answered(&outcome, 2);
}

#[test]
fn a_body_that_does_not_come_is_one_line() {
    let server = Server::replying(OK, false);
    let request = |bytes: u64| {
        let post = json!({"method": "POST", "headers": [["Host", "h"]], "body_bytes": bytes});
        plan(&server, json!({ "request": post }))
    };
    let talk = refused(&format!("{}\nabc", request(9)));
    assert!(talk.contains("stdin ended within the body"), "{talk}");
    let talk = refused(&format!("{}\nabc\n", request(1 << 40)));
    assert!(talk.contains("body_bytes"), "{talk}");
}

/// A head has at most 256 KiB and a thousand fields, whatever it consists of; what the server does on other connections counts.
#[test]
fn a_head_of_256_kilobytes_is_too_large() {
    let fields: String = (0..8).map(|n| format!("X-{n}: {}\r\n", "y".repeat(32 << 10))).collect();
    let many: String = (0..16_000).map(|n| format!("X-{n}: 123\r\n")).collect();
    for fields in [fields, many] {
        assert!(fields.len() >= 200_000);
        let large = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{fields}\r\n").into_bytes();
        let server = Server::start(move |mut stream, number| {
            while request(&mut stream).is_some() {
                let reply = if number % 2 == 0 { &large } else { OK };
                if stream.write_all(reply).is_err() {
                    return;
                }
            }
        });
        let outcome = drive(&server, json!({"requests": 20}));
        let errors = outcome["errors"]["too-large"].as_u64().unwrap_or(0);
        assert!(errors > 0, "{outcome:#}");
        assert_eq!(outcome["requests"].as_u64().unwrap() + errors, 20, "{outcome:#}");
    }
}
