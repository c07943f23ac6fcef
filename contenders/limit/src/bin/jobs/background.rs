//! The jobs, and the threads that do them.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle, Thread};
use std::time::Instant;

use crate::job::Job;

pub struct Background {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Vec<Span>>>,
}

/// When a job was done.
pub struct Span {
    job: usize,
    pub begin: Instant,
    pub end: Instant,
}

struct Shared {
    job: Job,
    trace: bool,
    /// The first job that no thread has taken.
    next: AtomicUsize,
    /// A place for each job's answer; 0 is none.
    answers: Vec<AtomicU32>,
    /// Threads that have not ended.
    running: AtomicUsize,
    /// The thread that began it; it is woken when the last thread ends.
    owner: Thread,
}

impl Background {
    /// Starts the threads: with that all jobs are handed over.
    pub fn begin(job: Job, jobs: usize, workers: usize, trace: bool) -> io::Result<Self> {
        let count = workers.min(jobs);
        let shared = Arc::new(Shared {
            job,
            trace,
            next: AtomicUsize::new(0),
            answers: (0..jobs).map(|_| AtomicU32::new(0)).collect(),
            running: AtomicUsize::new(count),
            owner: thread::current(),
        });
        let mut threads = Vec::new();
        for _ in 0..count {
            let shared = Arc::clone(&shared);
            threads.push(thread::Builder::new().spawn(move || shared.work())?);
        }
        Ok(Background { shared, threads })
    }

    /// When it is, all answers are there, and whoever has been told so sees them.
    pub fn is_finished(&self) -> bool {
        self.shared.running.load(Ordering::Acquire) == 0
    }

    /// None while it is not there.
    pub fn answer(&self, i: usize) -> Option<u32> {
        let answer = self.shared.answers.get(i)?.load(Ordering::Relaxed);
        (answer != 0).then_some(answer)
    }

    /// When each job was done, and by which thread, in the order of the jobs.
    pub fn spans(self) -> Vec<(usize, Span)> {
        let mut spans = Vec::new();
        for (unit, thread) in self.threads.into_iter().enumerate() {
            let of_unit = thread.join().expect("no thread panics");
            spans.extend(of_unit.into_iter().map(|span| (unit, span)));
        }
        spans.sort_unstable_by_key(|(_, span)| span.job);
        spans
    }
}

impl Shared {
    fn work(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        loop {
            let job = self.next.fetch_add(1, Ordering::Relaxed);
            let place = match self.answers.get(job) {
                Some(place) => place,
                None => break,
            };
            let begin = self.trace.then(Instant::now);
            place.store(self.job.answer(job), Ordering::Relaxed);
            if let Some(begin) = begin {
                let end = Instant::now();
                spans.push(Span { job, begin, end });
            }
        }
        // Release, so that the answers are seen by who finds that nobody is running.
        if self.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.owner.unpark();
        }
        spans
    }
}
