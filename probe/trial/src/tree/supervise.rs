//! Supervises the program while it runs, and ends it with all processes that it started.

use crate::sample::high_water::HighWater;
use crate::start::launcher::Started;
use crate::tree::cgroup::{Cgroup, CpuUsage};
use crate::tree::listener::{owner, Owner};
use crate::tree::namespace;
use crate::tree::processes::{walk, ScanMode};
use crate::tree::procfs::{ProcFs, Process};
use std::net::SocketAddr;
use std::os::unix::io::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::clock;
use wire::os::{self, pidfd_open, pidfd_send_signal, poll, PollFd};
use wire::sys;

const HIGHEST_PRIORITY: i32 = -20;

/// Processes that the kernel does not let die (they wait for a dead disk, say) are given up when no process of the
/// trial has ended for this long: a host that stalls may need minutes for a thousand.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// The generations after which a process is taken for one of the trial.
const MAX_ANCESTORS: usize = 1000;

/// After this, all processes that are left are given up.
const MAX_WAIT: Duration = Duration::from_secs(300);

pub struct Supervisor<'a> {
    pub pid: i32,
    pub pidfd: OwnedFd,
    /// It is removed when it is dropped; its figures have to be read before.
    pub cgroup: Option<Arc<Cgroup>>,
    pub signals: BorrowedFd<'a>,
    pub procfs: &'a mut ProcFs,
    /// The wait status of the program itself.
    pub status: Option<i32>,
    pub high_water: HighWater,
    ended: bool,
}

/// Processes that outlived the program.
#[derive(Debug, Default)]
pub struct Leftover {
    /// Other processes that did not follow the program when it had ended, or ran when it was killed. For a plain
    /// command: those that ran at its end.
    pub left_behind: u64,
    /// Processes that could not be ended.
    pub unkillable: u64,
}

