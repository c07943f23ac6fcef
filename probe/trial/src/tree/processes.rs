//! The tree of processes below the probe, read from /proc. The probe is the subreaper of all
//! that it starts, so nothing that the program does can take a descendant out of this tree.

use crate::tree::procfs::{ProcFs, Process};
use std::collections::HashSet;

/// With more threads than this, the children of each thread are not read one by one.
pub const MANY_THREADS: u64 = 16;

/// How children of processes with many threads are searched.
pub enum ScanMode<'a> {
    /// Only the processes listed here.
    Known(&'a [i32]),
    /// The parents of all processes of the host are read, which is cheaper than the lists of many threads.
    All,
}

/// All descendants of `root`, up to `max`. `visit` gets each before its own children are read, so that it can
/// kill it.
pub fn walk(
    procfs: &mut ProcFs,
    root: i32,
    mode: ScanMode,
    max: usize,
    visit: &mut dyn FnMut(&mut ProcFs, &Process),
) -> Vec<Process> {
    let mut tree: Vec<Process> = Vec::new();
    let mut visited = HashSet::new();
    let mut pids = Vec::new();
    let mut incomplete = !procfs.lists_children;
    if procfs.lists_children {
        procfs.children(root, root, &mut pids);
    }
    if let ScanMode::Known(known) = mode {
        pids.extend_from_slice(known);
    }
    let mut tids = Vec::new();
    loop {
        while let Some(pid) = pids.pop() {
            if tree.len() >= max {
                return tree;
            }
            if pid == root || !visited.insert(pid) {
                continue;
            }
            let Some(process) = procfs.process(pid) else { continue };
            visit(procfs, &process);
            tree.push(process);
            if !process.alive || !procfs.lists_children {
                continue;
            }
            if process.threads <= 1 {
                procfs.children(pid, pid, &mut pids);
            } else if process.threads <= MANY_THREADS {
                tids.clear();
                procfs.numbers(format_args!("{pid}/task"), &mut tids);
                for &tid in &tids {
                    procfs.children(pid, tid, &mut pids);
                }
            } else {
                incomplete = true;
            }
        }
        if !incomplete || !matches!(mode, ScanMode::All) {
            return tree;
        }
        // A process whose parent is in the tree belongs to it; repeated, as parents may be listed later.
        let mut all = Vec::new();
        procfs.numbers(format_args!("."), &mut all);
        for pid in all {
            if !visited.contains(&pid) {
                let parent = procfs.process(pid).map(|process| process.parent);
                if parent.is_some_and(|own| own == root || visited.contains(&own)) {
                    pids.push(pid);
                }
            }
        }
        if pids.is_empty() {
            return tree;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{kill_process, Pid, Signal};
    use std::io::Read;
    use std::process::{Child, Command, Stdio};

    /// A shell with a script and its arguments, once something below it has written a line.
    fn started(script: &[&str]) -> Child {
        let mut child = Command::new("sh").arg("-c").args(script).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = [0];
        child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        child
    }

    /// Kills what is below the shell, which ends then.
    fn end(tree: &[Process], shell: &mut Child) {
        for process in tree {
            kill_process(Pid::from_raw(process.pid).unwrap(), Signal::KILL).unwrap();
        }
        shell.wait().unwrap();
    }

    /// The tree is the same with and without the kernel's lists of children.
    #[test]
    fn includes_grandchildren() {
        for lists in [true, false] {
            let mut child = started(&["sleep 60 & echo; wait"]);
            let mut procfs = ProcFs::open().unwrap();
            procfs.lists_children &= lists;
            let root = child.id() as i32;
            let mut visited = Vec::new();
            let tree =
                walk(&mut procfs, root, ScanMode::All, 100, &mut |_, process| visited.push(process.pid));
            assert_eq!(tree.len(), 1);
            assert_eq!(tree[0].parent, root);
            assert_eq!(visited, [tree[0].pid]);
            end(&tree, &mut child);
        }
    }

    /// A process is the child of the thread that started it, and is found without a look at all processes.
    #[test]
    fn includes_children_of_threads() {
        let script = "
import subprocess, threading, time
def work():
    subprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL)
    print(flush=True)
    time.sleep(60)
threading.Thread(target=work).start()";
        let mut child = started(&["python3 -c \"$0\" & wait", script]);
        let mut procfs = ProcFs::open().unwrap();
        let root = child.id() as i32;
        let tree = walk(&mut procfs, root, ScanMode::Known(&[]), 100, &mut |_, _| {});
        end(&tree, &mut child);
        let parents: Vec<_> = tree.iter().map(|process| process.parent).collect();
        assert!(!procfs.lists_children || parents == [root, tree[0].pid]);
    }
}
