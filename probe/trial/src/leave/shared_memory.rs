//! Shared memory of the probe's own: a file system in place of the host's /dev/shm, and System V objects in a namespace
//! of IPC. Both end with the probe, and hold only what programs of its trials have made.

use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::io::OwnedFd;
use wire::os::{self, fstat, fstatvfs, openat, Dir, Errno};
use wire::sys;

const PLACE: &str = "/dev/shm";

pub struct SharedMemory {
    folder: OwnedFd,
    /// The number that the kernel gives to its file system.
    pub device: u64,
    /// The number of inodes in the file system without any file.
    inodes: u64,
    /// A folder of the POSIX queues in the namespace; None if the kernel does not show them.
    queues: Option<OwnedFd>,
}

impl SharedMemory {
    /// Mounts it, as large as the host's. Only in a namespace of mounts, and of IPC, of the probe's own. None if the
    /// host has no such place.
    pub fn mount() -> io::Result<Option<SharedMemory>> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let host = match os::open(PLACE, flags) {
            Err(Errno::NOENT) => return Ok(None),
            host => fstatvfs(host?)?,
        };
        let mut mount_flags = libc::MS_NOSUID | libc::MS_NODEV;
        if host.f_flag & libc::ST_NOEXEC != 0 {
            mount_flags |= libc::MS_NOEXEC;
        }
        // Size 0 means no limit, in the option as in what `statvfs` says.
        let options = format!("mode=1777,size={}", host.f_blocks * host.f_frsize);
        let options = CString::new(options)?;
        os::mount("ringside", PLACE, "tmpfs", mount_flags, Some(&options))?;
        let folder = os::open(PLACE, flags)?;
        let inodes = inodes(&fstatvfs(&folder)?);
        let device = fstat(&folder)?.st_dev;
        // The folder has no place among the files.
        let queues = os::detached_mount("mqueue").and_then(|mounted| openat(mounted, ".", flags)).ok();
        Ok(Some(SharedMemory { folder, device, inodes, queues }))
    }

    /// How many files, System V objects and POSIX queues there are. With millions it takes no longer than with one.
    pub fn objects(&self) -> u64 {
        let inodes = fstatvfs(&self.folder).map_or(0, |now| inodes(&now));
        let files = match inodes.saturating_sub(self.inodes) {
            // The kernel may still have some that were deleted.
            count if count > 0 && entries(&self.folder).next().is_some() => count,
            _ => 0,
        };
        let queues = self.queues.as_ref().map_or(0, |queues| entries(queues).count());
        files + sys::system_v().objects + queues as u64
    }

    /// The memory of all of them, mapped or not.
    pub fn bytes(&self) -> u64 {
        let files =
            fstatvfs(&self.folder).map_or(0, |now| now.f_blocks.saturating_sub(now.f_bfree) * now.f_frsize);
        files + sys::system_v().resident_bytes
    }
}

fn entries(folder: &OwnedFd) -> impl Iterator<Item = OsString> {
    let entries = Dir::read_from(folder).into_iter().flatten();
    // The first are `.` and `..`.
    entries.flatten().skip(2)
}

fn inodes(of: &libc::statvfs) -> u64 {
    of.f_files.saturating_sub(of.f_ffree)
}
