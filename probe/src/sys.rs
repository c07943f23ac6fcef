//! The calls that rustix does not wrap, and the only unsafe code of the crate:
//! starting the program in a cgroup, waiting for any child, signals as a file.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::unix::io::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// What the child needs; all of it is made before the fork, because the child must not allocate.
pub struct Plan<'a> {
    /// Paths that are tried in turn, as execvp would.
    pub candidates: &'a [CString],
    pub argv: &'a [CString],
    pub env: &'a [CString],
    pub cwd: &'a CString,
    /// Empty: left as they are.
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
}

/// Some hosts allow a thousand million, and some runtimes make a table of all that they may have.
const MOST_FILES: u64 = 1 << 20;

pub struct Spawned {
    pub pid: i32,
    pub pidfd: OwnedFd,
}

/// The step at which the child failed, as the first byte of its report; an errno follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Cgroup,
    Setup,
    Affinity,
    Folder,
    Exec,
}

pub const REPORT_BYTES: usize = 5;

impl Step {
    const ALL: [Step; 5] = [
        Step::Cgroup,
        Step::Setup,
        Step::Affinity,
        Step::Folder,
        Step::Exec,
    ];

    pub fn parse(report: &[u8]) -> Option<(Step, io::Error)> {
        let step = *Step::ALL.get(usize::from(*report.first()?))?;
        let errno = i32::from_ne_bytes(report.get(1..REPORT_BYTES)?.try_into().ok()?);
        Some((step, io::Error::from_raw_os_error(errno)))
    }
}

pub const SIGNALS: [i32; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGCHLD];

