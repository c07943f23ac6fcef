//! The tree of processes below the probe, read from /proc. The probe is the subreaper of all
//! that it starts, so nothing that the program does can take a descendant out of this tree.

use rustix::fs::{openat, Mode, OFlags};
use std::collections::HashSet;
use std::io::Write;
use std::os::unix::io::{AsFd, OwnedFd};

/// With more threads than this, the children of each thread are not read one by one.
pub const MANY_THREADS: u64 = 16;

/// A process that is in the tree, as /proc/<pid>/stat tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    /// Not a zombie that only waits to be waited for.
    pub alive: bool,
    pub threads: u64,
    pub rss_pages: u64,
    /// CPU ticks of its children that have ended and were waited for.
    pub child_ticks: u64,
    /// With the pid, names a process for good: pids are used again.
    pub start_ticks: u64,
}

/// How far to go to find all.
pub enum Thoroughness<'a> {
    /// Children of processes with many threads only as far as they are listed here.
    Known(&'a [i32]),
    /// The parents of all processes of the machine are read where many threads make that cheaper.
    All,
}

/// The bytes that a line such as `Pss:  12 kB` of a file of the kernel's tells.
pub fn kernel_bytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Reads files below /proc with one buffer, and no allocation for each.
pub struct ProcFs {
    root: OwnedFd,
    path: Vec<u8>,
    buffer: Vec<u8>,
    /// Whether the kernel lists the children of a thread.
    pub lists_children: bool,
}

