//! Shared memory of the probe's own: a file system in place of the host's /dev/shm, and System V objects in a namespace
//! of IPC. Both end with the probe, and hold nothing but what programs of its trials have made.

use crate::sys;
use rustix::fs::{fstat, fstatvfs, statvfs, Dir, Mode, OFlags, StatVfs, StatVfsMountFlags};
use rustix::io::Errno;
use rustix::mount::{mount, MountFlags};
use std::ffi::CString;
use std::io;
use std::os::unix::io::OwnedFd;

const PLACE: &str = "/dev/shm";

pub struct SharedMemory {
    folder: OwnedFd,
    device: u64,
    /// What the file system has without any file.
    inodes: u64,
}

impl SharedMemory {
    /// Mounts it, as large as the host's. Only in a namespace of mounts, and of IPC, of the probe's own. None where the
    /// host has no such place.
    pub fn mount() -> io::Result<Option<SharedMemory>> {
        let host = match statvfs(PLACE) {
            Err(Errno::NOENT) => return Ok(None),
            host => host?,
        };
        let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
        if host.f_flag.contains(StatVfsMountFlags::NOEXEC) {
            flags |= MountFlags::NOEXEC;
        }
        // Size 0 means no limit, in the option as in what `statvfs` says.
        let options = format!("mode=1777,size={}", host.f_blocks * host.f_frsize);
        let options = CString::new(options)?;
        mount("ringside", PLACE, "tmpfs", flags, options.as_c_str())?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(PLACE, flags, Mode::empty())?;
        let inodes = inodes(&fstatvfs(&folder)?);
        let device = fstat(&folder)?.st_dev;
        Ok(Some(SharedMemory {
            folder,
            device,
            inodes,
        }))
    }

    /// The number that the kernel gives to its file system.
    pub fn device(&self) -> u64 {
        self.device
    }

    /// How many files and System V objects there are. With millions it takes no longer than with one.
    pub fn objects(&self) -> u64 {
        let inodes = fstatvfs(&self.folder).map_or(0, |now| inodes(&now));
        let files = match inodes.saturating_sub(self.inodes) {
            // The kernel may still have some that were deleted.
            count if count > 0 && self.has_files() => count,
            _ => 0,
        };
        files + sys::system_v().objects
    }

    /// The memory of all of them, whoever maps it.
    pub fn bytes(&self) -> u64 {
        let files = fstatvfs(&self.folder).map_or(0, |now| {
            now.f_blocks.saturating_sub(now.f_bfree) * now.f_frsize
        });
        files + sys::system_v().resident_bytes
    }

    fn has_files(&self) -> bool {
        let entries = Dir::read_from(&self.folder).into_iter().flatten();
        // `.` and `..` are two.
        entries.flatten().nth(2).is_some()
    }
}

fn inodes(of: &StatVfs) -> u64 {
    of.f_files.saturating_sub(of.f_ffree)
}
