//! What is to be sent, to whom, when, and what must come back: the key `load` of a request.

use super::pacer::{Pacing, Step};
use serde::Deserialize;
use std::net::SocketAddr;

/// Engines hold this many connections at most; source ports of one address end long before.
const MOST_CONNECTIONS: usize = 1_000_000;
const MOST_THREADS: usize = 256;
const MOST_SECONDS: f64 = 1e6;
const MOST_RATE: f64 = 1e8;
const MOST_BURST: usize = 1_000_000;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub protocol: Protocol,
    #[serde(default)]
    pub addresses: Vec<SocketAddr>,
    #[serde(default = "one")]
    pub connections: usize,
    #[serde(default = "one")]
    pub threads: usize,
    #[serde(default)]
    pub cpus: Vec<usize>,
    #[serde(default)]
    pub io: BackEnd,
    #[serde(default)]
    pub pacing: PacingPlan,
    #[serde(default)]
    pub duration_s: Option<f64>,
    #[serde(default)]
    pub requests: Option<u64>,
    #[serde(default)]
    pub ramp_per_s: Option<f64>,
    #[serde(default = "five")]
    pub timeout_s: f64,
    #[serde(default)]
    pub request: Option<RequestPlan>,
    #[serde(default)]
    pub line: Option<String>,
    #[serde(default)]
    pub expect: Expect,
    #[serde(default)]
    pub stream: StreamPlan,
    #[serde(default)]
    pub progress_s: Option<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Http,
    Stream,
    Tcp,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum BackEnd {
    #[default]
    Auto,
    Uring,
    Epoll,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum PacingPlan {
    Closed {},
    Constant {
        rate_per_s: f64,
        #[serde(default = "one")]
        burst: usize,
    },
    Poisson {
        rate_per_s: f64,
        seed: u64,
    },
    Staircase {
        steps: Vec<StepPlan>,
    },
}

impl Default for PacingPlan {
    fn default() -> PacingPlan {
        PacingPlan::Closed {}
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepPlan {
    pub rate_per_s: f64,
    pub duration_s: f64,
}

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

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    #[serde(default)]
    pub status: Option<u16>,
    #[serde(default)]
    pub equals: Option<String>,
    #[serde(default)]
    pub contains: Option<String>,
    #[serde(default)]
    pub matches: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamPlan {
    #[serde(default)]
    pub framing: Framing,
    #[serde(default)]
    pub first: Option<String>,
    #[serde(default)]
    pub chunk: Option<String>,
    #[serde(default)]
    pub interval_s: Option<f64>,
    #[serde(default)]
    pub due_field: Option<String>,
    /// A stream that had nothing for so long when the load ended had fallen silent.
    #[serde(default)]
    pub silent_s: Option<f64>,
    #[serde(default)]
    pub slow: Option<SlowPlan>,
    #[serde(default)]
    pub vanish: Option<VanishPlan>,
}

/// Connections that stop reading for a while.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowPlan {
    pub percent: u64,
    pub at_s: f64,
    pub for_s: f64,
}

/// Connections that are reset without notice, and do not come back.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VanishPlan {
    pub percent: u64,
    pub at_s: f64,
}

impl StreamPlan {
    /// Whether a connection, by its number from 1, is one of the slow.
    pub fn is_slow(&self, id: u64) -> bool {
        self.slow.map_or(false, |slow| place(id) < slow.percent)
    }

    /// Whether it is one that vanishes: never one of the slow.
    pub fn vanishes(&self, id: u64) -> bool {
        self.vanish
            .map_or(false, |vanish| place(id) >= 100 - vanish.percent)
    }

    fn check(&self, protocol: Protocol) -> Result<(), String> {
        let (slow, vanish) = (self.slow, self.vanish);
        if slow.is_none() && vanish.is_none() {
            return Ok(());
        }
        if protocol != Protocol::Stream {
            return Err("load: stream: only streams are slow or vanish".into());
        }
        let percents = [slow.map(|one| one.percent), vanish.map(|one| one.percent)];
        for (key, percent) in ["slow", "vanish"].into_iter().zip(percents) {
            if percent.map_or(false, |percent| !(1..=100).contains(&percent)) {
                return Err(format!("load: stream.{key}: percent: 1 to 100"));
            }
        }
        if percents.into_iter().flatten().sum::<u64>() > 100 {
            return Err("load: stream: slow and vanish: more than 100 percent together".into());
        }
        if let Some(slow) = slow {
            positive("stream.slow.at_s", slow.at_s, MOST_SECONDS)?;
            positive("stream.slow.for_s", slow.for_s, MOST_SECONDS)?;
        }
        vanish.map_or(Ok(()), |vanish| {
            positive("stream.vanish.at_s", vanish.at_s, MOST_SECONDS)
        })
    }
}

/// Spreads a hundred connections in a row over 0 to 99: who is chosen was not opened first or last.
fn place(id: u64) -> u64 {
    id * 37 % 100
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Framing {
    #[default]
    Chunk,
    Line,
}

fn one() -> usize {
    1
}
fn five() -> f64 {
    5.0
}
fn get() -> String {
    "GET".into()
}
fn slash() -> String {
    "/".into()
}

/// A number that is not NaN, above zero and no more than `most`.
fn positive(key: &str, value: f64, most: f64) -> Result<(), String> {
    if value > 0.0 && value <= most {
        return Ok(());
    }
    Err(format!(
        "load: {key}: {value} is not in the range 0 < x ≤ {most}"
    ))
}

impl Plan {
    /// What is wrong with it, in one line.
    pub fn check(&self) -> Result<(), String> {
        if self.addresses.is_empty() {
            return Err("load: addresses: name one at least".into());
        }
        if self.connections == 0 || self.connections > MOST_CONNECTIONS {
            return Err(format!("load: connections: 1 to {MOST_CONNECTIONS}"));
        }
        if self.threads == 0 || self.threads > MOST_THREADS {
            return Err(format!("load: threads: 1 to {MOST_THREADS}"));
        }
        positive("timeout_s", self.timeout_s, MOST_SECONDS)?;
        for (key, value) in [
            ("duration_s", self.duration_s),
            ("progress_s", self.progress_s),
            ("stream.interval_s", self.stream.interval_s),
            ("stream.silent_s", self.stream.silent_s),
        ] {
            value.map_or(Ok(()), |value| positive(key, value, MOST_SECONDS))?;
        }
        let ramp = self.ramp_per_s;
        ramp.map_or(Ok(()), |ramp| positive("ramp_per_s", ramp, MOST_RATE))?;
        self.check_pacing()?;
        self.stream.check(self.protocol)?;
        match (self.protocol, &self.request, &self.line) {
            (Protocol::Tcp, None, Some(line)) => {
                let line = bytes_of(line).ok_or("load: line: a character above U+00FF")?;
                if line.contains(&b'\n') {
                    return Err("load: line: a newline cannot stand inside".into());
                }
            }
            (Protocol::Tcp, ..) => return Err("load: tcp needs `line`, and no `request`".into()),
            (_, Some(request), None) => {
                request.bytes("1", "1")?;
            }
            _ => return Err("load: http and stream need `request`, and no `line`".into()),
        }
        let texts = [&self.expect.equals, &self.expect.contains];
        if texts
            .into_iter()
            .flatten()
            .any(|text| bytes_of(text).is_none())
        {
            return Err("load: expect: a character above U+00FF".into());
        }
        if let Some(text) = &self.expect.matches {
            if texts.into_iter().any(Option::is_some) {
                return Err(
                    "load: expect: `matches` stands alone, without equals, contains".into(),
                );
            }
            super::content::pattern(text).map_err(|why| format!("load: expect: matches: {why}"))?;
        }
        Ok(())
    }

    fn check_pacing(&self) -> Result<(), String> {
        match &self.pacing {
            PacingPlan::Closed {} => {}
            _ if self.protocol == Protocol::Stream => {
                return Err("load: streams are not paced, only ramped".into());
            }
            PacingPlan::Constant { burst, .. } if !(1..=MOST_BURST).contains(burst) => {
                return Err(format!("load: burst: from 1 to {MOST_BURST}, not {burst}"));
            }
            PacingPlan::Constant { rate_per_s, .. } | PacingPlan::Poisson { rate_per_s, .. } => {
                positive("rate_per_s", *rate_per_s, MOST_RATE)?;
            }
            PacingPlan::Staircase { steps } => {
                if steps.is_empty() {
                    return Err("load: staircase: name one step at least".into());
                }
                for step in steps {
                    positive("rate_per_s", step.rate_per_s, MOST_RATE)?;
                    positive("duration_s", step.duration_s, MOST_SECONDS)?;
                }
                return Ok(());
            }
        }
        let counted = self.requests.is_some() && self.protocol != Protocol::Stream;
        if self.duration_s.is_none() && !counted {
            return Err("load: an end is needed: duration_s, or requests".into());
        }
        Ok(())
    }

    pub fn pacing(&self) -> Pacing {
        match &self.pacing {
            PacingPlan::Closed {} => Pacing::Closed,
            PacingPlan::Constant { rate_per_s, burst } => {
                Pacing::Constant(*rate_per_s, *burst as u64)
            }
            PacingPlan::Poisson { rate_per_s, seed } => Pacing::Poisson(*rate_per_s, *seed),
            PacingPlan::Staircase { steps } => {
                let step = |step: &StepPlan| Step {
                    rate_per_s: step.rate_per_s,
                    duration_ns: nanoseconds(step.duration_s),
                };
                Pacing::Staircase(steps.iter().map(step).collect())
            }
        }
    }

    /// The same load, elsewhere.
    pub fn at(&self, address: SocketAddr) -> Plan {
        Plan {
            addresses: vec![address],
            ..self.clone()
        }
    }

    /// Whether requests have instants of their own, whatever the server does.
    pub fn open_loop(&self) -> bool {
        !matches!(self.pacing, PacingPlan::Closed {})
    }

    /// When it ends at the latest.
    pub fn duration_ns(&self) -> Option<u64> {
        let stairs = match &self.pacing {
            PacingPlan::Staircase { steps } => Some(steps.iter().map(|step| step.duration_s).sum()),
            _ => None,
        };
        let least = [self.duration_s, stairs].into_iter().flatten();
        least.reduce(f64::min).map(nanoseconds)
    }
}

impl RequestPlan {
    /// Whether each request has a number of its own in it.
    pub fn numbered(&self) -> bool {
        let mut texts = self.headers.iter().map(|(_, value)| value);
        self.target.contains("{n}") || texts.any(|value| value.contains("{n}"))
    }

    /// The bytes of the request; `{id}` in the target becomes `id`, and `{n}` there and in the
    /// headers' values `n`.
    pub fn bytes(&self, id: &str, n: &str) -> Result<Vec<u8>, String> {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if self.method.is_empty() || !self.method.bytes().all(token) {
            return Err(format!("load: request: {:?} is no method", self.method));
        }
        let target = self.target.replace("{id}", id).replace("{n}", n);
        if target.is_empty() || !target.bytes().all(|byte| (0x21..0x7f).contains(&byte)) {
            return Err("load: request: the target has a character that must be escaped".into());
        }
        let mut bytes = format!("{} {target} HTTP/1.1\r\n", self.method).into_bytes();
        let mut has_host = false;
        for (name, value) in &self.headers {
            if name.is_empty() || !name.bytes().all(token) {
                return Err(format!("load: request: {name:?} is no header's name"));
            }
            let value = bytes_of(&value.replace("{n}", n))
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
        let body = bytes_of(&self.body).ok_or("load: request: body: a character above U+00FF")?;
        if !body.is_empty() {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }
}

/// A character for each byte; None where one is above U+00FF.
pub fn bytes_of(text: &str) -> Option<Vec<u8>> {
    text.chars()
        .map(|one| u8::try_from(u32::from(one)).ok())
        .collect()
}

pub fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
