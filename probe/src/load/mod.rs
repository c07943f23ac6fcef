//! The load engine: drives a server that is there, checks what comes back, and tells what it saw.

mod chunked;
mod clock;
mod content;
mod http;
mod pacer;
pub mod plan;
mod record;
mod reply;
mod report;
mod shard;
mod source;
mod warn;

use crate::io::epoll::Epoll;
use crate::io::uring::Uring;
use crate::output::{ReaderGone, Writer};
use crate::sys;
use plan::{nanoseconds, BackEnd, Plan, Protocol};
use record::{Interval, Record};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use serde_json::json;
use shard::Orders;
use std::num::NonZeroU64;
use std::os::unix::io::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

/// Descriptors that the probe needs besides those of connections.
const OWN_DESCRIPTORS: u64 = 64;

/// How a whole load went.
pub struct Outcome {
    pub record: Record,
    pub duration_ns: u64,
    pub interrupted: bool,
    /// Why it ended for a shard, when that was not its end.
    pub failed: Option<String>,
    pub descriptors: u64,
}

/// Carries out a load. The error is why it could not begin.
pub fn run(
    plan: &Plan,
    signals: &OwnedFd,
    writer: &mut Writer,
) -> Result<Result<(), ReaderGone>, String> {
    let descriptors = raise_descriptors(plan)?;
    let mut missing = Vec::new();
    let io = back_end(plan, &mut missing)?;
    let start_ns = clock::now_ns();
    let started = json!({
        "type": "started", "version": crate::request::PROTOCOL, "t_ns": 0, "missing": missing,
        "monotonic_ns": start_ns,
        "io": match io { BackEnd::Uring => "uring", _ => "epoll" },
        "threads": plan.threads, "connections": plan.connections,
    });
    if let Err(gone) = writer.answer(&started, true) {
        return Ok(Err(gone));
    }
    let (outcome, gone) = drive(plan, io, start_ns, descriptors, signals, writer);
    let told = report::write(plan, &outcome, writer);
    Ok(gone.and(told))
}

fn drive(
    plan: &Plan,
    io: BackEnd,
    start_ns: u64,
    descriptors: u64,
    signals: &OwnedFd,
    writer: &mut Writer,
) -> (Outcome, Result<(), ReaderGone>) {
    let stop = AtomicBool::new(false);
    let lives: Vec<_> = (0..plan.threads)
        .map(|_| Mutex::new(Interval::new()))
        .collect();
    let mut outcome = Outcome {
        record: Record::new(),
        duration_ns: 0,
        interrupted: false,
        failed: None,
        descriptors,
    };
    let mut gone = Ok(());
    std::thread::scope(|scope| {
        // Its reader sees the end when the last shard has dropped its own.
        let (done, running) = match rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC) {
            Ok(pipe) => pipe,
            Err(error) => {
                outcome.failed = Some(format!("pipe: {error}"));
                return;
            }
        };
        let mut threads = Vec::new();
        for (number, live) in lives.iter().enumerate() {
            let running = running.try_clone();
            let orders = Orders {
                plan,
                shard: number,
                start_ns,
                stop: &stop,
                live,
            };
            threads.push(scope.spawn(move || {
                let _running = running;
                prepare_thread(plan, number);
                let slots = shard::slots(plan, number);
                match io {
                    BackEnd::Uring => Uring::new(slots).and_then(|io| shard::run(orders, io)),
                    _ => Epoll::new(slots).and_then(|io| shard::run(orders, io)),
                }
            }));
        }
        drop(running);
        let mut view = View::new(plan, start_ns);
        while !view.wait(&done, signals) {
            if view.interrupted(signals) {
                outcome.interrupted = true;
                stop.store(true, Ordering::Relaxed);
            }
            if gone.is_ok() {
                gone = view.tell(&lives, writer);
                if gone.is_err() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        }
        let mut stopped_ns = start_ns;
        for thread in threads {
            match thread.join() {
                Ok(Ok((record, stopped))) => {
                    outcome.record.merge(&record);
                    stopped_ns = stopped_ns.max(stopped);
                }
                Ok(Err(error)) => outcome.failed = Some(format!("a shard ended: {error}")),
                Err(_) => outcome.failed = Some("a shard panicked: please report it".into()),
            }
        }
        outcome.duration_ns = stopped_ns - start_ns;
    });
    (outcome, gone)
}

fn prepare_thread(plan: &Plan, number: usize) {
    // Wake on time, not when it suits the kernel.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    if !plan.cpus.is_empty() {
        let mut set = rustix::thread::CpuSet::new();
        set.set(plan.cpus[number % plan.cpus.len()]);
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
}

