//! The request: one JSON object on stdin. An error in it is reported in one line.

use crate::json::{self, from_json, required, FromJson, Raw, Reader};
use crate::text::quoted;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

pub const PROTOCOL: u64 = 1;

/// Returns an error, which is one line, where something is wrong.
#[macro_export]
macro_rules! refuse {
    ($wrong:expr, $($why:tt)+) => {
        if $wrong {
            return Err(format!($($why)+));
        }
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Auto,
    Off,
}

impl FromJson for Use {
    fn read(from: &mut Reader) -> Result<Use, String> {
        match String::read(from)?.as_str() {
            "auto" => Ok(Use::Auto),
            "off" => Ok(Use::Off),
            other => Err(format!("{}, neither 'auto' nor 'off'", quoted(other))),
        }
    }
}

from_json! {
    #[derive(Debug)]
    pub struct Request {
        pub version: u64,
        pub argv: Vec<String>,
        pub cwd: String,
        pub env: BTreeMap<String, String>,
        pub cpus: Vec<usize> = Vec::new(),
        pub probe_cpus: Vec<usize> = Vec::new(),
        pub limits: Limits,
        pub sample_hz: f64 = 20.0,
        /// Samples have the CPU time of each thread and the kernel's memory.
        pub timeline: bool = false,
        pub cgroup: Use = Use::Auto,
        /// The program gets a temporary folder of its own, below the TMPDIR of `env`.
        pub temporary: bool = false,
        /// Namespaces of the probe's own; that of the first request counts, for all of this process.
        pub namespaces: Use = Use::Auto,
        /// The outcome repeats it: a program that writes in the probe's place does not know it.
        pub number: Option<String>,
        pub expect: Option<Expect>,
        pub service: Option<Service>,
        pub inputs: Vec<Input> = Vec::new(),
        /// A command without the protocol: lines that begin with `::` are ordinary, and its whole stdout is hashed.
        pub plain: bool = false,
        /// The file that the program reads as stdin. None: a pipe of the probe's, for a plain command /dev/null.
        pub stdin: Option<String>,
        /// Files that exist, to which a plain command writes in place of the probe's pipes.
        pub stdout: Option<String>,
        pub stderr: Option<String>,
        /// The names that the program may wait for by `::await`, each once.
        pub awaits: Vec<String> = Vec::new(),
        /// A fixed computation is timed on the program's CPUs before it starts.
        pub reference: bool = false,
        /// Instructions, cycles and other counters of the whole tree.
        pub counters: bool = false,
    }

    #[derive(Debug)]
    pub struct Limits {
        pub wall_s: f64,
        pub memory_bytes: u64,
        pub output_bytes: u64,
        pub processes: u64,
        /// Twice what a server with ten thousand connections and three threads for each would have.
        pub threads: u64 = 65_536,
    }

    /// The evidence that makes a trial `ok`.
    #[derive(Debug, Default)]
    pub struct Expect {
        pub result: BTreeMap<String, String> = BTreeMap::new(),
        pub lines: Option<ExpectLines>,
    }

    #[derive(Debug, Default)]
    pub struct ExpectLines {
        pub total: Option<u64>,
        pub starting: BTreeMap<char, u64> = BTreeMap::new(),
        /// The hash of all lines, each with its newline.
        pub sha256: Option<String>,
    }

    /// A file that the program reads.
    #[derive(Debug)]
    pub struct Input {
        pub path: String,
        /// Whether it lies in the page cache, whole or not at all, when the program starts.
        pub cached: bool,
    }

    #[derive(Debug)]
    pub struct Service {
        pub ready_s: f64,
        pub idle_s: f64,
        /// How long the program may take to end after SIGTERM. The contract allows two seconds; the rest is for stalls of
        /// the host.
        pub end_s: f64 = 10.0,
        /// Loads, one step after another, which the engine reads. Empty: the program is only observed.
        pub steps: Vec<Raw> = Vec::new(),
        /// The plan of upstreams that the program may call, which the engine reads.
        pub stub: Option<Raw>,
        /// The address where the program listens, and to which loads go.
        pub host: IpAddr = Ipv4Addr::LOCALHOST.into(),
        /// Engines on other machines carry out the loads, and the driver tells of them.
        pub remote: bool = false,
    }
}

/// The kind of work that a request asks for.
#[derive(Debug)]
pub enum Work {
    Trial(Box<Request>),
    /// A load or a merge by itself, which the engine reads.
    Engine,
}

/// The keys that show why a text is no request for a trial.
struct Head {
    version: u64,
    is_for_engine: bool,
}

impl FromJson for Head {
    fn read(from: &mut Reader) -> Result<Head, String> {
        let (mut version, mut is_for_engine) = (None, false);
        from.object(&mut |from, key| {
            is_for_engine |= matches!(key, "load" | "merge");
            match key {
                "version" => from.once(&mut version),
                _ => from.skip(),
            }
        })?;
        Ok(Head { version: required("version", version)?, is_for_engine })
    }
}

impl Work {
    pub fn parse(text: &[u8]) -> Result<Work, String> {
        let request = Request::parse(text);
        if request.as_ref().is_ok_and(|request| request.version == PROTOCOL) {
            return request.map(|request| Work::Trial(Box::new(request)));
        }
        // Perhaps it is for the engine, or of another version, which may have keys that are unknown here.
        let Head { version, is_for_engine } = json::parse(text)?;
        refuse!(
            version != PROTOCOL,
            "version {version} is not supported, only {PROTOCOL}: install a ringside and a ringside-probe that belong together"
        );
        match is_for_engine {
            true => Ok(Work::Engine),
            false => request.map(|request| Work::Trial(Box::new(request))),
        }
    }
}

impl Request {
    pub fn parse(text: &[u8]) -> Result<Request, String> {
        let request: Request = json::parse(text)?;
        request.check()?;
        Ok(request)
    }

    fn check(&self) -> Result<(), String> {
        let first = self.argv.first().ok_or("argv: name a program")?;
        refuse!(first.is_empty(), "argv: the program's name is empty");
        let has_nul = self.argv.iter().chain([&self.cwd]).any(|text| text.contains('\0'));
        refuse!(has_nul, "argv, cwd: a NUL character cannot be passed to a program");
        refuse!(self.cwd.is_empty(), "cwd: name a folder");
        let files = [("stdin", &self.stdin), ("stdout", &self.stdout), ("stderr", &self.stderr)];
        for (key, path) in files {
            let is_wrong = |path: &String| path.is_empty() || path.contains('\0');
            refuse!(path.as_ref().is_some_and(is_wrong), "{key}: name a file");
        }
        let lines = self.expect.iter().flat_map(|expect| &expect.lines);
        let mut prefixes = lines.flat_map(|lines| lines.starting.keys());
        refuse!(!prefixes.all(char::is_ascii), "expect.lines.starting: only characters of ASCII");
        let writes_elsewhere = self.stdout.is_some() || self.stderr.is_some();
        let is_wrong = writes_elsewhere && !self.plain;
        refuse!(is_wrong, "stdout, stderr: only a plain command may write elsewhere");
        let has_contract = self.expect.is_some() || self.service.is_some();
        let is_wrong = self.plain && has_contract;
        refuse!(is_wrong, "plain: a plain command shows no evidence and is no service");
        for (key, value) in &self.env {
            let is_wrong = key.is_empty() || key.contains(&['=', '\0'][..]) || value.contains('\0');
            let rule = "no empty name, no = in it, no NUL";
            refuse!(is_wrong, "env: {key:?} cannot be a variable: {rule}");
        }
        seconds("limits.wall_s", self.limits.wall_s)?;
        refuse!(self.limits.wall_s == 0.0, "limits.wall_s: must be more than 0");
        refuse!(self.limits.processes == 0, "limits.processes: must be 1 or more");
        let is_possible = (0.0..=1000.0).contains(&self.sample_hz);
        refuse!(!is_possible, "sample_hz: must be from 0 to 1000");
        if let Some(service) = &self.service {
            seconds("service.ready_s", service.ready_s)?;
            seconds("service.idle_s", service.idle_s)?;
            seconds("service.end_s", service.end_s)?;
            let is_one = !service.host.is_unspecified() && !service.host.is_multicast();
            refuse!(!is_one, "service.host: name the address of one machine");
        }
        Ok(())
    }

    /// None: no regular samples.
    pub fn sample_interval(&self) -> Option<Duration> {
        (self.sample_hz > 0.0).then(|| Duration::from_secs_f64((1.0 / self.sample_hz).min(1e6)))
    }
}

/// Whether a key has a possible number of seconds.
pub fn seconds(key: &str, value: f64) -> Result<(), String> {
    // Ten years: far below what a Duration or the kernel's clock can hold.
    let is_possible = (0.0..=3.2e8).contains(&value);
    refuse!(!is_possible, "{key}: must be seconds, from 0 to 3.2e8");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8]) -> Result<Request, String> {
        match Work::parse(text)? {
            Work::Trial(request) => Ok(*request),
            other => panic!("{other:?}"),
        }
    }
    use serde_json::json;

    fn base() -> serde_json::Value {
        json!({"version": 1, "argv": ["true"], "cwd": "/", "env": {}, "limits":
            {"wall_s": 1, "memory_bytes": 1, "output_bytes": 1, "processes": 1}})
    }

    fn with(key: &str, value: serde_json::Value) -> Result<Request, String> {
        let mut request = base();
        *request.pointer_mut(key).unwrap() = value;
        parse(request.to_string().as_bytes())
    }

    #[test]
    fn the_least_request() {
        let request = parse(base().to_string().as_bytes()).unwrap();
        assert_eq!(request.sample_hz, 20.0);
        assert_eq!(request.cgroup, Use::Auto);
        assert!(request.expect.is_none() && request.service.is_none());
        assert!(!request.plain && !request.reference && request.stdin.is_none());
    }

    #[test]
    fn refusals() {
        let refused = |key: &str, value, word: &str| {
            let error = with(key, value).unwrap_err();
            assert!(error.contains(word) && !error.contains('\n'), "{error}");
        };
        refused("/version", json!(2), "version 2");
        refused("/argv", json!([]), "argv");
        refused("/argv", json!([""]), "argv");
        refused("/argv", json!(["a\0b"]), "NUL");
        refused("/env", json!({"A=B": ""}), "A=B");
        refused("/limits/wall_s", json!(-1), "wall_s");
        refused("/limits/wall_s", json!(0), "wall_s");
        refused("/limits/wall_s", json!(1e300), "wall_s");
        refused("/limits/processes", json!(-1), "-1");
        let mut plain = base();
        plain["plain"] = json!(true);
        plain["expect"] = json!({"result": {}});
        let error = parse(plain.to_string().as_bytes()).unwrap_err();
        assert!(error.contains("plain"), "{error}");
        let mut unknown = base();
        unknown["surprise"] = json!(1);
        let error = parse(unknown.to_string().as_bytes()).unwrap_err();
        assert!(error.contains("surprise"), "{error}");
        assert!(parse(b"").is_err());
        assert!(parse(b"[1").is_err());
    }

    #[test]
    fn another_version_is_named_before_its_unknown_keys() {
        let error = parse(br#"{"new": 1, "version": 7}"#).unwrap_err();
        assert!(error.contains("version 7"), "{error}");
    }

    #[test]
    fn a_prefix_is_one_character_of_ascii() {
        let mut request = base();
        request["expect"] = json!({"result": {}, "lines": {"total": 2, "starting": {":": 1, "*": 1}}});
        assert!(parse(request.to_string().as_bytes()).is_ok());
        for prefix in ["ab", "→", ""] {
            request["expect"] = json!({"result": {}, "lines": {"starting": {prefix: 1}}});
            assert!(parse(request.to_string().as_bytes()).is_err(), "{prefix}");
        }
    }
}
