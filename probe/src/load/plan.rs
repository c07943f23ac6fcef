//! The plan of a load: the key `load` of a request.

use super::http_request::{RequestPlan, TemplatePlan};
use super::layer_plan::{Http2Plan, TlsPlan};
use super::pacer::{Pacing, Step};
use super::share::Share;
use super::text::{latin1_bytes, whole_pattern, MAX_MESSAGE_BYTES};
use crate::units::nanoseconds;
use serde::Deserialize;
use std::net::SocketAddr;

/// The source ports of one address are exhausted long before.
const MAX_CONNECTIONS: usize = 1_000_000;
const MAX_THREADS: usize = 256;
/// Of a connection of HTTP/2.
const MAX_STREAMS: usize = 10_000;
const MAX_SECONDS: f64 = 1e6;
const MAX_RATE: f64 = 1e8;
const MAX_BURST: usize = 1_000_000;
/// A shorter tick is none; a longer one is no schedule.
const TICK_S: std::ops::RangeInclusive<f64> = 1e-5..=0.1;

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
    /// With it, HTTP/2 takes the place of HTTP/1.1.
    #[serde(default)]
    pub http2: Option<Http2Plan>,
    /// With it, connections have TLS.
    #[serde(default)]
    pub tls: Option<TlsPlan>,
    #[serde(default)]
    pub pacing: PacingPlan,
    /// Open loop: requests are sent together at multiples of this, each later than its instant by less than it.
    #[serde(default)]
    pub tick_s: Option<f64>,
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
    /// With it, `request` and `line` have placeholders for values of each request.
    #[serde(default)]
    pub templates: Option<TemplatePlan>,
    #[serde(default)]
    pub expect: Expect,
    #[serde(default)]
    pub stream: StreamPlan,
    #[serde(default)]
    pub progress_s: Option<f64>,
    /// Whether the outcome has the counts of the main histograms.
    #[serde(default)]
    pub counts: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Http,
    Stream,
    Tcp,
    /// Messages of a WebSocket, each of which is answered by one.
    Ws,
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
    /// Streams that had received nothing for so long when the load ended are counted as silent.
    #[serde(default)]
    pub silent_s: Option<f64>,
    #[serde(default)]
    #[serde(rename = "slow")]
    pub pause: Option<PausePlan>,
    #[serde(default, rename = "vanish")]
    pub reset: Option<ResetPlan>,
}

/// A fault: connections that stop reading for a while.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PausePlan {
    pub percent: u64,
    pub at_s: f64,
    pub for_s: f64,
}

/// A fault: connections that are reset, and not opened again.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResetPlan {
    pub percent: u64,
    pub at_s: f64,
}

impl StreamPlan {
    /// Whether the reader of a connection, by its number from 1, is paused.
    pub fn pauses(&self, id: u64) -> bool {
        self.pause
            .is_some_and(|pause| percentile(id) < pause.percent)
    }

    /// Whether a connection is reset. None is both paused and reset.
    pub fn resets(&self, id: u64) -> bool {
        self.reset
            .is_some_and(|reset| percentile(id) >= 100 - reset.percent)
    }

    fn check(&self, protocol: Protocol) -> Result<(), String> {
        let (pause, reset) = (self.pause, self.reset);
        if pause.is_none() && reset.is_none() {
            return Ok(());
        }
        if protocol != Protocol::Stream {
            return Err("load: stream: slow and vanish are for streams only".into());
        }
        let percents = [
            pause.map(|pause| pause.percent),
            reset.map(|reset| reset.percent),
        ];
        for (key, percent) in ["slow", "vanish"].into_iter().zip(percents) {
            if percent.is_some_and(|percent| !(1..=100).contains(&percent)) {
                return Err(format!("load: stream.{key}: percent: 1 to 100"));
            }
        }
        if percents.into_iter().flatten().sum::<u64>() > 100 {
            return Err("load: stream: slow and vanish: more than 100 percent together".into());
        }
        if let Some(pause) = pause {
            positive("stream.slow.at_s", pause.at_s, MAX_SECONDS)?;
            positive("stream.slow.for_s", pause.for_s, MAX_SECONDS)?;
        }
        reset.map_or(Ok(()), |reset| {
            positive("stream.vanish.at_s", reset.at_s, MAX_SECONDS)
        })
    }
}

