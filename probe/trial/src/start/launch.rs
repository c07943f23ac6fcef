//! Starts the program of a request: its cgroup, its pipes and files, and the search for its path.

use crate::start::launcher::{Launcher, Plan, Started};
use crate::tree::cgroup::Cgroup;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::io::{AsFd, OwnedFd};
use std::sync::Arc;
use wire::os::{pipe, set_file_flags};
use wire::pin;
use wire::request::{Request, Use};

/// A program that was started, with the probe's ends of its pipes.
pub struct Launched {
    pub started: Started,
    pub cgroup: Option<Arc<Cgroup>>,
    /// None if the program reads a file.
    pub stdin: Option<OwnedFd>,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// `inherited`: the CPUs that the probe itself was given. `kept`: a cgroup to be used again. `missing`: gets what this
/// host does not allow.
pub fn launch(
    request: &Request,
    inherited: &[usize],
    launcher: &mut Launcher,
    kept: Option<Cgroup>,
    missing: &mut Vec<String>,
) -> io::Result<Launched> {
    let cgroup = match request.cgroup {
        Use::Off => Err(io::Error::new(io::ErrorKind::Other, "off in the request")),
        Use::Auto => Cgroup::begin(kept, &request.limits, missing),
    };
    let cgroup = cgroup.map_err(|why| missing.push(format!("cgroup: {why}"))).map(Arc::new).ok();

    let path = request.stdin.as_deref().or(request.plain.then_some("/dev/null"));
    let (child_stdin, stdin) = match path {
        Some(path) => {
            let named = |error: io::Error| io::Error::new(error.kind(), format!("stdin: {path}: {error}"));
            (open_stdin(path).map_err(named)?.into(), None)
        }
        None => {
            let (child_stdin, stdin) = pipe()?;
            (child_stdin, Some(stdin))
        }
    };
    let (stdout, child_stdout) = pipe()?;
    let (stderr, child_stderr) = pipe()?;
    let child_stdout = elsewhere("stdout", &request.stdout, child_stdout)?;
    let child_stderr = elsewhere("stderr", &request.stderr, child_stderr)?;
    for file in [&stdout, &stderr].into_iter().chain(&stdin) {
        set_file_flags(file, libc::O_NONBLOCK)?;
    }

    let path = request.env.get("PATH").map(String::as_str);
    let cpus = if request.cpus.is_empty() { inherited } else { &request.cpus };
    let plan = Plan {
        request,
        paths: candidates(&request.argv[0], path),
        cpus: (!cpus.is_empty()).then(|| pin::set_of(cpus)),
        files: [child_stdin.as_fd(), child_stdout.as_fd(), child_stderr.as_fd()],
        cgroup: cgroup.as_deref().map(Cgroup::files),
    };
    let mut started = launcher.start(&plan, missing)?;
    let unmoved = started.unmoved.take();
    // The program runs outside the cgroup then.
    let cgroup = cgroup.filter(|_| unmoved.is_none());
    if let Some(why) = unmoved {
        missing.push(format!("cgroup: cannot move the program into it: {why}"));
    }
    Ok(Launched { started, cgroup, stdin, stdout, stderr })
}

/// A file that the program reads. A FIFO would keep the probe until it gets a writer, whatever signals come.
fn open_stdin(path: &str) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.file_type().is_fifo() {
        let why = "is a FIFO: name a file";
        return Err(io::Error::new(io::ErrorKind::Other, why));
    }
    set_file_flags(&file, 0)?;
    Ok(file)
}

/// The file to which the program writes, if the request names one, else the pipe. What is there stays.
fn elsewhere(key: &str, path: &Option<String>, pipe: OwnedFd) -> io::Result<OwnedFd> {
    let Some(path) = path else { return Ok(pipe) };
    // Does not wait: a FIFO without a reader would block the probe.
    let file = File::options()
        .append(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{key}: {path}: {error}")))?;
    set_file_flags(&file, libc::O_APPEND)?;
    Ok(file.into())
}

/// The possible paths of the program: its own path if that has a slash, else below each folder of PATH.
fn candidates(program: &str, path: Option<&str>) -> Vec<String> {
    if program.contains('/') {
        return vec![program.to_owned()];
    }
    let below = |folder: &str| match folder {
        "" => format!("./{program}"),
        folder => format!("{folder}/{program}"),
    };
    path.unwrap_or("/usr/bin:/bin").split(':').map(below).collect()
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
