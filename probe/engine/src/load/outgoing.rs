//! The requests of a load. Each thread makes their bytes itself.

use super::http_request::MessageTemplate;
use super::plan::Plan;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use wire::text::quoted_bytes;

impl MessageTemplate {
    /// The messages of a load. The error: the plan is invalid.
    pub fn new(plan: &Plan) -> Result<MessageTemplate, String> {
        let templates = plan.templates.as_ref();
        match &plan.request {
            Some(request) if request.body_bytes.is_some() => {
                Err("load: request: body_bytes: nothing follows this request".into())
            }
            Some(request) if !plan.is_websocket() => request.template(templates),
            _ => {
                let newline: &[u8] = if plan.is_websocket() { b"" } else { b"\n" };
                MessageTemplate::of_line(plan.line.as_deref().unwrap_or_default(), newline, templates)
            }
        }
    }
}

/// The requests of a shard: which is sent next, and as which bytes.
pub struct Encoder {
    message: Arc<MessageTemplate>,
    /// By target: the request, where all requests for it are the same.
    constant: Vec<Option<Rc<[u8]>>>,
    /// The file that follows a composed request as its body.
    body: Rc<[u8]>,
    /// Whether service times are kept by the requests' numbers.
    pub keeps_service_times: bool,
    /// Whether nothing is sent on a connection.
    pub listens: bool,
}

impl Encoder {
    /// The error: the file of the body cannot be read any more.
    pub fn new(plan: &Plan, message: &Arc<MessageTemplate>) -> io::Result<Encoder> {
        let whole = |target| match message.is_constant(target) {
            true => message.with_body_file(&message.bytes(target, 0, 0)).map(Some),
            false => Ok(None),
        };
        let constant = (0..message.targets()).map(whole);
        let constant = constant.collect::<io::Result<Vec<_>>>()?;
        let body = match constant.iter().any(Option::is_none) {
            true => message.with_body_file(&[])?,
            false => Rc::from([]),
        };
        Ok(Encoder {
            constant,
            body,
            keeps_service_times: plan.keeps_service_times(),
            listens: plan.is_websocket() && plan.line.is_none(),
            message: Arc::clone(message),
        })
    }

    pub fn targets(&self) -> usize {
        self.constant.len()
    }

    /// The target of request `number`, and its bytes on connection `id`.
    pub fn encode(&self, id: u64, number: u64) -> (usize, Rc<[u8]>) {
        let target = match self.constant.len() {
            1 => 0,
            targets => (number.wrapping_sub(1) % targets as u64) as usize,
        };
        let bytes = match &self.constant[target] {
            Some(bytes) => Rc::clone(bytes),
            None => {
                let mut bytes = self.message.bytes(target, id, number);
                bytes.extend_from_slice(&self.body);
                bytes.into()
            }
        };
        (target, bytes)
    }

    /// Names a request: by its first line where all requests for its target are the same, else by its number.
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
        let plan =
            format!(r#"{{"protocol": "http", "addresses": ["127.0.0.1:1"], "requests": 1, {changes}}}"#);
        let plan: Plan = serde_json::from_str(&plan).unwrap();
        Encoder::new(&plan, &Arc::new(MessageTemplate::new(&plan).unwrap())).unwrap()
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
        assert_eq!(*first.1, *b"GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        let line = encoder(r#""line": "x""#);
        assert_eq!(*line.encode(1, 1).1, *b"x\n");
        let own = encoder(
            r#""request": {"headers": [["Host", "h"]],
            "targets": ["/a", "/{id}/{n}"]}"#,
        );
        assert_eq!(own.targets(), 2);
        let (target, bytes) = own.encode(5, 2);
        assert_eq!(target, 1);
        assert!(bytes.starts_with(b"GET /5/2 HTTP/1.1\r\n"));
    }

    #[test]
    fn a_body_that_was_not_read_is_an_error() {
        let plan = r#"{"protocol": "http", "request": {"body_bytes": 3, "headers": [["Host", "h"]]}}"#;
        let error = MessageTemplate::new(&serde_json::from_str(plan).unwrap()).err();
        assert!(error.is_some_and(|error| error.contains("body_bytes")));
    }

    #[test]
    fn targets_and_rows_are_used_in_turn() {
        let both = encoder(
            r#""request": {"headers": [["Host", "h"]], "targets": ["/{c}", "/b"]},
            "templates": {"columns": ["c"], "rows": [["x"], ["y"], ["z"]]}"#,
        );
        let path = |number| String::from_utf8(both.encode(1, number).1[4..6].to_vec()).unwrap();
        let paths: Vec<_> = (1..=6).map(path).collect();
        assert_eq!(paths, ["/x", "/b", "/z", "/b", "/y", "/b"]);
    }
}
