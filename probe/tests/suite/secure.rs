//! Loads inside TLS, against good servers and bad ones.

use crate::common::certificates::{file, serve, serve_versions, Records, Secure};
use crate::common::driving::*;
use crate::common::is_refused;
use crate::common::server::{answer_all, dribble, request, Server, OK};
use serde_json::{json, Value};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Changes of a plan, with TLS that trusts the tests' authority.
fn secure(mut changes: Value) -> Value {
    changes["tls"] = json!({"server_name": "localhost", "cacert": file("ca.pem")});
    changes
}

fn replying(certificate: &str, reply: &'static [u8]) -> Server {
    serve(certificate, &["http/1.1"], move |stream, _| answer_all(stream, |_| reply.to_vec()))
}

#[test]
fn closed_loops_and_open_ones() {
    let server = replying("good", OK);
    for pacing in [json!({"kind": "closed"}), json!({"kind": "constant", "rate_per_s": 200})] {
        let changes = json!({
            "connections": 3, "threads": 2, "requests": 60, "pacing": pacing,
            "expect": {"status": 200, "equals": "hello"},
        });
        let outcome = drive(&server, secure(changes));
        all_answered(&outcome, 60);
        assert_eq!(outcome["statuses"], json!({"200": 60}));
        for histogram in ["latency", "service", "first_byte"] {
            assert_eq!(outcome["histograms"][histogram]["count"], 60, "{histogram}");
        }
        let opened = outcome["connections"]["opened"].as_u64().unwrap();
        assert_eq!(outcome["histograms"]["handshake"]["count"], opened);
        // On a busy machine all requests can be over before the last handshake is.
        let connects = outcome["histograms"]["connect"]["count"].as_u64().unwrap();
        assert!((opened..=3).contains(&connects), "{connects} of {opened}");
        let security = outcome["security"].as_str().unwrap();
        assert!(security.starts_with("TLSv1.3 TLS13_AES_"), "{security}");
        // Records are longer than what they carry.
        assert!(outcome["bytes_in"].as_u64().unwrap() > 60 * OK.len() as u64);
    }
}

#[test]
fn a_handshake_for_each_request() {
    let server = replying("good", OK);
    let request = json!({"headers": [["Host", "here"]], "close": true});
    let outcome = drive(&server, secure(json!({"requests": 8, "request": request})));
    assert_eq!(outcome["requests"], 8, "{outcome:#}");
    assert_eq!(outcome["histograms"]["handshake"]["count"], 8);
    assert_eq!(outcome["errors"], json!({}));
}

#[test]
fn records_byte_by_byte() {
    struct Slow(TcpStream);
    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(buffer)
        }
    }
    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            dribble(&mut self.0, bytes, 1);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let slow = serve("good", &[], |stream, _| {
        let mut stream = rustls::StreamOwned::new(stream.conn, Slow(stream.sock));
        while request(&mut stream).is_some() {
            stream.write_all(OK).unwrap();
        }
    });
    let outcome = drive(&slow, secure(json!({"requests": 4, "expect": {"equals": "hello"}})));
    assert_eq!(outcome["requests"], 4, "{outcome:#}");
}

#[test]
fn streams() {
    let streams = serve("good", &[], |mut stream, _| {
        request(&mut stream);
        let _ =
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na0\r\n2\r\na1\r\n");
        let _ = stream.read(&mut [0]);
    });
    let changes = json!({
        "protocol": "stream", "connections": 3, "requests": null, "duration_s": 1,
        "stream": {"first": "a0", "chunk": "a{k}", "interval_s": 0.001},
    });
    let outcome = drive(&streams, secure(changes));
    assert_eq!(outcome["messages"], 6, "{outcome:#}");
    assert_eq!(outcome["histograms"]["handshake"]["count"], 3);
    assert_eq!(outcome["errors"], json!({}));
}

#[test]
fn certificates_that_are_not_accepted() {
    for (certificate, why) in
        [("expired", "has expired"), ("other", "for another host"), ("own", "self-signed")]
    {
        let server = replying(certificate, OK);
        // It ends long before its duration: no other connection would succeed.
        let changes = secure(json!({"requests": null, "duration_s": 1000, "threads": 2}));
        let outcome = drive(&server, changes.clone());
        assert_eq!(outcome["outcome"], "load-failed");
        let detail = outcome["detail"].as_str().unwrap();
        assert!(detail.contains(why) && detail.contains("--insecure"), "{detail}");
        assert_eq!(errors(&outcome), ["certificate"], "{outcome:#}");
        let mut changes = secure(json!({}));
        changes["tls"] = json!({"server_name": "localhost", "insecure": true});
        let outcome = drive(&server, changes);
        assert_eq!(outcome["requests"], 20, "{outcome:#}");
    }
    let server = replying("good", OK);
    let unknown = json!({"tls": {"server_name": "localhost", "cacert": file("own.pem")}});
    let outcome = drive(&server, unknown);
    let detail = outcome["detail"].as_str().unwrap();
    assert!(detail.contains("not signed by a trusted CA"), "{detail}");
}

