//! How the start of a program fails: what the child writes to the pipe for reports.

use std::io;

/// The step at which the child failed, as the first byte of its report; an errno follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnStep {
    Cgroup,
    Setup,
    Affinity,
    Folder,
    Exec,
}

pub const REPORT_BYTES: usize = 5;

impl SpawnStep {
    const ALL: [SpawnStep; 5] = [
        SpawnStep::Cgroup,
        SpawnStep::Setup,
        SpawnStep::Affinity,
        SpawnStep::Folder,
        SpawnStep::Exec,
    ];

    pub fn parse(report: &[u8]) -> Option<(SpawnStep, io::Error)> {
        let step = *SpawnStep::ALL.get(usize::from(*report.first()?))?;
        let errno = i32::from_ne_bytes(report.get(1..REPORT_BYTES)?.try_into().ok()?);
        Some((step, io::Error::from_raw_os_error(errno)))
    }
}