impl<'a> Supervisor<'a> {
    pub fn new(
        started: Started,
        cgroup: Option<Arc<Cgroup>>,
        signals: BorrowedFd<'a>,
        procfs: &'a mut ProcFs,
    ) -> Supervisor<'a> {
        Supervisor {
            pid: started.pid,
            pidfd: started.pidfd,
            cgroup,
            signals,
            procfs,
            status: None,
            high_water: HighWater::new(started.floor_bytes),
            ended: false,
        }
    }

    /// Whether the program itself ends within a time.
    pub fn ends_within(&self, time: Duration) -> bool {
        let mut files = [PollFd::readable(self.pidfd.as_fd())];
        poll(&mut files, Some(time.as_nanos() as u64)) == Ok(1)
    }

    pub fn cpu(&self) -> Option<CpuUsage> {
        self.cgroup.as_deref().and_then(Cgroup::cpu)
    }

    /// Finds out whose socket listens at an address of this host.
    pub fn listener(&mut self, address: SocketAddr) -> Owner {
        let tree = self.tree(&mut |_, _| {});
        owner(self.procfs, &tree, address)
    }

    /// CPU time of all processes of the trial until now.
    pub fn cpu_so_far_ns(&mut self) -> u64 {
        if let Some(cpu) = self.cpu() {
            return cpu.total_ns;
        }
        let gone = sys::children_usage();
        let tick_ns = sys::tick_ns();
        let of = |process: &Process| clock::cpu_ns_of(process.pid) + process.child_ticks * tick_ns;
        let tree = self.tree(&mut |_, _| {});
        gone.user_ns + gone.system_ns + tree.iter().map(of).sum::<u64>()
    }

    /// Whether a process is one of the trial's; None when it has ended: unknown.
    pub fn is_of_trial(&mut self, pid: i32) -> Option<bool> {
        let probe = std::process::id() as i32;
        let mut pid = pid;
        // Parents may end meanwhile; a process that loses its parent becomes a child of the probe.
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
        let had_ended = self.status.is_some();
        self.reap(256);
        self.status.is_some() && !had_ended
    }

    /// Reaps children that have ended, this many at most, and counts them; None when there is no child at all.
    fn reap(&mut self, most: u64) -> Option<u64> {
        if self.status.is_none() && self.ends_within(Duration::ZERO) {
            // Whether the program itself has waited for children.
            let program = self.procfs.process(self.pid);
            self.high_water.child_faults = program.map(|program| program.child_faults);
        }
        let mut count = 0;
        while count < most {
            match sys::reap() {
                Ok(Some(ended)) => {
                    count += 1;
                    self.high_water.add(&ended);
                    if ended.pid == self.pid && self.status.is_none() {
                        self.status = Some(ended.status);
                    }
                }
                Ok(None) => break,
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(_) => return None,
            }
        }
        Some(count)
    }

    /// Kills the program and all its descendants, and waits for them. Afterwards no process of the trial is alive,
    /// and the kernel's account of it is complete. `counted`: how many processes there are, where the last sample
    /// counted them. `outlived`: how many others count as left behind, where that was decided before.
    pub fn end(&mut self, counted: Option<u64>, outlived: Option<u64>) -> Leftover {
        self.ended = true;
        let mut leftover = Leftover { left_behind: outlived.unwrap_or(0), ..Leftover::default() };
        // All that it started would be children of the probe by now.
        if counted.is_none() && self.reap(u64::MAX).is_none() {
            return leftover;
        }
        let mut priority = None;
        let alive = match counted {
            // Counting a fork bomb once more would only give it time.
            Some(count) => {
                leftover.left_behind = count.saturating_sub(1);
                count
            }
            None => {
                let tree = self.alive();
                let others = tree.iter().filter(|process| process.pid != self.pid);
                leftover.left_behind = outlived.unwrap_or(others.count() as u64);
                tree.len() as u64
            }
        };
        // If /proc hides processes, none may be visible although the program runs.
        let runs = self.status.is_none() && !self.ends_within(Duration::ZERO);
        if alive > 0 || runs {
            // Among thousands of processes the probe would hardly get a CPU. No harm where it
            // is not allowed.
            priority = os::priority_of(0).ok();
            let _ = os::set_own_priority(HIGHEST_PRIORITY);
            if let Some(cgroup) = &self.cgroup {
                cgroup.kill();
            }
            // Until it has been waited for, the program's number is its own and its group's.
            if self.status.is_none() {
                let _ = os::kill(-self.pid, libc::SIGKILL);
            }
            // In most cases no process is left now.
            self.wait(Duration::from_millis(5));
        }
        let begin = Instant::now();
        let mut last = begin;
        while let Some(ended) = self.reap(u64::MAX) {
            if ended > 0 {
                last = Instant::now();
            }
            if last.elapsed() > KILL_TIMEOUT || begin.elapsed() > MAX_WAIT {
                leftover.unkillable = self.tree(&mut |_, _| {}).len() as u64;
                break;
            }
            // At once, before /proc is walked, which takes long while a fork bomb grows.
            self.kill_children();
            // Orphans become children of the probe: what escapes one round is found in the next.
            let tree = self.tree(&mut kill_with_group);
            if !tree.iter().any(|process| process.alive) {
                self.wait(Duration::from_millis(5));
            }
        }
        // The next program would inherit it.
        let _ = priority.map(os::set_own_priority);
        leftover
    }

    /// Kills the children of the probe, also those that /proc hides. Their numbers are theirs until they are waited for.
    fn kill_children(&mut self) {
        // Needs no file: the probe may not be allowed any.
        namespace::kill_all();
        let probe = std::process::id() as i32;
        let mut children = Vec::new();
        self.procfs.children(probe, probe, &mut children);
        let launcher = self.procfs.launcher;
        for child in children.into_iter().filter(|&pid| pid > 1 && Some(pid) != launcher) {
            let _ = os::kill(child, libc::SIGKILL);
        }
    }

    /// How many processes are alive, when the program itself has ended. Those that have ended are reaped.
    pub fn survivors(&mut self) -> u64 {
        match self.reap(u64::MAX) {
            None => 0,
            Some(_) => self.alive().len() as u64,
        }
    }

    fn alive(&mut self) -> Vec<Process> {
        let mut tree = self.tree(&mut |_, _| {});
        tree.retain(|process| process.alive);
        tree
    }

    fn tree(&mut self, visit: &mut dyn FnMut(&mut ProcFs, &Process)) -> Vec<Process> {
        let probe = std::process::id() as i32;
        walk(self.procfs, probe, ScanMode::All, usize::MAX, visit)
    }

    fn wait(&self, time: Duration) {
        let time_ns = time.as_nanos() as u64;
        let mut ready = [PollFd::readable(self.signals)];
        if poll(&mut ready, Some(time_ns)).is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
        sys::pending_signals(self.signals).for_each(drop);
    }
}

/// On a panic or an error, too, no process of the trial stays.
impl Drop for Supervisor<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.end(None, None);
        }
        self.cgroup = None;
    }
}

/// Kills a process and its group: a group dies at once, so that a process which forks and ends, again and again,
/// cannot escape.
fn kill_with_group(procfs: &mut ProcFs, process: &Process) {
    if !process.alive {
        return;
    }
    let own_session = os::session_of(0).unwrap_or(0);
    // Sessions of the tree were created in the tree, so their groups hold no other processes.
    if process.group > 1 && process.session > 0 && process.session != own_session {
        let _ = os::kill(-process.group, libc::SIGKILL);
    }
    // The pid may have been used again since.
    if let Ok(file) = pidfd_open(process.pid) {
        let now = procfs.process(process.pid).map(|now| now.start_ticks);
        if now == Some(process.start_ticks) {
            let _ = pidfd_send_signal(file, libc::SIGKILL);
        }
    }
}
