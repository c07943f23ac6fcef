//! Starts the program, and ends it with all processes that it started.

use crate::cgroup::{Cgroup, CpuUsage};
use crate::clock::timespec;
use crate::listener::{owner, Owner};
use crate::procfs::{ProcFs, Process};
use crate::request::{CgroupUse, Request};
use crate::spawn::{spawn, SpawnPlan, Spawned};
use crate::sys;
use crate::tree::{walk, Thoroughness};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::fs::{fcntl_setfl, OFlags};
use rustix::pipe::{pipe_with, PipeFlags};
use rustix::process::{
    getsid, kill_process_group, pidfd_open, pidfd_send_signal, setpriority_process, Pid,
    PidfdFlags, Signal,
};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::io::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A larger pipe lets a program that prints much run on while the probe counts.
const PIPE_BYTES: usize = 1 << 20;

const HIGHEST_PRIORITY: i32 = -20;

/// Processes that the kernel does not let die (they wait for a dead disk, say) are given up when no process of the
/// trial has ended for so long: a host that stalls may need minutes for a thousand.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long processes of a program that has ended by itself have to follow it: a runtime's helper ends when it sees
/// that the runtime is gone, and on a busy machine that takes a while.
const FOLLOWING: Duration = Duration::from_millis(500);

/// The generations after which a process is taken for one of the trial.
const MAX_ANCESTORS: usize = 1000;

/// After this, all processes that are left are given up.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// The probe's ends of the program's pipes.
pub struct Pipes {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    pub report: OwnedFd,
}

pub struct Supervisor {
    pid: i32,
    pidfd: OwnedFd,
    pub cgroup: Option<Arc<Cgroup>>,
    signals: OwnedFd,
    procfs: ProcFs,
    /// The wait status of the program itself.
    status: Option<i32>,
    ended: bool,
}

/// Processes that outlived the program.
#[derive(Debug, Default)]
pub struct Leftover {
    /// Processes besides the program itself that did not follow it when it had ended, or ran when it was killed.
    pub left_behind: u64,
    /// Processes that could not be ended.
    pub unkillable: u64,
}

