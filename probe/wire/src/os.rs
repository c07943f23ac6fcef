//! System calls as safe functions: those of trials. Files that they open are closed on exec.
#![allow(unsafe_code)]

use libc::{c_int, c_long, c_uint, c_ulong};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::mem::{size_of, MaybeUninit};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::io::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::ptr;

/// The kernel's number of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(c_int);

pub type Result<T> = std::result::Result<T, Errno>;

impl Errno {
    pub const AGAIN: Errno = Errno(libc::EAGAIN);
    pub const EXIST: Errno = Errno(libc::EEXIST);
    pub const INTR: Errno = Errno(libc::EINTR);
    pub const INVAL: Errno = Errno(libc::EINVAL);
    pub const ISDIR: Errno = Errno(libc::EISDIR);
    pub const MFILE: Errno = Errno(libc::EMFILE);
    pub const NFILE: Errno = Errno(libc::ENFILE);
    pub const NOENT: Errno = Errno(libc::ENOENT);
    pub const PERM: Errno = Errno(libc::EPERM);

    fn last() -> Errno {
        Errno(io::Error::last_os_error().raw_os_error().unwrap_or(0))
    }
}

impl From<Errno> for io::Error {
    fn from(error: Errno) -> io::Error {
        io::Error::from_raw_os_error(error.0)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        io::Error::from(*self).fmt(to)
    }
}

/// The value that a call returned, unless it failed.
pub(crate) fn checked<T: PartialOrd + Default>(returned: T) -> Result<T> {
    if returned < T::default() {
        return Err(Errno::last());
    }
    Ok(returned)
}

pub(crate) fn done(returned: c_int) -> Result<()> {
    checked(returned).map(drop)
}

pub(crate) fn opened(returned: c_int) -> Result<OwnedFd> {
    // SAFETY: the kernel has just made this descriptor, which belongs to nobody else.
    checked(returned).map(|file| unsafe { OwnedFd::from_raw_fd(file) })
}

/// By reference: a file that is passed by value must stay open until the call has returned.
fn raw(file: &impl AsFd) -> c_int {
    file.as_fd().as_raw_fd()
}

/// A name, as the kernel takes it.
fn to_c(name: impl AsRef<OsStr>) -> Result<CString> {
    CString::new(name.as_ref().as_bytes()).map_err(|_| Errno::INVAL)
}

// SAFETY of all that follows: pointers are to values that outlive the call, of the size that the kernel reads or writes;
// descriptors are borrowed meanwhile.

pub fn open(path: impl AsRef<OsStr>, flags: c_int) -> Result<OwnedFd> {
    let path = to_c(path)?;
    opened(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) })
}

pub fn openat(folder: impl AsFd, name: impl AsRef<OsStr>, flags: c_int) -> Result<OwnedFd> {
    let name = to_c(name)?;
    opened(unsafe { libc::openat(raw(&folder), name.as_ptr(), flags | libc::O_CLOEXEC) })
}

/// `resolve`: flags RESOLVE_….
pub fn openat2(folder: impl AsFd, name: impl AsRef<OsStr>, flags: c_int, resolve: u64) -> Result<OwnedFd> {
    let name = to_c(name)?;
    let how = [(flags | libc::O_CLOEXEC) as u64, 0, resolve];
    opened(unsafe {
        let size = size_of::<[u64; 3]>();
        libc::syscall(libc::SYS_openat2, raw(&folder), name.as_ptr(), &how, size) as c_int
    })
}

pub fn read(file: impl AsFd, into: &mut [u8]) -> Result<usize> {
    let count = unsafe { libc::read(raw(&file), into.as_mut_ptr().cast(), into.len()) };
    checked(count).map(|count| count as usize)
}

/// Appends to a vector, as far as it has room.
pub fn read_into_room(file: impl AsFd, into: &mut Vec<u8>) -> Result<usize> {
    let room = into.spare_capacity_mut();
    let count = unsafe { libc::read(raw(&file), room.as_mut_ptr().cast(), room.len()) };
    let count = checked(count)? as usize;
    // SAFETY: the kernel has filled this many bytes of the room.
    unsafe { into.set_len(into.len() + count) };
    Ok(count)
}