/// Which back-end, after a look at what the kernel allows.
fn back_end(plan: &Plan, missing: &mut Vec<String>) -> Result<BackEnd, String> {
    let wanted = match (plan.io, plan.protocol) {
        // A parked receive of io_uring costs four times an entry of epoll.
        (BackEnd::Auto, Protocol::Stream) | (BackEnd::Epoll, _) => return Ok(BackEnd::Epoll),
        (wanted, _) => wanted,
    };
    // On a thread of its own: the first to use a ring is its only issuer.
    let tried = std::thread::spawn(|| Uring::new(1).map(|_| ())).join();
    match tried {
        Ok(Ok(())) => Ok(BackEnd::Uring),
        Ok(Err(error)) if wanted == BackEnd::Auto => {
            missing.push(format!("io_uring: {error}"));
            Ok(BackEnd::Epoll)
        }
        Ok(Err(error)) => Err(format!(
            "io_uring is not allowed here: {error}; leave out --io or take epoll"
        )),
        Err(_) => Err("io_uring: the attempt to use it panicked".into()),
    }
}

/// Raises the soft limit of descriptors to the hard one; gives it.
fn raise_descriptors(plan: &Plan) -> Result<u64, String> {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let now = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => most,
        Err(_) => limit.current.unwrap_or(most),
    };
    let wanted = plan.connections as u64 + OWN_DESCRIPTORS;
    if wanted > now {
        return Err(format!(
            "load: {} connections need {wanted} descriptors, and the limit is {now}: raise it (ulimit -n) or take at most {}",
            plan.connections,
            now.saturating_sub(OWN_DESCRIPTORS)
        ));
    }
    Ok(now)
}

/// The live view: a line now and then.
struct View {
    every_ns: Option<u64>,
    start_ns: u64,
    last_ns: u64,
    signalled: bool,
}

impl View {
    fn new(plan: &Plan, start_ns: u64) -> View {
        View {
            every_ns: plan.progress_s.map(nanoseconds),
            start_ns,
            last_ns: start_ns,
            signalled: false,
        }
    }

    /// True when all shards have ended.
    fn wait(&mut self, done: &OwnedFd, signals: &OwnedFd) -> bool {
        let mut files = [
            PollFd::from_borrowed_fd(done.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
        ];
        let timeout = self.every_ns.map(|every| {
            let left = (self.last_ns + every).saturating_sub(clock::now_ns());
            Timespec {
                tv_sec: (left / 1_000_000_000) as i64,
                tv_nsec: (left % 1_000_000_000) as i64,
            }
        });
        let _ = poll(&mut files, timeout.as_ref());
        let [ended, signalled] = files.map(|file| !file.revents().is_empty());
        self.signalled = signalled;
        ended
    }

    fn interrupted(&mut self, signals: &OwnedFd) -> bool {
        let mut buffer = [0; sys::SIGNAL_BYTES];
        let mut interrupted = false;
        while self.signalled
            && matches!(rustix::io::read(signals, &mut buffer), Ok(count) if count >= 4)
        {
            let signal = i32::from_ne_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]);
            interrupted |= signal != libc::SIGCHLD;
        }
        self.signalled = false;
        interrupted
    }

    fn tell(&mut self, lives: &[Mutex<Interval>], writer: &mut Writer) -> Result<(), ReaderGone> {
        let now = clock::now_ns();
        if self
            .every_ns
            .map_or(true, |every| now < self.last_ns + every)
        {
            return Ok(());
        }
        let mut all = Interval::new();
        for live in lives {
            if let Ok(mut live) = live.lock() {
                all.merge(&live);
                all.open += live.open;
                all.in_flight += live.in_flight;
                let (open, in_flight) = (live.open, live.in_flight);
                *live = Interval::new();
                live.open = open;
                live.in_flight = in_flight;
            }
        }
        let line = json!({
            "type": "progress", "t_ns": now - self.start_ns, "interval_ns": now - self.last_ns,
            "requests": all.requests, "errors": all.errors, "open": all.open, "in_flight": all.in_flight,
            "intended": all.intended, "p50_ns": all.quantile_ns(0.5), "p90_ns": all.quantile_ns(0.9),
            "p99_ns": all.quantile_ns(0.99), "max_ns": Some(all.max_ns).filter(|&ns| ns > 0),
            "buckets": all.buckets(),
        });
        self.last_ns = now;
        writer.answer(&line, true)
    }
}
