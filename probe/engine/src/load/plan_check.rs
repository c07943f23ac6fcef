//! Whether a plan is possible: its limits, and which of its keys go together.

use super::body::BodyCheck;
use super::http_request::{MessageTemplate, RequestPlan};
use super::plan::{Framing, Pacing, Plan, Protocol, StreamPlan};
use super::text::MAX_MESSAGE_BYTES;
use rustix::net::SocketAddrUnix;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The source ports of one address are exhausted long before.
const MAX_CONNECTIONS: usize = 1_000_000;
const MAX_ENGINES: usize = 1000;
/// The most requests of a load whose service times another process gets: they fit into one line.
const MAX_SENT: u64 = 500_000;
const MAX_THREADS: usize = 256;
/// For one HTTP/2 connection.
const MAX_STREAMS: usize = 10_000;
/// From the size that servers assume by default (RFC 9113, section 6.5.2) to the largest.
const WINDOW_BYTES: RangeInclusive<u32> = 65_535..=(1 << 31) - 1;
const MAX_SECONDS: f64 = 1e6;
const MAX_RATE: f64 = 1e8;
/// For one time line.
const MAX_SLOTS: f64 = 10_000.0;
const MAX_BURST: usize = 1_000_000;
/// A shorter wait saves nothing; with a longer one there is no schedule.
const SLACK_S: RangeInclusive<f64> = 1e-5..=0.1;

/// Returns an error, which is one line, where something is wrong.
macro_rules! refuse {
    ($wrong:expr, $($why:tt)+) => {
        wire::refuse!($wrong, "load: {}", format_args!($($why)+))
    };
}

impl Plan {
    /// Checks the plan; the error is one line.
    pub fn check(&self) -> Result<(), String> {
        self.check_build()?;
        let unix = self.unix.as_deref();
        refuse!(self.addresses.is_empty() == unix.is_none(), "addresses: name at least one, or `unix`");
        refuse!(unix.is_some_and(|path| SocketAddrUnix::new(path).is_err()), "unix: no path of a socket");
        let (engine, engines) = self.part.map_or((0, 1), |part| (part.engine, part.engines));
        within("part: engines", engines, 1..=MAX_ENGINES)?;
        within("part: engine", engine, 0..=engines - 1)?;
        let connections = self.connections;
        within("connections", connections, 1..=MAX_CONNECTIONS * engines)?;
        within("threads", self.threads, 1..=MAX_THREADS)?;
        refuse!(self.shards() > connections, "threads: each needs a connection, of {connections}");
        self.check_http2()?;
        let tunnel = self.tunnel.iter();
        let mut texts = tunnel.flat_map(|plan| plan.authorization.iter().chain([&plan.authority]));
        let is_wrong = texts.any(|text| text.bytes().any(|byte| !byte.is_ascii_graphic()));
        refuse!(is_wrong, "tunnel: a character that cannot be sent");
        if self.part.is_some_and(|part| part.service_times) {
            self.check_service_times()?;
        }
        let times = [
            ("timeout_s", Some(self.timeout_s)),
            ("duration_s", self.duration_s),
            ("progress_s", self.progress_s),
            ("lead_s", self.lead_s),
            ("patience_s", self.patience_s),
            ("course_s", self.course_s),
            ("stream.interval_s", self.stream.interval_s),
            ("stream.silent_s", self.stream.silent_s),
        ];
        times.into_iter().try_for_each(|(key, value)| positive(key, value, MAX_SECONDS))?;
        positive("ramp_per_s", self.ramp_per_s, MAX_RATE)?;
        self.check_pacing()?;
        self.check_patience()?;
        self.stream.check(self.protocol)?;
        let is_stream = self.protocol == Protocol::Stream;
        let has_messages = self.stream.framing == Framing::Message;
        refuse!(has_messages && !is_stream, "stream.framing: messages are for streams only");
        match (self.protocol, &self.request, &self.line) {
            (Protocol::Tcp, None, Some(line)) => {
                refuse!(line.contains('\n'), "line: a newline cannot stand inside");
                MessageTemplate::of_line(line, b"\n", self.templates.as_ref())?;
            }
            (Protocol::Ws, Some(request), Some(line)) => self.check_websocket(request, line)?,
            (Protocol::Stream, Some(request), line) if self.is_websocket() => {
                self.check_websocket(request, line.as_deref().unwrap_or_default())?;
            }
            (Protocol::Http | Protocol::Stream, Some(request), None) => {
                request.template(self.templates.as_ref())?;
                refuse!(!request.targets.is_empty() && is_stream, "targets are for http only");
            }
            (Protocol::Ws, ..) => refuse!(true, "ws needs `request` and `line`"),
            (Protocol::Tcp, ..) => refuse!(true, "tcp needs `line`, and no `request`"),
            _ => refuse!(true, "http and stream need `request`, and no `line`"),
        }
        BodyCheck::new(&self.expect).map(drop)
    }