/// Blocks `SIGNALS` and gives a file from which they can be read.
pub fn signal_file() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised by sigemptyset before it is read, and lives on this stack;
    // the new file descriptor belongs to nobody else.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&mut set);
        for signal in SIGNALS {
            libc::sigaddset(&mut set, signal);
        }
        if libc::sigprocmask(libc::SIG_BLOCK, &set, ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// The next signal that has come, if any, from the file that `signal_file` gave.
pub fn next_signal(signals: &OwnedFd) -> Option<i32> {
    let mut buffer = [0; std::mem::size_of::<libc::signalfd_siginfo>()];
    match rustix::io::read(signals, &mut buffer) {
        // The first four bytes are the signal's number.
        Ok(count) if count >= 4 => Some(i32::from_ne_bytes([
            buffer[0], buffer[1], buffer[2], buffer[3],
        ])),
        _ => None,
    }
}

/// Whether one of the signals that have come asks for the end.
pub fn asked_to_end(signals: &OwnedFd) -> bool {
    let mut asked = false;
    while let Some(signal) = next_signal(signals) {
        asked |= signal != libc::SIGCHLD;
    }
    asked
}

/// One child that has ended, or None when all that are left still run.
/// The error is ECHILD when there is none.
pub fn reap() -> io::Result<Option<(i32, i32)>> {
    let mut status = 0;
    // SAFETY: `status` outlives the call; a null rusage is allowed.
    // __WALL: children made by clone without SIGCHLD are to be found too.
    let pid = unsafe {
        libc::wait4(
            -1,
            &mut status,
            libc::WNOHANG | libc::__WALL,
            ptr::null_mut(),
        )
    };
    match pid {
        0 => Ok(None),
        pid if pid > 0 => Ok(Some((pid, status))),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Exit status and signal of a wait status.
pub fn ending(status: i32) -> (Option<i32>, Option<i32>) {
    if libc::WIFEXITED(status) {
        (Some(libc::WEXITSTATUS(status)), None)
    } else if libc::WIFSIGNALED(status) {
        (None, Some(libc::WTERMSIG(status)))
    } else {
        (None, None)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    pub user_ns: u64,
    pub system_ns: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

/// The kernel's account of all children that were waited for, and of theirs.
pub fn children_usage() -> Usage {
    // SAFETY: a zeroed rusage is valid, and getrusage writes only into it.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    Usage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
    }
}

/// CPU time of all threads of a process, exact, where /proc counts in ticks.
pub fn process_cpu_ns(pid: i32) -> Option<u64> {
    const CPUCLOCK_SCHED: i32 = 2;
    let clock = (!pid << 3) | CPUCLOCK_SCHED;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` outlives the call; the kernel checks the clock's number.
    let done = unsafe { libc::clock_gettime(clock, &mut time) };
    (done == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Clock ticks per second, the unit of CPU times in /proc.
pub fn ticks_per_second() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).unwrap_or(100).max(1)
}

/// The share of a file's pages that lie in the page cache; None for an empty file, or where the kernel does
/// not tell.
pub fn cached_share(file: &std::fs::File, bytes: u64) -> Option<f64> {
    let bytes = usize::try_from(bytes).ok().filter(|&bytes| bytes > 0)?;
    let mut pages = vec![0u8; (bytes + 4095) / 4096];
    // SAFETY: the mapping is never read, only asked about and taken down again; `pages` has a byte for each
    // of its pages, which are of 4 KiB at least.
    unsafe {
        let fd = file.as_raw_fd();
        let start = libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ,
            libc::MAP_SHARED,
            fd,
            0,
        );
        if start == libc::MAP_FAILED {
            return None;
        }
        let done = libc::mincore(start, bytes, pages.as_mut_ptr());
        libc::munmap(start, bytes);
        if done != 0 {
            return None;
        }
    }
    pages.truncate((bytes + page_bytes() - 1) / page_bytes());
    let here = pages.iter().filter(|&&page| page & 1 == 1).count();
    Some(here as f64 / pages.len() as f64)
}

fn page_bytes() -> usize {
    // SAFETY: sysconf has no preconditions.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096).max(4096)
}

/// libc has it as a C int, in which its one bit is lost.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// Starts the program. The second value says why it could not be born in its cgroup: it then
/// moves itself there, which is slower.
pub fn spawn(plan: &Plan) -> io::Result<(Spawned, Option<io::Error>)> {
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
    let mut why = None;

    if let Some((folder, _)) = plan.cgroup {
        let mut pidfd: RawFd = -1;
        let args = CloneArgs {
            flags: (libc::CLONE_PIDFD as u64) | CLONE_INTO_CGROUP,
            pidfd: &mut pidfd as *mut RawFd as u64,
            exit_signal: libc::SIGCHLD as u64,
            cgroup: folder.as_raw_fd() as u64,
            ..CloneArgs::default()
        };
        // SAFETY: without CLONE_VM and with no stack this is a fork. This process has one thread,
        // so no lock can be held by another; the child only makes the system calls in `child`.
        let pid = unsafe {
            libc::syscall(
                libc::SYS_clone3,
                &args as *const CloneArgs,
                std::mem::size_of::<CloneArgs>(),
            )
        };
        if pid == 0 {
            child(plan, &argv, &env, cpus.as_ref(), parent, None);
        }
        if pid > 0 {
            // SAFETY: the kernel has just made this descriptor for us.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            let pid = pid as i32;
            return Ok((Spawned { pid, pidfd }, None));
        }
        why = Some(io::Error::last_os_error());
    }

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
    plan: &Plan,
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
                tell(report, Step::Cgroup);
            }
        }
        // A session of its own: its groups can be killed without hitting a stranger.
        if libc::setsid() < 0 || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
            fail(report, Step::Setup);
        }
        // The probe may have died before the line above: then no signal comes.
        if libc::getppid() != parent {
            libc::_exit(127);
        }
        if let Some(set) = cpus {
            if libc::sched_setaffinity(0, std::mem::size_of::<libc::cpu_set_t>(), set) != 0 {
                fail(report, Step::Affinity);
            }
        }
        let no_core = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        libc::setrlimit(libc::RLIMIT_CORE, &no_core);
        if plan.many_files {
            let mut files = std::mem::zeroed::<libc::rlimit>();
            if libc::getrlimit(libc::RLIMIT_NOFILE, &mut files) == 0 {
                files.rlim_cur = files.rlim_max.min(MOST_FILES);
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
                fail(report, Step::Setup);
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
            fail(report, Step::Folder);
        }
        let mut refused = false;
        for path in plan.candidates {
            libc::execve(path.as_ptr(), argv.as_ptr(), env.as_ptr());
            match *libc::__errno_location() {
                libc::ENOENT | libc::ENOTDIR => {}
                libc::EACCES => refused = true,
                _ => fail(report, Step::Exec),
            }
        }
        // As execvp does: a file that may not be run says more than one that is not there.
        if refused {
            *libc::__errno_location() = libc::EACCES;
        }
        fail(report, Step::Exec)
    }
}

/// # Safety
/// Only for the child: writes to a descriptor that is known by number.
unsafe fn tell(report: RawFd, step: Step) {
    let errno = (*libc::__errno_location()).to_ne_bytes();
    let message = [step as u8, errno[0], errno[1], errno[2], errno[3]];
    libc::write(report, message.as_ptr().cast(), REPORT_BYTES);
}

/// # Safety
/// As `tell`.
unsafe fn fail(report: RawFd, step: Step) -> ! {
    tell(report, step);
    libc::_exit(127)
}
