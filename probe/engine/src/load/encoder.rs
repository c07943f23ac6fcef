//! The requests of a shard: which is sent next, and as which bytes.

use super::outgoing::Outgoing;
use super::plan::Plan;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use wire::text::quoted_bytes;

pub struct Encoder {
    outgoing: Arc<Outgoing>,
    /// By target: the request, where all requests for it are the same.
    constant: Vec<Option<Rc<[u8]>>>,
    /// What follows a request that is composed: the file of its body.
    body: Rc<[u8]>,
    /// Whether service times are kept by the requests' numbers.
    pub keeps_service_times: bool,
    /// Whether nothing is sent on a connection.
    pub listens: bool,
}

impl Encoder {
    /// The error: the file of the body cannot be read any more.
    pub fn new(plan: &Plan, outgoing: &Arc<Outgoing>) -> io::Result<Encoder> {
        // Copied: a count of references that threads share costs more than a copy for each.
        let whole = |bytes: &Option<Box<[u8]>>| match bytes {
            Some(bytes) => outgoing.with_body_file(bytes).map(Some),
            None => Ok(None),
        };
        let constant: io::Result<Vec<_>> = outgoing.constant.iter().map(whole).collect();
        let constant = constant?;
        let body = match constant.iter().any(Option::is_none) {
            true => outgoing.with_body_file(&[])?,
            false => Rc::from([]),
        };
        Ok(Encoder {
            constant,
            body,
            keeps_service_times: plan.keeps_service_times(),
            listens: plan.is_websocket() && plan.line.is_none(),
            outgoing: Arc::clone(outgoing),
        })
    }

    /// The number of targets.
    pub fn targets(&self) -> usize {
        self.constant.len()
    }

    /// The target of request `number`, and its bytes on connection `id`.
    pub fn encode(&self, id: u64, number: u64) -> (usize, Rc<[u8]>) {
        let target = self.outgoing.target(number);
        let bytes = match &self.constant[target] {
            Some(bytes) => Rc::clone(bytes),
            None => {
                let mut bytes = self.outgoing.compose(target, id, number);
                bytes.extend_from_slice(&self.body);
                bytes.into()
            }
        };
        (target, bytes)
    }

    /// A request in words: its first line, where all requests for its target are the same, else its number.
    pub fn request_text(&self, target: usize, number: u64) -> String {
        match self.constant.get(target) {
            Some(Some(bytes)) => {
                let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or(bytes);
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                quoted_bytes(line.strip_suffix(b" HTTP/1.1").unwrap_or(line))
            }
            _ => format!("request {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoder(changes: &str) -> Encoder {
        let plan = format!(
            r#"{{"protocol": "http", "addresses": ["127.0.0.1:1"], "requests": 1, {changes}}}"#
        );
        let plan: Plan = serde_json::from_str(&plan).unwrap();
        Encoder::new(&plan, &Arc::new(Outgoing::new(&plan).unwrap())).unwrap()
    }

    #[test]
    fn a_request_in_words() {
        let same = encoder(r#""request": {"target": "/x", "headers": [["Host", "h"]]}"#);
        assert_eq!(same.request_text(0, 7), "'GET /x'");
        let own = encoder(r#""request": {"target": "/{n}", "headers": [["Host", "h"]]}"#);
        assert_eq!(own.request_text(0, 7), "request 7");
        let line = encoder(r#""line": "a b""#);
        assert_eq!(line.request_text(0, 7), "'a b'");
    }

    #[test]
    fn only_requests_that_are_all_the_same_are_shared() {
        let same = encoder(r#""request": {"headers": [["Host", "h"]]}"#);
        let (first, second) = (same.encode(1, 2), same.encode(3, 4));
        assert_eq!((first.0, second.0), (0, 0));
        assert!(Rc::ptr_eq(&first.1, &second.1));
        let own = encoder(
            r#""request": {"headers": [["Host", "h"]],
            "targets": ["/a", "/{id}/{n}"]}"#,
        );
        assert_eq!(own.targets(), 2);
        let (target, bytes) = own.encode(5, 2);
        assert_eq!(target, 1);
        assert!(bytes.starts_with(b"GET /5/2 HTTP/1.1\r\n"));
    }
}
