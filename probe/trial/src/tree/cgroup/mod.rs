//! A cgroup v2 of the trial's own, where one can be made. It kills and accounts the whole tree at once; where it is
//! missing, the slower ways of the other modules remain.

mod place;

use crate::leave::removal::remove_below;
use crate::tree::namespace;
use place::Parent;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Error, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::io::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wire::os::{self, fstat, open};
use wire::request::Limits;

/// pids.max counts threads too, so a limit on processes needs room for theirs.
const THREAD_ROOM: u64 = 32_768;

/// The longest that the removal of sub-groups may take.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(5);

pub struct Cgroup {
    pub path: PathBuf,
    /// As /proc/PID/cgroup has it.
    name: PathBuf,
    folder: File,
    procs: File,
    cpu: File,
    /// Files of controllers; None if the controllers are not delegated.
    memory_max: Option<File>,
    processes_max: Option<File>,
    memory_events: Option<File>,
    /// Open, since a program can take from the probe what it needs to open it; None before Linux 5.14.
    kill: Option<File>,
    /// When the trial began.
    cpu_before: CpuUsage,
    /// Kernels may kill each process that is started inside later on, too (seen with 6.18.44).
    was_killed: AtomicBool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuUsage {
    pub total_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
}

impl Cgroup {
    /// A cgroup for a trial: the kept one of an earlier trial, else a new one, see [`place`]. Limits that
    /// cannot be set are added to `missing`.
    pub fn begin(kept: Option<Cgroup>, limits: &Limits, missing: &mut Vec<String>) -> io::Result<Cgroup> {
        let cgroup = match kept {
            None => Cgroup::make_below(&place::parent_of_trials()?)?,
            Some(mut kept) => {
                kept.cpu_before = kept.cpu_total().unwrap_or_default();
                kept
            }
        };
        let processes = limits.processes.saturating_add(THREAD_ROOM);
        limit("memory.max", &cgroup.memory_max, limits.memory_bytes, missing);
        limit("pids.max", &cgroup.processes_max, processes, missing);
        Ok(cgroup)
    }

    /// Moves the harness into a leaf of its own, where limits need it: only outside of namespaces the probe sees its
    /// ancestors. An error comes again when a cgroup is made.
    pub fn prepare() {
        let _ = place::parent_of_trials();
    }

    /// Whether another trial may use it: it is empty, nothing in it was killed, and the kernel does not account its
    /// memory. Files that a trial has read stay charged to the cgroup, below the limit of the next trial, and
    /// `memory.events` counts from the cgroup's beginning.
    pub fn can_be_used_again(&self) -> bool {
        if self.was_killed.load(Ordering::Relaxed) {
            return false;
        }
        let is_empty = read(&self.procs).is_some_and(|processes| processes.is_empty());
        // The links of a folder of the kernel's: its name, `.`, and `..` of each folder inside.
        let has_groups = fstat(&self.folder).map_or(true, |folder| folder.st_nlink > 2);
        is_empty && !has_groups && self.memory_max.is_none()
    }

    fn make_below(parent: &Parent) -> io::Result<Cgroup> {
        remove_stale(&parent.folder);
        let pid = namespace::outer_pid();
        let (mut path, mut name) = (PathBuf::new(), String::new());
        for n in 0..100 {
            name = format!("ringside-{pid}-{n}");
            path = parent.folder.join(&name);
            match fs::create_dir(&path) {
                // Left by a killed probe with the same pid.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(with_path("make", &path, error)),
                Ok(()) => break,
            }
        }
        Cgroup::use_folder(&path, parent.name.join(name)).map_err(|error| {
            let _ = fs::remove_dir(&path);
            with_path("use", &path, error)
        })
    }

    fn use_folder(path: &Path, name: PathBuf) -> io::Result<Cgroup> {
        let file = |name: &str, flags| open(path.join(name), flags).map(File::from);
        Ok(Cgroup {
            folder: file("", libc::O_RDONLY | libc::O_DIRECTORY)?,
            procs: file("cgroup.procs", libc::O_RDWR)?,
            cpu: file("cpu.stat", libc::O_RDONLY)?,
            memory_max: file("memory.max", libc::O_WRONLY | libc::O_TRUNC).ok(),
            processes_max: file("pids.max", libc::O_WRONLY | libc::O_TRUNC).ok(),
            memory_events: file("memory.events", libc::O_RDONLY).ok(),
            kill: file("cgroup.kill", libc::O_WRONLY).ok(),
            cpu_before: CpuUsage::default(),
            was_killed: AtomicBool::new(false),
            path: path.to_owned(),
            name,
        })
    }