/// The first position of a byte. The C library compares many at a time.
pub fn find_byte(byte: u8, bytes: &[u8]) -> Option<usize> {
    let found = unsafe { libc::memchr(bytes.as_ptr().cast(), byte.into(), bytes.len()) };
    (!found.is_null()).then(|| found as usize - bytes.as_ptr() as usize)
}

pub fn write(file: impl AsFd, bytes: &[u8]) -> Result<usize> {
    let count = unsafe { libc::write(raw(&file), bytes.as_ptr().cast(), bytes.len()) };
    checked(count).map(|count| count as usize)
}

/// Bytes that can be read now.
pub fn unread_bytes(file: impl AsFd) -> Result<u64> {
    let mut bytes: c_int = 0;
    done(unsafe { libc::ioctl(raw(&file), libc::FIONREAD, &mut bytes) })?;
    Ok(bytes as u64)
}

pub(crate) fn written<T>(call: impl FnOnce(*mut T) -> c_int) -> Result<T> {
    let mut value = MaybeUninit::uninit();
    done(call(value.as_mut_ptr()))?;
    // SAFETY: where the call succeeds, the kernel has written all of the value.
    Ok(unsafe { value.assume_init() })
}

pub fn fstat(file: impl AsFd) -> Result<libc::stat> {
    written(|to| unsafe { libc::fstat(raw(&file), to) })
}

/// `flags`: AT_….
pub fn statat(folder: impl AsFd, name: impl AsRef<OsStr>, flags: c_int) -> Result<libc::stat> {
    let name = to_c(name)?;
    written(|to| unsafe { libc::fstatat(raw(&folder), name.as_ptr(), to, flags) })
}

pub fn fstatfs(file: impl AsFd) -> Result<libc::statfs> {
    written(|to| unsafe { libc::fstatfs(raw(&file), to) })
}

pub fn fstatvfs(file: impl AsFd) -> Result<libc::statvfs> {
    written(|to| unsafe { libc::fstatvfs(raw(&file), to) })
}

pub fn unlinkat(folder: impl AsFd, name: impl AsRef<OsStr>, flags: c_int) -> Result<()> {
    let name = to_c(name)?;
    done(unsafe { libc::unlinkat(raw(&folder), name.as_ptr(), flags) })
}

/// For its owner alone.
pub fn mkdirat(folder: impl AsFd, name: impl AsRef<OsStr>) -> Result<()> {
    let name = to_c(name)?;
    done(unsafe { libc::mkdirat(raw(&folder), name.as_ptr(), 0o700) })
}

pub fn fchmod(file: impl AsFd, mode: libc::mode_t) -> Result<()> {
    done(unsafe { libc::fchmod(raw(&file), mode) })
}

/// Locks a file for this process alone, unless another one has.
pub fn try_lock(file: impl AsFd) -> Result<()> {
    done(unsafe { libc::flock(raw(&file), libc::LOCK_EX | libc::LOCK_NB) })
}

pub fn readlinkat(folder: impl AsFd, name: impl AsRef<OsStr>) -> Result<Vec<u8>> {
    let name = to_c(name)?;
    let mut target = vec![0; libc::PATH_MAX as usize];
    let (at, bytes) = (target.as_mut_ptr().cast(), target.len());
    let count = checked(unsafe { libc::readlinkat(raw(&folder), name.as_ptr(), at, bytes) })?;
    target.truncate(count as usize);
    Ok(target)
}

