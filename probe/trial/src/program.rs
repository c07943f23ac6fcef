//! The probe as a program: trials, one after another: requests on stdin, messages on stdout, both as JSON
//! lines. docs/PROBE.md is the specification.

use crate::leave::temporary;
use crate::loads::Engine;
use crate::session::Session;
use crate::tree::cgroup::Cgroup;
use crate::tree::namespace::{self, Side};
use std::os::unix::io::AsFd;
use std::process::ExitCode;
use wire::os::{parent_id, set_parent_death_signal};
use wire::request::{Use, Work, PROTOCOL};
use wire::requests::Requests;
use wire::sys;
use wire::text::failed;
use wire::writer::{ReaderGone, Writer};

const HELP: &str = " carries out trials of Ringside, one after another: it reads requests
(a line of JSON each) from stdin and writes messages (JSON lines) to stdout, as
docs/PROBE.md specifies them. It is started by `ringside`.

  --version        the version, and that of the protocol
  --sweep FOLDER   removes the temporary folders that killed probes have left there
  --help           this text
";

/// Why a probe without an engine refuses loads and upstreams.
pub const NO_ENGINE: &str = "this is the probe for trials without loads: `ringside-probe` has a load engine";

/// `name`: the program's own. Without an engine it refuses loads.
pub fn main(name: &str, engine: Option<&Engine>) -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.first().map(|argument| argument.to_str()) {
        None => run(engine).unwrap_or_else(|why| refuse(&why)),
        Some(Some("--version")) => {
            let version = env!("CARGO_PKG_VERSION");
            print(&format!("{name} {version} protocol {PROTOCOL}\n"))
        }
        Some(Some("--sweep")) => sweep(arguments.get(1).and_then(|folder| folder.to_str())),
        Some(Some("--help" | "-h")) => print(&format!("{name}{HELP}")),
        Some(_) => refuse("no arguments: the request is one line of JSON on stdin; see --help"),
    }
}

/// The error is why a trial did not take place.
fn run(engine: Option<&Engine>) -> Result<ExitCode, String> {
    let parent = parent_id();
    set_parent_death_signal(libc::SIGTERM).map_err(failed("PR_SET_PDEATHSIG"))?;
    // Before anything else: from here on no signal is lost.
    let signals = sys::signal_file().map_err(failed("signalfd"))?;
    sys::set_dumpable(false).map_err(failed("PR_SET_DUMPABLE"))?;
    let mut requests = Requests::of_stdin().map_err(failed("stdin"))?;
    // Without any request, the error is that of an empty one.
    let mut line = requests.next(&signals)?.unwrap_or_default();
    let mut work = Work::parse(&line)?;
    // A plain command sees the machine as it is.
    let mut outside = None;
    let mut shared = Ok(None);
    if let Work::Trial(request) = &work {
        outside = match (request.plain, request.namespaces) {
            (true, _) => None,
            (false, Use::Off) => Some("off in the request".into()),
            (false, Use::Auto) => {
                if request.cgroup == Use::Auto {
                    Cgroup::prepare();
                }
                match namespace::enter(&signals, parent) {
                    Ok(Side::Outside(status)) => return Ok(ExitCode::from(status)),
                    Ok(Side::Inside(own)) => {
                        shared = own;
                        None
                    }
                    Err(why) => Some(why),
                }
            }
        };
    }
    // From inside, no process outside can be seen.
    let parent = parent.filter(|_| !namespace::is_own());
    let mut session = Session::new(parent, outside, shared, engine)?;
    loop {
        let stdout = std::io::stdout();
        let mut writer = Writer::new(stdout.as_fd());
        let request = match work {
            Work::Trial(request) => request,
            Work::Engine => {
                let engine = engine.ok_or(NO_ENGINE)?;
                let done = (engine.run)(&line, &signals, &mut requests, &mut writer)?;
                return Ok(close(done, writer));
            }
        };
        let done = session.carry_out(*request, &signals, &mut requests, &mut writer)?;
        let is_good = matches!(done, Ok(true));
        let status = close(done.map(|_| ()), writer);
        if !is_good {
            return Ok(status);
        }
        match requests.next(&signals)? {
            Some(next) => line = next,
            None => return Ok(ExitCode::SUCCESS),
        }
        work = Work::parse(&line)?;
    }
}

fn close(done: Result<(), ReaderGone>, writer: Writer) -> ExitCode {
    match done.and_then(|()| writer.finish()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(ReaderGone) => {
            eprintln!("ringside-probe: stdout was closed: the trial was ended");
            ExitCode::FAILURE
        }
    }
}

fn print(text: &str) -> ExitCode {
    use std::io::Write;
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn sweep(folder: Option<&str>) -> ExitCode {
    match folder.map(temporary::sweep) {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => refuse(&error.to_string()),
        None => refuse("--sweep: the name of a folder is missing"),
    }
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("ringside-probe: {why}");
    ExitCode::from(2)
}
