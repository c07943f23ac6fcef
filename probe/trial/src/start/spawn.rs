//! Starts the program: clone or fork, then system calls only, then exec.
#![allow(unsafe_code)]

use crate::start::clone::{clone, CloneArgs, CLONE_INTO_CGROUP};
use crate::start::launcher::{self, Launcher};
use crate::start::spawn_step::{SpawnStep, REPORT_BYTES};
use std::cell::Cell;
use std::convert::Infallible;
use std::ffi::CString;
use std::io;
use std::os::unix::io::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::OnceLock;
use std::time::Instant;
use wire::sys;

/// What the child needs; all of it is made before the fork, because the child must not allocate.
pub struct SpawnPlan<'a> {
    /// Paths that are tried in turn, as execvp would.
    pub candidates: &'a [CString],
    pub argv: &'a [CString],
    pub env: &'a [CString],
    pub cwd: &'a CString,
    /// Empty: inherited.
    pub cpus: &'a [usize],
    pub stdin: BorrowedFd<'a>,
    pub stdout: BorrowedFd<'a>,
    pub stderr: BorrowedFd<'a>,
    /// The write end of the pipe for reports; it closes when the program has started.
    pub report: BorrowedFd<'a>,
    /// The cgroup's folder and its `cgroup.procs`.
    pub cgroup: Option<(BorrowedFd<'a>, BorrowedFd<'a>)>,
    /// As many descriptors as the host allows.
    pub many_files: bool,
    /// Without privileges to gain, and without the one that opens other processes. A plain command keeps them.
    pub confined: bool,
}

/// Some hosts allow a thousand million, and some runtimes allocate a table for all descriptors allowed.
const MAX_FILES: u64 = 1 << 20;

pub struct Spawned {
    pub pid: i32,
    pub pidfd: OwnedFd,
    pub start: Instant,
    /// The size of the process that it was cloned from: less than this the kernel does not report for it.
    pub floor_bytes: u64,
}

/// libc has no name for it.
const CAP_SYS_PTRACE: libc::c_ulong = 19;

/// The kernel's first victim for want of memory is the program, never the probe.
const OOM_SCORE: &[u8] = b"1000";

/// Starts the program. Adds to `missing` why it could not be started as usual: by the launcher, and inside its cgroup.
pub fn spawn(plan: &SpawnPlan, missing: &mut Vec<String>) -> io::Result<Spawned> {
    let argv = pointers(plan.argv);
    let env = pointers(plan.env);
    let mut cpus = None;
    if !plan.cpus.is_empty() {
        // SAFETY: an all-zero cpu_set_t is the empty set; CPU_SET checks bounds by indexing an array.
        cpus = Some(unsafe {
            let mut set = std::mem::zeroed::<libc::cpu_set_t>();
            for &cpu in plan.cpus {
                libc::CPU_SET(cpu, &mut set);
            }
            set
        });
    }
    // SAFETY: getpid has no preconditions.
    let parent = unsafe { libc::getpid() };
    let ignored = ignored_signals();
    let report = plan.report.as_raw_fd();
    let folder = plan.cgroup.map(|(folder, _)| folder.as_raw_fd());
    let procs = plan.cgroup.map(|(_, procs)| procs.as_raw_fd());
    // The child has the memory of this process until it is the launcher.
    let is_launcher = Cell::new(false);
    let child = |launcher: Option<&Launcher>, procs: Option<RawFd>| -> Infallible {
        // SAFETY: every pointer is to memory that was made before the clone and is still mapped; argv and env end with
        // a null pointer.
        unsafe {
            prepare(plan, parent, ignored);
            if let Some(launcher) = launcher {
                is_launcher.set(true);
                launcher.execute(&[report, folder.unwrap_or(-1)], &argv, &env);
                is_launcher.set(false);
            }
            execute(plan, cpus.as_ref(), procs, &argv, &env)
        }
    };

    // SAFETY: a cpu_set_t is an array of words.
    let set = cpus.as_ref().map(|set| unsafe {
        let begin = ptr::addr_of!(*set).cast::<u8>();
        std::slice::from_raw_parts(begin, std::mem::size_of::<libc::cpu_set_t>())
    });
    let launcher = Launcher::new(plan.candidates, report, folder, set);
    let launcher = match &launcher {
        Ok(launcher) => Some(launcher),
        Err(why) => {
            missing.push(format!("launcher: {why}"));
            None
        }
    };
    // The launcher itself stays outside, so that its CPU time is not the program's.
    let (inside, moved) = match launcher {
        Some(_) => (None, procs),
        None => (folder, None),
    };
    let args = CloneArgs {
        flags: inside.map_or(0, |_| CLONE_INTO_CGROUP),
        exit_signal: libc::SIGCHLD as u64,
        cgroup: inside.map_or(0, |folder| folder as u64),
        ..CloneArgs::default()
    };
    let start = Instant::now();
    let launched = clone(args, &|| child(launcher, moved)).and_then(|pid| {
        let Some(launcher) = launcher.filter(|_| is_launcher.get()) else {
            if launcher.is_some() {
                missing.push("launcher: the kernel does not execute it".into());
            }
            return Ok((start, pid, sys::own_max_rss_bytes()));
        };
        sys::wait_for(pid)?;
        let (start, pid) = launcher.result()?;
        Ok((start, pid, launcher::size_bytes(plan.argv, plan.env)))
    });
    let why = match launched {
        Ok((start, pid, floor_bytes)) => return spawned(pid, start, floor_bytes),
        Err(error) => error,
    };
    missing.push(match folder {
        // It then moves itself there, which is slower.
        Some(_) => format!("start inside the cgroup: {why}"),
        None => format!("start by a clone: {why}"),
    });

    let start = Instant::now();
    // SAFETY: one thread, as above.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        child(None, procs);
    }
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    spawned(pid, start, sys::own_max_rss_bytes())
}