impl ProcFs {
    pub fn open() -> std::io::Result<ProcFs> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open("/proc", flags, Mode::empty())?;
        let me = std::process::id();
        let mut procfs = ProcFs {
            root,
            path: Vec::with_capacity(64),
            buffer: vec![0; 4096],
            lists_children: true,
        };
        procfs.lists_children = procfs
            .read(format_args!("{me}/task/{me}/children"))
            .is_some();
        Ok(procfs)
    }

    /// The text of a file below /proc; None when its process has gone.
    pub fn read(&mut self, path: std::fmt::Arguments) -> Option<&[u8]> {
        self.path.clear();
        self.path.write_fmt(path).ok()?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat(&self.root, self.path.as_slice(), flags, Mode::empty()).ok()?;
        let mut done = 0;
        loop {
            if done == self.buffer.len() {
                self.buffer.resize(done * 2, 0);
            }
            match rustix::io::read(file.as_fd(), &mut self.buffer[done..]) {
                Ok(0) => return Some(&self.buffer[..done]),
                // These files come whole, or in pieces that fill the buffer nearly.
                Ok(count) => done += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }

    pub fn process(&mut self, pid: i32) -> Option<Process> {
        parse_stat(self.read(format_args!("{pid}/stat"))?)
    }

    /// The numbers that are names in a folder below /proc.
    pub fn numbers(&mut self, path: std::fmt::Arguments, into: &mut Vec<i32>) {
        self.path.clear();
        if self.path.write_fmt(path).is_err() {
            return;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let file = openat(&self.root, self.path.as_slice(), flags, Mode::empty());
        let folder = file.and_then(rustix::fs::Dir::new);
        if let Ok(folder) = folder {
            for entry in folder.flatten() {
                let name = entry.file_name().to_str().ok();
                into.extend(name.and_then(|name| name.parse::<i32>().ok()));
            }
        }
    }

    fn children(&mut self, pid: i32, tid: i32, into: &mut Vec<i32>) {
        if let Some(text) = self.read(format_args!("{pid}/task/{tid}/children")) {
            numbers_in(text, into);
        }
    }

    /// All descendants of `root`, up to `most`. `visit` sees each before its own children are
    /// read, so that it can kill it.
    pub fn walk(
        &mut self,
        root: i32,
        thoroughness: Thoroughness,
        most: usize,
        visit: &mut dyn FnMut(&mut ProcFs, &Process),
    ) -> Vec<Process> {
        let mut found: Vec<Process> = Vec::new();
        let mut seen = HashSet::new();
        let mut pids = Vec::new();
        let mut incomplete = !self.lists_children;
        if self.lists_children {
            self.children(root, root, &mut pids);
        }
        if let Thoroughness::Known(known) = thoroughness {
            pids.extend_from_slice(known);
        }
        let mut tids = Vec::new();
        loop {
            while let Some(pid) = pids.pop() {
                if found.len() >= most {
                    return found;
                }
                if pid == root || !seen.insert(pid) {
                    continue;
                }
                let process = match self.process(pid) {
                    Some(process) => process,
                    None => continue,
                };
                visit(self, &process);
                found.push(process);
                if !process.alive || !self.lists_children {
                    continue;
                }
                if process.threads <= 1 {
                    self.children(pid, pid, &mut pids);
                } else if process.threads <= MANY_THREADS {
                    tids.clear();
                    self.numbers(format_args!("{pid}/task"), &mut tids);
                    for &tid in &tids {
                        self.children(pid, tid, &mut pids);
                    }
                } else {
                    incomplete = true;
                }
            }
            if !incomplete || !matches!(thoroughness, Thoroughness::All) {
                return found;
            }
            // Whoever has a parent in the tree belongs to it; repeated, as parents may come later.
            let mut everybody = Vec::new();
            self.numbers(format_args!("."), &mut everybody);
            for pid in everybody {
                if !seen.contains(&pid) {
                    let parent = self.process(pid).map(|process| process.parent);
                    if parent.map_or(false, |own| own == root || seen.contains(&own)) {
                        pids.push(pid);
                    }
                }
            }
            if pids.is_empty() {
                return found;
            }
        }
    }
}

fn numbers_in(text: &[u8], into: &mut Vec<i32>) {
    let text = std::str::from_utf8(text).unwrap_or("");
    into.extend(
        text.split_ascii_whitespace()
            .filter_map(|word| word.parse::<i32>().ok()),
    );
}

/// Parses /proc/<pid>/stat. The name in brackets is the program's own choice: it may hold
/// spaces, brackets, anything; so the fields are counted from the last bracket.
pub fn parse_stat(stat: &[u8]) -> Option<Process> {
    let open = memchr::memchr(b'(', stat)?;
    let close = memchr::memrchr(b')', stat)?;
    let pid = std::str::from_utf8(&stat[..open])
        .ok()?
        .trim()
        .parse()
        .ok()?;
    let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    // proc(5) counts fields from 1; the first here is number 3, the state.
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let mut number = |skip: usize| fields.nth(skip)?.parse::<i64>().ok();
    let group = i32::try_from(number(0)?).ok()?;
    let session = i32::try_from(number(0)?).ok()?; // 6
    let child_user = number(9)?; // 16
    let child_system = number(0)?; // 17
    let threads = number(2)?; // 20
    let start_ticks = number(1)?; // 22
    let rss_pages = number(1)?; // 24
    let positive = |number: i64| u64::try_from(number).unwrap_or(0);
    Some(Process {
        pid,
        parent,
        group,
        session,
        alive: !matches!(state, "Z" | "X" | "x"),
        threads: positive(threads),
        rss_pages: positive(rss_pages),
        child_ticks: positive(child_user) + positive(child_system),
        start_ticks: positive(start_ticks),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "42 (a) S 9 b) (c) R 7 42 1 0 -1 4194304 500 600 0 0 11 12 13 14 20 0 3 0 555 1000000 77 18446744073709551615 1 1";

    #[test]
    fn parses_a_hostile_name() {
        let process = parse_stat(STAT.as_bytes()).unwrap();
        let expected = Process {
            pid: 42,
            parent: 7,
            group: 42,
            session: 1,
            alive: true,
            threads: 3,
            rss_pages: 77,
            child_ticks: 27,
            start_ticks: 555,
        };
        assert_eq!(process, expected);
        assert!(
            !parse_stat(STAT.replace(" R 7", " Z 7").as_bytes())
                .unwrap()
                .alive
        );
    }

    #[test]
    fn refuses_half_a_line() {
        for end in 0..STAT.find("77").unwrap() {
            assert_eq!(parse_stat(&STAT.as_bytes()[..end]), None);
        }
    }

    #[test]
    fn any_bytes_do_no_harm() {
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

    /// With and without the kernel's lists of children, the same tree is found.
    #[test]
    fn finds_grandchildren() {
        for lists in [true, false] {
            let mut child = std::process::Command::new("sh")
                .args(["-c", "sleep 60 & echo; wait"])
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            let mut line = [0];
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
            let mut procfs = ProcFs::open().unwrap();
            procfs.lists_children &= lists;
            let root = child.id() as i32;
            let mut visited = Vec::new();
            let found = procfs.walk(root, Thoroughness::All, 100, &mut |_, x| {
                visited.push(x.pid)
            });
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].parent, root);
            assert_eq!(visited, [found[0].pid]);
            let pid = rustix::process::Pid::from_raw(found[0].pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            child.wait().unwrap();
        }
    }
}