    /// Whether a process is inside, or in a sub-group: by its /proc/PID/cgroup.
    pub fn holds(&self, memberships: &[u8]) -> bool {
        let own = memberships.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"0::"));
        // Whole: a cgroup elsewhere may have the same name.
        own.is_some_and(|path| Path::new(OsStr::from_bytes(path)).starts_with(&self.name))
    }

    /// The folder and `cgroup.procs`, for the start of a process inside.
    pub fn files(&self) -> (BorrowedFd<'_>, BorrowedFd<'_>) {
        (self.folder.as_fd(), self.procs.as_fd())
    }

    /// CPU time since the trial began.
    pub fn cpu(&self) -> Option<CpuUsage> {
        let (now, before) = (self.cpu_total()?, self.cpu_before);
        Some(CpuUsage {
            total_ns: now.total_ns.saturating_sub(before.total_ns),
            user_ns: now.user_ns.saturating_sub(before.user_ns),
            system_ns: now.system_ns.saturating_sub(before.system_ns),
        })
    }

    fn cpu_total(&self) -> Option<CpuUsage> {
        parse_cpu(&read(&self.cpu)?)
    }

    /// The processes inside, sub-groups apart.
    pub fn processes(&self, into: &mut Vec<i32>) {
        if let Ok(text) = fs::read_to_string(self.path.join("cgroup.procs")) {
            into.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
        }
    }

    /// Kills all processes inside at once, including those that are being forked (Linux 5.14).
    pub fn kill(&self) -> bool {
        self.was_killed.store(true, Ordering::Relaxed);
        self.kill.as_ref().is_some_and(|file| os::write(file, b"1").is_ok())
    }

    /// Whether the kernel has killed a process inside for want of memory.
    pub fn out_of_memory(&self) -> bool {
        let events = self.memory_events.as_ref().and_then(read);
        events.and_then(|events| value(&events, "oom_kill")) > Some(0)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for _ in 0..50 {
            match remove_tree(&self.path) {
                // A process that was just reaped may still count for a moment.
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                _ => break,
            }
        }
    }
}

/// The first KiB of a file of the kernel's.
fn read(file: &File) -> Option<Vec<u8>> {
    let mut text = vec![0; 1024];
    let count = file.read_at(&mut text, 0).ok()?;
    text.truncate(count);
    Some(text)
}

fn limit(name: &str, file: &Option<File>, value: u64, missing: &mut Vec<String>) {
    let controller = name.split('.').next().unwrap_or(name);
    let Some(file) = file else {
        return missing.push(format!("cgroup {controller} controller: not delegated"));
    };
    if let Err(error) = file.write_at(value.to_string().as_bytes(), 0) {
        missing.push(format!("cgroup {name}: {error}"));
    }
}

/// Removes the cgroups that killed probes have left.
fn remove_stale(parent: &Path) {
    let names = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in names {
        let name = entry.file_name();
        let pid = name
            .to_str()
            .and_then(|name| name.strip_prefix("ringside-"))
            .and_then(|rest| rest.split('-').next())
            .and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !namespace::exists_outside(pid)) {
            // One that still has processes is not removed.
            let _ = remove_tree(&entry.path());
        }
    }
}

/// The program may have made cgroups of its own inside, deeper than a path may be long. Only their folders can be
/// removed, the innermost first.
fn remove_tree(path: &Path) -> io::Result<()> {
    // In most cases there is nothing inside.
    if fs::remove_dir(path).is_ok() {
        return Ok(());
    }
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let folder = open(path, flags)?;
    remove_below(folder.as_fd(), Instant::now() + REMOVAL_TIMEOUT);
    fs::remove_dir(path)
}

fn with_path(what: &str, path: &Path, error: Error) -> Error {
    Error::new(error.kind(), format!("cannot {what} {}: {error}", path.display()))
}

fn parse_cpu(text: &[u8]) -> Option<CpuUsage> {
    let ns = |key| value(text, key).and_then(|us| us.checked_mul(1000));
    Some(CpuUsage { total_ns: ns("usage_usec")?, user_ns: ns("user_usec")?, system_ns: ns("system_usec")? })
}

