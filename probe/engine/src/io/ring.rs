//! The two queues of io_uring, and the system call between them.

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{CompletionQueue, EnterFlags, IoUring, SubmissionQueue, Submitter};
use std::io;
use std::time::Duration;
use wire::clock::now_ns;

pub const SUBMISSIONS: u32 = 4096;
pub const COMPLETIONS: u32 = 65_536;
/// More completions than there can be: nothing but the time ends the wait.
pub const ALL: u32 = COMPLETIONS;

pub struct Ring {
    inner: IoUring,
    /// Whether the kernel takes instants (Linux 6.12).
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
        if queue.is_empty() && !queue.taskrun() && !queue.cq_overflow() {
            return Ok(());
        }
        drop(queue);
        #[cfg(test)]
        {
            self.calls += 1;
        }
        soft_errors(self.inner.submit())
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
        let (time_ns, flags) = match self.absolute {
            true => (until_ns, EnterFlags::ABS_TIMER),
            false => (until_ns.saturating_sub(now_ns()), EnterFlags::empty()),
        };
        let time = Timespec::from(Duration::from_nanos(time_ns));
        let arguments = SubmitArgs::new().timespec(&time);
        let submitter = self.inner.submitter();
        submitter.submit_with_args_and_flags(completions as usize, &arguments, flags)
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