/// Spreads a hundred consecutive connections over 0 to 99, so that a fault hits early and late ones alike.
fn percentile(id: u64) -> u64 {
    id * 37 % 100
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Framing {
    #[default]
    Chunk,
    Line,
    /// Of a WebSocket.
    Message,
}

fn one() -> usize {
    1
}
fn five() -> f64 {
    5.0
}

/// Checks that a number is above zero and at most `max`; NaN is not.
fn positive(key: &str, value: f64, max: f64) -> Result<(), String> {
    if value > 0.0 && value <= max {
        return Ok(());
    }
    Err(format!(
        "load: {key}: {value} is not in the range 0 < x ≤ {max}"
    ))
}

impl Plan {
    /// Checks the plan; the error is one line.
    pub fn check(&self) -> Result<(), String> {
        if self.addresses.is_empty() {
            return Err("load: addresses: name at least one".into());
        }
        if self.connections == 0 || self.connections > MAX_CONNECTIONS {
            return Err(format!("load: connections: 1 to {MAX_CONNECTIONS}"));
        }
        if self.threads == 0 || self.threads > MAX_THREADS {
            return Err(format!("load: threads: 1 to {MAX_THREADS}"));
        }
        if self.threads > self.connections {
            let connections = self.connections;
            return Err(format!(
                "load: threads: each needs a connection, of {connections}"
            ));
        }
        self.check_http2()?;
        positive("timeout_s", self.timeout_s, MAX_SECONDS)?;
        for (key, value) in [
            ("duration_s", self.duration_s),
            ("progress_s", self.progress_s),
            ("stream.interval_s", self.stream.interval_s),
            ("stream.silent_s", self.stream.silent_s),
        ] {
            value.map_or(Ok(()), |value| positive(key, value, MAX_SECONDS))?;
        }
        let ramp = self.ramp_per_s;
        ramp.map_or(Ok(()), |ramp| positive("ramp_per_s", ramp, MAX_RATE))?;
        self.check_pacing()?;
        self.stream.check(self.protocol)?;
        if self.stream.framing == Framing::Message && self.protocol != Protocol::Stream {
            return Err("load: stream.framing: messages are for streams only".into());
        }
        match (self.protocol, &self.request, &self.line) {
            (Protocol::Tcp, None, Some(line)) => {
                let line = latin1_bytes(line).ok_or("load: line: a character above U+00FF")?;
                if line.contains(&b'\n') {
                    return Err("load: line: a newline cannot stand inside".into());
                }
                if let (Some(templates), Some(line)) = (&self.templates, &self.line) {
                    let pieces = templates.pieces("line", line)?;
                    templates.check_values("line", &pieces, &['\n'])?;
                }
            }
            (Protocol::Ws, Some(request), Some(line)) => self.check_websocket(request, line)?,
            (Protocol::Stream, Some(request), line) if self.is_websocket() => {
                self.check_websocket(request, line.as_deref().unwrap_or_default())?;
            }
            (Protocol::Ws, ..) => return Err("load: ws needs `request` and `line`".into()),
            (Protocol::Tcp, ..) => return Err("load: tcp needs `line`, and no `request`".into()),
            (protocol, Some(request), None) => {
                request.template(self.templates.as_ref())?;
                let http_only = request.follow_redirects || !request.targets.is_empty();
                if http_only && protocol != Protocol::Http {
                    return Err("load: targets and follow_redirects are for http only".into());
                }
            }
            _ => return Err("load: http and stream need `request`, and no `line`".into()),
        }
        self.templates
            .as_ref()
            .map_or(Ok(()), |templates| templates.rows().map(|_| ()))?;
        let texts = [&self.expect.equals, &self.expect.contains];
        if texts
            .into_iter()
            .flatten()
            .any(|text| latin1_bytes(text).is_none())
        {
            return Err("load: expect: a character above U+00FF".into());
        }
        if let Some(text) = &self.expect.matches {
            if texts.into_iter().any(Option::is_some) {
                return Err(
                    "load: expect: `matches` stands alone, without equals and contains".into(),
                );
            }
            whole_pattern(text).map_err(|why| format!("load: expect: matches: {why}"))?;
        }
        Ok(())
    }

    /// How many requests one connection carries at a time.
    pub fn lanes(&self) -> usize {
        self.http2.map_or(1, |http2| http2.streams)
    }

    fn check_http2(&self) -> Result<(), String> {
        let Some(http2) = &self.http2 else {
            return Ok(());
        };
        if !(1..=MAX_STREAMS).contains(&http2.streams) {
            return Err(format!("load: http2: streams: 1 to {MAX_STREAMS}"));
        }
        if http2.streams * self.connections > MAX_CONNECTIONS {
            return Err(format!(
                "load: http2: at most {MAX_CONNECTIONS} streams in all"
            ));
        }
        let is_http = matches!(self.protocol, Protocol::Http | Protocol::Stream);
        if !is_http || self.is_websocket() {
            return Err("load: http2 is for http, and for streams of it".into());
        }
        if self.request.as_ref().is_some_and(|request| request.close) {
            return Err("load: http2: a connection for each request is for HTTP/1.1 only".into());
        }
        if self.stream.pause.is_some() || self.stream.reset.is_some() {
            return Err("load: http2: slow and vanish are for HTTP/1.1 only".into());
        }
        Ok(())
    }

    /// Whether connections become WebSockets.
    pub fn is_websocket(&self) -> bool {
        match self.protocol {
            Protocol::Ws => true,
            Protocol::Stream => self.stream.framing == Framing::Message,
            Protocol::Http | Protocol::Tcp => false,
        }
    }

    /// `line`: the message.
    fn check_websocket(&self, request: &RequestPlan, line: &str) -> Result<(), String> {
        request.template(self.templates.as_ref())?;
        let is_plain = request.method == "GET" && request.body.is_empty() && !request.close;
        if !is_plain || request.follow_redirects || !request.targets.is_empty() {
            return Err("load: a WebSocket begins with a GET of one target, without a body".into());
        }
        let bytes = latin1_bytes(line).ok_or("load: line: a character above U+00FF")?;
        if bytes.len() > MAX_MESSAGE_BYTES {
            return Err(format!("load: line: at most {MAX_MESSAGE_BYTES} bytes"));
        }
        let pieces = self
            .templates
            .as_ref()
            .map(|templates| templates.pieces("line", line));
        pieces.map_or(Ok(()), |pieces| pieces.map(|_| ()))
    }

    fn check_pacing(&self) -> Result<(), String> {
        if let Some(tick_s) = self.tick_s {
            if !self.open_loop() {
                return Err("load: tick_s: only an open loop has a schedule".into());
            }
            if !TICK_S.contains(&tick_s) {
                return Err(format!("load: tick_s: from 1e-5 to 0.1, not {tick_s}"));
            }
        }
        match &self.pacing {
            PacingPlan::Closed {} => {}
            _ if self.protocol == Protocol::Stream => {
                return Err("load: streams are not paced, only ramped".into());
            }
            PacingPlan::Constant { burst, .. } if !(1..=MAX_BURST).contains(burst) => {
                return Err(format!("load: burst: from 1 to {MAX_BURST}, not {burst}"));
            }
            PacingPlan::Constant { rate_per_s, .. } | PacingPlan::Poisson { rate_per_s, .. } => {
                positive("rate_per_s", *rate_per_s, MAX_RATE)?;
            }
            PacingPlan::Staircase { steps } => {
                if steps.is_empty() {
                    return Err("load: staircase: name at least one step".into());
                }
                for step in steps {
                    positive("rate_per_s", step.rate_per_s, MAX_RATE)?;
                    positive("duration_s", step.duration_s, MAX_SECONDS)?;
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

    /// The part of a shard, by its number from 0.
    pub fn share(&self, shard: usize) -> Share {
        Share::new(shard as u64, self.threads as u64, self.connections as u64)
    }

    /// The same load on another address.
    pub fn at(&self, address: SocketAddr) -> Plan {
        Plan {
            addresses: vec![address],
            ..self.clone()
        }
    }

    /// Whether requests are due at instants that do not depend on the server.
    pub fn open_loop(&self) -> bool {
        !matches!(self.pacing, PacingPlan::Closed {})
    }

    /// Whether arriving bytes are to have the kernel's stamps: where something besides them may be due, so that they
    /// are read late. In a closed loop they would cost more than they tell.
    pub fn stamps_arrivals(&self) -> bool {
        self.open_loop() || self.protocol == Protocol::Stream
    }

    /// The maximum duration.
    pub fn duration_ns(&self) -> Option<u64> {
        let stairs = match &self.pacing {
            PacingPlan::Staircase { steps } => Some(steps.iter().map(|step| step.duration_s).sum()),
            _ => None,
        };
        let least = [self.duration_s, stairs].into_iter().flatten();
        least.reduce(f64::min).map(nanoseconds)
    }
}