/// A counter of this thread and of the processes that it starts, from the next program on that one of them executes.
/// `kind` and `number`: those of the kernel (linux/perf_event.h). Reading it gives three words: the count, for how long it
/// was wanted, and for how long it was counted. Without the kernel it counts programs alone.
pub fn perf_counter(kind: u32, number: u64, with_kernel: bool) -> Result<OwnedFd> {
    const TIMES: u64 = 1 | 2;
    const DISABLED: u64 = 1;
    const INHERIT: u64 = 1 << 1;
    const EXCLUDE_KERNEL: u64 = 1 << 5 | 1 << 6;
    const ENABLE_ON_EXEC: u64 = 1 << 12;
    const CLOEXEC: c_long = 1 << 3;
    let excluded = if with_kernel { 0 } else { EXCLUDE_KERNEL };
    let flags = DISABLED | INHERIT | ENABLE_ON_EXEC | excluded;
    // `struct perf_event_attr` in its first version, of 64 bytes; its first word is two, on hosts that are little-endian.
    let attributes = [u64::from(kind) | (64 << 32), number, 0, 0, TIMES, flags, 0, 0];
    opened(unsafe {
        let call = libc::SYS_perf_event_open;
        libc::syscall(call, &attributes, 0, -1, -1, CLOEXEC) as c_int
    })
}

/// `advice`: POSIX_FADV_….
pub fn fadvise(file: impl AsFd, advice: c_int) -> Result<()> {
    match unsafe { libc::posix_fadvise(raw(&file), 0, 0, advice) } {
        0 => Ok(()),
        error => Err(Errno(error)),
    }
}

pub fn eventfd() -> Result<OwnedFd> {
    opened(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })
}

/// Its reading end, then the one for writing.
pub fn pipe() -> Result<(OwnedFd, OwnedFd)> {
    let mut files = [0; 2];
    done(unsafe { libc::pipe2(files.as_mut_ptr(), libc::O_CLOEXEC) })?;
    let [read, write] = files.map(|file| unsafe { OwnedFd::from_raw_fd(file) });
    Ok((read, write))
}

/// `flags`: O_….
pub fn set_file_flags(file: impl AsFd, flags: c_int) -> Result<()> {
    done(unsafe { libc::fcntl(raw(&file), libc::F_SETFL, flags) })
}

pub fn set_pipe_size(pipe: impl AsFd, bytes: usize) -> Result<()> {
    done(unsafe { libc::fcntl(raw(&pipe), libc::F_SETPIPE_SZ, bytes as c_int) })
}

/// A file to wait for.
#[repr(transparent)]
pub struct PollFd<'a>(libc::pollfd, PhantomData<BorrowedFd<'a>>);

impl<'a> PollFd<'a> {
    fn new(file: BorrowedFd<'a>, events: i16) -> PollFd<'a> {
        let (fd, revents) = (file.as_raw_fd(), 0);
        PollFd(libc::pollfd { fd, events, revents }, PhantomData)
    }

    /// Until there is something to read, or its end.
    pub fn readable(file: BorrowedFd<'a>) -> PollFd<'a> {
        PollFd::new(file, libc::POLLIN)
    }

    /// Until there is room to write.
    pub fn writable(file: BorrowedFd<'a>) -> PollFd<'a> {
        PollFd::new(file, libc::POLLOUT)
    }

    /// Until its other end is closed, or it fails.
    pub fn hung_up(file: BorrowedFd<'a>) -> PollFd<'a> {
        PollFd::new(file, 0)
    }

    pub fn is_ready(&self) -> bool {
        self.0.revents != 0
    }
}

/// How many are ready; none also where a signal has ended the wait. `time_ns`: None if nothing else ends it.
pub fn poll(files: &mut [PollFd], time_ns: Option<u64>) -> Result<usize> {
    let time = time_ns.map(timespec);
    let time = time.as_ref().map_or(ptr::null(), |time| time as *const _);
    let count = files.len() as libc::nfds_t;
    match checked(unsafe { libc::ppoll(files.as_mut_ptr().cast(), count, time, ptr::null()) }) {
        Err(Errno::INTR) => Ok(0),
        ready => ready.map(|ready| ready as usize),
    }
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as libc::time_t, tv_nsec: (ns % 1_000_000_000) as c_long }
}

/// Seconds and nanoseconds; zero for a clock that does not exist.
pub fn clock_time(clock: libc::clockid_t) -> (i64, i64) {
    let time = written(|to| unsafe { libc::clock_gettime(clock, to) });
    time.map_or((0, 0), |time: libc::timespec| (time.tv_sec, time.tv_nsec))
}

/// Sleeps until an instant of CLOCK_MONOTONIC, or a signal.
pub fn sleep_until(at_ns: u64) {
    let (at, none) = (timespec(at_ns), ptr::null_mut());
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &at, none) };
}

/// The names in a folder, `.` and `..` included.
pub struct Dir(ptr::NonNull<libc::DIR>);

impl Dir {
    pub fn new(folder: OwnedFd) -> Result<Dir> {
        // SAFETY: the descriptor belongs to the directory from now on, unless the call fails.
        let opened = unsafe { libc::fdopendir(raw(&folder)) };
        let dir = ptr::NonNull::new(opened).ok_or_else(Errno::last)?;
        let _ = folder.into_raw_fd();
        Ok(Dir(dir))
    }

