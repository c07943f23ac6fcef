//! Whether a plan is possible: its limits, and which of its keys go together.

use super::http_request::{pieces, RequestPlan};
use super::plan::{Framing, PacingPlan, Plan, Protocol, StreamPlan};
use super::service_times::MAX_SENT;
use super::text::{latin1_bytes, whole_pattern, MAX_MESSAGE_BYTES};
use rustix::net::SocketAddrUnix;

/// The source ports of one address are exhausted long before.
const MAX_CONNECTIONS: usize = 1_000_000;
const MAX_ENGINES: usize = 1000;
const MAX_THREADS: usize = 256;
/// Of a connection of HTTP/2.
const MAX_STREAMS: usize = 10_000;
/// From that which servers expect before they are told another (RFC 9113, section 6.5.2), to the largest.
const WINDOW_BYTES: std::ops::RangeInclusive<u32> = 65_535..=(1 << 31) - 1;
const MAX_SECONDS: f64 = 1e6;
const MAX_RATE: f64 = 1e8;
/// Of a time line.
const MAX_SLOTS: f64 = 10_000.0;
const MAX_BURST: usize = 1_000_000;
/// A shorter wait saves nothing; with a longer one there is no schedule.
const SLACK_S: std::ops::RangeInclusive<f64> = 1e-5..=0.1;

