//! The HTTP request that a load sends: the key `request` of a plan, and its bytes.

use super::placeholder::{write_text, Piece, Pieces, Values};
use super::text::{latin1_bytes, latin1_text};
use serde::Deserialize;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use wire::refuse;

/// The header that identifies a request; a gateway passes it on to its upstreams.
const ID_HEADER: &str = "x-request-id";
const MAX_TARGETS: usize = 100;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestPlan {
    #[serde(default = "get")]
    pub method: String,
    #[serde(default = "slash")]
    pub target: String,
    /// In place of `target`: several, which requests have in turn.
    #[serde(default)]
    pub targets: Vec<String>,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    #[serde(default)]
    pub body: String,
    /// In place of `body`, of a load by itself: this many bytes and a newline follow the request's line.
    pub body_bytes: Option<u64>,
    /// In place of `body`: the path of a file, of any size.
    pub body_path: Option<String>,
    #[serde(default)]
    pub close: bool,
}

/// The key `templates` of a plan: what placeholders stand for. Without it, only those of the contract of trials do.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplatePlan {
    #[serde(default)]
    pub columns: Vec<String>,
    #[serde(default)]
    pub rows: Vec<Vec<String>>,
}

type Templates<'a> = Option<&'a TemplatePlan>;

impl TemplatePlan {
    /// The rows as bytes; none without templates.
    fn rows(templates: Templates) -> Result<Vec<Vec<Vec<u8>>>, String> {
        let Some(TemplatePlan { columns, rows }) = templates else { return Ok(Vec::new()) };
        let bytes = |row: &Vec<String>| -> Option<Vec<Vec<u8>>> {
            let complete = row.len() == columns.len();
            row.iter().map(|value| latin1_bytes(value)).collect::<Option<_>>().filter(|_| complete)
        };
        let rows: Option<Vec<_>> = rows.iter().map(bytes).collect();
        let wrong = "load: templates: a row has other columns, or a character above U+00FF";
        rows.ok_or_else(|| wrong.into())
    }

    /// The error: a value of these pieces has one of these bytes.
    fn check_values(&self, what: &str, pieces: &Pieces, bad: &[char]) -> Result<(), String> {
        for column in pieces.columns() {
            let mut values = self.rows.iter().filter_map(|row| row.get(column));
            let (is_bad, name) = (values.any(|value| value.contains(bad)), &self.columns[column]);
            refuse!(is_bad, "load: {what}: a value of {name} has a line break");
        }
        Ok(())
    }
}

/// The parts of a load's messages. They are prepared once, before its threads start, and shared by them.
#[derive(Debug)]
pub struct MessageTemplate {
    /// By target: a line, or a request until the length of its body.
    heads: Vec<Pieces>,
    body: Option<Body>,
    /// The rows of values that requests use in turn; none if the plan has none.
    rows: Vec<Vec<Vec<u8>>>,
}

#[derive(Debug)]
struct Body {
    pieces: Pieces,
    file: Option<BodyFile>,
    /// It has a Content-Length even if it is empty: some servers refuse a POST without one (RFC 9110, section 8.6).
    needs_length: bool,
}

/// A body that is not part of the plan.
#[derive(Debug)]
struct BodyFile {
    content: File,
    length: usize,
}

impl BodyFile {
    fn open(path: &str) -> Result<BodyFile, String> {
        let wrong = |why: &str| format!("load: request: body_path: {path}: {why}");
        let content = File::open(path).map_err(|error| wrong(&error.to_string()))?;
        let facts = content.metadata();
        let facts = facts.map_err(|error| wrong(&error.to_string()))?;
        let length = usize::try_from(facts.len()).ok().filter(|_| facts.is_file());
        let length = length.ok_or_else(|| wrong("no file of a known size"))?;
        Ok(BodyFile { content, length })
    }
}

/// Splits a text, by its name in errors, into its pieces; without templates only these names are placeholders.
fn pieces(templates: Templates, what: &str, text: &str, names: &[&str]) -> Result<Pieces, String> {
    let bytes = latin1_bytes(text);
    let bytes = bytes.ok_or_else(|| format!("load: {what}: a character above U+00FF"))?;
    Pieces::parse(&bytes, templates.is_some(), &|name| {
        let piece = match name {
            "n" => Some(Piece::Number),
            "id" => Some(Piece::Id),
            _ => None,
        };
        let Some(templates) = templates else { return Ok(piece.filter(|_| names.contains(&name))) };
        let mut columns = templates.columns.iter();
        let piece = piece.or_else(|| columns.position(|own| own == name).map(Piece::Column));
        let unknown = || format!("load: {what}: the placeholder {{{name}}} is unknown");
        piece.map(Some).ok_or_else(unknown)
    })
}

