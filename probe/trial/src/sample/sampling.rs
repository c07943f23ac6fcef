//! Samples on a thread of their own: the end of the program and its lines are seen at once, whatever a sample of a
//! large tree takes. A program that ends before the first sample is due costs no thread.

use crate::sample::sampler::{Sampler, TakenSample};
use crate::tree::cgroup::Cgroup;
use std::io;
use std::os::unix::io::{AsFd, BorrowedFd, OwnedFd};
use std::panic::resume_unwind;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use wire::clock;
use wire::os::{self, eventfd};

/// The longest that a sample may take: what it looks at may not answer.
pub const SAMPLE_TIMEOUT: Duration = Duration::from_secs(60);

/// A mark whose sample must be taken at once.
type MarkName = String;

pub struct Sampling {
    /// Until the first sample is due.
    idle: Option<Box<Sampler>>,
    /// From then on until the end.
    running: Option<Running>,
}

struct Running {
    thread: JoinHandle<Box<Sampler>>,
    /// None: the thread has been told to end.
    orders: Option<Sender<MarkName>>,
    taken: Receiver<TakenSample>,
    /// Readable when there are samples.
    ready: Arc<OwnedFd>,
}

impl Sampling {
    pub fn new(sampler: Sampler) -> Sampling {
        Sampling { idle: Some(Box::new(sampler)), running: None }
    }

    /// When the thread has to begin; None once it runs.
    pub fn due_ns(&self) -> Option<u64> {
        self.idle.as_ref()?.schedule.due_ns
    }

    /// Starts the thread where it does not run. `start_ns`: the zero of all times.
    pub fn begin(&mut self, cgroup: Option<&Arc<Cgroup>>, start_ns: u64) -> io::Result<()> {
        let Some(mut sampler) = self.idle.take() else { return Ok(()) };
        let ready = Arc::new(eventfd()?);
        let (orders, ordered) = channel::<MarkName>();
        let (give, taken) = channel();
        let (cgroup, wake) = (cgroup.cloned(), Arc::clone(&ready));
        let now_ns = move || clock::now_ns().saturating_sub(start_ns);
        // Until the sender of orders is dropped.
        let thread = Builder::new().name("samples".into()).spawn(move || loop {
            let order = match sampler.schedule.due_ns {
                Some(due) => ordered.recv_timeout(Duration::from_nanos(due.saturating_sub(now_ns()))),
                None => ordered.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let taken = match order {
                Ok(mark) => sampler.sample(now_ns(), Some(&mark), cgroup.as_deref()),
                Err(RecvTimeoutError::Timeout) => sampler.regular(now_ns(), cgroup.as_deref()),
                Err(RecvTimeoutError::Disconnected) => return sampler,
            };
            if give.send(taken).is_err() {
                return sampler;
            }
            // It cannot be full: the counter is read before it has counted to 2^64.
            let _ = os::write(&wake, &1u64.to_ne_bytes());
        })?;
        self.running = Some(Running { thread, orders: Some(orders), taken, ready });
        Ok(())
    }

    /// Readable when samples have been taken; None while there is no thread.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        self.running.as_ref().map(|running| running.ready.as_fd())
    }

    /// Orders the sample of a mark. The thread must run.
    pub fn order(&self, name: &str) {
        let running = self.running.as_ref();
        if let Some(orders) = running.and_then(|running| running.orders.as_ref()) {
            // The thread is there until it is told to end, or panics: its end is handled in `finish`.
            let _ = orders.send(name.to_owned());
        }
    }

    /// The samples that were taken since the last call.
    pub fn taken(&self) -> Vec<TakenSample> {
        let Some(running) = &self.running else { return Vec::new() };
        let _ = os::read(&running.ready, &mut [0; 8]);
        running.taken.try_iter().collect()
    }

    /// Takes no more samples.
    pub fn stop(&mut self) {
        if let Some(running) = &mut self.running {
            running.orders = None;
        }
    }

