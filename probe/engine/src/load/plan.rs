//! The plan of a load: the key `load` of a request.

use super::http_request::{RequestPlan, TemplatePlan};
use super::partition::Partition;
use crate::io::stamp::Stamping;
use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use wire::units::nanoseconds;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub protocol: Protocol,
    #[serde(default)]
    pub addresses: Vec<SocketAddr>,
    /// In place of `addresses`: the path of a Unix socket.
    pub unix: Option<String>,
    /// Addresses from which connections come in turn, in place of the system's choice.
    #[serde(default)]
    pub sources: Vec<IpAddr>,
    #[serde(default = "one")]
    pub connections: usize,
    #[serde(default = "one")]
    pub threads: usize,
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// With it, HTTP/2 takes the place of HTTP/1.1.
    pub http2: Option<Http2Plan>,
    /// With it, connections go through a proxy.
    pub tunnel: Option<TunnelPlan>,
    pub tls: Option<TlsPlan>,
    #[serde(default)]
    pub pacing: Pacing,
    /// Open loop: a request may wait for this long, so that others are sent with it. None: the engine's default.
    pub slack_s: Option<f64>,
    pub duration_s: Option<f64>,
    pub requests: Option<u64>,
    pub ramp_per_s: Option<f64>,
    /// Delays the load. An open loop opens its connections before it, and asks each of them once; only the errors of
    /// that count.
    pub lead_s: Option<f64>,
    #[serde(default = "five")]
    pub timeout_s: f64,
    /// How long a client waits for its answer, from the request's instant on, before it hangs up.
    pub patience_s: Option<f64>,
    /// The load is one of a trial's.
    #[serde(skip)]
    pub is_trial: bool,
    /// With it, the time line of the outcome has slots of this length; those of a staircase are its steps otherwise.
    pub course_s: Option<f64>,
    pub request: Option<RequestPlan>,
    pub line: Option<String>,
    /// With it, `request` and `line` have placeholders for values of each request.
    pub templates: Option<TemplatePlan>,
    #[serde(default)]
    pub expect: Expect,
    #[serde(default)]
    pub stream: StreamPlan,
    pub progress_s: Option<f64>,
    /// Whether the outcome has the counts of the main histograms.
    #[serde(default)]
    pub counts: bool,
    /// A file that gets a line for each request.
    pub log: Option<String>,
    /// With it, this engine is one of several that share the load.
    pub part: Option<EnginePart>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsPlan {
    /// The host, to which the certificate must belong.
    pub server_name: String,
    /// A file of certificates (PEM) that are trusted in place of the system's.
    pub cacert: Option<String>,
    /// Files (PEM) with the client's certificate, and those that vouch for it, and with its key.
    pub cert: Option<String>,
    pub key: Option<String>,
    /// Any certificate is accepted.
    #[serde(default)]
    pub insecure: bool,
    /// Sessions are resumed where the server allows it, in place of whole handshakes.
    #[serde(default)]
    pub resume: bool,
}

/// The key `tunnel` of a plan: `addresses` are those of a proxy, which is asked for the way to this host and port.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunnelPlan {
    pub authority: String,
    /// A user and a password in Base64.
    pub authorization: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http2Plan {
    /// Requests in flight on one connection.
    pub streams: usize,
    /// How many bytes of a reply the server may send before they are read.
    #[serde(default = "window")]
    pub window_bytes: u32,
}

/// The position of this engine among several.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnginePart {
    /// From 0.
    pub engine: usize,
    pub engines: usize,
    /// Whether its record has the service times of requests that their numbers identify to upstreams.
    #[serde(default)]
    pub service_times: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Http,
    Stream,
    Tcp,
    /// Messages of a WebSocket: the server answers each by one.
    Ws,
}

/// The pace of a whole load.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Pacing {
    /// A closed loop: a connection sends its next request when it has the reply. No request is due at any instant.
    Closed {},
    /// Requests at even intervals, `burst` of them at the same instant.
    Constant {
        rate_per_s: f64,
        #[serde(default = "one")]
        burst: usize,
    },
    /// Requests with exponential gaps.
    Poisson { rate_per_s: f64, seed: u64 },
    /// Rates that are constant or change linearly, one after the other.
    Staircase {
        steps: Vec<StepPlan>,
        /// For a service: rates are multiples of the rate at which the first load of this step was answered.
        of: Option<String>,
    },
}