fn get() -> String {
    "GET".into()
}

fn slash() -> String {
    "/".into()
}

impl RequestPlan {
    /// The value of a header that identifies a request to upstreams, by the request's number.
    pub fn id(&self) -> Option<impl Fn(u64) -> String> {
        let pieces = pieces(None, ID_HEADER, self.header(ID_HEADER)?, &["n"]).ok()?;
        let is_of_each = !pieces.is_constant();
        is_of_each.then_some(move |number| {
            let values = Values { id: 0, number, row: &[] };
            let mut bytes = Vec::new();
            pieces.write(&values, &mut bytes);
            latin1_text(&bytes)
        })
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The targets, one or more.
    fn targets(&self) -> &[String] {
        match self.targets.is_empty() {
            true => std::slice::from_ref(&self.target),
            false => &self.targets,
        }
    }

    /// The request in its parts. The error: the plan is invalid.
    pub fn template(&self, templates: Templates) -> Result<MessageTemplate, String> {
        refuse!(self.targets.len() > MAX_TARGETS, "load: request: targets: at most {MAX_TARGETS}");
        let headers = self.header_lines(templates)?;
        let mut heads = Vec::new();
        for target in self.targets() {
            let pieces = pieces(templates, "the target", target, &["id", "n"])?;
            let is_plain = |text: &[u8]| text.iter().all(|byte| (0x21..0x7f).contains(byte));
            let is_wrong = pieces.is_empty() || !pieces.texts().all(is_plain);
            refuse!(is_wrong, "load: request: the target has a character that must be escaped");
            let mut head = Pieces::default();
            head.push_text(self.method.as_bytes());
            head.push_text(b" ");
            head.append(pieces.in_url());
            head.push_text(b" HTTP/1.1\r\n");
            head.append(headers.clone());
            heads.push(head);
        }
        let body = Body {
            pieces: pieces(templates, "the body", &self.body, &[])?,
            file: self.body_path.as_deref().map(BodyFile::open).transpose()?,
            needs_length: ["POST", "PUT", "PATCH"].contains(&self.method.as_str()),
        };
        Ok(MessageTemplate { heads, body: Some(body), rows: TemplatePlan::rows(templates)? })
    }

    /// Ringside has checked what the user named.
    fn header_lines(&self, templates: Templates) -> Result<Pieces, String> {
        let mut lines = Pieces::default();
        for (name, value) in &self.headers {
            let what = format!("the value of {name}");
            let value = pieces(templates, &what, value, &["n"])?;
            if let Some(templates) = templates {
                templates.check_values(&what, &value, &['\r', '\n', '\0'])?;
            }
            lines.push_text(name.as_bytes());
            lines.push_text(b": ");
            lines.append(value);
            lines.push_text(b"\r\n");
        }
        let host = self.header("host").unwrap_or_default();
        refuse!(host.is_empty(), "load: request: HTTP/1.1 needs a Host header");
        if self.close {
            lines.push_text(b"Connection: close\r\n");
        }
        Ok(lines)
    }
}

impl MessageTemplate {
    /// A line that ends with this newline, or a message, which has none.
    pub fn of_line(line: &str, newline: &[u8], templates: Templates) -> Result<MessageTemplate, String> {
        let mut pieces = pieces(templates, "line", line, &[])?;
        if let Some(templates) = templates.filter(|_| !newline.is_empty()) {
            templates.check_values("line", &pieces, &['\n'])?;
        }
        pieces.push_text(newline);
        Ok(MessageTemplate { heads: vec![pieces], body: None, rows: TemplatePlan::rows(templates)? })
    }

    pub fn targets(&self) -> usize {
        self.heads.len()
    }

    /// Whether all messages for this target are the same.
    pub fn is_constant(&self, target: usize) -> bool {
        let body = self.body.as_ref().map(|body| &body.pieces);
        body.into_iter().chain([&self.heads[target]]).all(Pieces::is_constant)
    }

