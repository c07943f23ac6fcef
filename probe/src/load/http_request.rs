//! The HTTP request that a load sends: the key `request` of a plan.

use super::text::latin1_bytes;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestPlan {
    #[serde(default = "get")]
    pub method: String,
    #[serde(default = "slash")]
    pub target: String,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    #[serde(default)]
    pub body: String,
    #[serde(default)]
    pub close: bool,
}

fn get() -> String {
    "GET".into()
}

fn slash() -> String {
    "/".into()
}

impl RequestPlan {
    /// Whether requests contain their number.
    pub fn numbered(&self) -> bool {
        let mut texts = self.headers.iter().map(|(_, value)| value);
        self.target.contains("{n}") || texts.any(|value| value.contains("{n}"))
    }

    /// The bytes of a request; in the target `{id}` is replaced by `id`, and `{n}` by `n` there and in the values of
    /// headers. The error: the plan is invalid.
    pub fn bytes(&self, id: &str, n: &str) -> Result<Vec<u8>, String> {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if self.method.is_empty() || !self.method.bytes().all(token) {
            return Err(format!("load: request: {:?} is not a method", self.method));
        }
        let target = self.target.replace("{id}", id).replace("{n}", n);
        if target.is_empty() || !target.bytes().all(|byte| (0x21..0x7f).contains(&byte)) {
            return Err("load: request: the target has a character that must be escaped".into());
        }
        let mut bytes = format!("{} {target} HTTP/1.1\r\n", self.method).into_bytes();
        let mut has_host = false;
        for (name, value) in &self.headers {
            if name.is_empty() || !name.bytes().all(token) {
                return Err(format!(
                    "load: request: {name:?} is not the name of a header"
                ));
            }
            let value = latin1_bytes(&value.replace("{n}", n))
                .filter(|value| !value.iter().any(|b| b"\r\n\0".contains(b)));
            let value = value
                .ok_or_else(|| format!("load: request: the value of {name} cannot be sent"))?;
            for own in ["content-length", "transfer-encoding", "connection"] {
                if name.eq_ignore_ascii_case(own) {
                    return Err(format!("load: request: {name} is set by the engine"));
                }
            }
            has_host |= name.eq_ignore_ascii_case("host");
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(&value);
            bytes.extend_from_slice(b"\r\n");
        }
        if !has_host {
            return Err("load: request: HTTP/1.1 needs a Host header".into());
        }
        if self.close {
            bytes.extend_from_slice(b"Connection: close\r\n");
        }
        let body =
            latin1_bytes(&self.body).ok_or("load: request: body: a character above U+00FF")?;
        if !body.is_empty() {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }
}