    /// The sampler with what it has found, and the samples that nobody has taken yet; once. The error: the last one does
    /// not end within `timeout`.
    pub fn finish(&mut self, timeout: Duration) -> io::Result<(Box<Sampler>, Vec<TakenSample>)> {
        self.stop();
        let mut left = Vec::new();
        let Some(running) = self.running.take() else {
            return Ok((self.idle.take().expect("finished once"), left));
        };
        loop {
            match running.taken.recv_timeout(timeout) {
                Ok(taken) => left.push(taken),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let why = format!("a sample did not end within {timeout:?}");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                }
            }
        }
        match running.thread.join() {
            Ok(sampler) => Ok((sampler, left)),
            Err(panic) => resume_unwind(panic),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sampler::schedule::Schedule;
    use crate::sample::sampler::Limits;
    use crate::tree::procfs::ProcFs;
    use rustix::event::{poll, PollFd, PollFlags};

    fn sampling(interval_ns: Option<u64>) -> Sampling {
        let limits = Limits {
            memory_bytes: u64::MAX,
            processes: 10_000,
            threads: u64::MAX,
            cpus: None,
            scheduling: None,
        };
        Sampling::new(Sampler::new(
            ProcFs::open().unwrap(),
            Schedule::new(interval_ns, true),
            limits,
            false,
            None,
        ))
    }

    #[test]
    fn samples_are_taken_in_the_background_until_the_end() {
        let mut sampling = sampling(Some(1_000_000));
        assert_eq!(sampling.due_ns(), Some(1_000_000));
        assert!(sampling.file().is_none() && sampling.taken().is_empty());
        sampling.begin(None, clock::now_ns()).unwrap();
        assert_eq!(sampling.due_ns(), None);
        let file = sampling.file().unwrap();
        let mut ready = [PollFd::from_borrowed_fd(file, PollFlags::IN)];
        poll(&mut ready, None).unwrap();
        let times: Vec<u64> = sampling.taken().iter().map(|(sample, _)| sample.t_ns).collect();
        assert!(!times.is_empty());
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
        let count = times.len() as u64;
        let (sampler, left) = sampling.finish(SAMPLE_TIMEOUT).unwrap();
        assert_eq!(sampler.schedule.taken().0, count + left.len() as u64);
    }

    #[test]
    fn marks_are_taken_in_their_order() {
        let mut sampling = sampling(None);
        sampling.begin(None, clock::now_ns()).unwrap();
        sampling.order("idle");
        sampling.order("begin");
        let mut names = Vec::new();
        while names.len() < 2 {
            let file = sampling.file().unwrap();
            let mut ready = [PollFd::from_borrowed_fd(file, PollFlags::IN)];
            poll(&mut ready, None).unwrap();
            names.extend(sampling.taken().into_iter().map(|taken| taken.0.mark.unwrap()));
        }
        assert_eq!(names, ["idle", "begin"]);
        let (sampler, _) = sampling.finish(SAMPLE_TIMEOUT).unwrap();
        assert_eq!(sampler.schedule.taken(), (0, None));
    }

    #[test]
    fn a_sample_that_does_not_end_is_given_up() {
        // A thread that looks at what does not answer, as long as `_open` is.
        let (give, taken) = channel::<TakenSample>();
        let (_open, never) = channel::<()>();
        let thread = Builder::new().spawn(move || {
            let _ = never.recv();
            drop(give);
            unreachable!("nobody waits for it")
        });
        let mut sampling = Sampling {
            idle: None,
            running: Some(Running {
                thread: thread.unwrap(),
                orders: None,
                taken,
                ready: Arc::new(eventfd().unwrap()),
            }),
        };
        let error = sampling.finish(Duration::from_millis(1)).err().unwrap();
        assert_eq!(error.to_string(), "a sample did not end within 1ms");
    }

    #[test]
    fn without_a_sample_there_is_no_thread() {
        let mut sampling = sampling(Some(1_000_000));
        let (sampler, left) = sampling.finish(SAMPLE_TIMEOUT).unwrap();
        assert_eq!((sampler.schedule.taken().0, left.len()), (0, 0));
    }
}