/// The signals that this process ignores, and its children with it, through each exec. Handlers do not outlive one.
fn ignored_signals() -> &'static [i32] {
    static IGNORED: OnceLock<Vec<i32>> = OnceLock::new();
    IGNORED.get_or_init(|| {
        let is_ignored = |&signal: &i32| {
            let mut action = [0u64; 8];
            // SAFETY: the kernel's own struct is shorter than this.
            unsafe { rt_sigaction(signal, ptr::null(), action.as_mut_ptr()) };
            action[0] == libc::SIG_IGN as u64
        };
        (1..=64).filter(is_ignored).collect()
    })
}

/// libc's own call would refuse two signals that it keeps for itself, and they may be ignored too.
///
/// # Safety
/// Each pointer is null or to the kernel's own struct.
unsafe fn rt_sigaction(signal: i32, new: *const u64, old: *mut u64) {
    let set_bytes = std::mem::size_of::<u64>();
    libc::syscall(libc::SYS_rt_sigaction, signal, new, old, set_bytes);
}

fn spawned(pid: i32, start: Instant, floor_bytes: u64) -> io::Result<Spawned> {
    // SAFETY: the child has not been waited for, so its number is still its own; the new
    // descriptor (which is CLOEXEC) belongs to nobody else.
    let pidfd = unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        if fd < 0 {
            let error = io::Error::last_os_error();
            libc::kill(pid, libc::SIGKILL);
            return Err(error);
        }
        OwnedFd::from_raw_fd(fd as RawFd)
    };
    Ok(Spawned {
        pid,
        pidfd,
        start,
        floor_bytes,
    })
}

fn pointers(texts: &[CString]) -> Vec<*const libc::c_char> {
    let end = std::iter::once(ptr::null());
    texts.iter().map(|text| text.as_ptr()).chain(end).collect()
}

