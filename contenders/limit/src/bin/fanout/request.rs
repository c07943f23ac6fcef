//! A client's request.

/// A head that is longer is refused.
pub const LONGEST_HEAD: usize = 64 * 1024;

const HEADERS: usize = 100;

#[derive(Debug, PartialEq)]
pub enum Parsed {
    Partial,
    Bad,
    Whole(Request),
}

#[derive(Debug, PartialEq)]
pub struct Request {
    /// The limit of its head, in bytes.
    pub length: usize,
    pub route: Route,
    /// Whether the connection goes on. After a request with a body it does not:
    /// nobody reads that.
    pub keep: bool,
    /// HTTP/1.1: a body may have chunks.
    pub chunks: bool,
    /// X-Request-Id.
    pub id: Option<Vec<u8>>,
}

#[derive(Debug, PartialEq)]
pub enum Route {
    Root,
    NotFound,
    NotAllowed,
}

pub fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST_HEAD => return Parsed::Partial,
        _ => return Parsed::Bad,
    };
    let chunks = head.version == Some(1);
    let (mut keep, mut id) = (chunks, None);
    for header in head.headers.iter() {
        let (name, value) = (header.name, header.value);
        if name.eq_ignore_ascii_case("X-Request-Id") {
            id = Some(value.to_vec());
        } else if name.eq_ignore_ascii_case("Connection") {
            keep &= !value.eq_ignore_ascii_case(b"close");
        } else if name.eq_ignore_ascii_case("Content-Length") {
            keep &= value == b"0";
        } else if name.eq_ignore_ascii_case("Transfer-Encoding") {
            keep = false;
        }
    }
    let path = head.path.unwrap_or("");
    let route = match (path.split('?').next(), head.method) {
        (Some("/"), Some("GET")) => Route::Root,
        (Some("/"), _) => Route::NotAllowed,
        _ => Route::NotFound,
    };
    Parsed::Whole(Request {
        length,
        route,
        keep,
        chunks,
        id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Request {
        match parse(text.as_bytes()) {
            Parsed::Whole(request) => request,
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn routes() {
        for (line, route) in [
            ("GET / HTTP/1.1", Route::Root),
            ("GET /?a=/b HTTP/1.1", Route::Root),
            ("GET // HTTP/1.1", Route::NotFound),
            ("GET /a HTTP/1.1", Route::NotFound),
            ("POST /a HTTP/1.1", Route::NotFound),
            ("HEAD / HTTP/1.1", Route::NotAllowed),
        ] {
            assert_eq!(whole(&format!("{line}\r\n\r\n")).route, route, "{line}");
        }
    }

    #[test]
    fn what_headers_say() {
        let request = whole("GET / HTTP/1.1\r\nHost: a\r\nx-request-ID: 7 8\r\n\r\nGET");
        assert_eq!(request.length, 46);
        assert_eq!(request.id, Some(b"7 8".to_vec()));
        assert!(request.keep && request.chunks);
        for header in [
            "connection: Close",
            "Content-Length: 5",
            "Transfer-Encoding: chunked",
        ] {
            let text = format!("GET / HTTP/1.1\r\n{header}\r\n\r\n");
            assert!(!whole(&text).keep, "{header}");
        }
        let old = whole("GET / HTTP/1.0\r\n\r\n");
        assert!(!old.keep && !old.chunks);
    }

    #[test]
    fn pieces_and_nonsense() {
        let text = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        for length in 0..text.len() {
            assert_eq!(parse(&text[..length]), Parsed::Partial, "{length}");
        }
        assert_eq!(parse(b"nonsense\r\n\r\n"), Parsed::Bad);
        assert_eq!(parse(&[b'a'; LONGEST_HEAD]), Parsed::Bad);
    }
}
