//! The process that starts programs: a child of the probe with its files, which clones programs as children of the probe.
//! A program begins with the largest size (RSS) of the process that it was cloned from, and that of the probe is more
//! than many programs ever have. The launcher has the size of the probe's own data and of a few pages of code.
//!
//! Plain commands share one launcher, as long as none of them changes what it hands on. Every other program has a
//! launcher of its own, which is gone once the program runs.
#![allow(unsafe_code)]

use crate::start::child;
use crate::start::inherited::Inherited;
use libc::c_char;
use std::io;
use std::mem::size_of;
use std::os::unix::io::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr;
use wire::clock;
use wire::os::{self, pidfd_open, poll, sched_getaffinity, CloneArgs, CpuSet, PollFd};
use wire::request::Request;
use wire::sys;
use wire::units::nanoseconds;

/// The settings with which a program is started.
pub struct Plan<'a> {
    pub request: &'a Request,
    /// Paths that are tried in turn, as execvp would.
    pub paths: Vec<String>,
    /// None: inherited.
    pub cpus: Option<CpuSet>,
    /// stdin, stdout, stderr.
    pub files: [BorrowedFd<'a>; 3],
    /// The cgroup's folder and its `cgroup.procs`.
    pub cgroup: Option<(BorrowedFd<'a>, BorrowedFd<'a>)>,
}

/// A program that was started.
pub struct Started {
    pub pid: i32,
    pub pidfd: OwnedFd,
    /// By [`clock::now_ns`].
    pub start_ns: u64,
    /// The size of the process that it was cloned from: less than this the kernel does not report for it.
    pub floor_bytes: u64,
    /// The step that failed, and why, if the program could not be executed. It has ended then.
    pub failure: Option<(Step, io::Error)>,
    /// Why it is not in the cgroup.
    pub unmoved: Option<io::Error>,
}

/// The step at which the start of a program failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Setup,
    Affinity,
    Folder,
    Exec,
}

/// The program to start, and the result. The pointers lead into the memory behind it.
#[derive(Clone, Copy)]
pub struct Order {
    pub paths: *const *const c_char,
    pub argv: *const *const c_char,
    pub env: *const *const c_char,
    pub cwd: *const c_char,
    pub cpus: Option<CpuSet>,
    pub files: [RawFd; 3],
    /// As many descriptors as the host allows.
    pub many_files: bool,
    /// A plain command keeps its privileges. Others can gain none, and not open other processes.
    pub plain: bool,
    /// The process id of the probe.
    pub parent: i32,
    /// The cgroup in which it is cloned, and the file by which it moves itself; 0 for none.
    pub cgroup: RawFd,
    pub procs: RawFd,
    /// Written before the program runs; 0 where it could not be cloned: why, in `error`.
    pub pid: i32,
    pub start_ns: u64,
    pub floor_bytes: u64,
    pub failed: Option<Step>,
    pub error: i32,
    /// The error of the move, if positive.
    pub unmoved: i32,
}

/// More than arguments and environment can have: they come in one line of 16 MiB, and each may need a pointer.
const MEMORY_BYTES: usize = 64 << 20;

/// How often a launcher that does not answer is told to go on.
const RESUMING_NS: u64 = 100_000_000;

pub struct Launcher {
    /// Shared with the process, at the same address, so that pointers into it mean the same in both.
    order: *mut Order,
    /// For plain commands.
    process: Option<Process>,
}

struct Process {
    pid: i32,
    pidfd: OwnedFd,
    /// A byte asks for a program; a byte answers. The other end is the launcher's.
    socket: UnixStream,
    _other: UnixStream,
    /// From the probe, and for programs.
    inherited: Inherited,
}

