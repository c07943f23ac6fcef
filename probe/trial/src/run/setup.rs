//! Prepares a trial: its parser, and the error of a program that cannot be started.

use crate::loads::Loads;
use crate::reference;
use crate::says::stdout::StdoutParser;
use crate::start::launcher::Step;
use std::io;
use std::os::unix::io::BorrowedFd;
use wire::request::Request;
use wire::text::quoted;

/// The preparations for a trial, besides what the session has for all.
pub struct Setup<'a> {
    /// With upstreams that listen.
    pub loads: Option<Box<dyn Loads>>,
    /// The features that could not be used so far, and why.
    pub missing: Vec<String>,
    /// The CPUs that the probe was started with, where it has pinned itself to others.
    pub inherited_cpus: Vec<usize>,
    pub reference: Option<reference::Times>,
    pub signals: BorrowedFd<'a>,
    /// The state of the host and of the probe is compared before and after: counters, limits, settings.
    pub is_compared: bool,
}

/// The parser of the program's stdout.
pub fn parser(request: &Request) -> StdoutParser {
    if request.plain {
        return StdoutParser::plain();
    }
    let expected = request.expect.as_ref();
    let lines = expected.and_then(|expect| expect.lines.as_ref());
    let prefixes = lines.into_iter().flat_map(|lines| lines.starting.keys());
    let hashed = lines.is_some_and(|lines| lines.sha256.is_some());
    StdoutParser::new(prefixes.copied(), hashed)
}

/// Why the program could not be started.
pub fn start_error(request: &Request, step: Step, error: &io::Error) -> String {
    let program = quoted(&request.argv[0]);
    match step {
        Step::Exec => format!("cannot run {program}: {error}"),
        Step::Folder => format!("cannot run {program} in {}: {error}", quoted(&request.cwd)),
        Step::Affinity => {
            let cpus = &request.cpus;
            format!("cannot pin {program} to the CPUs {cpus:?}: {error}")
        }
        Step::Setup => format!("cannot start {program}: {error}"),
    }
}
