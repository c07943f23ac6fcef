//! The two queues of io_uring, and the system call between them.
#![allow(unsafe_code)]

use io_uring::types::Timespec;
use io_uring::{CompletionQueue, IoUring, SubmissionQueue, Submitter};
use std::io;
use std::time::Duration;
use wire::clock::now_ns;

pub const SUBMISSIONS: u32 = 4096;
pub const COMPLETIONS: u32 = 65_536;
/// IORING_ENTER_GETEVENTS, EXT_ARG and ABS_TIMER of linux/io_uring.h; the last is of Linux 6.12.
const ENTER_GETEVENTS: u32 = 1;
const ENTER_EXT_ARG: u32 = 1 << 3;
const ENTER_ABS_TIMER: u32 = 1 << 5;
/// More completions than there can be: nothing but the time ends the wait.
pub const ALL: u32 = COMPLETIONS;

/// struct io_uring_getevents_arg of linux/io_uring.h.
#[repr(C)]
struct EnterArgument {
    signals: u64,
    signals_bytes: u32,
    least_wait_us: u32,
    timeout: u64,
}

pub struct Ring {
    inner: IoUring,
    /// Whether the kernel takes instants.
    absolute: bool,
    /// System calls that wait or look.
    #[cfg(test)]
    pub calls: u64,
}

impl Ring {
    /// The error: the kernel or the container does not allow it.
    pub fn new() -> io::Result<Ring> {
        let inner = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_cqsize(COMPLETIONS)
            .build(SUBMISSIONS)?;
        Ok(Ring {
            inner,
            absolute: true,
            #[cfg(test)]
            calls: 0,
        })
    }

    pub fn submission(&mut self) -> SubmissionQueue<'_> {
        self.inner.submission()
    }

    pub fn completion(&mut self) -> CompletionQueue<'_> {
        self.inner.completion()
    }

    pub fn submitter(&self) -> Submitter<'_> {
        self.inner.submitter()
    }

    /// Makes room in the submission queue.
    pub fn flush(&mut self) -> io::Result<()> {
        self.inner.submit().map(|_| ())
    }

    /// Submits operations, and looks at nothing.
    pub fn hand_over(&mut self) -> io::Result<()> {
        soft_errors(self.inner.submit())
    }

    /// Submits operations and lets the kernel complete what is ready; without a system call where there is neither.
    pub fn submit(&mut self) -> io::Result<()> {
        let queue = self.inner.submission();
        let count = queue.len() as u32;
        if count == 0 && !queue.taskrun() && !queue.cq_overflow() {
            return Ok(());
        }
        drop(queue);
        #[cfg(test)]
        {
            self.calls += 1;
        }
        // SAFETY: without a signal mask no memory is passed.
        let done = unsafe {
            let submitter = self.inner.submitter();
            submitter.enter::<libc::sigset_t>(count, 0, ENTER_GETEVENTS, None)
        };
        soft_errors(done)
    }

    /// Submits operations, and waits for so many completions, or until an instant. What completes meanwhile does not
    /// wake this thread (the work of deferred completions is done when it wakes).
    pub fn wait(&mut self, completions: u32, until_ns: u64) -> io::Result<()> {
        let done = self.enter(completions, until_ns);
        match done {
            Err(error) if self.absolute && error.raw_os_error() == Some(libc::EINVAL) => {
                self.absolute = false;
                soft_errors(self.enter(completions, until_ns))
            }
            done => soft_errors(done),
        }
    }

    fn enter(&mut self, completions: u32, until_ns: u64) -> io::Result<usize> {
        #[cfg(test)]
        {
            self.calls += 1;
        }
        let submissions = self.inner.submission().len() as u32;
        let (time_ns, absolute) = match self.absolute {
            true => (until_ns, ENTER_ABS_TIMER),
            false => (until_ns.saturating_sub(now_ns()), 0),
        };
        let time = Timespec::from(Duration::from_nanos(time_ns));
        let argument = EnterArgument {
            signals: 0,
            signals_bytes: 0,
            least_wait_us: 0,
            timeout: &time as *const Timespec as u64,
        };
        let flags = ENTER_GETEVENTS | ENTER_EXT_ARG | absolute;
        // SAFETY: the argument has the kernel's layout, and refers to a time that outlives the call.
        unsafe {
            let submitter = self.inner.submitter();
            submitter.enter(submissions, completions, flags, Some(&argument))
        }
    }
}

/// What ends a wait early, or is tried again at the next turn.
fn soft_errors(result: io::Result<usize>) -> io::Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(error) => match error.raw_os_error() {
            Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
            _ => Err(error),
        },
    }
}