impl Supervisor {
    /// `inherited`: the CPUs that the probe itself was given. `kept`: a cgroup to be used again.
    pub fn start(
        request: &Request,
        inherited: &[usize],
        signals: OwnedFd,
        kept: Option<Cgroup>,
        missing: &mut Vec<String>,
    ) -> io::Result<(Supervisor, Pipes, Instant)> {
        let procfs = ProcFs::open()?;
        let limits = &request.limits;
        let cgroup = match request.cgroup {
            CgroupUse::Off => Err(io::Error::new(io::ErrorKind::Other, "off in the request")),
            CgroupUse::Auto => Cgroup::begin(kept, limits.memory_bytes, limits.processes, missing),
        };
        let cgroup = cgroup
            .map_err(|why| missing.push(format!("cgroup: {why}")))
            .map(Arc::new)
            .ok();

        let pipe = || pipe_with(PipeFlags::CLOEXEC);
        let (child_stdin, stdin) = pipe()?;
        let child_stdin = match (&request.stdin, request.plain) {
            (Some(path), _) => open_stdin(path)
                .map_err(|error| io::Error::new(error.kind(), format!("stdin: {path}: {error}")))?
                .into(),
            (None, true) => File::open("/dev/null")?.into(),
            (None, false) => child_stdin,
        };
        let (stdout, child_stdout) = pipe()?;
        let (stderr, child_stderr) = pipe()?;
        let child_stdout = elsewhere("stdout", &request.stdout, child_stdout)?;
        let child_stderr = elsewhere("stderr", &request.stderr, child_stderr)?;
        let (report, child_report) = pipe()?;
        for file in [&stdin, &stdout, &stderr, &report] {
            fcntl_setfl(file, OFlags::NONBLOCK)?;
        }
        if let Err(why) = rustix::pipe::fcntl_setpipe_size(&stdout, PIPE_BYTES) {
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
        let start = Instant::now();
        let (Spawned { pid, pidfd }, why) = spawn(&plan)?;
        if let Some(why) = why {
            missing.push(format!("start inside the cgroup: {why}"));
        }
        let supervisor = Supervisor {
            pid,
            pidfd,
            cgroup,
            signals,
            procfs,
            status: None,
            ended: false,
        };
        let pipes = Pipes {
            stdin,
            stdout,
            stderr,
            report,
        };
        Ok((supervisor, pipes, start))
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Whether the program itself ends within a time.
    pub fn ends_within(&self, time: Duration) -> bool {
        let mut files = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut files, Some(&timespec(time.as_nanos() as u64))) == Ok(1)
    }

    pub fn signals(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }

    /// Exit status and signal of the program itself.
    pub fn exit(&self) -> (Option<i32>, Option<i32>) {
        self.status.map_or((None, None), sys::exit_of)
    }

    pub fn cpu(&self) -> Option<CpuUsage> {
        self.cgroup.as_deref().and_then(Cgroup::cpu)
    }

    pub fn procfs(&mut self) -> &mut ProcFs {
        &mut self.procfs
    }

    pub fn terminate(&self) {
        let _ = pidfd_send_signal(&self.pidfd, Signal::TERM);
    }

    /// The next signal that was sent to the probe.
    pub fn next_signal(&self) -> Option<sys::Received> {
        sys::next_signal(&self.signals)
    }

    /// Whose socket listens at an address of this host.
    pub fn listener(&mut self, address: SocketAddr) -> Owner {
        let tree = self.tree(&mut |_, _| {});
        owner(&mut self.procfs, &tree, address)
    }

    /// Whether a process is one of the trial's; None when it has ended, so that nobody knows any more.
    pub fn is_of_trial(&mut self, pid: i32) -> Option<bool> {
        let probe = std::process::id() as i32;
        let mut pid = pid;
        // Parents may end meanwhile; who loses theirs becomes a child of the probe.
        for _ in 0..MAX_ANCESTORS {
            if pid == probe {
                return Some(true);
            }
            if pid <= 1 {
                return Some(false);
            }
            pid = self.procfs.process(pid)?.parent;
        }
        Some(true)
    }

    /// Reaps orphans that have ended, so that they do not fill the table of processes. True when the program itself
    /// was among them.
    pub fn reap_some(&mut self) -> bool {
        for _ in 0..256 {
            match sys::reap() {
                Ok(Some((pid, status))) if pid == self.pid => {
                    self.status = Some(status);
                    return true;
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        false
    }

    /// Reaps all children that have ended, and counts them; None when there is no child at all.
    fn reap_all(&mut self) -> Option<u64> {
        let mut ended = 0;
        loop {
            match sys::reap() {
                Ok(Some((pid, status))) => {
                    ended += 1;
                    if pid == self.pid && self.status.is_none() {
                        self.status = Some(status);
                    }
                }
                Ok(None) => return Some(ended),
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(_) => return None,
            }
        }
    }

    /// Kills the program and all its descendants, and waits for them. Afterwards no process of the trial is alive,
    /// and the kernel's account of it is complete. `counted`: how many processes there are, where the last sample
    /// counted them.
    pub fn end(&mut self, counted: Option<u64>) -> Leftover {
        self.ended = true;
        let mut leftover = Leftover::default();
        let alive = match counted {
            // Counting a fork bomb once more would only give it time.
            Some(count) => {
                leftover.left_behind = count.saturating_sub(1);
                count
            }
            None => {
                let tree = self.alive_after_following();
                let others = tree.iter().filter(|process| process.pid != self.pid);
                leftover.left_behind = others.count() as u64;
                tree.len() as u64
            }
        };
        if alive > 0 {
            // Among thousands of processes the probe would hardly get a CPU. No harm where it
            // is not allowed.
            let _ = setpriority_process(None, HIGHEST_PRIORITY);
            if let Some(cgroup) = &self.cgroup {
                cgroup.kill();
            }
            // Until it has been waited for, the program's number is its own and its group's.
            if self.status.is_none() {
                let group = Pid::from_raw(self.pid);
                let _ = group.map(|group| kill_process_group(group, Signal::KILL));
            }
            // In most cases no process is left now.
            self.wait(Duration::from_millis(5));
        }
        let begin = Instant::now();
        let mut last = begin;
        while let Some(ended) = self.reap_all() {
            if ended > 0 {
                last = Instant::now();
            }
            if last.elapsed() > PATIENCE || begin.elapsed() > MAX_WAIT {
                leftover.unkillable = self.tree(&mut |_, _| {}).len() as u64;
                break;
            }
            // Orphans become children of the probe: what escapes one round is found in the next.
            let tree = self.tree(&mut kill);
            if !tree.iter().any(|process| process.alive) {
                self.wait(Duration::from_millis(5));
            }
        }
        leftover
    }

    /// The processes that are alive. Where the program has ended by itself, those that have not followed it in time.
    fn alive_after_following(&mut self) -> Vec<Process> {
        let begin = Instant::now();
        loop {
            let mut tree = self.tree(&mut |_, _| {});
            tree.retain(|process| process.alive);
            if tree.is_empty() || self.status.is_none() || begin.elapsed() > FOLLOWING {
                return tree;
            }
            self.wait(Duration::from_millis(5));
            self.reap_all();
        }
    }

    /// The cgroup, which is removed when it is dropped. Its figures have to be read before. None, too, while somebody
    /// else still holds it.
    pub fn take_cgroup(&mut self) -> Option<Cgroup> {
        self.cgroup
            .take()
            .and_then(|cgroup| Arc::try_unwrap(cgroup).ok())
    }

    fn tree(&mut self, visit: &mut dyn FnMut(&mut ProcFs, &Process)) -> Vec<Process> {
        let probe = std::process::id() as i32;
        walk(
            &mut self.procfs,
            probe,
            Thoroughness::All,
            usize::MAX,
            visit,
        )
    }

    fn wait(&self, time: Duration) {
        let time = timespec(time.as_nanos() as u64);
        let mut ready = [PollFd::new(&self.signals, PollFlags::IN)];
        let _ = poll(&mut ready, Some(&time));
        while self.next_signal().is_some() {}
    }
}

/// On a panic or an error, too, no process of the trial stays.
impl Drop for Supervisor {
    fn drop(&mut self) {
        if !self.ended {
            self.end(None);
        }
        self.cgroup = None;
    }
}

/// Kills a process and its group: a group dies at once, so that a process which forks and ends, again and again,
/// cannot escape.
fn kill(procfs: &mut ProcFs, process: &Process) {
    let own_session = getsid(None).map_or(0, |session| session.as_raw_nonzero().get());
    let pid = match Pid::from_raw(process.pid) {
        Some(pid) if process.alive => pid,
        _ => return,
    };
    // Sessions of the tree were created in the tree, so their groups hold no other processes.
    let group = Pid::from_raw(process.group);
    if let Some(group) = group.filter(|_| process.session > 0 && process.session != own_session) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    // The pid may have been used again since.
    if let Ok(file) = pidfd_open(pid, PidfdFlags::empty()) {
        let now = procfs.process(process.pid).map(|now| now.start_ticks);
        if now == Some(process.start_ticks) {
            let _ = pidfd_send_signal(file, Signal::KILL);
        }
    }
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
    fcntl_setfl(&file, OFlags::empty())?;
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
    fcntl_setfl(&file, OFlags::APPEND)?;
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