impl Launcher {
    pub fn new() -> io::Result<Launcher> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: new memory, in a place of the kernel's choice.
        let order = unsafe { libc::mmap(ptr::null_mut(), MEMORY_BYTES, protection, flags, -1, 0) };
        match order {
            libc::MAP_FAILED => Err(io::Error::last_os_error()),
            order => Ok(Launcher { order: order.cast(), process: None }),
        }
    }

    /// The process id of the launcher, while there is one.
    pub fn pid(&self) -> Option<i32> {
        self.process.as_ref().map(|process| process.pid)
    }

    /// Whether a program has changed the launcher of plain commands, from which the next one would suffer. One that has
    /// ended is replaced.
    pub fn was_changed(&self) -> bool {
        let is_changed = |process: &Process| Inherited::of(process.pid) != process.inherited;
        self.process.as_ref().is_some_and(|process| !process.has_ended() && is_changed(process))
    }

    /// Starts a program. Adds to `missing` why it could not be started as usual: by the launcher, and inside its cgroup.
    /// The error: there is no process.
    pub fn start(&mut self, plan: &Plan, missing: &mut Vec<String>) -> io::Result<Started> {
        self.write_order(plan)?;
        let request = plan.request;
        // The kernel may take as long to execute the program.
        let limit_ns = nanoseconds(request.limits.wall_s);
        let cpus = sched_getaffinity(0)?;
        let kept = self.process.take();
        let kept = kept.filter(|kept| kept.inherited.cpus == Some(cpus) && !kept.has_ended());
        // Launchers inherit the counters of this process: one that started earlier has none of them.
        let kept = kept.filter(|_| request.plain && !request.counters);
        let is_kept = kept.is_some();
        let mut process = kept.or_else(|| self.begin(missing));
        let number = |file: BorrowedFd| file.as_raw_fd();
        let cgroup = plan.cgroup.map(|(folder, procs)| (number(folder), number(procs)));
        let (folder, procs) = cgroup.unwrap_or_default();
        // The launcher itself stays outside, so that its CPU time is not the program's.
        let inside = if process.is_some() { (folder, 0) } else { (0, procs) };
        let mut order = self.carry_out(process.as_ref(), inside, limit_ns);
        if is_kept && order.is_err() {
            // It was about to end.
            process = self.begin(missing);
            order = self.carry_out(process.as_ref(), inside, limit_ns);
        }
        let mut order = order?;
        if order.pid == 0 && inside.0 != 0 {
            // It then moves itself there, which is slower.
            let why = io::Error::from_raw_os_error(order.error);
            missing.push(format!("start inside the cgroup: {why}"));
            order = self.carry_out(process.as_ref(), (0, procs), limit_ns)?;
        }
        let error = io::Error::from_raw_os_error(order.error);
        if order.pid == 0 {
            return Err(error);
        }
        let pidfd = pidfd_open(order.pid).map_err(|why| {
            let _ = os::kill(order.pid, libc::SIGKILL);
            why
        })?;
        let failure = order.failed.map(|step| (step, error));
        if failure.is_some() && order.error != libc::ETIMEDOUT {
            // Until it executes a program, its end sends no signal: it was cloned from a launcher, whose end sends
            // none.
            sys::wait_for(order.pid)?;
        }
        let started = Started {
            pid: order.pid,
            pidfd,
            start_ns: order.start_ns,
            floor_bytes: match order.floor_bytes {
                0 => sys::own_max_rss_bytes(),
                bytes => bytes,
            },
            failure,
            unmoved: (order.unmoved > 0).then(|| io::Error::from_raw_os_error(order.unmoved)),
        };
        self.process = process.filter(|_| request.plain);
        Ok(started)
    }

    /// A new launcher; None if there can be none: why, is added to `missing`.
    fn begin(&self, missing: &mut Vec<String>) -> Option<Process> {
        let process = Process::new(self.order);
        process.map_err(|why| missing.push(format!("launcher: {why}"))).ok()
    }

    fn write_order(&mut self, plan: &Plan) -> io::Result<()> {
        let request = plan.request;
        let mut texts = Texts {
            // SAFETY: the memory is larger than an order.
            next: unsafe { self.order.add(1) }.cast(),
            end: self.order as usize + MEMORY_BYTES,
        };
        let list = |texts: &mut Texts, of: &[String]| {
            let pointers = of.iter().map(|text| texts.text(&[text]));
            let pointers = pointers.collect::<io::Result<Vec<_>>>()?;
            texts.pointers(pointers)
        };
        let pairs = request.env.iter().map(|(key, value)| texts.text(&[key, "=", value]));
        let pairs = pairs.collect::<io::Result<Vec<_>>>()?;
        let order = Order {
            paths: list(&mut texts, &plan.paths)?,
            argv: list(&mut texts, &request.argv)?,
            env: texts.pointers(pairs)?,
            cwd: texts.text(&[&request.cwd])?,
            cpus: plan.cpus,
            files: plan.files.map(|file| file.as_raw_fd()),
            many_files: request.service.is_some(),
            plain: request.plain,
            parent: std::process::id() as i32,
            cgroup: 0,
            procs: 0,
            pid: 0,
            start_ns: 0,
            floor_bytes: 0,
            failed: None,
            error: 0,
            unmoved: 0,
        };
        // SAFETY: the memory is this object's, and the launcher waits.
        unsafe { self.order.write(order) };
        Ok(())
    }

    /// Has a launcher start the program, or without one a fork of the probe; waits until it was executed.
    fn carry_out(
        &self,
        process: Option<&Process>,
        (cgroup, procs): (RawFd, RawFd),
        limit_ns: u64,
    ) -> io::Result<Order> {
        // SAFETY: the memory is this object's while the launcher waits. The fork of a process with one thread, of which no
        // lock can be held by another, only makes system calls.
        let (answer, mut order) = unsafe {
            ((*self.order).cgroup, (*self.order).procs) = (cgroup, procs);
            (*self.order).start_ns = clock::now_ns();
            let answer = match process {
                Some(process) => process.ask(limit_ns),
                None => {
                    child::fork(self.order);
                    Ok(())
                }
            };
            (answer, self.order.read_volatile())
        };
        match answer {
            Err(error) if order.pid == 0 => Err(error),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                let _ = os::kill(order.pid, libc::SIGKILL);
                (order.failed, order.error) = (Some(Step::Exec), libc::ETIMEDOUT);
                Ok(order)
            }
            // The program may have killed the launcher.
            _ => Ok(order),
        }
    }
}

