//! `ringside-probe` carries out one trial: a request on stdin, answers on stdout, both as JSON
//! lines. docs/PROTOCOL.md is the specification.
#![deny(unsafe_code)]

mod cgroup;
mod clock;
mod cpus;
mod driving;
mod evidence;
mod governor;
mod inputs;
mod io;
mod kernel;
mod lines;
mod load;
mod output;
mod pin;
mod pressure;
mod reference;
mod request;
mod sample;
mod service;
mod stream;
mod stub;
mod supervise;
mod sys;
mod threads;
mod tree;
mod trial;
mod verdict;

use output::Writer;
use request::{Work, PROTOCOL};
use rustix::process::{
    getpid, getppid, set_child_subreaper, set_parent_process_death_signal, Signal,
};
use std::io::{BufRead, Read};
use std::os::unix::io::AsFd;
use std::process::ExitCode;

const HELP: &str = "\
ringside-probe carries out one trial of Ringside: it reads a request (one line of
JSON) from stdin and writes answers (JSON lines) to stdout. docs/PROTOCOL.md tells
what they hold. `ringside` starts it; nobody else needs to.

  --version   the version, and that of the protocol
  --help      this text
";

const MOST_REQUEST_BYTES: u64 = 16 << 20;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.first().map(|argument| argument.to_str()) {
        None => carry_out(),
        Some(Some("--version")) => {
            let version = env!("CARGO_PKG_VERSION");
            say(&format!("ringside-probe {version} protocol {PROTOCOL}\n"))
        }
        Some(Some("--help" | "-h")) => say(HELP),
        Some(_) => refuse("no arguments: the request is one line of JSON on stdin; see --help"),
    }
}

fn carry_out() -> ExitCode {
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
        Work::Load(plan) => return drive(|writer| load::run(&plan, &signals, writer)),
        Work::Stub(plan) => return drive(|writer| stub::alone::run(&plan, &signals, writer)),
    };
    let reference_ns = request
        .reference
        .then(|| reference::on(&request.cpus))
        .transpose()?;
    let inherited = pin::pin(&request)?;
    let stub = trial::upstreams(&mut request)?;
    let missing = inputs::prepare(&request.inputs)?;
    set_child_subreaper(Some(getpid()))
        .map_err(|error| system("PR_SET_CHILD_SUBREAPER", error.into()))?;
    // A parent that died before it was asked for gives no signal.
    if getppid() != parent {
        return Err("the process that started the probe has ended".into());
    }

    let stdout = std::io::stdout();
    let mut writer = Writer::new(stdout.as_fd());
    let before = trial::Before {
        stub,
        missing,
        inherited,
        reference_ns,
    };
    let done = trial::run(&request, before, signals, &mut writer)
        .map_err(|error| system("cannot begin the trial", error))?;
    Ok(close(done, writer))
}

/// What is no trial.
fn drive(
    run: impl FnOnce(&mut Writer) -> Result<Result<(), output::ReaderGone>, String>,
) -> Result<ExitCode, String> {
    let stdout = std::io::stdout();
    let mut writer = Writer::new(stdout.as_fd());
    let done = run(&mut writer)?;
    Ok(close(done, writer))
}

fn close(done: Result<(), output::ReaderGone>, writer: Writer) -> ExitCode {
    match done.and_then(|()| writer.finish()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(output::ReaderGone) => {
            eprintln!("ringside-probe: nobody reads the answers any more: it was ended");
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

fn say(text: &str) -> ExitCode {
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