/// The number after a key, in a file of lines `key number`.
fn value(text: &[u8], key: &str) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.find(|(own, _)| *own == key)?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    #[test]
    fn reads_cpu_stat() {
        let text = b"usage_usec 30\nuser_usec 10\nsystem_usec 20\nnice_usec 0\n";
        let cpu = CpuUsage { total_ns: 30_000, user_ns: 10_000, system_ns: 20_000 };
        assert_eq!(parse_cpu(text), Some(cpu));
        assert_eq!(parse_cpu(b"usage_usec 30\n"), None);
        assert_eq!(parse_cpu(b"usage_usec x\nuser_usec 1\nsystem_usec 1\n"), None);
    }

    /// A folder of plain files stands for a cgroup with controllers.
    fn fixture(files: &[(&str, &str)]) -> (TestFolder, Cgroup) {
        let folder = TestFolder::new();
        let place = folder.path().join("cgroup");
        fs::create_dir(&place).unwrap();
        for (name, text) in [("cgroup.procs", "7\n8\n"), ("cpu.stat", "")].iter().chain(files) {
            fs::write(place.join(name), text).unwrap();
        }
        let cgroup = Cgroup::use_folder(&place, "/a/b".into()).unwrap();
        (folder, cgroup)
    }

    #[test]
    fn uses_controllers() {
        let (_folder, cgroup) = fixture(&[
            ("memory.max", "max\n"),
            ("memory.events", "low 0\noom 2\noom_kill 1\n"),
            ("pids.max", "max\n"),
        ]);
        let mut missing = Vec::new();
        limit("memory.max", &cgroup.memory_max, 1234, &mut missing);
        limit("pids.max", &cgroup.processes_max, 99, &mut missing);
        assert!(missing.is_empty());
        let read = |name: &str| fs::read_to_string(cgroup.path.join(name)).unwrap();
        assert_eq!((read("memory.max"), read("pids.max")), ("1234".into(), "99".into()));
        assert!(cgroup.out_of_memory());
        let mut processes = Vec::new();
        cgroup.processes(&mut processes);
        assert_eq!(processes, [7, 8]);
    }

    #[test]
    fn holds_what_is_below_its_whole_name() {
        let (_folder, cgroup) = fixture(&[]);
        assert!(cgroup.holds(b"4:memory:/x\n0::/a/b\n"));
        assert!(cgroup.holds(b"0::/a/b/c d\n"));
        for other in ["0::/a\n", "0::/a/bc\n", "0::/c/a/b\n", "0::/b\n", "1:x:/a/b\n", ""] {
            assert!(!cgroup.holds(other.as_bytes()), "{other:?}");
        }
    }

    #[test]
    fn what_is_deeper_than_a_path_is_removed() {
        let top = TestFolder::new();
        let inside = top.path().join("inside");
        fs::create_dir(&inside).unwrap();
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let mut folder = open(&inside, flags).unwrap();
        let name = "d".repeat(250);
        for _ in 0..40 {
            for name in [&name, "other"] {
                wire::os::mkdirat(&folder, name).unwrap();
            }
            folder = wire::os::openat(&folder, &name, flags).unwrap();
        }
        remove_tree(&inside).unwrap();
        assert!(!inside.exists());
    }

    #[test]
    fn reports_missing_controllers() {
        let (_folder, cgroup) = fixture(&[("memory.events", "oom_kill 0\n")]);
        let mut missing = Vec::new();
        limit("memory.max", &cgroup.memory_max, 1234, &mut missing);
        assert!(missing[0].starts_with("cgroup memory controller: "), "{missing:?}");
        assert!(!cgroup.out_of_memory());
        assert_eq!(cgroup.cpu(), None);
    }

    /// Charged memory, and processes that the kernel has killed, would be those of the trial before.
    #[test]
    fn a_cgroup_with_traces_of_a_trial_is_not_used_again() {
        let empty = ("cgroup.procs", "");
        let (_folder, cgroup) = fixture(&[empty]);
        assert!(cgroup.can_be_used_again());
        cgroup.kill();
        assert!(!cgroup.can_be_used_again());
        let (_folder, cgroup) = fixture(&[empty]);
        fs::create_dir(cgroup.path.join("own")).unwrap();
        assert!(!cgroup.can_be_used_again());
        for trace in [("cgroup.procs", "7\n"), ("memory.max", "max\n")] {
            let (_folder, cgroup) = fixture(&[empty, trace]);
            assert!(!cgroup.can_be_used_again(), "{trace:?}");
        }
    }
}
