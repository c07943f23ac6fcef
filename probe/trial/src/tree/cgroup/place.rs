//! Where the cgroups of trials are made: below the probe's own, and so that limits work there.
//!
//! Only the root may have both processes and children with controllers. Elsewhere the processes of the harness have to
//! be in a leaf of their own; the probe moves them there if their cgroup, such as a scope of systemd, has no others.

use crate::tree::procfs::ProcFs;
use std::fs;
use std::io::{Error, ErrorKind, Result as IoResult};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The controllers that have the limits of a trial.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];
/// The leaf of the harness.
const LEAF: &str = "ringside-harness";

/// The cgroup below which the cgroup of a trial is made.
#[derive(Debug, PartialEq, Eq)]
pub struct Parent {
    pub folder: PathBuf,
    /// As /proc/PID/cgroup has it.
    pub name: PathBuf,
}

pub fn parent_of_trials() -> IoResult<Parent> {
    let mounts = fs::read("/proc/self/mountinfo")?;
    let own = fs::read("/proc/self/cgroup")?;
    let own = own_folder(&mounts, &own).map_err(|why| Error::new(ErrorKind::NotFound, why))?;
    if own.name.file_name() == Some(LEAF.as_ref()) {
        // Moved there by an earlier probe.
        let above = |path: &Path| path.parent().unwrap_or(path).to_owned();
        return Ok(Parent { folder: above(&own.folder), name: above(&own.name) });
    }
    // If it cannot be had, the limits that cannot be set are reported as missing.
    let _ = delegate(&own.folder, &CONTROLLERS, ancestors);
    Ok(own)
}

/// Lets children of this cgroup have the controllers. `harness`: the processes that may be moved.
fn delegate(own: &Path, controllers: &[&str], harness: impl FnOnce() -> Vec<i32>) -> IoResult<()> {
    let words = |name: &str| fs::read_to_string(own.join(name));
    let (available, enabled) = (words("cgroup.controllers")?, words("cgroup.subtree_control")?);
    let has = |text: &str, name: &str| text.split_whitespace().any(|word| word == name);
    let lacking: Vec<_> =
        controllers.iter().filter(|name| has(&available, name) && !has(&enabled, name)).collect();
    // The root has no type, and belongs to the system.
    if lacking.is_empty() || !own.join("cgroup.type").exists() {
        return Ok(());
    }
    let inside = words("cgroup.procs")?;
    let inside: Vec<i32> = inside.lines().filter_map(|line| line.parse().ok()).collect();
    let harness = harness();
    if inside.iter().any(|pid| !harness.contains(pid)) {
        return Err(ErrorKind::PermissionDenied.into());
    }
    let leaf = own.join(LEAF);
    match fs::create_dir(&leaf) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    for pid in inside {
        fs::write(leaf.join("cgroup.procs"), pid.to_string())?;
    }
    for name in lacking {
        fs::write(own.join("cgroup.subtree_control"), format!("+{name}"))?;
    }
    Ok(())
}

/// This process, its parent, and so on.
fn ancestors() -> Vec<i32> {
    let mut pids = vec![std::process::id() as i32];
    let Ok(mut procfs) = ProcFs::open() else { return pids };
    while let Some(process) = pids.last().and_then(|&pid| procfs.process(pid)) {
        if process.parent == 0 || pids.contains(&process.parent) {
            break;
        }
        pids.push(process.parent);
    }
    pids
}

/// The probe's own cgroup v2.
fn own_folder(mountinfo: &[u8], own: &[u8]) -> Result<Parent, &'static str> {
    let own = own
        .split(|&byte| byte == b'\n')
        .find_map(|line| line.strip_prefix(b"0::"))
        .ok_or("this process is in no cgroup v2")?;
    let (root, mount) =
        mountinfo.split(|&byte| byte == b'\n').find_map(cgroup2_mount).ok_or("no cgroup v2 is mounted")?;
    let own = Path::new(std::ffi::OsStr::from_bytes(own));
    // In a container the mount may show only a part of the tree.
    let below =
        own.strip_prefix(&root).map_err(|_| "the mount of cgroup v2 does not show this process's own")?;
    if below.components().any(|part| part == std::path::Component::ParentDir) {
        return Err("this process's cgroup is outside the cgroup namespace");
    }
    Ok(Parent { folder: mount.join(below), name: own.to_owned() })
}

/// Root and mount point of a line of mountinfo, when it is a cgroup v2.
fn cgroup2_mount(line: &[u8]) -> Option<(PathBuf, PathBuf)> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let dash = fields.iter().position(|&field| field == b"-")?;
    if *fields.get(dash + 1)? != b"cgroup2" || dash < 6 {
        return None;
    }
    Some((unescaped(fields[3]), unescaped(fields[4])))
}

