//! Polls everything that a trial waits for.

use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use std::io;
use std::os::unix::io::BorrowedFd;
use wire::clock::timespec;

pub struct Files<'a> {
    pub signals: BorrowedFd<'a>,
    /// The program's pidfd.
    pub program: BorrowedFd<'a>,
    /// The pipe to the reader of the messages.
    pub messages: BorrowedFd<'a>,
    /// None: not polled.
    pub report: Option<BorrowedFd<'a>>,
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
    pub report: bool,
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
        Some(file) => PollFd::from_borrowed_fd(file, PollFlags::IN),
        None => PollFd::from_borrowed_fd(files.signals, PollFlags::empty()),
    };
    let mut polled = vec![
        PollFd::from_borrowed_fd(files.signals, PollFlags::IN),
        PollFd::from_borrowed_fd(files.program, PollFlags::IN),
        PollFd::from_borrowed_fd(files.messages, PollFlags::empty()),
        optional(files.report),
        optional(files.samples),
        optional(files.stdout),
        optional(files.stderr),
        optional(files.notices),
    ];
    let first_load = polled.len();
    let load = |file| PollFd::from_borrowed_fd(file, PollFlags::IN);
    polled.extend(loads.into_iter().map(load));
    match poll(&mut polled, Some(&timespec(timeout_ns))) {
        // Nothing is ready: the caller polls again.
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let ready: Vec<_> = polled
        .iter()
        .map(|file| !file.revents().is_empty())
        .collect();
    let (fixed, loads) = ready.split_at(first_load);
    Ok(Ready {
        signals: fixed[0],
        exited: fixed[1],
        reader_gone: fixed[2],
        report: fixed[3],
        samples: fixed[4],
        stdout: fixed[5],
        stderr: fixed[6],
        notices: fixed[7],
        loads: (0..loads.len()).rev().filter(|&load| loads[load]).collect(),
    })
}