impl Plan {
    /// Checks the plan; the error is one line.
    pub fn check(&self) -> Result<(), String> {
        if self.addresses.is_empty() == self.unix.is_none() {
            return Err("load: addresses: name at least one, or `unix`".into());
        }
        let is_unix = |path: &String| SocketAddrUnix::new(path.as_str()).is_ok();
        if !self.unix.as_ref().map_or(true, is_unix) {
            return Err("load: unix: no path of a socket".into());
        }
        let engines = self.part.map_or(1, |part| part.engines);
        if engines == 0 || engines > MAX_ENGINES {
            return Err(format!("load: part: engines: 1 to {MAX_ENGINES}"));
        }
        if self.part.is_some_and(|part| part.engine >= engines) {
            return Err(format!("load: part: engine: 0 to {}", engines - 1));
        }
        let most = MAX_CONNECTIONS * engines;
        if self.connections == 0 || self.connections > most {
            return Err(format!("load: connections: 1 to {most}"));
        }
        if self.threads == 0 || self.threads > MAX_THREADS {
            return Err(format!("load: threads: 1 to {MAX_THREADS}"));
        }
        if self.shards() > self.connections {
            let connections = self.connections;
            return Err(format!(
                "load: threads: each needs a connection, of {connections}"
            ));
        }
        self.check_http2()?;
        if self.part.is_some_and(|part| part.service_times) {
            self.check_service_times()?;
        }
        positive("timeout_s", self.timeout_s, MAX_SECONDS)?;
        for (key, value) in [
            ("duration_s", self.duration_s),
            ("progress_s", self.progress_s),
            ("lead_s", self.lead_s),
            ("patience_s", self.patience_s),
            ("course_s", self.course_s),
            ("stream.interval_s", self.stream.interval_s),
            ("stream.silent_s", self.stream.silent_s),
        ] {
            value.map_or(Ok(()), |value| positive(key, value, MAX_SECONDS))?;
        }
        let ramp = self.ramp_per_s;
        ramp.map_or(Ok(()), |ramp| positive("ramp_per_s", ramp, MAX_RATE))?;
        self.check_pacing()?;
        self.check_patience()?;
        self.stream.check(self.protocol)?;
        if self.stream.framing == Framing::Message && self.protocol != Protocol::Stream {
            return Err("load: stream.framing: messages are for streams only".into());
        }
        match (self.protocol, &self.request, &self.line) {
            (Protocol::Tcp, None, Some(line)) => {
                let pieces = pieces(self.templates.as_ref(), "line", line, &[])?;
                if line.contains('\n') {
                    return Err("load: line: a newline cannot stand inside".into());
                }
                if let Some(templates) = &self.templates {
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
                if !request.targets.is_empty() && protocol != Protocol::Http {
                    return Err("load: targets are for http only".into());
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

    /// Whether the service times of this load by its requests' numbers, if it keeps them, can be sent to another
    /// process. Of HTTP/2 a request that is sent again has another number: there is no greatest one.
    pub fn check_service_times(&self) -> Result<(), String> {
        let is_bounded = self.requests.is_some_and(|most| most <= MAX_SENT as u64);
        if self.keeps_service_times() && (!is_bounded || self.http2.is_some()) {
            return Err(format!(
                "load: service times by request: for HTTP/1.1, with `requests` of at most {MAX_SENT}"
            ));
        }
        Ok(())
    }

    fn check_patience(&self) -> Result<(), String> {
        let is_kept = matches!(self.protocol, Protocol::Http | Protocol::Tcp)
            && self.http2.is_none()
            && self.request.as_ref().map_or(true, |request| !request.close);
        if self.patience_s.is_some() && !is_kept {
            return Err("load: patience_s: for tcp and HTTP/1.1 with kept connections".into());
        }
        let Some(course_s) = self.course_s else {
            return Ok(());
        };
        let slots = self.duration_ns().map(|ns| ns as f64 / 1e9 / course_s);
        match slots.map_or(true, |slots| slots > MAX_SLOTS) {
            true => Err(format!(
                "load: course_s: needs a duration of at most {MAX_SLOTS} slots"
            )),
            false => Ok(()),
        }
    }

    fn check_http2(&self) -> Result<(), String> {
        let Some(http2) = &self.http2 else {
            return Ok(());
        };
        if !(1..=MAX_STREAMS).contains(&http2.streams) {
            return Err(format!("load: http2: streams: 1 to {MAX_STREAMS}"));
        }
        if !WINDOW_BYTES.contains(&http2.window_bytes) {
            let (least, most) = WINDOW_BYTES.into_inner();
            return Err(format!("load: http2: window_bytes: {least} to {most}"));
        }
        if http2.streams * self.own_connections() > MAX_CONNECTIONS {
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

    /// `line`: the message.
    fn check_websocket(&self, request: &RequestPlan, line: &str) -> Result<(), String> {
        request.template(self.templates.as_ref())?;
        let is_plain = request.method == "GET" && request.body.is_empty() && !request.close;
        if !is_plain || !request.targets.is_empty() {
            return Err("load: a WebSocket begins with a GET of one target, without a body".into());
        }
        pieces(self.templates.as_ref(), "line", line, &[])?;
        // A byte for each character.
        if line.chars().count() > MAX_MESSAGE_BYTES {
            return Err(format!("load: line: at most {MAX_MESSAGE_BYTES} bytes"));
        }
        Ok(())
    }

    fn check_pacing(&self) -> Result<(), String> {
        if let Some(slack_s) = self.slack_s {
            if !self.open_loop() {
                return Err("load: slack_s: only an open loop has a schedule".into());
            }
            if slack_s != 0.0 && !SLACK_S.contains(&slack_s) {
                return Err(format!(
                    "load: slack_s: 0, or from 1e-5 to 0.1, not {slack_s}"
                ));
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
            PacingPlan::Staircase { steps, .. } => {
                if steps.is_empty() {
                    return Err("load: staircase: name at least one step".into());
                }
                for step in steps {
                    for rate_per_s in [Some(step.rate_per_s), step.to_per_s].into_iter().flatten() {
                        positive("rate_per_s", rate_per_s, MAX_RATE)?;
                    }
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
}

impl StreamPlan {
    /// Of a load of this protocol.
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

/// Checks that a number is above zero and at most `max`; NaN is not.
fn positive(key: &str, value: f64, max: f64) -> Result<(), String> {
    if value > 0.0 && value <= max {
        return Ok(());
    }
    Err(format!(
        "load: {key}: {value} is not in the range 0 < x ≤ {max}"
    ))
}
