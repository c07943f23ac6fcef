//! Namespaces of the probe's own. The probe is the first process of a PID namespace, whose /proc shows nothing else, so
//! that no program can reach the probe's parent, stop or kill the probe, or outlive it. Shared memory is its own as well,
//! and ends with it. The process that was started is outside; it hands signals in and the exit status out.
#![allow(unsafe_code)]

use crate::leave::shared_memory::SharedMemory;
use crate::start::inherited::Limits;
use std::io::{self, BufRead, BufReader};
use std::os::unix::io::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use wire::os::{self, mount, new_session, parent_id, poll, read, set_parent_death_signal, statat, write};
use wire::os::{CloneArgs, PollFd};
use wire::sys;
use wire::text::failed;

/// The host's facts about the process inside, which would no longer see them.
struct Outside {
    pid: u32,
    proc: OwnedFd,
}

static OUTSIDE: OnceLock<Outside> = OnceLock::new();

/// The process that continues.
pub enum Side {
    /// The first process of the new namespaces, with shared memory of its own, or why it has none.
    Inside(Result<Option<SharedMemory>, String>),
    /// The process outside, after that inside has ended with this status.
    Outside(u8),
}

/// Makes the namespaces, and a process inside. The error is why there are none: this process then goes on as before.
/// `parent`: the process that started this one, which has one thread.
pub fn enter(signals: &OwnedFd, parent: Option<i32>) -> Result<Side, String> {
    let proc = os::open("/proc", libc::O_RDONLY | libc::O_DIRECTORY).map_err(failed("/proc"))?;
    let (inside, outside) = UnixStream::pair().map_err(failed("a pair of sockets"))?;
    let pid = std::process::id();
    // Root needs no namespace of users: in one it would lose rights that contenders may need.
    let user = Some((os::user_id(), os::group_id())).filter(|(user, _)| *user != 0);
    let users = if user.is_some() { libc::CLONE_NEWUSER } else { 0 };
    let args = CloneArgs {
        flags: (libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | users)
            as u64,
        exit_signal: libc::SIGCHLD as u64,
        ..CloneArgs::default()
    };
    // SAFETY: without CLONE_VM and with no stack this is a fork. This process has one thread, so no lock can be held by
    // another.
    let child = unsafe { os::clone3(&args) };
    match child.map_err(failed("clone"))? {
        0 => {
            drop(outside);
            let done = prepare(user);
            let report = done.as_ref().err().map_or("", String::as_str);
            // A process that does not answer has ended, perhaps before PR_SET_PDEATHSIG.
            let told = write(&inside, format!("{report}\n").as_bytes());
            let answered = told.and_then(|_| read(&inside, &mut [0; 1]));
            if done.is_err() || answered != Ok(1) || OUTSIDE.set(Outside { pid, proc }).is_err() {
                // SAFETY: ends this process, and runs nothing of the parent's.
                unsafe { libc::_exit(1) }
            }
            let shared = SharedMemory::mount();
            Ok(Side::Inside(shared.map_err(|error| error.to_string())))
        }
        child => {
            drop(inside);
            match report_of(&outside) {
                Some(report) if report.is_empty() => {
                    let _ = write(&outside, b"\n");
                    Ok(Side::Outside(relay_signals(child, signals, parent)))
                }
                report => {
                    drop(outside);
                    let _ = sys::wait_for(child);
                    Err(report.unwrap_or_else(|| "the process inside ended".into()))
                }
            }
        }
    }
}

/// Kills all processes of the namespace but the probe, which is its first.
pub fn kill_all() {
    if is_own() {
        let _ = os::kill(-1, libc::SIGKILL);
    }
}

/// Whether this process is inside of namespaces of its own.
pub fn is_own() -> bool {
    OUTSIDE.get().is_some()
}

/// The number of the probe in the namespace of the process that started it.
pub fn outer_pid() -> u32 {
    OUTSIDE.get().map_or_else(std::process::id, |outside| outside.pid)
}

/// Whether a process with this number exists in that namespace.
pub fn exists_outside(pid: u32) -> bool {
    match OUTSIDE.get() {
        Some(outside) => statat(&outside.proc, pid.to_string(), 0).is_ok(),
        None => std::path::Path::new(&format!("/proc/{pid}")).exists(),
    }
}

/// Lets a user and its group have the same numbers inside. In its own namespace a process is as powerful as root until it
/// executes a program.
fn map_user((uid, gid): (u32, u32)) -> io::Result<()> {
    // The files belong to root while the process is hidden.
    sys::set_dumpable(true)?;
    let done = std::fs::write("/proc/self/setgroups", "deny")
        .and_then(|()| std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")))
        .and_then(|()| std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")));
    sys::set_dumpable(false)?;
    done
}

/// In the new process: ends with the one outside, and has a /proc of its own. `user`: that of a namespace of users, and its
/// group.
fn prepare(user: Option<(u32, u32)>) -> Result<(), String> {
    set_parent_death_signal(libc::SIGKILL).map_err(failed("PR_SET_PDEATHSIG"))?;
    user.map_or(Ok(()), map_user).map_err(failed("map of users"))?;
    // Later mounts outside show inside, but not the other way round.
    let slave = libc::MS_SLAVE | libc::MS_REC;
    mount("", "/", "", slave, None).map_err(failed("mounts"))?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(failed("mount of /proc"))?;
    // The session and the group that it was born into have no numbers here.
    new_session().map_err(failed("setsid"))
}

/// The line in which the new process says what it could not do; None if it ended without one.
fn report_of(socket: &UnixStream) -> Option<String> {
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line).ok()?;
    line.strip_suffix('\n').map(str::to_owned)
}

/// Hands signals to the process inside until it ends; returns its exit status, as a shell would show it.
fn relay_signals(child: i32, signals: &OwnedFd, parent: Option<i32>) -> u8 {
    // A parent that died before PR_SET_PDEATHSIG sends no signal.
    if parent_id() != parent {
        let _ = os::kill(child, libc::SIGTERM);
    }
    // The process inside began with the same limits.
    let limits = Limits::of(0);
    loop {
        let mut files = [PollFd::readable(signals.as_fd())];
        let _ = poll(&mut files, None);
        for received in sys::pending_signals(signals.as_fd()) {
            if received.asks_for_the_end() {
                // The child has not been waited for, so its number is its own.
                let _ = os::kill(child, received.signal);
            } else if received.signal == libc::SIGCHLD {
                // The process keeps its limits until it is waited for.
                let now = Limits::of(child);
                if let Ok(Some(sys::Reaped { status, .. })) = sys::reap() {
                    if let (true, Some(why)) = (status != 0, limits.lowered_to(&now)) {
                        eprintln!("ringside-probe: {why}");
                    }
                    return match sys::exit_of(status) {
                        (Some(status), _) => status as u8,
                        (None, signal) => (128 + signal.unwrap_or(0)) as u8,
                    };
                }
            }
        }
    }
}
