//! A session of a WebSocket: whatever follows its handshake, and however it is cut, it gives the same messages, none
//! larger than the limit, and the same end. What is sent in answer stays small.
#![no_main]

use libfuzzer_sys::fuzz_target;
use engine::load::error::ErrorKind;
use engine::load::plan::Plan;
use engine::load::text::MAX_MESSAGE_BYTES;
use engine::load::transport::websocket::{Incoming, WebSocket, WebSocketPlan};
use std::sync::OnceLock;

const PLAN: &str = r#"{"protocol": "ws", "addresses": ["127.0.0.1:1"], "line": "x", "request": {"headers": [["Host", "h"]]}}"#;

fn plan() -> &'static WebSocketPlan {
    static PLANS: OnceLock<WebSocketPlan> = OnceLock::new();
    PLANS.get_or_init(|| {
        let plan: Plan = serde_json::from_str(PLAN).expect("a plan");
        WebSocketPlan::new(&plan).expect("it can be used").expect("of a WebSocket")
    })
}

/// The reply that accepts a handshake.
fn accepts(request: &[u8]) -> Vec<u8> {
    let request = std::str::from_utf8(request).expect("a head");
    let (_, key) = request.split_once("Sec-WebSocket-Key: ").expect("a key");
    let accept = accept_of(key.trim());
    format!("HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n").into()
}

/// RFC 6455, section 4.2.2.
fn accept_of(key: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let hash = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
    // 20 bytes and a zero are 28 digits. The last digit belongs to the zero.
    let bytes = [hash.as_ref(), &[0]].concat();
    let digits = bytes.chunks(3).flat_map(|group| {
        let bits = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        [18, 12, 6, 0].map(|shift| char::from(DIGITS[(bits >> shift & 63) as usize]))
    });
    digits.take(27).chain(['=']).collect()
}

#[derive(Debug, PartialEq)]
enum End {
    Open,
    Ended,
    Failed(ErrorKind),
}

/// The messages, and the end. With `echo` each is sent back.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>, total: usize, echo: bool) -> (Vec<Vec<u8>>, End) {
    let (mut out, mut messages) = (Vec::new(), Vec::new());
    let mut session = WebSocket::begin(plan(), 1, &mut out);
    let reply = accepts(&out);
    assert!(session.feed(&reply).expect("the handshake is right"));
    out.clear();
    let (mut sent, mut end) = (0, End::Open);
    for piece in pieces {
        if let Err(fault) = session.feed(piece) {
            end = End::Failed(fault.kind);
            break;
        }
        loop {
            match session.next(&mut out) {
                Ok(None) => break,
                Ok(Some(Incoming::End)) => end = End::Ended,
                Err(fault) => end = End::Failed(fault.kind),
                Ok(Some(Incoming::Message(message))) => {
                    messages.push(message);
                    let last = messages.last().expect("it was added");
                    assert!(last.len() <= MAX_MESSAGE_BYTES);
                    if echo && session.send(last, &mut out) {
                        sent += last.len() + 14;
                    }
                    continue;
                }
            }
            break;
        }
        if end != End::Open {
            break;
        }
    }
    // A frame in answer to each of two bytes, at most.
    assert!(out.len() <= sent + 8 * total + 200, "{} bytes for {total}", out.len());
    (messages, end)
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, data)) = data.split_first() else { return };
    let echo = first & 1 == 1;
    let whole = read(std::iter::once(data), data.len(), echo);
    assert_eq!(read(data.chunks(1), data.len(), echo), whole);
    let (left, right) = data.split_at(usize::from(first).min(data.len()));
    assert_eq!(read([left, right].into_iter(), data.len(), echo), whole);
});
