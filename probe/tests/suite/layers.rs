//! Rules for every layer above the sockets: TLS, HTTP/2, WebSocket, and those inside TLS.

use crate::common::certificates::{file, serve};
use crate::common::driving::*;
use crate::common::server::{answer_all, Server, OK};
use crate::http2::{self, frame, http2, DATA, END_HEADERS, HEADERS, RST_STREAM};
use crate::websockets::{accept, echo, opened, websocket};
use serde_json::{json, Value};
use std::io::{Read, Write};
use std::time::Duration;
use tungstenite::Message;

/// The kernel begins to stamp some time after the first socket asks for it.
const PAUSE: Duration = Duration::from_millis(300);

/// A server without layers and one of each layer, and the changes of a plan for it.
fn layers(changes: &Value) -> Vec<(&'static str, Server, Value)> {
    let tls = json!({"server_name": "localhost", "cacert": file("ca.pem")});
    let secure = |mut changes: Value| {
        changes["tls"] = tls.clone();
        changes
    };
    let replying = serve("good", &["http/1.1"], |stream, _| answer_all(stream, |_| OK.to_vec()));
    let h2 = Server::start(|stream, _| http2::answer(stream));
    let h2s = serve("good", &["h2"], |stream, _| http2::answer(stream));
    let ws = Server::start(|stream, _| echo(stream));
    let wss = serve("good", &["http/1.1"], |stream, _| echo(stream));
    vec![
        ("http", Server::replying(OK, false), changes.clone()),
        ("https", replying, secure(changes.clone())),
        ("h2", h2, http2(4, changes.clone())),
        ("h2s", h2s, secure(http2(4, changes.clone()))),
        ("ws", ws, websocket(changes.clone())),
        ("wss", wss, secure(websocket(changes.clone()))),
    ]
}

fn count(outcome: &Value, keys: &[&str]) -> u64 {
    keys.iter().map(|key| outcome[key].as_u64().unwrap()).sum()
}

#[test]
fn replies_have_the_stamps_of_the_kernel() {
    let changes = json!({
        "connections": 4, "requests": 400, "pacing": {"kind": "constant", "rate_per_s": 1000},
    });
    for (name, server, changes) in layers(&changes) {
        let outcome = drive(&server, changes);
        assert_eq!(outcome["errors"], json!({}), "{name}: {outcome:#}");
        assert_eq!(count(&outcome, &["requests", "late_requests"]), 400, "{name}");
        let [reads, stamped] = ["reads", "stamped_reads"].map(|key| count(&outcome, &[key]));
        // Not those before the kernel began to.
        assert!(stamped > 0 && stamped <= reads, "{name}: {outcome:#}");
    }
}

#[test]
fn slack_is_for_all_layers() {
    let changes = json!({
        "connections": 16, "requests": 500, "pacing": {"kind": "constant", "rate_per_s": 500},
        "slack_s": 0.05,
    });
    for (name, server, changes) in layers(&changes) {
        let outcome = drive(&server, changes);
        assert_eq!(outcome["errors"], json!({}), "{name}: {outcome:#}");
        assert_eq!(outcome["intended"], 500, "{name}");
        assert_eq!(count(&outcome, &["requests", "late_requests"]), 500, "{name}");
        let mean = |key: &str| outcome["histograms"][key]["mean_ns"].as_f64().unwrap();
        // Half of the slack, on average, unless connections opened late.
        assert!(mean("schedule_error") >= 10e6, "{name}: {outcome:#}");
        assert!(mean("latency") >= mean("schedule_error"), "{name}: {outcome:#}");
    }
}

#[test]
fn streams_of_messages_inside_tls() {
    let tls = json!({"server_name": "localhost", "cacert": file("ca.pem")});
    let stream = |framing: &str| {
        json!({
            "protocol": "stream", "connections": 3, "requests": null, "duration_s": 3, "tls": tls,
            "request": {"target": "/test/{id}", "headers": [["Host", "here"]]},
            "stream": {"framing": framing, "first": "a0", "chunk": "a{k}", "interval_s": 0.001},
        })
    };
    let h2s = serve("good", &["h2"], |mut stream, _| {
        http2::begin(&mut stream);
        while let Some(number) = http2::request(&mut stream) {
            let bytes = [
                frame(HEADERS, END_HEADERS, number, http2::OK),
                frame(DATA, 0, number, b"a0"),
                frame(DATA, 0, number, b"a1"),
            ];
            stream.write_all(&bytes.concat()).unwrap();
            std::thread::sleep(PAUSE);
            let bytes = frame(DATA, 0, number, b"a2");
            stream.write_all(&bytes).unwrap();
        }
    });
    let wss = serve("good", &["http/1.1"], |stream, _| {
        let mut socket = opened(stream);
        for text in ["a0", "a1"] {
            socket.send(Message::text(text)).unwrap();
        }
        std::thread::sleep(PAUSE);
        socket.send(Message::text("a2")).unwrap();
        let _ = socket.read();
    });
    for (server, streams, changes) in [(h2s, 6, http2(2, stream("chunk"))), (wss, 3, stream("message"))] {
        let outcome = drive(&server, changes);
        assert_eq!(outcome["errors"], json!({}), "{outcome:#}");
        assert_eq!(outcome["messages"], 3 * streams, "{outcome:#}");
        assert_eq!(outcome["streams"]["fed"], streams);
        assert_eq!(outcome["connections"]["open_at_end"], 3);
        assert_eq!(outcome["histograms"]["handshake"]["count"], 3);
        assert_eq!(outcome["histograms"]["lateness"]["count"], 2 * streams);
        assert!(count(&outcome, &["stamped_reads"]) > 0, "{outcome:#}");
        let error = &outcome["histograms"]["schedule_error"];
        assert!(error["count"].as_u64().unwrap() >= streams, "{error}");
    }
}

/// Frames that break the rules do so inside TLS too.
#[test]
fn bad_frames_inside_tls() {
    let tls = json!({"server_name": "localhost", "cacert": file("ca.pem")});
    let changes = json!({"requests": 4, "timeout_s": 5, "tls": tls});
    let h2s = serve("good", &["h2"], |stream, _| {
        http2::answer_with(stream, |number| frame(RST_STREAM, 0, number, &2u32.to_be_bytes()));
    });
    let wss = serve("good", &["http/1.1"], |mut stream, _| {
        accept(&mut stream);
        let _ = stream.read(&mut [0; 100]);
        let _ = stream.write_all(b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff");
        let _ = stream.read(&mut [0; 100]);
    });
    for (server, changes, kind) in
        [(h2s, http2(1, changes.clone()), "stream-reset"), (wss, websocket(changes), "too-large")]
    {
        let outcome = drive(&server, changes);
        assert_eq!(errors(&outcome), [kind], "{outcome:#}");
        assert_eq!(outcome["requests"], 0);
    }
}
