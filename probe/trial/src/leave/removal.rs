//! Removes all that is below a folder, whatever a program has made there: symbolic links are not followed, nor mounts;
//! trees may be deeper than a path may be long, and folders may lack permissions.

use std::ffi::CStr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::io::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Instant;
use wire::os::{openat2, renameat, unlinkat, Dir, Errno, FileType, Name};

/// What was done below a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Files and folders that are gone.
    pub count: u64,
    /// Nothing is left.
    pub all: bool,
}

/// Removes what is below an open folder; the folder itself stays. What cannot be removed stays as well, and so does what
/// is left at the deadline.
pub fn remove_below(top: BorrowedFd, deadline: Instant) -> Removed {
    let mut removal = Removal {
        top,
        deadline,
        count: 0,
        moved: 0,
    };
    let all = removal.empty(top, &mut |removal, name, kind| {
        if kind == FileType::DIRECTORY {
            removal.remove_folder(name)
        } else {
            removal.unlink(top, name)
        }
    });
    Removed {
        count: removal.count,
        all,
    }
}

struct Removal<'a> {
    top: BorrowedFd<'a>,
    deadline: Instant,
    count: u64,
    /// Folders that were moved to the top.
    moved: u64,
}

/// What is done with an entry of a folder.
type Action<'f> = &'f mut dyn FnMut(&mut Removal, &CStr, FileType);

impl Removal<'_> {
    /// Reads a folder again and again, as its entries go away, until it is empty or nothing changes any more. True where
    /// it is empty.
    fn empty(&mut self, folder: BorrowedFd, act: Action) -> bool {
        loop {
            let before = (self.count, self.moved);
            let Ok(entries) = Dir::read_from(folder) else {
                return false;
            };
            let mut is_empty = true;
            for entry in entries {
                let Ok(entry) = entry else { return false };
                let name = entry.file_name();
                if matches!(name.to_bytes(), b"." | b"..") {
                    continue;
                }
                is_empty = false;
                if Instant::now() > self.deadline {
                    return false;
                }
                act(self, name, entry.file_type());
            }
            if is_empty || before == (self.count, self.moved) {
                return is_empty;
            }
        }
    }

    /// A file; a folder where the file system does not tell them apart.
    fn unlink(&mut self, folder: BorrowedFd, name: &CStr) {
        match unlinkat(folder, name, 0) {
            Ok(()) => self.count += 1,
            Err(Errno::ISDIR) => self.remove_folder_in(folder, name),
            Err(_) => {}
        }
    }

    fn remove_folder_in(&mut self, folder: BorrowedFd, name: &CStr) {
        if folder.as_raw_fd() == self.top.as_raw_fd() {
            self.remove_folder(name);
        } else {
            self.raise(folder, name);
        }
    }

    /// A folder at the top. Those in it are moved to the top: however deep a tree is, two descriptors are enough.
    fn remove_folder(&mut self, name: &CStr) {
        if self.remove_empty(self.top, name) {
            return;
        }
        let Some(folder) = open_for_removal(self.top, name) else {
            return;
        };
        let folder = folder.as_fd();
        self.empty(folder, &mut |removal, name, kind| {
            if kind == FileType::DIRECTORY {
                removal.raise(folder, name);
            } else {
                removal.unlink(folder, name);
            }
        });
        self.remove_empty(self.top, name);
    }

    fn remove_empty(&mut self, parent: BorrowedFd, name: &CStr) -> bool {
        let done = unlinkat(parent, name, libc::AT_REMOVEDIR).is_ok();
        self.count += u64::from(done);
        done
    }

    /// Removes a folder in one of the top, or moves it to the top.
    fn raise(&mut self, parent: BorrowedFd, name: &CStr) {
        if self.remove_empty(parent, name) {
            return;
        }
        // Its entry `..` changes, so it must be writable.
        if open_for_removal(parent, name).is_none() {
            return;
        }
        // At random: none that the program can have chosen.
        let new = format!("{:016x}", fastrand::u64(..));
        self.moved += u64::from(renameat(parent, name, self.top, new).is_ok());
    }
}

/// Opens a folder, with all permissions for its owner. None where it is a mount, or no folder.
fn open_for_removal(parent: BorrowedFd, name: &CStr) -> Option<OwnedFd> {
    let place = open_below(parent, name, libc::O_PATH)?;
    // By its descriptor: nobody can put another file in its place meanwhile.
    let path = format!("/proc/self/fd/{}", place.as_raw_fd());
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700));
    open_below(place.as_fd(), ".", libc::O_RDONLY)
}

fn open_below(parent: BorrowedFd, name: impl Name, flags: i32) -> Option<OwnedFd> {
    let flags = flags | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    // Not by the device's number: that of a mount may be the same.
    let resolve = libc::RESOLVE_NO_XDEV | libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_BENEATH;
    openat2(parent, name, flags, resolve).ok()
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

    fn emptied(folder: &TestFolder, patience: Duration) -> Removed {
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
        let removed = emptied(&folder, REMOVAL_TIMEOUT);
        let expected = Removed {
            count: 4,
            all: true,
        };
        assert_eq!(removed, expected);
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
        let removed = emptied(&folder, REMOVAL_TIMEOUT);
        let expected = Removed {
            count: 4,
            all: true,
        };
        assert_eq!(removed, expected);
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
        let removed = emptied(&folder, REMOVAL_TIMEOUT);
        let expected = Removed {
            count: 3000,
            all: true,
        };
        assert_eq!(removed, expected);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_deadline_ends_it() {
        let folder = TestFolder::new();
        fs::write(folder.path().join("file"), "").unwrap();
        std::thread::sleep(Duration::from_millis(1));
        assert!(!emptied(&folder, Duration::ZERO).all);
    }
}
