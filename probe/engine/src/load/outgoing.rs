//! The requests of a load as bytes: prepared once, before its threads start, and shared by them.

use super::http_request::{pieces, HttpTemplate, TemplatePlan};
use super::placeholder::{Pieces, Rows, Values};
use super::plan::{Plan, Protocol};
use std::io;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// What all requests of a load have in common.
pub struct Outgoing {
    message: RequestTemplate,
    /// By target: the message, where all requests for it are the same, without a body that is a file.
    pub constant: Vec<Option<Box<[u8]>>>,
    rows: Rows,
}

enum RequestTemplate {
    Http(HttpTemplate),
    Line(Pieces),
}

impl Outgoing {
    /// The error: the plan is invalid.
    pub fn new(plan: &Plan) -> Result<Outgoing, String> {
        let templates = plan.templates.as_ref();
        let request = plan.request.as_ref();
        if request.is_some_and(|request| request.body_bytes.is_some()) {
            return Err("load: request: body_bytes: nothing follows this request".into());
        }
        let message = match &plan.request {
            Some(request) if !plan.is_websocket() => {
                RequestTemplate::Http(request.template(templates)?)
            }
            _ => RequestTemplate::Line(line(plan)?),
        };
        let mut outgoing = Outgoing {
            message,
            constant: Vec::new(),
            rows: templates.map_or(Ok(Rows::default()), TemplatePlan::rows)?,
        };
        let targets = match &outgoing.message {
            RequestTemplate::Http(template) => template.targets(),
            RequestTemplate::Line(_) => 1,
        };
        let constant = |target| {
            let is_constant = match &outgoing.message {
                RequestTemplate::Http(template) => template.is_constant(target),
                RequestTemplate::Line(pieces) => pieces.is_constant(),
            };
            is_constant.then(|| outgoing.compose(target, 0, 0).into())
        };
        outgoing.constant = (0..targets).map(constant).collect();
        Ok(outgoing)
    }

    /// A request without its body, and the file of that. Shards have it read for themselves, so that it is in memory
    /// once for each.
    pub fn with_body_file(&self, request: &[u8]) -> io::Result<Rc<[u8]>> {
        let RequestTemplate::Http(template) = &self.message else {
            return Ok(request.into());
        };
        let Some(file) = template.body_file() else {
            return Ok(request.into());
        };
        // Of a length that is known, so that it is made in its place.
        let mut bytes: Rc<[u8]> = (0..request.len() + file.length).map(|_| 0).collect();
        if let Some(all) = Rc::get_mut(&mut bytes) {
            let (start, body) = all.split_at_mut(request.len());
            start.copy_from_slice(request);
            file.content.read_exact_at(body, 0)?;
        }
        Ok(bytes)
    }

    /// The target of request `number`.
    pub fn target(&self, number: u64) -> usize {
        match self.constant.len() {
            1 => 0,
            targets => (number.wrapping_sub(1) % targets as u64) as usize,
        }
    }

    /// The bytes of request `number` for a target on connection `id`, without a body that is a file.
    pub fn compose(&self, target: usize, id: u64, number: u64) -> Vec<u8> {
        let values = Values {
            id,
            number,
            row: self.rows.row(number),
        };
        match &self.message {
            RequestTemplate::Http(template) => template.bytes(target, &values),
            RequestTemplate::Line(pieces) => {
                let mut bytes = Vec::new();
                pieces.write(&values, false, &mut bytes);
                bytes
            }
        }
    }
}

/// The line of a plan, with its newline, or its message.
fn line(plan: &Plan) -> Result<Pieces, String> {
    let text = plan.line.as_deref().unwrap_or_default();
    let mut pieces = pieces(plan.templates.as_ref(), "line", text, &[])?;
    if plan.protocol != Protocol::Ws && plan.protocol != Protocol::Stream {
        pieces.push_text(b"\n");
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outgoing(changes: &str) -> Outgoing {
        let plan = format!(
            r#"{{"protocol": "http", "addresses": ["127.0.0.1:1"], "requests": 1, {changes}}}"#
        );
        Outgoing::new(&serde_json::from_str(&plan).unwrap()).unwrap()
    }

    #[test]
    fn requests_that_are_all_the_same_are_composed_once() {
        let same = outgoing(r#""request": {"headers": [["Host", "h"]]}"#);
        let bytes = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
        assert_eq!(same.constant[0].as_deref(), Some(&bytes[..]));
        assert_eq!(same.compose(0, 3, 4), bytes);
        let own = outgoing(r#""request": {"target": "/{n}", "headers": [["Host", "h"]]}"#);
        assert_eq!(own.constant, [None]);
        let bytes = own.compose(0, 3, 4);
        assert!(bytes.starts_with(b"GET /4 "));
        let line = outgoing(r#""line": "x""#);
        assert_eq!(line.constant[0].as_deref(), Some(&b"x\n"[..]));
    }

    #[test]
    fn a_body_that_was_not_read_is_an_error() {
        let plan =
            r#"{"protocol": "http", "request": {"body_bytes": 3, "headers": [["Host", "h"]]}}"#;
        let error = Outgoing::new(&serde_json::from_str(plan).unwrap()).err();
        assert!(error.is_some_and(|error| error.contains("body_bytes")));
    }

    #[test]
    fn targets_and_rows_are_used_in_turn() {
        let both = outgoing(
            r#""request": {"headers": [["Host", "h"]], "targets": [
                "/{c}", "/b"]},
            "templates": {"columns": ["c"], "rows": [["x"], ["y"]]}"#,
        );
        let targets: Vec<_> = (1..=6).map(|number| both.target(number)).collect();
        assert_eq!(targets, [0, 1, 0, 1, 0, 1]);
        let path = |number| {
            let bytes = both.compose(0, 1, number);
            String::from_utf8(bytes).unwrap()[4..6].to_owned()
        };
        assert_eq!([path(1), path(2), path(3)], ["/x", "/y", "/x"]);
    }
}
