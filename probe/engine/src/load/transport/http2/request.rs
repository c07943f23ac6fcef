//! Converts HTTP/1.1 request bytes to HTTP/2 requests.

use crate::load::error::ErrorKind;
use crate::load::http_head::MAX_FIELDS;
use crate::load::transport::LayerError;
use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{Method, Request, Uri, Version};
use std::rc::Rc;

/// This many different requests are kept; a load has at most as many targets.
const MAX_KEPT: usize = 100;

#[derive(Clone, Debug)]
pub struct Http2Request {
    pub head: Request<()>,
    pub body: Bytes,
}

/// Makes requests, and keeps those that are sent again.
pub struct Http2Requests {
    scheme: &'static str,
    kept: Vec<(Rc<[u8]>, Http2Request)>,
}

impl Http2Requests {
    pub fn new(secure: bool) -> Http2Requests {
        Http2Requests { scheme: if secure { "https" } else { "http" }, kept: Vec::new() }
    }

    pub fn prepare(&mut self, bytes: &Rc<[u8]>) -> Result<Http2Request, LayerError> {
        let known = self.kept.iter().find(|(kept, _)| Rc::ptr_eq(kept, bytes));
        if let Some((_, prepared)) = known {
            return Ok(prepared.clone());
        }
        let wrong = || LayerError::new(ErrorKind::Protocol, "the request cannot be sent by HTTP/2");
        let prepared = parse(bytes, self.scheme).ok_or_else(wrong)?;
        // The encoder holds these bytes as well, so it will send them again.
        if Rc::strong_count(bytes) > 1 && self.kept.len() < MAX_KEPT {
            self.kept.push((Rc::clone(bytes), prepared.clone()));
        }
        Ok(prepared)
    }
}

fn parse(bytes: &[u8], scheme: &str) -> Option<Http2Request> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let Ok(httparse::Status::Complete(length)) = request.parse(bytes) else { return None };
    let host = request.headers.iter().find(|field| field.name.eq_ignore_ascii_case("host"))?;
    let uri = Uri::builder().scheme(scheme).authority(host.value).path_and_query(request.path?).build();
    let mut head = Request::new(());
    *head.version_mut() = Version::HTTP_2;
    *head.method_mut() = Method::from_bytes(request.method?.as_bytes()).ok()?;
    *head.uri_mut() = uri.ok()?;
    for field in request.headers.iter() {
        // `:authority` has the host. The others describe a connection of HTTP/1.1; but
        // gRPC's servers want `te: trailers`, and HTTP/2 forbids another value (RFC 9113, section 8.2.2).
        let is_te = field.name.eq_ignore_ascii_case("te") && !field.value.eq_ignore_ascii_case(b"trailers");
        let of_connection = ["host", "connection", "upgrade", "keep-alive", "proxy-connection"];
        if is_te || of_connection.iter().any(|name| field.name.eq_ignore_ascii_case(name)) {
            continue;
        }
        let name = HeaderName::from_bytes(field.name.as_bytes()).ok()?;
        head.headers_mut().append(name, HeaderValue::from_bytes(field.value).ok()?);
    }
    Some(Http2Request { head, body: Bytes::copy_from_slice(&bytes[length..]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_keeps_its_parts() {
        let bytes = b"POST /a?b={c} HTTP/1.1\r\nHost: h:8\r\nX-One: \xff\r\nConnection: close\r\nTE: trailers\r\nX-One: 2\r\nContent-Length: 3\r\n\r\nabc";
        let prepared = parse(bytes, "https").unwrap();
        assert_eq!(prepared.head.method(), "POST");
        assert_eq!(prepared.head.uri(), "https://h:8/a?b={c}");
        let values: Vec<_> =
            prepared.head.headers().get_all("x-one").iter().map(HeaderValue::as_bytes).collect();
        assert_eq!(values, [&b"\xff"[..], b"2"]);
        assert!(prepared.head.headers().get("connection").is_none());
        assert_eq!(prepared.head.headers()["te"], "trailers");
        assert_eq!(prepared.head.headers()["content-length"], "3");
        assert_eq!(&prepared.body[..], b"abc");
    }

    #[test]
    fn requests_that_are_sent_again_are_kept() {
        let mut requests = Http2Requests::new(false);
        let bytes: Rc<[u8]> = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"[..].into();
        requests.prepare(&bytes).unwrap();
        assert!(requests.kept.is_empty());
        let _other = Rc::clone(&bytes);
        requests.prepare(&bytes).unwrap();
        requests.prepare(&bytes).unwrap();
        assert_eq!(requests.kept.len(), 1);
        for wrong in ["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"] {
            assert!(requests.prepare(&wrong.as_bytes().into()).is_err());
        }
    }
}