    /// From its first entry on, whatever was read of the file.
    pub fn read_from(folder: impl AsFd) -> Result<Dir> {
        Dir::new(openat(folder, ".", libc::O_RDONLY | libc::O_DIRECTORY)?)
    }
}

impl Iterator for Dir {
    type Item = Result<OsString>;

    fn next(&mut self) -> Option<Result<OsString>> {
        // SAFETY: the directory is open, and no other thread has it. Its entry is valid until the next call; errno tells
        // an error from the end.
        unsafe {
            *libc::__errno_location() = 0;
            let entry = libc::readdir(self.0.as_ptr());
            if entry.is_null() {
                let error = Errno::last();
                return (error.0 != 0).then_some(Err(error));
            }
            let name = CStr::from_ptr((*entry).d_name.as_ptr());
            Some(Ok(OsString::from_vec(name.to_bytes().to_vec())))
        }
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        // SAFETY: it is open, and not used again.
        unsafe { libc::closedir(self.0.as_ptr()) };
    }
}

/// CPUs that a thread may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuSet([u64; 16]);

impl CpuSet {
    pub const MAX_CPU: usize = 1024;

    pub fn set(&mut self, cpu: usize) {
        self.0[cpu / 64] |= 1 << (cpu % 64);
    }

    pub fn is_set(&self, cpu: usize) -> bool {
        cpu < CpuSet::MAX_CPU && self.0[cpu / 64] >> (cpu % 64) & 1 == 1
    }

    /// Whether the two have a CPU in common.
    pub fn overlaps(&self, other: &CpuSet) -> bool {
        self.0.iter().zip(other.0).any(|(own, other)| own & other != 0)
    }

    /// Whether it has a CPU that the other has not.
    pub fn exceeds(&self, other: &CpuSet) -> bool {
        self.0.iter().zip(other.0).any(|(own, other)| own & !other != 0)
    }
}

/// The CPUs of a thread; 0 is this one.
pub fn sched_getaffinity(thread: i32) -> Result<CpuSet> {
    let mut set = CpuSet::default();
    let to = (&mut set as *mut CpuSet).cast();
    done(unsafe { libc::sched_getaffinity(thread, size_of::<CpuSet>(), to) })?;
    Ok(set)
}

pub fn sched_setaffinity(set: &CpuSet) -> Result<()> {
    let set = (set as *const CpuSet).cast();
    done(unsafe { libc::sched_setaffinity(0, size_of::<CpuSet>(), set) })
}

/// None if the parent is in another namespace.
pub fn parent_id() -> Option<i32> {
    Some(std::os::unix::process::parent_id() as i32).filter(|&pid| pid != 0)
}

pub fn user_id() -> u32 {
    unsafe { libc::geteuid() }
}

pub fn group_id() -> u32 {
    unsafe { libc::getegid() }
}

/// A number of the system by its name _SC_…; `least` where the kernel does not say.
pub(crate) fn setting(name: c_int, least: u64) -> u64 {
    u64::try_from(unsafe { libc::sysconf(name) }).map_or(least, |number| number.max(1))
}

pub fn page_bytes() -> usize {
    setting(libc::_SC_PAGESIZE, 4096) as usize
}

/// This process gets the signal when its parent ends.
pub fn set_parent_death_signal(signal: c_int) -> Result<()> {
    done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal as c_ulong, 0, 0, 0) })
}