struct Texts {
    next: *mut u8,
    end: usize,
}

impl Texts {
    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.end - (self.next as usize) < bytes.len() {
            return Err(io::Error::from_raw_os_error(libc::E2BIG));
        }
        // SAFETY: there is room for them.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), self.next, bytes.len());
            self.next = self.next.add(bytes.len());
        }
        Ok(())
    }

    /// The pieces, then a NUL.
    fn text(&mut self, pieces: &[&str]) -> io::Result<*const c_char> {
        let begin = self.next;
        for piece in pieces {
            self.bytes(piece.as_bytes())?;
        }
        self.bytes(&[0])?;
        Ok(begin.cast())
    }

    /// The pointers, then a null pointer.
    fn pointers(&mut self, mut pointers: Vec<*const c_char>) -> io::Result<*const *const c_char> {
        pointers.push(ptr::null());
        let padding = self.next.align_offset(size_of::<usize>());
        self.bytes(&[0; size_of::<usize>()][..padding])?;
        let begin = self.next;
        for pointer in pointers {
            self.bytes(&(pointer as usize).to_ne_bytes())?;
        }
        Ok(begin.cast())
    }
}

impl Process {
    fn new(order: *mut Order) -> io::Result<Process> {
        let (socket, other) = UnixStream::pair()?;
        let inherited = Inherited::of(0);
        let mut pidfd: RawFd = -1;
        // Its end sends no signal, so that a wait for any child does not return the launcher.
        let args = CloneArgs {
            flags: (libc::CLONE_FILES | libc::CLONE_PIDFD) as u64,
            pidfd: ptr::addr_of_mut!(pidfd) as u64,
            ..CloneArgs::default()
        };
        // SAFETY: without CLONE_VM and with no stack this is a fork. This process has one thread, so no lock can be held
        // by another; the child only makes system calls. The kernel has made the descriptor, which is nobody else's.
        unsafe {
            let pid = os::clone3(&args)?;
            if pid == 0 {
                child::serve(order, other.as_raw_fd());
            }
            Ok(Process { pid, pidfd: OwnedFd::from_raw_fd(pidfd), socket, _other: other, inherited })
        }
    }

    fn has_ended(&self) -> bool {
        poll(&mut [PollFd::readable(self.pidfd.as_fd())], Some(0)) != Ok(0)
    }

    /// Asks for the program, and waits for the answer.
    fn ask(&self, limit_ns: u64) -> io::Result<()> {
        os::write(&self.socket, &[0])?;
        let until_ns = clock::now_ns().saturating_add(limit_ns);
        loop {
            let left_ns = until_ns.saturating_sub(clock::now_ns());
            if left_ns == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let mut files = [self.socket.as_fd(), self.pidfd.as_fd()].map(PollFd::readable);
            match poll(&mut files, Some(left_ns.min(RESUMING_NS)))? {
                // Somebody may have stopped it.
                0 => drop(os::kill(self.pid, libc::SIGCONT)),
                _ if files[0].is_ready() => return Ok(os::read(&self.socket, &mut [0]).map(drop)?),
                _ => return Err(io::Error::new(io::ErrorKind::Other, "the launcher has ended")),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = os::kill(self.pid, libc::SIGKILL);
        let _ = sys::wait_for(self.pid);
    }
}
