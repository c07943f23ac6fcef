//! What precedes a trial: its upstreams, its parser, and the error of a program that cannot be started.

use crate::trial::tree::cgroup::Cgroup;
use crate::trial::sample::host::KernelFiles;
use crate::wire::pin;
use crate::trial::leave::places::Places;
use crate::trial::reference;
use crate::wire::request::Request;
use crate::trial::start::spawn_step::SpawnStep;
use crate::trial::says::stdout::StdoutParser;
use crate::engine::stub::Stub;
use crate::wire::text::quoted;
use std::io;
use std::rc::Rc;

/// What was prepared before the trial.
pub struct Setup<'a> {
    pub stub: Option<Stub>,
    /// What could not be used so far, and why.
    pub missing: Vec<String>,
    /// The CPUs that the probe was started with, where it has pinned itself to others.
    pub inherited_cpus: Vec<usize>,
    /// Times of the reference computations.
    pub reference: Option<reference::Times>,
    /// Of the trial before, where it can be used again.
    pub cgroup: Option<Cgroup>,
    pub files: Rc<KernelFiles>,
    /// Where the program may leave files.
    pub places: &'a mut Places,
}

/// Whether the probe can carry out another trial: a program may have changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Good,
    Spent,
}

/// In an argument of the program: replaced by the URLs of its upstreams.
const UPSTREAMS: &str = "{upstreams}";

/// Lets the upstreams listen, and puts their URLs into the program's arguments. They do not answer yet.
pub fn listen_upstreams(request: &mut Request) -> Result<Option<Stub>, String> {
    let service = request.service.as_ref();
    let Some(plan) = service.and_then(|service| service.stub.as_ref()) else {
        return Ok(None);
    };
    pin::check("stub: cpus", &plan.cpus)?;
    let stub = Stub::listen(plan).map_err(|error| format!("stub: cannot listen: {error}"))?;
    let ports = stub.ports().iter();
    let urls: Vec<_> = ports
        .map(|port| format!("http://127.0.0.1:{port}/"))
        .collect();
    for argument in &mut request.argv {
        *argument = argument.replace(UPSTREAMS, &urls.join(","));
    }
    Ok(Some(stub))
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

/// Why the program could not be started. `failure`: the report of its child process.
pub fn start_error(request: &Request, failure: Option<(SpawnStep, io::Error)>) -> String {
    let program = quoted(&request.argv[0]);
    match failure {
        Some((SpawnStep::Exec, error)) => format!("cannot run {program}: {error}"),
        Some((SpawnStep::Folder, error)) => {
            format!("cannot run {program} in {}: {error}", quoted(&request.cwd))
        }
        Some((SpawnStep::Affinity, error)) => {
            let cpus = &request.cpus;
            format!("cannot pin {program} to the CPUs {cpus:?}: {error}")
        }
        Some((_, error)) => format!("cannot start {program}: {error}"),
        None => format!("cannot start {program}"),
    }
}
