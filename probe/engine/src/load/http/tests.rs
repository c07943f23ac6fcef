//! Tests of the parser of responses.

use super::*;
use crate::load::http_head::{MAX_FIELDS, MAX_HEAD_BYTES};

const MAX: u32 = MAX_HEAD_BYTES as u32;

/// Status, keep-alive, body and the number of bytes after it, fed in pieces of `step` bytes; Truncated where the
/// response is incomplete. `ends`: the connection ends after the text.
fn read(text: &[u8], step: usize, ends: bool) -> Result<(u16, bool, Vec<u8>, usize), ErrorKind> {
    let mut response = ResponseParser::new(false, MAX);
    let mut body = Vec::new();
    let mut done = 0;
    for piece in text.chunks(step) {
        done += piece.len();
        let rest = response.feed(piece, &mut |piece, _| body.extend_from_slice(piece))?;
        if let Some(rest) = rest {
            let left = rest.len() + text.len() - done;
            return Ok((response.status().unwrap(), response.keep_alive, body, left));
        }
    }
    match ends && response.ends_with_connection() {
        true => Ok((response.status().unwrap(), response.keep_alive, body, 0)),
        false => Err(ErrorKind::Truncated),
    }
}

#[test]
fn reads_bodies_in_any_pieces() {
    // Text, whether the connection ends then; status, keep-alive, body, bytes after it.
    type Case = (&'static [u8], bool, u16, bool, &'static [u8], usize);
    let cases: [Case; 9] = [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHT", false, 200, true, b"ok", 2),
        (b"HTTP/1.1 200 OK\r\nContent-Length:    0 \r\n\r\n", false, 200, true, b"", 0),
        (b"HTTP/1.1 404 No\r\nConnection: a, Close\r\ncontent-length:1\r\n\r\nx", false, 404, false, b"x", 0),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", false, 200, true, b"ok", 0),
        (b"HTTP/1.1 204 No\r\n\r\nHTTP", false, 204, true, b"", 4),
        (b"HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n", false, 304, true, b"", 0),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", false, 200, true, b"x", 0),
        (b"HTTP/1.0 200 OK\r\n\r\nall of it", true, 200, false, b"all of it", 0),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", false, 200, false, b"x", 0),
    ];
    for (text, ends, status, keep_alive, body, left) in cases {
        for step in 1..=text.len() {
            let right = (status, keep_alive, body.to_vec(), left);
            let shown = String::from_utf8_lossy(text);
            assert_eq!(read(text, step, ends), Ok(right), "{step}: {shown}");
        }
    }
}

#[test]
fn refuses_ambiguous_responses() {
    let bad: [&[u8]; 13] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, chunked\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Lengt\0\0'\n\n",
    ];
    for text in bad {
        for step in 1..=text.len() {
            assert_eq!(read(text, step, true), Err(ErrorKind::Protocol), "{}", String::from_utf8_lossy(text));
        }
    }
    // Only whole heads count: a wrong one gives the same result wherever it was cut.
    let cut = b"HTTP/1.1 200 OK\nContent-Lengt\0\0'";
    for step in 1..=cut.len() {
        assert_eq!(read(cut, step, true), Err(ErrorKind::Truncated));
    }
    let interim = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(17);
    assert_eq!(read(&interim, 40, false), Err(ErrorKind::Protocol));
    let mut bomb = b"HTTP/1.1 200 OK\r\nA: ".to_vec();
    bomb.resize(300_000, b'x');
    for step in [1, 1000, 300_000] {
        assert_eq!(read(&bomb, step, false), Err(ErrorKind::TooLarge));
    }
    let many =
        [b"HTTP/1.1 200 OK\r\n".to_vec(), b"A: b\r\n".repeat(MAX_FIELDS + 1), b"\r\n".to_vec()].concat();
    assert_eq!(read(&many, many.len(), false), Err(ErrorKind::TooLarge));
    let short = b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nabc";
    assert_eq!(read(short, 7, true), Err(ErrorKind::Truncated));
}

#[test]
fn old_forms_of_heads_are_read() {
    let identity = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok";
    let folded = b"HTTP/1.1 200 OK\r\nX-Long: a,\r\n\t b\r\nContent-Length: 2\r\n\r\nok";
    for step in 1..=folded.len() {
        let right = Ok((200, true, b"ok".to_vec(), 0));
        assert_eq!(read(identity, step.min(identity.len()), false), right);
        // Continued lines are obsolete (RFC 9112, section 5.2).
        assert_eq!(read(folded, step, false), Err(ErrorKind::Protocol));
    }
}

#[test]
fn the_line_that_is_refused() {
    for text in [&b"junk line\r\n"[..], b"HTTP/1.1 200 OK\r\nA: b\r\njunk line\r\n\r\nno line of the head"] {
        for step in [text.len(), 30] {
            let mut response = ResponseParser::new(false, MAX);
            let refused = text.chunks(step).find_map(|piece| {
                let read = response.feed(piece, &mut |_, _| {}).err();
                read.map(|_| response.refused_line(piece).to_vec())
            });
            assert_eq!(refused.as_deref(), Some(&b"junk line"[..]), "{step}");
        }
    }
}

