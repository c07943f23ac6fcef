//! A temporary folder of the programs' own, below the one that all share: what a program leaves in it is counted and
//! removed. Its lock says that a probe uses it; the next probe removes the folders of those that were killed.

use crate::leave::removal::remove_below;
use std::collections::hash_map::RandomState;
use std::ffi::OsStr;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::io::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};
use wire::os::{self, fchmod, fstat, mkdirat, openat, statat, try_lock, unlinkat, user_id, Dir, Errno};

/// Short, for the paths of sockets. The probe removes unlocked folders of the user that have such a name.
const PREFIX: &str = "ringside-tmp-";
const RANDOM_CHARACTERS: usize = 6;

/// The longest that a removal may take: a program needs about as long to make this many files.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(30);

pub struct Temporary {
    shared: OwnedFd,
    name: String,
    /// As text, since it is a variable of the environment.
    pub path: String,
    /// Locked.
    folder: OwnedFd,
}

impl Temporary {
    /// Makes a folder below this one.
    pub fn new(shared: &str) -> io::Result<Temporary> {
        let folder = open_shared(shared)?;
        loop {
            // The keys of a map's hasher are random.
            let random = format!("{:016x}", RandomState::new().build_hasher().finish());
            let name = format!("{PREFIX}{}", &random[..RANDOM_CHARACTERS]);
            match mkdirat(&folder, &name) {
                Ok(()) => {}
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(error.into()),
            }
            // Another probe, which removes unlocked folders, may run between two of these calls.
            if let Some(own) = lock(&folder, &name) {
                return Ok(Temporary {
                    path: Path::new(shared).join(&name).display().to_string(),
                    shared: folder,
                    name,
                    folder: own,
                });
            }
        }
    }

    /// Removes what a program has left, and counts it. False where the folder was replaced: the caller needs another
    /// one.
    pub fn clear(&self) -> (u64, bool) {
        let is_in_place = self.is_in_place();
        let is_empty = |names: Dir| names.flatten().all(|name| name == "." || name == "..");
        if is_in_place && Dir::read_from(&self.folder).is_ok_and(is_empty) {
            return (0, true);
        }
        let (count, all) = self.remove_content();
        // A folder that was moved, or removed, is a change as well.
        (count + u64::from(!is_in_place), all && is_in_place)
    }

    /// Whether the path still leads to it, for its user alone.
    fn is_in_place(&self) -> bool {
        let Ok(now) = statat(&self.shared, &self.name, libc::AT_SYMLINK_NOFOLLOW) else { return false };
        let is_same =
            fstat(&self.folder).is_ok_and(|own| (now.st_dev, now.st_ino) == (own.st_dev, own.st_ino));
        let is_private = now.st_mode & 0o777 == 0o700;
        is_same && (is_private || fchmod(&self.folder, 0o700).is_ok())
    }

    fn remove_content(&self) -> (u64, bool) {
        let _ = fchmod(&self.folder, 0o700);
        remove_below(self.folder.as_fd(), Instant::now() + REMOVAL_TIMEOUT)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if unlinkat(&self.shared, &self.name, libc::AT_REMOVEDIR).is_err() {
            self.remove_content();
            let _ = unlinkat(&self.shared, &self.name, libc::AT_REMOVEDIR);
        }
    }
}

/// Removes the folders of probes that were killed.
pub fn sweep(shared: &str) -> io::Result<()> {
    let folder = open_shared(shared)?;
    for name in Dir::read_from(&folder)?.flatten() {
        let random = name.as_bytes().strip_prefix(PREFIX.as_bytes());
        if !random.is_some_and(|random| random.len() == RANDOM_CHARACTERS) {
            continue;
        }
        if let Some(left) = lock(&folder, &name) {
            let of_this_user = fstat(&left).is_ok_and(|own| own.st_uid == user_id());
            if of_this_user {
                remove_below(left.as_fd(), Instant::now() + REMOVAL_TIMEOUT);
                let _ = unlinkat(&folder, &name, libc::AT_REMOVEDIR);
            }
        }
    }
    Ok(())
}

fn open_shared(path: &str) -> io::Result<OwnedFd> {
    if !path.starts_with('/') {
        let why = format!("TMPDIR is {path:?}, which is no absolute path");
        return Err(io::Error::new(io::ErrorKind::Other, why));
    }
    let flags = libc::O_RDONLY | libc::O_DIRECTORY;
    Ok(os::open(path, flags)?)
}

/// Opens and locks a folder; None if it is none, or if another process has locked it, or has just removed it.
fn lock(parent: &OwnedFd, name: impl AsRef<OsStr> + Copy) -> Option<OwnedFd> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let folder = openat(parent, name, flags).ok()?;
    try_lock(&folder).ok()?;
    let own = fstat(&folder).ok()?;
    let now = statat(parent, name, libc::AT_SYMLINK_NOFOLLOW).ok()?;
    ((own.st_dev, own.st_ino) == (now.st_dev, now.st_ino)).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;
    use std::fs;
    use std::os::unix::fs::{symlink, PermissionsExt};
    use std::path::PathBuf;

    fn temporary_in(shared: &TestFolder) -> Temporary {
        Temporary::new(shared.path().to_str().unwrap()).unwrap()
    }

    #[test]
    fn what_is_left_is_counted_and_removed() {
        let shared = TestFolder::new();
        let temporary = temporary_in(&shared);
        let place = PathBuf::from(&temporary.path);
        assert_eq!(temporary.clear(), (0, true));
        fs::create_dir(place.join("folder")).unwrap();
        fs::write(place.join("folder/file"), "left").unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o0)).unwrap();
        assert_eq!(temporary.clear(), (2, true));
        assert_eq!(temporary.clear(), (0, true));
        assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(place.join("late"), "left").unwrap();
        drop(temporary);
        assert!(shared.names().is_empty());
    }

    #[test]
    fn a_folder_that_is_not_in_its_place_any_more() {
        let (shared, other) = (TestFolder::new(), TestFolder::new());
        fs::write(other.path().join("kept"), "").unwrap();
        let temporary = temporary_in(&shared);
        let place = PathBuf::from(&temporary.path);
        fs::write(place.join("file"), "left").unwrap();
        fs::rename(&place, shared.path().join("moved")).unwrap();
        symlink(other.path(), &place).unwrap();
        assert_eq!(temporary.clear(), (2, false));
        drop(temporary);
        assert_eq!(other.names(), ["kept"]);
        assert_eq!(fs::read_dir(shared.path().join("moved")).unwrap().count(), 0);
        let removed = temporary_in(&shared);
        fs::remove_dir(&removed.path).unwrap();
        assert_eq!(removed.clear(), (1, false));
    }

    #[test]
    fn only_folders_that_nobody_uses_are_swept() {
        let shared = TestFolder::new();
        let used = temporary_in(&shared);
        let left = shared.path().join("ringside-tmp-killed");
        fs::create_dir_all(left.join("a/b")).unwrap();
        for other in ["ringside-tmp-another", "ringside-k3j2h1x", "other"] {
            fs::create_dir(shared.path().join(other)).unwrap();
        }
        fs::write(shared.path().join("ringside-tmp-nodirs"), "").unwrap();
        sweep(shared.path().to_str().unwrap()).unwrap();
        let mut kept = vec![used.name.clone()];
        kept.extend(
            ["other", "ringside-k3j2h1x", "ringside-tmp-another", "ringside-tmp-nodirs"].map(String::from),
        );
        kept.sort();
        assert_eq!(shared.names(), kept);
        assert!(sweep("nowhere").is_err());
        assert!(Temporary::new("relative").is_err());
    }
}