/// All that the program inherits.
///
/// # Safety
/// Only in the child, between clone and exec: system calls only, no allocation, no panic.
unsafe fn prepare(plan: &SpawnPlan, parent: i32, ignored: &[i32]) {
    let report = plan.report.as_raw_fd();
    // A session of its own: its groups can be killed without hitting other processes.
    if libc::setsid() < 0 || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
        fail(report, SpawnStep::Setup);
    }
    // The probe may have died before the line above: then no signal comes.
    if libc::getppid() != parent {
        libc::_exit(127);
    }
    if plan.confined {
        // Without effect where the kernel or the user's rights do not allow it: the trial itself needs neither.
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0);
    }
    // The probe's own files below /proc are hidden, and while the memory is the probe's they are these too. Hidden
    // again before there is a program: the kernel shows those of each program that it executes.
    libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
    let score = libc::open(
        b"/proc/self/oom_score_adj\0".as_ptr().cast(),
        libc::O_WRONLY | libc::O_CLOEXEC,
    );
    if score >= 0 {
        libc::write(score, OOM_SCORE.as_ptr().cast(), OOM_SCORE.len());
        libc::close(score);
    }
    libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
    // Not 0, which the kernel ignores where core_pattern is a pipe: it starts that program, outside of the trial.
    let no_core = libc::rlimit {
        rlim_cur: 1,
        rlim_max: 1,
    };
    libc::setrlimit(libc::RLIMIT_CORE, &no_core);
    if plan.many_files {
        let mut files = std::mem::zeroed::<libc::rlimit>();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut files) == 0 {
            files.rlim_cur = files.rlim_max.min(MAX_FILES);
            libc::setrlimit(libc::RLIMIT_NOFILE, &files);
        }
    }
    // Zeroes are SIG_DFL in the kernel's own struct, which is shorter than this.
    let default = [0u64; 8];
    for &signal in ignored {
        rt_sigaction(signal, default.as_ptr(), ptr::null_mut());
    }
    let mut none = std::mem::zeroed::<libc::sigset_t>();
    libc::sigemptyset(&mut none);
    libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
    let files = [plan.stdin, plan.stdout, plan.stderr];
    for (number, file) in files.iter().enumerate() {
        if libc::dup2(file.as_raw_fd(), number as RawFd) < 0 {
            fail(report, SpawnStep::Setup);
        }
    }
    // Files that the probe itself inherited are not the program's. Old kernels lack the call:
    // our own are CLOEXEC anyway.
    libc::syscall(
        libc::SYS_close_range,
        3,
        libc::c_uint::MAX,
        libc::CLOSE_RANGE_CLOEXEC,
    );
    if libc::chdir(plan.cwd.as_ptr()) != 0 {
        fail(report, SpawnStep::Folder);
    }
}

/// Executes the program, in a cgroup and on CPUs that it enters first.
///
/// # Safety
/// As `prepare`; `argv` and `env` end with a null pointer.
unsafe fn execute(
    plan: &SpawnPlan,
    cpus: Option<&libc::cpu_set_t>,
    procs: Option<RawFd>,
    argv: &[*const libc::c_char],
    env: &[*const libc::c_char],
) -> ! {
    let report = plan.report.as_raw_fd();
    if let Some(procs) = procs {
        if libc::write(procs, b"0".as_ptr().cast(), 1) != 1 {
            report_failure(report, SpawnStep::Cgroup);
        }
    }
    // Last: what it uses is in the caches of the probe's CPU.
    if let Some(set) = cpus {
        if libc::sched_setaffinity(0, std::mem::size_of::<libc::cpu_set_t>(), set) != 0 {
            fail(report, SpawnStep::Affinity);
        }
    }
    let mut refused = false;
    for path in plan.candidates {
        libc::execve(path.as_ptr(), argv.as_ptr(), env.as_ptr());
        match *libc::__errno_location() {
            libc::ENOENT | libc::ENOTDIR => {}
            libc::EACCES => refused = true,
            _ => fail(report, SpawnStep::Exec),
        }
    }
    // As execvp does: a file without permission is reported before one that does not exist.
    if refused {
        *libc::__errno_location() = libc::EACCES;
    }
    fail(report, SpawnStep::Exec)
}

/// # Safety
/// Only for the child: writes to a descriptor that is known by number.
unsafe fn report_failure(report: RawFd, step: SpawnStep) {
    let errno = (*libc::__errno_location()).to_ne_bytes();
    let message = [step as u8, errno[0], errno[1], errno[2], errno[3]];
    libc::write(report, message.as_ptr().cast(), REPORT_BYTES);
}

/// # Safety
/// As `report_failure`.
unsafe fn fail(report: RawFd, step: SpawnStep) -> ! {
    report_failure(report, step);
    libc::_exit(127)
}
