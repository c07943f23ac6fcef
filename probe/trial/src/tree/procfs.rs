//! Files below /proc.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::io::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;
use wire::os::{self, find_byte, openat, readlinkat, Errno};

/// A process as /proc/<pid>/stat describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    /// A thread of it has not ended. The first thread may have, and is a zombie as long as others run.
    pub alive: bool,
    /// The number of a thread that has not ended: memory, files and cgroup of one that has are gone.
    pub living_thread: i32,
    pub threads: u64,
    pub rss_pages: u64,
    /// Page faults that needed no disk; all those of its children that have ended and were waited for.
    pub faults: u64,
    pub child_faults: u64,
    /// CPU ticks of its children that have ended and were waited for.
    pub child_ticks: u64,
    /// With the pid, identifies a process: pids are used again.
    pub start_ticks: u64,
}

/// The bytes of a line such as `Pss:  12 kB` in a file of the kernel's.
pub fn kib_field(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Spare descriptors, closed when there are no others: a program that takes all of the probe's must not blind its
/// samples.
#[derive(Default)]
struct Spares(Vec<OwnedFd>);

const SPARES: usize = 2;

/// A clone has its own.
impl Clone for Spares {
    fn clone(&self) -> Spares {
        Spares::default()
    }
}

/// Reads files below /proc with one buffer, and no allocation for each. A clone has a buffer of its own.
#[derive(Clone)]
pub struct ProcFs {
    root: Arc<OwnedFd>,
    path: Vec<u8>,
    buffer: Vec<u8>,
    spares: Spares,
    /// Whether the kernel lists the children of a thread.
    pub lists_children: bool,
    /// A child of the probe that is no process of a trial.
    pub launcher: Option<i32>,
}

/// How often the threads of a process are listed until one is found that has not ended.
const LISTINGS: usize = 3;

/// A shorter text was read completely.
const WHOLE_BYTES: usize = 2048;

impl ProcFs {
    pub fn open() -> std::io::Result<ProcFs> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let root = os::open("/proc", flags)?;
        let me = std::process::id();
        let mut procfs = ProcFs {
            root: Arc::new(root),
            path: Vec::with_capacity(64),
            buffer: vec![0; 4096],
            spares: Spares::default(),
            lists_children: true,
            launcher: None,
        };
        procfs.lists_children = procfs.read(format_args!("{me}/task/{me}/children")).is_some();
        Ok(procfs)
    }

    /// Opens a file or a folder below /proc.
    fn open_below(&mut self, path: std::fmt::Arguments, flags: i32) -> Option<OwnedFd> {
        self.path.clear();
        self.path.write_fmt(path).ok()?;
        let Spares(spares) = &mut self.spares;
        while spares.len() < SPARES {
            match self.root.try_clone() {
                Ok(spare) => spares.push(spare),
                Err(_) => break,
            }
        }
        let path = OsStr::from_bytes(&self.path);
        match openat(&self.root, path, flags) {
            Err(Errno::MFILE | Errno::NFILE) => {
                spares.clear();
                openat(&self.root, path, flags).ok()
            }
            opened => opened.ok(),
        }
    }

    /// The text of a file below /proc; None when its process has gone.
    pub fn read(&mut self, path: std::fmt::Arguments) -> Option<&[u8]> {
        let file = self.open_below(path, libc::O_RDONLY)?;
        let mut done = 0;
        loop {
            if done == self.buffer.len() {
                self.buffer.resize(done * 2, 0);
            }
            match os::read(file.as_fd(), &mut self.buffer[done..]) {
                Ok(0) => return Some(&self.buffer[..done]),
                // The kernel returns these files whole, or in pieces that nearly fill a page.
                Ok(count) if done + count < WHOLE_BYTES => return Some(&self.buffer[..done + count]),
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }

    pub fn process(&mut self, pid: i32) -> Option<Process> {
        if self.launcher == Some(pid) {
            return None;
        }
        let (process, is_zombie) = parse_stat(self.read(format_args!("{pid}/stat"))?)?;
        match process.alive && is_zombie {
            true => Some(self.with_living_thread(process)),
            false => Some(process),
        }
    }

    /// A process whose first thread has ended, as another thread shows it.
    fn with_living_thread(&mut self, process: Process) -> Process {
        let pid = process.pid;
        let mut threads = Vec::new();
        // Threads may end, and start others, while they are read.
        for _ in 0..LISTINGS {
            threads.clear();
            self.numbers(format_args!("{pid}/task"), &mut threads);
            for &thread in threads.iter().filter(|&&thread| thread != pid) {
                let stat = self.read(format_args!("{pid}/task/{thread}/stat"));
                if let Some((seen, false)) = stat.and_then(parse_stat) {
                    return Process { living_thread: thread, rss_pages: seen.rss_pages, ..process };
                }
            }
        }
        process
    }

    /// Whether it shows only processes that this one may trace (hidepid). Otherwise everybody sees the first.
    pub fn hides_processes(&mut self) -> bool {
        self.lists_children && self.process(1).is_none()
    }

    /// Appends the names in a folder below /proc that are numbers.
    pub fn numbers(&mut self, path: std::fmt::Arguments, into: &mut Vec<i32>) {
        let folder = self.open_below(path, libc::O_RDONLY | libc::O_DIRECTORY);
        let names = folder.and_then(|folder| os::Dir::new(folder).ok()).into_iter().flatten().flatten();
        into.extend(names.filter_map(|name| name.to_str()?.parse::<i32>().ok()));
    }

    /// The folder of the descriptors of a thread; None when it cannot be read.
    pub fn open_files(&self, thread: i32) -> Option<OwnedFd> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        openat(&self.root, format!("{thread}/fd"), flags).ok()
    }

    /// The inodes of the sockets that a thread has open; None when its files cannot all be read before the deadline.
    pub fn sockets(&mut self, thread: i32, deadline: Instant) -> Option<Vec<u64>> {
        let folder = self.open_files(thread)?;
        let mut sockets = Vec::new();
        for name in os::Dir::read_from(&folder).ok()?.flatten() {
            if Instant::now() > deadline {
                return None;
            }
            // A file may have been closed meanwhile.
            let target = readlinkat(&folder, &name);
            if let Some(inode) = target.ok().and_then(|target| socket_inode(&target)) {
                sockets.push(inode);
            }
        }
        Some(sockets)
    }

    /// Appends the children that a thread of a process started.
    pub fn children(&mut self, pid: i32, tid: i32, into: &mut Vec<i32>) {
        if let Some(text) = self.read(format_args!("{pid}/task/{tid}/children")) {
            numbers_in(text, into);
        }
    }
}

/// A file of the kernel's that stays open: reading it anew is one system call. None if there is no such file.
pub struct ReopenedFile(Option<File>);

impl ReopenedFile {
    /// One below /proc or /sys.
    pub fn open(path: &str) -> ReopenedFile {
        ReopenedFile(File::open(path).ok())
    }

    pub fn read(&self) -> Option<Vec<u8>> {
        let file = self.0.as_ref()?;
        let mut text = vec![0; 4096];
        loop {
            let count = file.read_at(&mut text, 0).ok()?;
            if count < text.len() {
                text.truncate(count);
                return Some(text);
            }
            text.resize(2 * count, 0);
        }
    }
}

/// The number in `socket:[123]`.
fn socket_inode(target: &[u8]) -> Option<u64> {
    let number = target.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

fn numbers_in(text: &[u8], into: &mut Vec<i32>) {
    let text = std::str::from_utf8(text).unwrap_or("");
    into.extend(text.split_ascii_whitespace().filter_map(|word| word.parse::<i32>().ok()));
}

/// Parses the file stat of a process or a thread. The second value: it is a zombie. The name in brackets is the program's own choice: it may hold
/// spaces, brackets, anything; so the fields are counted from the last bracket.
fn parse_stat(stat: &[u8]) -> Option<(Process, bool)> {
    let open = find_byte(b'(', stat)?;
    let close = stat.iter().rposition(|&byte| byte == b')')?;
    let pid = std::str::from_utf8(&stat[..open]).ok()?.trim().parse().ok()?;
    let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    // proc(5) counts fields from 1; the first here is number 3, the state.
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    // While its parent takes its status, a process has already lost that parent: 0 is shown for it, as for
    // one that came from outside of this namespace. It is gone.
    if matches!(state, "X" | "x") {
        return None;
    }
    let parent = fields.next()?.parse().ok()?;
    let mut number = |skip: usize| fields.nth(skip)?.parse::<i64>().ok();
    let group = i32::try_from(number(0)?).ok()?;
    let session = i32::try_from(number(0)?).ok()?; // 6
    let faults = number(3)?; // 10
    let child_minor = number(0)?; // 11
    let child_major = number(1)?; // 13
    let child_user = number(2)?; // 16
    let child_system = number(0)?; // 17
    let threads = number(2)?; // 20
    let start_ticks = number(1)?; // 22
    let rss_pages = number(1)?; // 24
    let positive = |number: i64| u64::try_from(number).unwrap_or(0);
    let is_zombie = state == "Z";
    let process = Process {
        pid,
        parent,
        group,
        session,
        alive: !is_zombie || threads > 1,
        living_thread: pid,
        threads: positive(threads),
        rss_pages: positive(rss_pages),
        faults: positive(faults),
        child_faults: positive(child_minor) + positive(child_major),
        child_ticks: positive(child_user) + positive(child_system),
        start_ticks: positive(start_ticks),
    };
    Some((process, is_zombie))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "42 (a) S 9 b) (c) R 7 42 1 0 -1 4194304 500 600 0 0 11 12 13 14 20 0 3 0 555 1000000 77 18446744073709551615 1 1";

    #[test]
    fn parses_a_hostile_name() {
        let process = parse_stat(STAT.as_bytes()).unwrap();
        assert!(!process.1);
        let process = process.0;
        let expected = Process {
            pid: 42,
            parent: 7,
            group: 42,
            session: 1,
            alive: true,
            living_thread: 42,
            threads: 3,
            rss_pages: 77,
            faults: 500,
            child_faults: 600,
            child_ticks: 27,
            start_ticks: 555,
        };
        assert_eq!(process, expected);
        // The first thread has ended. Of three threads others go on.
        let zombie = STAT.replace(" R 7", " Z 7");
        for (threads, alive) in [("3", true), ("1", false)] {
            let stat = zombie.replace(" 20 0 3 ", &format!(" 20 0 {threads} "));
            let (process, is_zombie) = parse_stat(stat.as_bytes()).unwrap();
            assert_eq!((process.alive, is_zombie), (alive, true));
        }
    }

    #[test]
    fn a_process_whose_status_was_taken_is_gone() {
        // As the kernel shows it then. The sender of a signal must not pass for a process outside of the trial.
        for state in ["X", "x"] {
            let stat = STAT.replace(" R 7", &format!(" {state} 0"));
            assert_eq!(parse_stat(stat.as_bytes()), None);
        }
    }

    #[test]
    fn refuses_half_a_line() {
        for end in 0..STAT.find("77").unwrap() {
            assert_eq!(parse_stat(&STAT.as_bytes()[..end]), None);
        }
    }

    #[test]
    fn any_bytes_are_harmless() {
        let mut random = fastrand::Rng::with_seed(42);
        for _ in 0..2000 {
            let length = random.usize(..200);
            let bytes: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
            let _ = parse_stat(&bytes);
            numbers_in(&bytes, &mut Vec::new());
            // Half of a real line, with one byte changed.
            let mut line = STAT.as_bytes().to_vec();
            let at = random.usize(..line.len());
            line[at] = random.u8(..);
            let _ = parse_stat(&line[..random.usize(..line.len())]);
        }
    }

    #[test]
    fn a_kept_file_is_read_anew() {
        let kept = ReopenedFile::open("/proc/thread-self/comm");
        for name in ["first", "second"] {
            rustix::thread::set_name(&std::ffi::CString::new(name).unwrap()).unwrap();
            assert_eq!(kept.read().unwrap(), format!("{name}\n").into_bytes());
        }
        assert_eq!(ReopenedFile::open("/proc/no-such-file").read(), None);
    }

    #[test]
    fn reads_itself() {
        let me = std::process::id() as i32;
        let mut procfs = ProcFs::open().unwrap();
        let process = procfs.process(me).unwrap();
        assert!(process.alive && process.rss_pages > 0);
        let mut tids = Vec::new();
        procfs.numbers(format_args!("{me}/task"), &mut tids);
        assert!(tids.contains(&me));
        assert!(procfs.process(-1).is_none());
    }
}
