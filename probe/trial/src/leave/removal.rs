//! Removes all that is below a folder, whatever a program has made there: symbolic links are not followed, nor mounts;
//! trees may be deeper than a path may be long, and folders may lack permissions.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::io::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Instant;
use wire::os::{self, fstat, openat, openat2, unlinkat, Dir, Errno};

/// A folder on the way down: its own identity, its name in the one above, and what stays in it.
struct Level {
    identity: (u64, u64),
    name: OsString,
    stays: HashSet<OsString>,
}

/// Empties an open folder, which itself stays. So does anything that cannot be removed, or is left at the deadline.
/// Returns how many files and folders are gone, and whether those are all.
pub fn remove_below(top: BorrowedFd, deadline: Instant) -> (u64, bool) {
    let mut count = 0;
    let all = remove(top, deadline, &mut count).unwrap_or(false);
    (count, all)
}

/// One folder is open at a time, so however deep a tree is, few descriptors are enough.
fn remove(top: BorrowedFd, deadline: Instant, count: &mut u64) -> os::Result<bool> {
    let mut folder = openat(top, ".", libc::O_RDONLY | libc::O_DIRECTORY)?;
    let mut levels = vec![Level::of(&folder, OsString::new())?];
    while let Some(level) = levels.last_mut() {
        let mut inner = None;
        for entry in Dir::read_from(&folder)? {
            let name = entry?;
            if name == "." || name == ".." || level.stays.contains(&name) {
                continue;
            }
            if Instant::now() > deadline {
                return Ok(false);
            }
            match unlinkat(&folder, &name, 0) {
                Ok(()) => *count += 1,
                // POSIX has the second error for folders, and for entries that may not be removed at all.
                Err(Errno::ISDIR | Errno::PERM) => match unlinkat(&folder, &name, libc::AT_REMOVEDIR) {
                    Ok(()) => *count += 1,
                    Err(_) => match open_for_removal(&folder, &name) {
                        Some(opened) => {
                            inner = Some((opened, name));
                            break;
                        }
                        None => drop(level.stays.insert(name)),
                    },
                },
                Err(_) => drop(level.stays.insert(name)),
            }
        }
        if let Some((opened, name)) = inner {
            levels.push(Level::of(&opened, name)?);
            folder = opened;
            continue;
        }
        let done = levels.pop().expect("the last");
        let Some(above) = levels.last_mut() else { return Ok(done.stays.is_empty()) };
        folder = openat(&folder, "..", libc::O_RDONLY | libc::O_DIRECTORY)?;
        // Another process may have moved the folder meanwhile; the folders above it now must stay.
        if Level::of(&folder, OsString::new())?.identity != above.identity {
            return Ok(false);
        }
        match unlinkat(&folder, &done.name, libc::AT_REMOVEDIR) {
            Ok(()) => *count += 1,
            Err(_) => drop(above.stays.insert(done.name)),
        }
    }
    Ok(true)
}

impl Level {
    fn of(folder: &OwnedFd, name: OsString) -> os::Result<Level> {
        let own = fstat(folder)?;
        Ok(Level { identity: (own.st_dev, own.st_ino), name, stays: HashSet::new() })
    }
}

/// Opens a folder, with all permissions for its owner. None if it is a mount, or no folder.
fn open_for_removal(parent: &OwnedFd, name: &OsString) -> Option<OwnedFd> {
    // Not by the device's number: that of a mount may be the same.
    let resolve = libc::RESOLVE_NO_XDEV | libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_BENEATH;
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let place = openat2(parent, name, flags | libc::O_PATH, resolve).ok()?;
    // By its descriptor, so that no other file can take its place meanwhile.
    let path = format!("/proc/self/fd/{}", place.as_raw_fd());
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700));
    openat2(place.as_fd(), ".", flags, resolve).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;
    use std::fs;
    use std::os::unix::fs::{symlink, PermissionsExt};
    use std::path::Path;
    use std::time::Duration;
    use wire::os::{mkdirat, open, openat};

    const REMOVAL_TIMEOUT: Duration = Duration::from_secs(60);

    fn opened(path: &Path) -> OwnedFd {
        open(path, libc::O_RDONLY | libc::O_DIRECTORY).unwrap()
    }

    fn emptied(folder: &TestFolder, patience: Duration) -> (u64, bool) {
        remove_below(opened(folder.path()).as_fd(), Instant::now() + patience)
    }

    #[test]
    fn links_are_removed_and_not_followed() {
        let (folder, other) = (TestFolder::new(), TestFolder::new());
        let kept = other.path().join("kept");
        fs::write(&kept, "").unwrap();
        symlink(other.path(), folder.path().join("folder")).unwrap();
        symlink(&kept, folder.path().join("file")).unwrap();
        symlink("nowhere", folder.path().join("nothing")).unwrap();
        fs::hard_link(&kept, folder.path().join("same")).unwrap();
        assert_eq!(emptied(&folder, REMOVAL_TIMEOUT), (4, true));
        assert!(kept.exists());
    }

    #[test]
    fn folders_without_permissions() {
        let folder = TestFolder::new();
        let (outer, inner) = (folder.path().join("a"), folder.path().join("a/b"));
        fs::create_dir_all(inner.join("c")).unwrap();
        fs::write(inner.join("c/d"), "").unwrap();
        for path in [inner.join("c"), inner, outer] {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
        }
        assert_eq!(emptied(&folder, REMOVAL_TIMEOUT), (4, true));
    }

    #[test]
    fn trees_deeper_than_paths_and_wide_ones() {
        let folder = TestFolder::new();
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let mut place = opened(folder.path());
        for _ in 0..1000 {
            mkdirat(&place, "deep").unwrap();
            place = openat(&place, "deep", flags).unwrap();
        }
        for number in 0..1000 {
            let wide = folder.path().join(format!("wide-{number}"));
            fs::create_dir(&wide).unwrap();
            fs::write(wide.join("file"), "").unwrap();
        }
        assert_eq!(emptied(&folder, REMOVAL_TIMEOUT), (3000, true));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    /// Another process moves the folder that is being emptied: the folders above its new place stay.
    #[test]
    fn a_folder_that_is_moved_meanwhile() {
        for _ in 0..5 {
            let (folder, other) = (TestFolder::new(), TestFolder::new());
            fs::write(other.path().join("kept"), "").unwrap();
            let inner = folder.path().join("inner");
            fs::create_dir(&inner).unwrap();
            for number in 0..1000 {
                fs::write(inner.join(number.to_string()), "").unwrap();
            }
            let moved = other.path().join("moved");
            let mover = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(1));
                let _ = fs::rename(inner, moved);
            });
            emptied(&folder, REMOVAL_TIMEOUT);
            mover.join().unwrap();
            assert!(other.path().join("kept").exists());
        }
    }

    #[test]
    fn the_deadline_ends_it() {
        let folder = TestFolder::new();
        fs::write(folder.path().join("file"), "").unwrap();
        std::thread::sleep(Duration::from_millis(1));
        assert!(!emptied(&folder, Duration::ZERO).1);
    }
}