impl Default for Pacing {
    fn default() -> Pacing {
        Pacing::Closed {}
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepPlan {
    pub rate_per_s: f64,
    pub duration_s: f64,
    /// With it, the rate changes linearly to this one until the step ends.
    pub to_per_s: Option<f64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    pub status: Option<u16>,
    pub equals: Option<String>,
    pub contains: Option<String>,
    pub matches: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamPlan {
    #[serde(default)]
    pub framing: Framing,
    pub first: Option<String>,
    pub chunk: Option<String>,
    pub interval_s: Option<f64>,
    pub due_field: Option<String>,
    /// Streams that had received nothing for this long when the load ended are counted as silent.
    pub silent_s: Option<f64>,
    #[serde(rename = "slow")]
    pub pause: Option<PausePlan>,
    #[serde(rename = "vanish")]
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
        self.pause.is_some_and(|pause| percentile(id) < pause.percent)
    }

    /// Whether a connection is reset. None is both paused and reset.
    pub fn resets(&self, id: u64) -> bool {
        self.reset.is_some_and(|reset| percentile(id) >= 100 - reset.percent)
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
    /// The data of a server-sent event.
    Event,
    Message,
}

fn one() -> usize {
    1
}
fn five() -> f64 {
    5.0
}
fn window() -> u32 {
    16 << 20
}

impl Plan {
    /// How many requests one connection carries at a time.
    pub fn lanes(&self) -> usize {
        self.http2.map_or(1, |http2| http2.streams)
    }

    /// Whether connections become WebSockets.
    pub fn is_websocket(&self) -> bool {
        match self.protocol {
            Protocol::Ws => true,
            Protocol::Stream => self.stream.framing == Framing::Message,
            Protocol::Http | Protocol::Tcp => false,
        }
    }

    /// The engine and its share: of a load by itself, the only one.
    fn part(&self) -> EnginePart {
        self.part.unwrap_or(EnginePart { engine: 0, engines: 1, service_times: true })
    }

    /// The number of shards of all engines.
    pub fn shards(&self) -> usize {
        self.threads * self.part().engines
    }

    /// The number of a thread's shard, from 0, among those of all engines.
    pub fn shard(&self, thread: usize) -> usize {
        thread * self.part().engines + self.part().engine
    }

    /// The part of a shard, by its number.
    pub fn partition(&self, shard: usize) -> Partition {
        Partition::new(shard as u64, self.shards() as u64, self.connections as u64)
    }

    /// This engine's part, as if it had one shard.
    fn own_partition(&self) -> Partition {
        let EnginePart { engine, engines, .. } = self.part();
        Partition::new(engine as u64, engines as u64, self.connections as u64)
    }

    /// The number of connections of this engine.
    pub fn own_connections(&self) -> usize {
        self.own_partition().connections() as usize
    }

    /// This engine's part of a rate of the whole load.
    pub fn own_rate(&self, rate_per_s: f64) -> f64 {
        self.own_partition().of_rate(rate_per_s)
    }

    /// Whether the service times of requests are kept by their numbers, which identify them to upstreams.
    pub fn keeps_service_times(&self) -> bool {
        let request = self.request.as_ref().filter(|_| self.templates.is_none());
        self.part().service_times && request.is_some_and(|request| request.id().is_some())
    }

    /// The same load on another address.
    pub fn at(&self, address: SocketAddr) -> Plan {
        Plan { addresses: vec![address], is_trial: true, ..self.clone() }
    }

    /// The step of a service that rates are multiples of.
    pub fn rates_of(&self) -> Option<&str> {
        match &self.pacing {
            Pacing::Staircase { of, .. } => of.as_deref(),
            _ => None,
        }
    }

    /// The same load with its rates as multiples of this one.
    pub fn at_rate(&self, rate_per_s: f64) -> Plan {
        let mut plan = self.clone();
        if let Pacing::Staircase { steps, of } = &mut plan.pacing {
            *of = None;
            for step in steps {
                step.rate_per_s *= rate_per_s;
                step.to_per_s = step.to_per_s.map(|to_per_s| to_per_s * rate_per_s);
            }
        }
        plan
    }

    /// Whether requests are due at instants that do not depend on the server.
    pub fn open_loop(&self) -> bool {
        !matches!(self.pacing, Pacing::Closed {})
    }

    /// On which connections the kernel stamps arriving bytes. In open loops and streams on all: the thread may be busy
    /// sending when bytes arrive. In closed loops stamps only show how long replies wait for the engine, for which a
    /// sample is enough.
    pub fn stamping(&self) -> Stamping {
        let is_kept = self.http2.is_none() && !self.request.as_ref().is_some_and(|it| it.close);
        match self.open_loop() || self.protocol == Protocol::Stream {
            true => Stamping::All,
            false if is_kept => Stamping::Sampled,
            false => Stamping::None,
        }
    }

    /// Whether a thread polls for a moment before it sleeps: in a closed loop, where it has a CPU of its own.
    pub fn polls_briefly(&self) -> bool {
        self.stamping() != Stamping::All && !self.cpus.is_empty()
    }

    pub fn lead_ns(&self) -> u64 {
        self.lead_s.map_or(0, nanoseconds)
    }

    pub fn duration_ns(&self) -> Option<u64> {
        let stairs = match &self.pacing {
            Pacing::Staircase { steps, .. } => Some(steps.iter().map(|step| step.duration_s).sum()),
            _ => None,
        };
        let least = [self.duration_s, stairs].into_iter().flatten();
        least.reduce(f64::min).map(nanoseconds)
    }
}