    /// The bytes of message `number` for a target on connection `id`, without a body that is a file.
    pub fn bytes(&self, target: usize, id: u64, number: u64) -> Vec<u8> {
        let row = match self.rows.as_slice() {
            [] => &[][..],
            rows => &rows[(number.wrapping_sub(1) % rows.len() as u64) as usize],
        };
        let values = Values { id, number, row };
        let mut bytes = Vec::new();
        self.heads[target].write(&values, &mut bytes);
        if let Some(Body { pieces, file, needs_length }) = &self.body {
            let mut body = Vec::new();
            pieces.write(&values, &mut body);
            let length = body.len() + file.as_ref().map_or(0, |file| file.length);
            if length > 0 || *needs_length || !pieces.is_empty() {
                write_text(&mut bytes, format_args!("Content-Length: {length}\r\n"));
            }
            bytes.extend_from_slice(b"\r\n");
            bytes.extend_from_slice(&body);
        }
        bytes
    }

    /// A request without its body, and the file of that.
    pub fn with_body_file(&self, request: &[u8]) -> io::Result<Rc<[u8]>> {
        let Some(file) = self.body.as_ref().and_then(|body| body.file.as_ref()) else {
            return Ok(request.into());
        };
        // The length is known in advance, so that the bytes are made in their final place.
        let mut bytes: Rc<[u8]> = (0..request.len() + file.length).map(|_| 0).collect();
        if let Some(all) = Rc::get_mut(&mut bytes) {
            let (start, body) = all.split_at_mut(request.len());
            start.copy_from_slice(request);
            file.content.read_exact_at(body, 0)?;
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> RequestPlan {
        serde_json::from_str(text).unwrap()
    }

    fn sent(plan: &RequestPlan, templates: Option<&TemplatePlan>, number: u64) -> String {
        String::from_utf8(plan.template(templates).unwrap().bytes(0, 3, number)).unwrap()
    }

    #[test]
    fn without_templates_only_the_names_of_trials_are_placeholders() {
        let plan = plan(
            r#"{"target": "/{id}/{n}/{x}", "headers": [["Host", "h"], ["A", "{n}{id}"]], "body": "{n}{x}"}"#,
        );
        let right = "GET /3/9/{x} HTTP/1.1\r\nHost: h\r\nA: 9{id}\r\nContent-Length: 6\r\n\r\n{n}{x}";
        assert_eq!(sent(&plan, None, 9), right);
        assert!(!plan.template(None).unwrap().is_constant(0));
    }

    #[test]
    fn templates_are_in_all_parts() {
        let plan = plan(
            r#"{"method": "POST", "target": "/{user}", "headers": [["Host", "h"], ["A", "{id}"]], "body": "{\"n\": {n}}"}"#,
        );
        let templates =
            TemplatePlan { columns: vec!["user".into()], rows: vec![vec!["z".into()], vec!["x y".into()]] };
        let right = "POST /x%20y HTTP/1.1\r\nHost: h\r\nA: 3\r\nContent-Length: 9\r\n\r\n{\"n\": 10}";
        assert_eq!(sent(&plan, Some(&templates), 10), right);
        let error = plan.template(Some(&TemplatePlan::default())).unwrap_err();
        assert_eq!(error, "load: the target: the placeholder {user} is unknown");
        let short = TemplatePlan { rows: vec![vec![]], ..templates };
        assert!(plan.template(Some(&short)).unwrap_err().contains("a row has other columns"));
    }

    #[test]
    fn requests_are_identified_by_their_numbers() {
        let id = |value: &str| {
            let headers = serde_json::json!([["Host", "h"], ["X-Request-Id", value]]);
            let plan: RequestPlan =
                serde_json::from_value(serde_json::json!({ "headers": headers })).unwrap();
            plan.id().map(|id| id(7))
        };
        assert_eq!(id("a-{n}-{id}").as_deref(), Some("a-7-{id}"));
        assert_eq!(id("é{n}{n}").as_deref(), Some("é77"));
        assert_eq!(id("constant"), None);
    }

    #[test]
    fn methods_that_have_a_body_say_when_it_is_empty() {
        for (method, length) in [("POST", true), ("PUT", true), ("PATCH", true), ("DELETE", false)] {
            let plan = plan(&format!(r#"{{"method": "{method}", "headers": [["Host", "h"]]}}"#));
            let right = match length {
                true => "Host: h\r\nContent-Length: 0\r\n\r\n",
                false => "Host: h\r\n\r\n",
            };
            let sent = sent(&plan, None, 1);
            assert!(sent.ends_with(right), "{sent}");
        }
    }

    #[test]
    fn values_in_headers_are_one_line() {
        let plan = plan(r#"{"headers": [["Host", "h"], ["A", "{v}"]]}"#);
        let templates = TemplatePlan { columns: vec!["v".into()], rows: vec![vec!["a\r\nB: c".into()]] };
        let error = plan.template(Some(&templates)).unwrap_err();
        assert!(error.contains("a value of v has a line break"), "{error}");
    }
}