    /// Whether the service times of this load by its requests' numbers, if it keeps them, can be sent to another
    /// process. Of HTTP/2 a request that is sent again has another number: there is no greatest one.
    pub fn check_service_times(&self) -> Result<(), String> {
        let is_bounded = self.requests.is_some_and(|most| most <= MAX_SENT);
        let is_wrong = self.keeps_service_times() && (!is_bounded || self.http2.is_some());
        let what = "service times by request";
        refuse!(is_wrong, "{what}: for HTTP/1.1, with `requests` of at most {MAX_SENT}");
        Ok(())
    }

    /// A build may leave out what needs many libraries.
    fn check_build(&self) -> Result<(), String> {
        let is_plain = self.tls.is_none() && self.http2.is_none() && self.tunnel.is_none();
        let needs_layers = !is_plain || self.is_websocket();
        let why = "this probe has no TLS, HTTP/2, WebSockets and proxies: use `ringside-probe`";
        refuse!(needs_layers && !cfg!(feature = "layers"), "{why}");
        Ok(())
    }

    fn check_patience(&self) -> Result<(), String> {
        let is_kept = matches!(self.protocol, Protocol::Http | Protocol::Tcp)
            && self.http2.is_none()
            && self.request.as_ref().map_or(true, |request| !request.close);
        let has_patience = self.patience_s.is_some();
        refuse!(has_patience && !is_kept, "patience_s: for tcp and HTTP/1.1 with kept connections");
        if let Some(course_s) = self.course_s {
            let slots = self.duration_ns().map(|ns| ns as f64 / 1e9 / course_s);
            let are_few = slots.is_some_and(|slots| slots <= MAX_SLOTS);
            refuse!(!are_few, "course_s: needs a duration of at most {MAX_SLOTS} slots");
        }
        Ok(())
    }

    fn check_http2(&self) -> Result<(), String> {
        let Some(http2) = &self.http2 else { return Ok(()) };
        within("http2: streams", http2.streams, 1..=MAX_STREAMS)?;
        within("http2: window_bytes", http2.window_bytes, WINDOW_BYTES)?;
        let are_many = http2.streams * self.own_connections() > MAX_CONNECTIONS;
        refuse!(are_many, "http2: at most {MAX_CONNECTIONS} streams in all");
        let is_http = matches!(self.protocol, Protocol::Http | Protocol::Stream);
        refuse!(!is_http || self.is_websocket(), "http2 is for http, and for streams of it");
        let closes = self.request.as_ref().is_some_and(|request| request.close);
        refuse!(closes, "http2: a connection for each request is for HTTP/1.1 only");
        let has_faults = self.stream.pause.is_some() || self.stream.reset.is_some();
        refuse!(has_faults, "http2: slow and vanish are for HTTP/1.1 only");
        Ok(())
    }

    /// `line`: the message.
    fn check_websocket(&self, request: &RequestPlan, line: &str) -> Result<(), String> {
        request.template(self.templates.as_ref())?;
        let is_plain = request.method == "GET" && request.body.is_empty() && !request.close;
        let is_wrong = !is_plain || !request.targets.is_empty();
        refuse!(is_wrong, "a WebSocket begins with a GET of one target, without a body");
        MessageTemplate::of_line(line, b"", self.templates.as_ref())?;
        // A byte for each character.
        let is_long = line.chars().count() > MAX_MESSAGE_BYTES;
        refuse!(is_long, "line: at most {MAX_MESSAGE_BYTES} bytes");
        Ok(())
    }