/// mountinfo writes white space and backslashes as three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let octal = after
            .get(..3)
            .filter(|_| first == b'\\')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(octal.unwrap_or(first));
        rest = if octal.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(std::ffi::OsStr::from_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::Command;

    const UNIFIED: &[u8] =
        b"25 30 0:23 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    const HYBRID: &[u8] = b"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        41 31 0:38 / /sys/fs/cgroup/uni\\040fied rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn finds_the_folder_of_the_own_cgroup() {
        let folder = own_folder(UNIFIED, b"0::/user.slice/a b\n").unwrap();
        let expected =
            Parent { folder: "/sys/fs/cgroup/user.slice/a b".into(), name: "/user.slice/a b".into() };
        assert_eq!(folder, expected);
        let folder = own_folder(HYBRID, b"4:memory:/x\n0::/\n").unwrap();
        assert_eq!(folder.folder, Path::new("/sys/fs/cgroup/uni fied"));
        let part = b"41 31 0:38 /docker/1 /cg rw - cgroup2 cgroup2 rw\n";
        assert_eq!(own_folder(part, b"0::/docker/1/a\n").unwrap().folder, Path::new("/cg/a"));
    }

    #[test]
    fn reports_why_there_is_no_cgroup() {
        assert!(own_folder(UNIFIED, b"4:memory:/x\n").unwrap_err().contains("no cgroup v2"));
        assert!(own_folder(b"", b"0::/\n").unwrap_err().contains("mounted"));
        assert!(own_folder(UNIFIED, b"0::/../other\n").unwrap_err().contains("namespace"));
        let part = b"41 31 0:38 /docker/1 /cg rw - cgroup2 cgroup2 rw\n";
        assert!(own_folder(part, b"0::/other\n").is_err());
        assert!(own_folder(b"a - cgroup2\n - \n-\n", b"0::/\n").is_err());
    }

    /// A cgroup of this test's own, removed at the end; None if none can be made.
    struct Scope(PathBuf, Option<String>);

    impl Scope {
        fn new() -> Option<Scope> {
            let mounts = fs::read("/proc/self/mountinfo").unwrap();
            let own = own_folder(&mounts, &fs::read("/proc/self/cgroup").unwrap()).ok()?;
            let path = own.folder.join(format!("test-{}", fastrand::u64(..)));
            fs::create_dir(&path).ok()?;
            Some(Scope(path, None))
        }
    }

    impl Drop for Scope {
        fn drop(&mut self) {
            let _ = fs::write(self.0.join("cgroup.kill"), "1");
            std::thread::sleep(std::time::Duration::from_millis(100));
            let _ = fs::remove_dir(self.0.join(LEAF));
            let _ = fs::remove_dir(&self.0);
            if let Some((name, parent)) = self.1.as_ref().zip(self.0.parent()) {
                let _ = fs::write(parent.join("cgroup.subtree_control"), format!("-{name}"));
            }
        }
    }

    /// A controller that children of the scope could have; where it has none, the test has nothing to try.
    fn controller(scope: &mut Scope) -> Option<String> {
        let parent = scope.0.parent().unwrap();
        let available = fs::read_to_string(scope.0.join("cgroup.controllers")).unwrap();
        let above = fs::read_to_string(parent.join("cgroup.controllers")).unwrap();
        let name = available.split_whitespace().chain(above.split_whitespace());
        let name = name.last()?.to_owned();
        if available.is_empty() {
            fs::write(parent.join("cgroup.subtree_control"), format!("+{name}")).ok()?;
            scope.1 = Some(name.clone());
        }
        Some(name)
    }

    /// Written past the harness of the tests, which shows nothing of those that pass.
    fn left_out(why: &str) {
        let _ = writeln!(std::io::stderr(), "left out: limits below a leaf: {why}");
    }

    #[test]
    fn the_harness_moves_into_a_leaf_so_that_children_have_controllers() {
        let Some(mut scope) = Scope::new() else { return left_out("no cgroup can be made here") };
        let Some(name) = controller(&mut scope) else { return left_out("no controller is delegated here") };
        let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = sleeper.id() as i32;
        fs::write(scope.0.join("cgroup.procs"), pid.to_string()).unwrap();
        let enabled = || fs::read_to_string(scope.0.join("cgroup.subtree_control")).unwrap();
        // The process is not of the harness: nothing is moved.
        assert!(delegate(&scope.0, &[&name], Vec::new).is_err());
        assert_eq!((enabled().trim(), scope.0.join(LEAF).exists()), ("", false));
        delegate(&scope.0, &[&name], || vec![pid]).unwrap();
        assert_eq!(enabled().trim(), name);
        let moved = fs::read_to_string(scope.0.join(LEAF).join("cgroup.procs")).unwrap();
        assert_eq!(moved.trim(), pid.to_string());
        // Once is enough.
        delegate(&scope.0, &[&name], Vec::new).unwrap();
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }

    #[test]
    fn what_is_not_available_is_not_asked_for() {
        if let Some(scope) = Scope::new() {
            delegate(&scope.0, &["no-such-controller"], Vec::new).unwrap();
            assert!(!scope.0.join(LEAF).exists());
        }
    }

    #[test]
    fn ancestors_begin_with_this_process() {
        let pids = ancestors();
        assert_eq!(pids[0], std::process::id() as i32);
        assert!(pids.len() > 1);
    }
}
