//! `ringside-probe` carries out one trial: a request on stdin, messages on stdout, both as JSON
//! lines. docs/PROTOCOL.md is the specification.
#![deny(unsafe_code)]

mod cause;
mod cgroup;
mod clock;
mod evidence;
mod host;
mod inputs;
mod io;
mod load;
mod load_runner;
mod messages;
mod pin;
mod pipe;
mod procfs;
mod protocol_line;
mod reference;
mod request;
mod sampler;
mod sampling_budget;
mod service;
mod spawn;
mod stdout;
mod stub;
mod supervise;
mod sys;
mod text;
mod threads;
mod tree;
mod trial;
mod units;
mod verdict;
mod writer;

use request::{Work, PROTOCOL};
use rustix::process::{
    getpid, getppid, set_child_subreaper, set_parent_process_death_signal, Signal,
};
use std::io::{BufRead, Read};
use std::os::unix::io::AsFd;
use std::process::ExitCode;
use writer::{ReaderGone, Writer};

const HELP: &str = "\
ringside-probe carries out one trial of Ringside: it reads a request (one line of
JSON) from stdin and writes messages (JSON lines) to stdout, as docs/PROTOCOL.md
specifies them. It is started by `ringside`.

  --version   the version, and that of the protocol
  --help      this text
";

const MOST_REQUEST_BYTES: u64 = 16 << 20;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.first().map(|argument| argument.to_str()) {
        None => run(),
        Some(Some("--version")) => {
            let version = env!("CARGO_PKG_VERSION");
            print(&format!("ringside-probe {version} protocol {PROTOCOL}\n"))
        }
        Some(Some("--help" | "-h")) => print(HELP),
        Some(_) => refuse("no arguments: the request is one line of JSON on stdin; see --help"),
    }
}

fn run() -> ExitCode {
    match prepare_and_run() {
        Ok(done) => done,
        Err(why) => refuse(&why),
    }
}

/// The error is why no trial took place.
fn prepare_and_run() -> Result<ExitCode, String> {
    let parent = getppid();
    let system = |what: &str, error: std::io::Error| format!("{what}: {error}");
    set_parent_process_death_signal(Some(Signal::TERM))
        .map_err(|error| system("PR_SET_PDEATHSIG", error.into()))?;
    // Before anything else: from here on no signal is lost.
    let signals = sys::signal_file().map_err(|error| system("signalfd", error))?;
    let work = Work::parse(&read_request()?)?;
    let mut request = match work {
        Work::Trial(request) => request,
        Work::Load(plan) => return run_alone(|writer| load::run(&plan, &signals, writer)),
        Work::Stub(plan) => return run_alone(|writer| stub::alone::run(&plan, &signals, writer)),
    };
    let reference = request
        .reference
        .then(|| reference::measure(&request.cpus))
        .transpose()?;
    let inherited_cpus = pin::pin_probe(&request)?;
    let stub = trial::listen_upstreams(&mut request)?;
    let missing = inputs::prepare(&request.inputs)?;
    set_child_subreaper(Some(getpid()))
        .map_err(|error| system("PR_SET_CHILD_SUBREAPER", error.into()))?;
    // A parent that died before PR_SET_PDEATHSIG sends no signal.
    if getppid() != parent {
        return Err("the process that started the probe has ended".into());
    }

    let stdout = std::io::stdout();
    let mut writer = Writer::new(stdout.as_fd());
    let setup = trial::Setup {
        stub,
        missing,
        inherited_cpus,
        reference,
    };
    let done = trial::run(&request, setup, signals, &mut writer)
        .map_err(|error| system("cannot begin the trial", error))?;
    Ok(close(done, writer))
}

/// Runs a load or a stub by itself.
fn run_alone(
    run: impl FnOnce(&mut Writer) -> Result<Result<(), ReaderGone>, String>,
) -> Result<ExitCode, String> {
    let stdout = std::io::stdout();
    let mut writer = Writer::new(stdout.as_fd());
    let done = run(&mut writer)?;
    Ok(close(done, writer))
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

fn read_request() -> Result<Vec<u8>, String> {
    let mut line = Vec::new();
    let mut stdin = std::io::stdin().lock().take(MOST_REQUEST_BYTES);
    stdin
        .read_until(b'\n', &mut line)
        .map_err(|error| format!("stdin: {error}"))?;
    if line.len() as u64 == MOST_REQUEST_BYTES {
        return Err(format!("more than {MOST_REQUEST_BYTES} bytes in one line"));
    }
    Ok(line)
}

fn print(text: &str) -> ExitCode {
    use std::io::Write;
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("ringside-probe: {why}");
    ExitCode::from(2)
}