/// Orphans among its descendants become children of this process.
pub fn become_subreaper() -> Result<()> {
    done(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as c_ulong, 0, 0, 0) })
}

pub fn new_session() -> Result<()> {
    done(unsafe { libc::setsid() })
}

pub fn session_of(pid: i32) -> Result<i32> {
    checked(unsafe { libc::getsid(pid) })
}

/// Sends a signal to a process; to a group by its negative number.
pub fn kill(pid: i32, signal: c_int) -> Result<()> {
    done(unsafe { libc::kill(pid, signal) })
}

/// The argument of clone3.
#[repr(C)]
#[derive(Default)]
pub struct CloneArgs {
    pub flags: u64,
    pub pidfd: u64,
    pub child_tid: u64,
    pub parent_tid: u64,
    pub exit_signal: u64,
    pub stack: u64,
    pub stack_size: u64,
    pub tls: u64,
    pub set_tid: u64,
    pub set_tid_size: u64,
    pub cgroup: u64,
}

/// The process id of the new process; 0 in that.
///
/// # Safety
/// The addresses are valid, and nothing of the new process harms this one: as after fork without CLONE_VM.
pub unsafe fn clone3(args: &CloneArgs) -> Result<i32> {
    let args = args as *const CloneArgs;
    checked(libc::syscall(libc::SYS_clone3, args, size_of::<CloneArgs>()) as i32)
}

pub fn pidfd_open(pid: i32) -> Result<OwnedFd> {
    opened(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) as c_int })
}

pub fn pidfd_send_signal(pidfd: impl AsFd, signal: c_int) -> Result<()> {
    let information = ptr::null::<libc::siginfo_t>();
    done(unsafe {
        let call = libc::SYS_pidfd_send_signal;
        libc::syscall(call, raw(&pidfd), signal, information, 0) as c_int
    })
}

/// The nice value of a thread; 0 is this one.
pub fn priority_of(thread: i32) -> Result<i32> {
    // The kernel's own is 20 less the nice value.
    let call = libc::SYS_getpriority;
    let priority = unsafe { libc::syscall(call, libc::PRIO_PROCESS, thread) };
    checked(priority).map(|priority| 20 - priority as i32)
}

pub fn set_own_priority(nice: i32) -> Result<()> {
    done(unsafe { libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, nice) as c_int })
}

/// `flags`: MS_….
pub fn mount(source: &str, target: &str, kind: &str, flags: c_ulong, data: Option<&CStr>) -> Result<()> {
    let (source, target, kind) = (to_c(source)?, to_c(target)?, to_c(kind)?);
    let data = data.map_or(ptr::null(), CStr::as_ptr).cast();
    done(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, data) })
}

/// The root of a new file system of a kind, which has no place among the files.
pub fn detached_mount(kind: &str) -> Result<OwnedFd> {
    const FSOPEN_CLOEXEC: c_uint = 1;
    const FSCONFIG_CMD_CREATE: c_uint = 6;
    const FSMOUNT_CLOEXEC: c_uint = 1;
    let kind = to_c(kind)?;
    unsafe {
        let system = libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC);
        let system = opened(system as c_int)?;
        let (create, none) = (FSCONFIG_CMD_CREATE, ptr::null::<u8>());
        let call = libc::SYS_fsconfig;
        done(libc::syscall(call, raw(&system), create, none, none, 0) as c_int)?;
        opened(libc::syscall(libc::SYS_fsmount, raw(&system), FSMOUNT_CLOEXEC, 0) as c_int)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_passed_by_value_is_open_until_the_call_returns() {
        let (read_end, write_end) = pipe().unwrap();
        write(&write_end, b"a").unwrap();
        assert_eq!(unread_bytes(read_end), Ok(1));
        let (_, write_end) = pipe().unwrap();
        assert_eq!(write(write_end, b"a"), Err(Errno(libc::EPIPE)));
        let folder = open("/", libc::O_RDONLY | libc::O_DIRECTORY).unwrap();
        assert!(Dir::read_from(folder).unwrap().all(|entry| entry.is_ok()));
    }
}
