//! Starts the program: clone or fork, then system calls only, then exec.
#![allow(unsafe_code)]

use crate::clone::{clone, CloneArgs, CLONE_INTO_CGROUP};
use std::ffi::CString;
use std::io;
use std::os::unix::io::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

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
}

/// The step at which the child failed, as the first byte of its report; an errno follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnStep {
    Cgroup,
    Setup,
    Affinity,
    Folder,
    Exec,
}

pub const REPORT_BYTES: usize = 5;

impl SpawnStep {
    const ALL: [SpawnStep; 5] = [
        SpawnStep::Cgroup,
        SpawnStep::Setup,
        SpawnStep::Affinity,
        SpawnStep::Folder,
        SpawnStep::Exec,
    ];

    pub fn parse(report: &[u8]) -> Option<(SpawnStep, io::Error)> {
        let step = *SpawnStep::ALL.get(usize::from(*report.first()?))?;
        let errno = i32::from_ne_bytes(report.get(1..REPORT_BYTES)?.try_into().ok()?);
        Some((step, io::Error::from_raw_os_error(errno)))
    }
}

/// libc has no name for it.
const CAP_SYS_PTRACE: libc::c_ulong = 19;

/// The kernel's first victim for want of memory is the program, never the probe.
const OOM_SCORE: &[u8] = b"1000";

/// Starts the program. The second value is why it could not be started inside its cgroup: it then moves itself
/// there, which is slower.
pub fn spawn(plan: &SpawnPlan) -> io::Result<(Spawned, Option<io::Error>)> {
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
    let mut pidfd: RawFd = -1;
    let folder = plan.cgroup.map(|(folder, _)| folder.as_raw_fd());
    let args = CloneArgs {
        flags: (libc::CLONE_PIDFD as u64) | folder.map_or(0, |_| CLONE_INTO_CGROUP),
        pidfd: &mut pidfd as *mut RawFd as u64,
        exit_signal: libc::SIGCHLD as u64,
        cgroup: folder.map_or(0, |folder| folder as u64),
        ..CloneArgs::default()
    };
    let run = || child(plan, &argv, &env, cpus.as_ref(), parent, None);
    let why = match clone(args, &run) {
        Ok(pid) => {
            // SAFETY: the kernel has just made this descriptor for us.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            return Ok((Spawned { pid, pidfd }, None));
        }
        Err(error) => folder.map(|_| error),
    };

    let procs = plan.cgroup.map(|(_, procs)| procs.as_raw_fd());
    // SAFETY: one thread, as above.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        child(plan, &argv, &env, cpus.as_ref(), parent, procs);
    }
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
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
    Ok((Spawned { pid, pidfd }, why))
}

fn pointers(texts: &[CString]) -> Vec<*const libc::c_char> {
    let end = std::iter::once(ptr::null());
    texts.iter().map(|text| text.as_ptr()).chain(end).collect()
}

/// Runs in the child, between fork and exec: system calls only, no allocation, no panic.
fn child(
    plan: &SpawnPlan,
    argv: &[*const libc::c_char],
    env: &[*const libc::c_char],
    cpus: Option<&libc::cpu_set_t>,
    parent: i32,
    cgroup_procs: Option<RawFd>,
) -> ! {
    let report = plan.report.as_raw_fd();
    // SAFETY: every pointer is to memory that was made before the fork and is still mapped here;
    // all calls are async-signal-safe; argv and env end with a null pointer.
    unsafe {
        if let Some(procs) = cgroup_procs {
            if libc::write(procs, b"0".as_ptr().cast(), 1) != 1 {
                report_failure(report, SpawnStep::Cgroup);
            }
        }
        // A session of its own: its groups can be killed without hitting other processes.
        if libc::setsid() < 0 || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
            fail(report, SpawnStep::Setup);
        }
        // The probe may have died before the line above: then no signal comes.
        if libc::getppid() != parent {
            libc::_exit(127);
        }
        if let Some(set) = cpus {
            if libc::sched_setaffinity(0, std::mem::size_of::<libc::cpu_set_t>(), set) != 0 {
                fail(report, SpawnStep::Affinity);
            }
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
        let no_core = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        libc::setrlimit(libc::RLIMIT_CORE, &no_core);
        if plan.many_files {
            let mut files = std::mem::zeroed::<libc::rlimit>();
            if libc::getrlimit(libc::RLIMIT_NOFILE, &mut files) == 0 {
                files.rlim_cur = files.rlim_max.min(MAX_FILES);
                libc::setrlimit(libc::RLIMIT_NOFILE, &files);
            }
        }
        // Zeroes are SIG_DFL in the kernel's own struct, which is shorter than this. libc's call
        // would refuse two signals that it keeps for itself, and they may be ignored too.
        let default = [0u64; 8];
        for signal in 1..=64 {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                ptr::null_mut::<u64>(),
                std::mem::size_of::<u64>(),
            );
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
