//! A client's request.

use crate::message::Id;

/// A head that is longer is refused.
pub const LONGEST_HEAD: usize = 16 * 1024;

const HEADERS: usize = 100;

#[derive(Debug, PartialEq)]
pub enum Parsed {
    Partial,
    Feed(Id),
    /// The whole answer, after which the connection is closed.
    Refused(&'static str),
}

const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
const NOT_ALLOWED: &str =
    "HTTP/1.1 405 Method Not Allowed\r\nAllow: GET\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
const BAD: &str = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

pub fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    match head.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST_HEAD => return Parsed::Partial,
        _ => return Parsed::Refused(BAD),
    }
    let path = head.path.unwrap_or("").split('?').next().unwrap_or("");
    let id = path.strip_prefix("/test/").and_then(Id::parse);
    match (id, head.method, head.version) {
        (None, ..) => Parsed::Refused(NOT_FOUND),
        // Before HTTP/1.1 there were no chunks.
        (Some(id), Some("GET"), Some(1)) => Parsed::Feed(id),
        (Some(_), Some("GET"), _) => Parsed::Refused(BAD),
        _ => Parsed::Refused(NOT_ALLOWED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests() {
        let whole = b"GET /test/7 HTTP/1.1\r\nHost: a\r\n\r\n";
        for length in 0..whole.len() {
            assert_eq!(parse(&whole[..length]), Parsed::Partial, "{length}");
        }
        assert_eq!(parse(whole), Parsed::Feed(Id::parse("7").unwrap()));
        for (line, answer) in [
            ("GET / HTTP/1.1", NOT_FOUND),
            ("GET /test/ HTTP/1.1", NOT_FOUND),
            ("GET /test/x HTTP/1.1", NOT_FOUND),
            ("POST /test/7 HTTP/1.1", NOT_ALLOWED),
            ("GET /test/7 HTTP/1.0", BAD),
            ("nonsense", BAD),
        ] {
            let text = format!("{line}\r\n\r\n");
            assert_eq!(parse(text.as_bytes()), Parsed::Refused(answer), "{line}");
        }
        assert_eq!(parse(&[b'a'; LONGEST_HEAD]), Parsed::Refused(BAD));
    }
}