#[test]
fn the_state_of_a_response() {
    let mut response = ResponseParser::new(false, MAX);
    let mut ignore = |_: &[u8], _: bool| {};
    assert!(!response.has_begun() && !response.ends_with_connection());
    assert_eq!(response.feed(b"HTTP/1.1", &mut ignore), Ok(None));
    assert!(response.has_begun());
    assert_eq!(response.status(), None);
    let rest = b" 201 Made\r\n\r\nbody";
    assert_eq!(response.feed(rest, &mut ignore), Ok(None));
    assert_eq!(response.status(), Some(201));
    assert!(response.has_begun());
    assert!(response.ends_with_connection() && !response.keep_alive);
}

#[test]
fn the_response_to_head_has_no_body() {
    let mut response = ResponseParser::new(true, MAX);
    let text = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let read = response.feed(text, &mut |_, _| panic!("a body"));
    assert_eq!(read, Ok(Some(&b""[..])));
    assert_eq!((response.status(), response.keep_alive), (Some(200), true));
}

#[test]
fn ends_of_pieces() {
    let mut ends = Vec::new();
    let mut response = ResponseParser::new(false, MAX);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    response.feed(head, &mut |_, _| panic!("a body")).unwrap();
    for bytes in [&b"a"[..], b"bc"] {
        let mut sink = |piece: &[u8], last: bool| ends.push((piece.len(), last));
        response.feed(bytes, &mut sink).unwrap();
    }
    assert_eq!(ends, [(1, false), (2, true)]);
}

#[test]
fn other_protocols_are_recognised() {
    for (text, kind) in [
        (&b"\x15\x03\x01\0\x02\x02\x46"[..], ErrorKind::Tls),
        (b"\x16\x03\x01\r\n", ErrorKind::Tls),
        (b"\0\0\x12\x04\0\0\0\0\0\0\x03", ErrorKind::Http2),
        (b"\0\0\x12\x04\0\0\0\0", ErrorKind::Truncated),
        (b"\0\x01\x02\x03\r\n", ErrorKind::Protocol),
        (b"\0\0\x12\x04\0\0\x01\0\0", ErrorKind::Protocol),
        (b"\x16\xff\r\n", ErrorKind::Protocol),
        (b"\x17\x03\x01\r\n", ErrorKind::Protocol),
    ] {
        for step in [1, 2, 5, 9, 100] {
            assert_eq!(read(text, step, true), Err(kind), "{text:?}");
        }
    }
}

#[test]
fn limits_of_a_head() {
    assert_eq!(MAX_HEAD_BYTES, 262_144);
    for longest in [1000, 16_384, MAX_HEAD_BYTES] {
        let head = |bytes: usize| {
            let (start, end) = ("HTTP/1.1 204 No\r\nA: ", "\r\n\r\n");
            [start, &"x".repeat(bytes - start.len() - end.len()), end].concat()
        };
        for step in [7, 1000, longest + 2] {
            let read = |text: &str| {
                let mut response = ResponseParser::new(false, longest as u32);
                let mut pieces = text.as_bytes().chunks(step);
                pieces.try_fold(None, |_, piece| {
                    response.feed(piece, &mut |_, _| {}).map(|rest| rest.map(<[u8]>::len))
                })
            };
            assert_eq!(read(&head(longest)), Ok(Some(0)), "{step}");
            let longer = head(longest + 1);
            assert_eq!(read(&longer), Err(ErrorKind::TooLarge), "{step}");
            // Its first bytes are cut off, not too large.
            assert_eq!(read(&longer[..longest]), Ok(None), "{step}");
        }
    }
    let fields = |count| [&b"HTTP/1.1 204 No\r\n"[..], &b"A: b\r\n".repeat(count), b"\r\n"].concat();
    assert!(read(&fields(MAX_FIELDS), 10_000, false).is_ok());
    let interim = |count| [&b"HTTP/1.1 100 C\r\n\r\n".repeat(count), &fields(0)[..]].concat();
    assert!(read(&interim(16), 40, false).is_ok());
    assert_eq!(read(&interim(17), 40, false), Err(ErrorKind::Protocol));
}

#[test]
fn options_of_a_connection() {
    for (version, option, keep_alive) in [
        ("1.1", "keep-alive", true),
        ("1.1", "x", true),
        ("1.1", " CLOSE ", false),
        ("1.0", "x", false),
        ("1.0", "x, Keep-Alive", false),
        ("1.1", "close, keep-alive", false),
    ] {
        let text = format!("HTTP/{version} 204 No\r\nConnection: {option}\r\n\r\n");
        let right = Ok((204, keep_alive, vec![], 0));
        assert_eq!(read(text.as_bytes(), 100, false), right, "{text}");
    }
    for status in ["099", "100"] {
        let text = format!("HTTP/1.1 {status} C\r\n\r\n");
        let wrong = match status {
            "100" => ErrorKind::Truncated,
            _ => ErrorKind::Protocol,
        };
        assert_eq!(read(text.as_bytes(), 100, false), Err(wrong));
    }
}