    fn check_pacing(&self) -> Result<(), String> {
        if let Some(slack_s) = self.slack_s {
            refuse!(!self.open_loop(), "slack_s: only an open loop has a schedule");
            let is_possible = slack_s == 0.0 || SLACK_S.contains(&slack_s);
            refuse!(!is_possible, "slack_s: 0, or from 1e-5 to 0.1, not {slack_s}");
        }
        let is_stream = self.protocol == Protocol::Stream;
        refuse!(is_stream && self.open_loop(), "streams are not paced, only ramped");
        match &self.pacing {
            Pacing::Closed {} => {}
            Pacing::Constant { rate_per_s, burst } => {
                within("burst", *burst, 1..=MAX_BURST)?;
                positive("rate_per_s", Some(*rate_per_s), MAX_RATE)?;
            }
            Pacing::Poisson { rate_per_s, .. } => {
                positive("rate_per_s", Some(*rate_per_s), MAX_RATE)?;
            }
            Pacing::Staircase { steps, .. } => {
                refuse!(steps.is_empty(), "staircase: name at least one step");
                for step in steps {
                    positive("rate_per_s", Some(step.rate_per_s), MAX_RATE)?;
                    positive("rate_per_s", step.to_per_s, MAX_RATE)?;
                    positive("duration_s", Some(step.duration_s), MAX_SECONDS)?;
                }
                return Ok(());
            }
        }
        let has_end = self.duration_s.is_some() || (self.requests.is_some() && !is_stream);
        refuse!(!has_end, "an end is needed: duration_s, or requests");
        Ok(())
    }
}

impl StreamPlan {
    /// Checks these values for a load of this protocol.
    fn check(&self, protocol: Protocol) -> Result<(), String> {
        let (pause, reset) = (self.pause, self.reset);
        if pause.is_none() && reset.is_none() {
            return Ok(());
        }
        refuse!(protocol != Protocol::Stream, "stream: slow and vanish are for streams only");
        let slow = pause.map(|pause| pause.percent);
        let vanish = reset.map(|reset| reset.percent);
        for (key, percent) in [("stream.slow: percent", slow), ("stream.vanish: percent", vanish)] {
            within(key, percent.unwrap_or(1), 1..=100)?;
        }
        let sum = slow.unwrap_or(0) + vanish.unwrap_or(0);
        refuse!(sum > 100, "stream: slow and vanish: more than 100 percent together");
        positive("stream.slow.at_s", pause.map(|pause| pause.at_s), MAX_SECONDS)?;
        positive("stream.slow.for_s", pause.map(|pause| pause.for_s), MAX_SECONDS)?;
        positive("stream.vanish.at_s", reset.map(|reset| reset.at_s), MAX_SECONDS)
    }
}

fn within<T: PartialOrd + Display>(key: &str, value: T, range: RangeInclusive<T>) -> Result<(), String> {
    refuse!(!range.contains(&value), "{key}: {} to {}, not {value}", range.start(), range.end());
    Ok(())
}

/// Checks that a number, where there is one, is above zero and at most `max`; NaN is not.
fn positive(key: &str, value: Option<f64>, max: f64) -> Result<(), String> {
    if let Some(value) = value {
        let is_possible = value > 0.0 && value <= max;
        refuse!(!is_possible, "{key}: {value} is not in the range 0 < x ≤ {max}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_refuses_what_it_leaves_out() {
        for keys in [
            r#""protocol": "http", "tls": {"server_name": "h"}"#,
            r#""protocol": "http", "http2": {"streams": 2}"#,
            r#""protocol": "ws", "line": "x""#,
            r#""protocol": "http", "tunnel": {"authority": "h:1"}"#,
        ] {
            let common =
                r#""addresses": ["127.0.0.1:1"], "requests": 1, "request": {"headers": [["Host", "h"]]}"#;
            let plan: Plan = serde_json::from_str(&format!("{{{common}, {keys}}}")).unwrap();
            assert_eq!(plan.check().is_ok(), cfg!(feature = "layers"), "{keys}");
        }
    }
}
