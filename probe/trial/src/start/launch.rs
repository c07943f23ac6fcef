//! Starts the program of a request: its cgroup, its pipes and files, and where it is.

use crate::start::spawn::{spawn, SpawnPlan, Spawned};
use crate::tree::cgroup::Cgroup;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::io::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;
use wire::os;
use wire::os::{pipe, set_file_flags};
use wire::request::{Request, Use};

/// A larger pipe lets a program that prints much run on while the probe counts.
const PIPE_BYTES: usize = 1 << 20;

/// The probe's ends of the program's pipes.
pub struct Pipes {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    pub report: OwnedFd,
}

/// A program that was started.
pub struct Launched {
    pub pid: i32,
    pub pidfd: OwnedFd,
    pub cgroup: Option<Arc<Cgroup>>,
    pub pipes: Pipes,
    pub start: Instant,
    /// As of [`Spawned`].
    pub floor_bytes: u64,
}

/// `inherited`: the CPUs that the probe itself was given. `kept`: a cgroup to be used again. `missing`: gets what this
/// host does not allow.
pub fn launch(
    request: &Request,
    inherited: &[usize],
    kept: Option<Cgroup>,
    missing: &mut Vec<String>,
) -> io::Result<Launched> {
    let limits = &request.limits;
    let cgroup = match request.cgroup {
        Use::Off => Err(io::Error::new(io::ErrorKind::Other, "off in the request")),
        Use::Auto => Cgroup::begin(kept, limits.memory_bytes, limits.processes, missing),
    };
    let cgroup = cgroup
        .map_err(|why| missing.push(format!("cgroup: {why}")))
        .map(Arc::new)
        .ok();

    let pipe = || pipe();
    let (child_stdin, stdin) = pipe()?;
    let child_stdin = match (&request.stdin, request.plain) {
        (Some(path), _) => open_stdin(path)
            .map_err(|error| io::Error::new(error.kind(), format!("stdin: {path}: {error}")))?
            .into(),
        (None, true) => File::open("/dev/null")
            .map_err(|error| io::Error::new(error.kind(), format!("/dev/null: {error}")))?
            .into(),
        (None, false) => child_stdin,
    };
    let (stdout, child_stdout) = pipe()?;
    let (stderr, child_stderr) = pipe()?;
    let child_stdout = elsewhere("stdout", &request.stdout, child_stdout)?;
    let child_stderr = elsewhere("stderr", &request.stderr, child_stderr)?;
    let (report, child_report) = pipe()?;
    for file in [&stdin, &stdout, &stderr, &report] {
        set_file_flags(file, libc::O_NONBLOCK)?;
    }
    if let Err(why) = os::set_pipe_size(&stdout, PIPE_BYTES) {
        missing.push(format!("stdout pipe of {PIPE_BYTES} bytes: {why}"));
    }

    let argv = texts(&request.argv)?;
    let env: Vec<String> = request
        .env
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let env = texts(&env)?;
    let cwd = CString::new(request.cwd.as_str())?;
    let path = request.env.get("PATH").map(String::as_str);
    let candidates = texts(&candidates(&request.argv[0], path))?;
    let pinned = !request.cpus.is_empty();
    let plan = SpawnPlan {
        candidates: &candidates,
        argv: &argv,
        env: &env,
        cwd: &cwd,
        cpus: if pinned { &request.cpus } else { inherited },
        stdin: child_stdin.as_fd(),
        stdout: child_stdout.as_fd(),
        stderr: child_stderr.as_fd(),
        report: child_report.as_fd(),
        cgroup: cgroup.as_deref().map(Cgroup::files),
        many_files: request.service.is_some(),
        confined: !request.plain,
    };
    let Spawned {
        pid,
        pidfd,
        start,
        floor_bytes,
    } = spawn(&plan, missing)?;
    Ok(Launched {
        pid,
        pidfd,
        cgroup,
        pipes: Pipes {
            stdin,
            stdout,
            stderr,
            report,
        },
        start,
        floor_bytes,
    })
}

/// A file that the program reads. A FIFO would keep the probe until somebody writes, whatever signals come.
fn open_stdin(path: &str) -> io::Result<File> {
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    if file.metadata()?.file_type().is_fifo() {
        let why = "is a FIFO: name a file";
        return Err(io::Error::new(io::ErrorKind::Other, why));
    }
    set_file_flags(&file, 0)?;
    Ok(file)
}

/// The file to which the program writes, if the request names one, else the pipe. What is there stays.
fn elsewhere(key: &str, path: &Option<String>, pipe: OwnedFd) -> io::Result<OwnedFd> {
    let Some(path) = path else {
        return Ok(pipe);
    };
    // Not waiting: a FIFO that nobody reads would keep the probe.
    let file = File::options()
        .append(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{key}: {path}: {error}")))?;
    set_file_flags(&file, libc::O_APPEND)?;
    Ok(file.into())
}

fn texts(texts: &[String]) -> io::Result<Vec<CString>> {
    let own = |text: &String| CString::new(text.as_str()).map_err(io::Error::from);
    texts.iter().map(own).collect()
}

/// Where the program may be: its own path when it has a slash, else below each folder of PATH.
fn candidates(program: &str, path: Option<&str>) -> Vec<String> {
    if program.contains('/') {
        return vec![program.to_owned()];
    }
    let below = |folder: &str| match folder {
        "" => format!("./{program}"),
        folder => format!("{folder}/{program}"),
    };
    path.unwrap_or("/usr/bin:/bin")
        .split(':')
        .map(below)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_up_programs_as_execvp_does() {
        assert_eq!(candidates("./a", Some("/x")), ["./a"]);
        assert_eq!(candidates("a", Some("/x:/y z:")), ["/x/a", "/y z/a", "./a"]);
        assert_eq!(candidates("a", None), ["/usr/bin/a", "/bin/a"]);
    }
}
