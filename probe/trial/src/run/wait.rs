//! Polls everything that a trial waits for.

use std::io;
use std::os::unix::io::BorrowedFd;
use wire::os::{poll, Errno, PollFd};

pub struct Files<'a> {
    pub signals: BorrowedFd<'a>,
    /// The program's pidfd.
    pub program: BorrowedFd<'a>,
    /// The pipe to the reader of the messages.
    pub messages: BorrowedFd<'a>,
    /// None: not polled.
    pub samples: Option<BorrowedFd<'a>>,
    pub stdout: Option<BorrowedFd<'a>>,
    pub stderr: Option<BorrowedFd<'a>>,
    /// What the driver says.
    pub notices: Option<BorrowedFd<'a>>,
}

/// What is ready after a wait.
pub struct Ready {
    pub signals: bool,
    pub exited: bool,
    pub reader_gone: bool,
    pub samples: bool,
    pub stdout: bool,
    pub stderr: bool,
    pub notices: bool,
    /// Indices of the loads that have ended, in descending order.
    pub loads: Vec<usize>,
}

/// Waits at most `timeout_ns`. `loads`: a file for each running load. The error: there is no waiting, with fewer
/// descriptors allowed than these for one.
pub fn wait<'a>(
    files: &Files<'a>,
    loads: Vec<BorrowedFd<'a>>,
    timeout_ns: u64,
) -> io::Result<Ready> {
    // A file that is not to be polled is replaced by one without events.
    let optional = |file: Option<BorrowedFd<'a>>| match file {
        Some(file) => PollFd::readable(file),
        None => PollFd::hung_up(files.signals),
    };
    let mut polled = vec![
        PollFd::readable(files.signals),
        PollFd::readable(files.program),
        PollFd::hung_up(files.messages),
        optional(files.samples),
        optional(files.stdout),
        optional(files.stderr),
        optional(files.notices),
    ];
    let first_load = polled.len();
    let load = |file| PollFd::readable(file);
    polled.extend(loads.into_iter().map(load));
    match poll(&mut polled, Some(timeout_ns)) {
        // Nothing is ready: the caller polls again.
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let ready: Vec<_> = polled.iter().map(|file| file.is_ready()).collect();
    let (fixed, loads) = ready.split_at(first_load);
    Ok(Ready {
        signals: fixed[0],
        exited: fixed[1],
        reader_gone: fixed[2],
        samples: fixed[3],
        stdout: fixed[4],
        stderr: fixed[5],
        notices: fixed[6],
        loads: (0..loads.len()).rev().filter(|&load| loads[load]).collect(),
    })
}