#[test]
fn a_server_without_tls_ends_the_load_at_once() {
    let server = Server::start(|mut stream, _| {
        let mut hello = [0; 1024];
        let _ = stream.read(&mut hello);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    // It ends long before its duration: no other connection would succeed.
    let changes = secure(json!({"requests": null, "duration_s": 1000, "connections": 4}));
    let outcome = drive(&server, changes);
    assert_eq!(outcome["outcome"], "load-failed");
    assert_eq!(errors(&outcome), ["tls"], "{outcome:#}");
    let attempts = outcome["errors"]["tls"].as_u64().unwrap();
    assert!(attempts <= 8, "{outcome:#}");
    let detail = outcome["detail"].as_str().unwrap();
    assert!(detail.contains("what it sends is not TLS"), "{detail}");
}

#[test]
fn certificates_that_the_user_named() {
    let server = replying("own", OK);
    for (host, kinds) in [("localhost", vec![]), ("127.0.0.1", vec!["certificate"])] {
        let changes = json!({"tls": {"server_name": host, "cacert": file("own.pem")}});
        let outcome = drive(&server, changes);
        assert_eq!(errors(&outcome), kinds, "{outcome:#}");
    }
    let server = replying("good", OK);
    let changes = json!({"tls": {"server_name": "127.0.0.1", "cacert": file("ca.pem")}});
    let outcome = drive(&server, changes);
    assert_eq!(outcome["requests"], 20, "{outcome:#}");
    for (cacert, why) in [("none.pem", "none.pem"), ("good.key", "no certificate (PEM)")] {
        let changes = json!({"tls": {"server_name": "localhost", "cacert": file(cacert)}});
        is_refused(&plan(&server, changes), why);
    }
}

/// The error, and the server's treatment of the socket.
#[test]
fn servers_that_break_the_rules() {
    type Serve = fn(TcpStream);
    let cases: [(&str, Serve); 5] = [
        // HTTP without TLS.
        ("tls", |mut stream| {
            let _ = stream.read(&mut [0; 2000]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            let _ = stream.read(&mut [0; 9]);
        }),
        // A record that is longer than any.
        ("tls", |mut stream| {
            let _ = stream.read(&mut [0; 2000]);
            let _ = stream.write_all(b"\x16\x03\x03\xff\xff\x02");
            let _ = stream.read(&mut [0; 9]);
        }),
        // An alert: handshake_failure.
        ("tls", |mut stream| {
            let _ = stream.read(&mut [0; 2000]);
            let _ = stream.write_all(b"\x15\x03\x03\x00\x02\x02\x28");
            let _ = stream.read(&mut [0; 9]);
        }),
        // Handshake messages without end.
        ("tls", |mut stream| {
            let _ = stream.read(&mut [0; 2000]);
            while stream.write_all(b"\x16\x03\x03\x00\x04\x0e\x00\x00\x00").is_ok() {}
        }),
        ("closed-early", |mut stream| {
            let _ = stream.read(&mut [0; 2000]);
        }),
    ];
    for (kind, serve) in cases {
        let server = Server::start(move |stream, _| serve(stream));
        let changes = secure(json!({"requests": null, "duration_s": 30, "timeout_s": 1}));
        let outcome = drive(&server, changes);
        assert_eq!(outcome["outcome"], "load-failed", "{kind}");
        assert_eq!(errors(&outcome), [kind], "{outcome:#}");
        assert!(outcome["peak_memory_bytes"].as_u64().unwrap() < 64 << 20);
    }
}

#[test]
fn handshakes_without_end() {
    let silent = Server::start(|mut stream, _| {
        let _ = stream.read(&mut [0; 2000]);
        std::thread::sleep(Duration::from_secs(20));
    });
    // A byte of a long message now and then.
    let dribbling = Server::start(|mut stream, _| {
        let _ = stream.write_all(b"\x16\x03\x03\x3f\xff\x02\x00\x3f\xf0\x03\x03");
        while stream.write_all(b"\0").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    for server in [silent, dribbling] {
        let changes = secure(json!({"requests": 4, "timeout_s": 1}));
        let outcome = drive(&server, changes);
        assert_eq!(errors(&outcome), ["handshake-timeout"], "{outcome:#}");
        assert_eq!(outcome["histograms"]["connect"]["count"], 2);
        assert_eq!(outcome["connections"]["opened"], 0);
    }
}

#[test]
fn sessions_that_break_after_the_handshake() {
    type Serve = fn(Secure);
    let cases: [(&str, Serve); 4] = [
        // A record that was altered on its way, after a good reply.
        ("tls", |mut stream| {
            while request(&mut stream).is_some() {
                stream.conn.writer().write_all(OK).unwrap();
                let mut wire = Vec::new();
                while stream.conn.wants_write() {
                    stream.conn.write_tls(&mut wire).unwrap();
                }
                *wire.last_mut().unwrap() ^= 1;
                let _ = stream.sock.write_all(&wire);
            }
        }),
        // A body that the end of the connection ends; anybody on the way could have cut it.
        ("truncated", |mut stream| {
            request(&mut stream);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello");
        }),
        ("", |mut stream| {
            request(&mut stream);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello");
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }),
        ("unsolicited", |mut stream| {
            request(&mut stream);
            let _ = stream.write_all(&[OK, OK].concat());
        }),
    ];
    for (kind, each) in cases {
        let server = serve("good", &[], move |stream, _| each(stream));
        let outcome = drive(&server, secure(json!({"requests": 4})));
        let right = if kind.is_empty() { vec![] } else { vec![kind] };
        assert_eq!(errors(&outcome), right, "{outcome:#}");
    }
}

/// New keys without end: the engine must derive each of them.
#[test]
fn floods_of_new_keys_are_bounded() {
    let server = serve("good", &[], |mut stream, _| {
        request(&mut stream);
        let mut wire = Vec::new();
        loop {
            wire.clear();
            if stream.conn.refresh_traffic_keys().is_err() {
                return;
            }
            while stream.conn.wants_write() {
                stream.conn.write_tls(&mut wire).unwrap();
            }
            if stream.sock.write_all(&wire).is_err() {
                return;
            }
        }
    });
    let changes = json!({"requests": 2, "timeout_s": 1});
    let outcome = drive(&server, secure(changes));
    let found = errors(&outcome);
    let kinds = ["timeout", "tls"];
    assert!(!found.is_empty() && found.iter().all(|kind| kinds.contains(kind)), "{outcome:#}");
    assert!(outcome["peak_memory_bytes"].as_u64().unwrap() < 64 << 20);
    // One that has new keys before each reply, as it may.
    let server = serve("good", &[], |mut stream, _| {
        while request(&mut stream).is_some() {
            stream.conn.refresh_traffic_keys().unwrap();
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    });
    let outcome = drive(&server, secure(json!({})));
    all_answered(&outcome, 20);
}

/// Records that are valid and carry nothing, without end: in place of a reply, in the middle of one, and after it.
#[test]
fn floods_of_empty_records_are_bounded() {
    let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
    let half = &OK[..OK.len() - 2];
    for (version, before, padding) in
        [(0, &b""[..], 0), (0, half, 0), (0, OK, 0), (0, half, 10_000), (1, &b""[..], 0), (1, half, 0)]
    {
        let server = serve_versions(&[versions[version]], "good", &["http/1.1"], move |mut stream, _| {
            if request(&mut stream).is_none() {
                return;
            }
            let (mut records, mut socket) = Records::after(stream);
            let mut wire = Vec::new();
            if !before.is_empty() {
                records.append(before, 0, &mut wire);
            }
            while socket.write_all(&wire).is_ok() {
                wire.clear();
                (0..100).for_each(|_| records.append(b"", padding, &mut wire));
            }
        });
        let changes = json!({"requests": null, "duration_s": 0.5, "timeout_s": 100});
        let outcome = drive(&server, secure(changes));
        assert_eq!(errors(&outcome), ["tls"], "{outcome:#}");
        let security = outcome["security"].as_str().unwrap();
        assert!(security.starts_with(["TLSv1.3", "TLSv1.2"][version]), "{security}");
        let right = outcome["requests"].as_u64().unwrap();
        assert_eq!(right > 0, before == OK, "{outcome:#}");
        assert!(outcome["peak_memory_bytes"].as_u64().unwrap() < 64 << 20);
    }
    // A server may send some, as those of TLS 1.0 did before each record.
    let server = serve("good", &[], |mut stream, _| {
        if request(&mut stream).is_none() {
            return;
        }
        let (mut records, mut socket) = Records::after(stream);
        let mut wire = Vec::new();
        for byte in OK {
            (0..3).for_each(|_| records.append(b"", 0, &mut wire));
            records.append(&[*byte], 0, &mut wire);
        }
        let _ = socket.write_all(&wire);
        let _ = socket.read(&mut [0]);
    });
    let request = json!({"headers": [["Host", "here"]], "close": true});
    let changes = json!({"request": request, "requests": 4, "expect": {"equals": "hello"}});
    let outcome = drive(&server, secure(changes));
    all_answered(&outcome, 4);
}
