//! A running load: its threads, how to stop it, and their merged record.

use super::http_request::MessageTemplate;
use super::interval::Interval;
use super::plan::Plan;
use super::record::Record;
use super::request_log::{self, Log};
use super::shard::ShardConfig;
use super::transport::{self, Layers};
use crate::io::epoll::Epoll;
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::io::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use trial::tree::procfs::kib_field;
use wire::clock::{now_ns, sleep_until};
use wire::pin;
use wire::refuse;
use wire::text::failed;
use wire::units::nanoseconds;

/// Descriptors that the probe needs besides those of connections; ringside's check is the same.
const OWN_DESCRIPTORS: u64 = 64;
const THREADS_DESCRIPTORS: u64 = 4;

/// The default slack of an open loop: how long a request may wait for others. Hosts whose sleeps are less precise have
/// none.
pub const SLACK_NS: u64 = 50_000;
/// The number and the length of the sleeps that show how precise they are.
const SLEEPS: usize = 16;
const SLEEP_NS: u64 = 100_000;

/// The result of a load.
#[derive(Default, Serialize, Deserialize)]
pub struct Outcome {
    pub record: Record,
    pub duration_ns: u64,
    pub interrupted: bool,
    /// Why a shard ended early, where one did.
    pub failed: Option<String>,
    /// VmHWM of this process.
    pub peak_memory_bytes: Option<u64>,
    /// The state of the log, if there is one.
    pub log: Option<request_log::Summary>,
}

impl Outcome {
    /// Adds the outcome of another engine that had a part of the same load.
    pub fn merge(&mut self, other: &Outcome) {
        self.record.merge(&other.record);
        self.duration_ns = self.duration_ns.max(other.duration_ns);
        self.interrupted |= other.interrupted;
        self.failed = self.failed.take().or_else(|| other.failed.clone());
        self.peak_memory_bytes = match (self.peak_memory_bytes, other.peak_memory_bytes) {
            (Some(own), Some(others)) => Some(own + others),
            (own, others) => own.or(others),
        };
    }

    pub fn seconds(&self) -> f64 {
        self.duration_ns as f64 / 1e9
    }

    pub fn per_s(&self, count: f64) -> f64 {
        match self.duration_ns {
            0 => 0.0,
            _ => count / self.seconds(),
        }
    }

    /// The busiest thread's share of a core, without busy-polling.
    pub fn busy_share(&self) -> f64 {
        self.per_s(self.record.max_thread_busy_ns as f64) / 1e9
    }
}

/// A plan that this host allows.
pub struct PreparedLoad {
    plan: Arc<Plan>,
    message: Arc<MessageTemplate>,
    slack_ns: u64,
    sleeps_late_ns: u64,
    layers: Option<Arc<Layers>>,
    log: Option<File>,
    /// The features that could not be used, and why.
    pub missing: Vec<String>,
}

impl PreparedLoad {
    /// The error is why the load cannot begin.
    pub fn new(plan: Arc<Plan>) -> Result<PreparedLoad, String> {
        raise_descriptors(&plan)?;
        pin::check("load: cpus", &plan.cpus)?;
        let layers = Layers::new(&plan)?;
        let mut missing = Vec::new();
        let (slack_ns, sleeps_late_ns) = slack_ns(&plan, &mut missing)?;
        let log = (plan.log.as_ref())
            .map(|path| File::create(path).map_err(|error| format!("load: log: {path}: {error}")))
            .transpose()?;
        Ok(PreparedLoad {
            message: Arc::new(MessageTemplate::new(&plan)?),
            plan,
            slack_ns,
            sleeps_late_ns,
            layers,
            log,
            missing,
        })
    }

    /// Starts the threads; intended instants count from `start_ns` of CLOCK_MONOTONIC.
    pub fn start(self, start_ns: u64) -> io::Result<Engine> {
        // The read end reports the hang-up when the last shard has dropped its write end.
        let log = self.log.map(|file| Log::start(file, self.plan.threads, start_ns));
        let (log, loggers) = log.transpose()?.unzip();
        let mut loggers = loggers.into_iter().flatten();
        let (done, running) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let mut engine = Engine {
            start_ns,
            lead_ns: self.plan.lead_ns(),
            stop: Arc::default(),
            interrupted: false,
            lives: Vec::new(),
            threads: Vec::new(),
            log,
            done,
        };
        for number in 0..self.plan.threads {
            let live = Arc::new(Mutex::new(Interval::default()));
            let config = ShardConfig {
                plan: Arc::clone(&self.plan),
                message: Arc::clone(&self.message),
                partition: self.plan.partition(self.plan.shard(number)),
                start_ns,
                slack_ns: self.slack_ns,
                sleeps_late_ns: self.sleeps_late_ns,
                stop: Arc::clone(&engine.stop),
                live: Arc::clone(&live),
                log: loggers.next(),
            };
            let (layers, running) = (self.layers.clone(), running.try_clone()?);
            let thread = Builder::new().name(format!("load-{number}"));
            engine.threads.push(thread.spawn(move || {
                let _running = running;
                prepare_thread(&config.plan.cpus, number)?;
                let io = Epoll::new(config.connections(), config.plan.stamping())?;
                transport::run(config, io, layers)
            })?);
            engine.lives.push(live);
        }
        Ok(engine)
    }
}

/// The threads of a load. Dropped, it stops them.
pub struct Engine {
    pub start_ns: u64,
    /// Has a hang-up when all shards have ended.
    pub done: OwnedFd,
    lead_ns: u64,
    stop: Arc<AtomicBool>,
    interrupted: bool,
    lives: Vec<Arc<Mutex<Interval>>>,
    threads: Vec<JoinHandle<io::Result<(Record, u64)>>>,
    log: Option<Log>,
}

impl Engine {
    /// Ends the load early; its record is kept.
    pub fn interrupt(&mut self) {
        self.interrupted = true;
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The events since the last call.
    pub fn interval(&self) -> Interval {
        let mut all = Interval::default();
        for live in &self.lives {
            all.merge(&live.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        all
    }

    /// Waits for the shards, and merges their records.
    pub fn finish(mut self) -> Outcome {
        let status = std::fs::read_to_string("/proc/self/status").ok();
        let mut outcome = Outcome {
            interrupted: self.interrupted,
            peak_memory_bytes: status.and_then(|status| kib_field(&status, "VmHWM:")),
            ..Outcome::default()
        };
        let mut stopped_ns = self.start_ns;
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(Ok((record, stopped))) => {
                    outcome.record.merge(&record);
                    stopped_ns = stopped_ns.max(stopped);
                }
                Ok(Err(error)) => outcome.failed = Some(format!("a shard ended: {error}")),
                Err(_) => outcome.failed = Some("a shard panicked: please report it".into()),
            }
        }
        outcome.log = self.log.take().map(Log::finish);
        outcome.duration_ns = (stopped_ns - self.start_ns).saturating_sub(self.lead_ns);
        outcome
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn prepare_thread(cpus: &[usize], number: usize) -> io::Result<()> {
    // Timers fire on time: the kernel may not delay them.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    match cpus.is_empty() {
        true => Ok(()),
        false => pin::pin_thread("cpus", &[cpus[number % cpus.len()]])
            .map_err(|why| io::Error::new(io::ErrorKind::Other, why)),
    }
}

/// How late sleeps usually end on this host, on a thread like those of the load.
fn sleeps_late_ns(cpus: &[usize]) -> io::Result<u64> {
    prepare_thread(cpus, 0)?;
    let mut late_ns = [0; SLEEPS];
    for late_ns in &mut late_ns {
        let at_ns = now_ns() + SLEEP_NS;
        sleep_until(at_ns);
        *late_ns = now_ns().saturating_sub(at_ns);
    }
    late_ns.sort_unstable();
    // Some end later because of other programs on the CPU, not of the timer.
    Ok(late_ns[SLEEPS / 4])
}

/// The slack of an open loop, and how much earlier its sleeps end. Without a slack in the plan it is the default, or
/// none if timers of this host are too imprecise.
fn slack_ns(plan: &Plan, missing: &mut Vec<String>) -> Result<(u64, u64), String> {
    if !plan.open_loop() {
        return Ok((0, 0));
    }
    let cpus = plan.cpus.clone();
    let measured = std::thread::spawn(move || sleeps_late_ns(&cpus)).join();
    let late_ns = measured.map_err(|_| "load: the measuring of sleeps panicked")?;
    let late_ns = late_ns.map_err(failed("load"))?;
    let slack_ns = match plan.slack_s {
        Some(slack_s) => nanoseconds(slack_s),
        None if late_ns <= SLACK_NS => SLACK_NS,
        None => {
            // Without the figure: it differs in each load of a comparison, which would list all of them.
            let limit_us = SLACK_NS / 1000;
            missing.push(format!(
                "slack: sleeps here end more than {limit_us} µs late, so requests are sent at their instants"
            ));
            0
        }
    };
    Ok((slack_ns, late_ns.min(SLACK_NS)))
}

/// Raises the soft limit of descriptors to the hard limit, which must be enough.
fn raise_descriptors(plan: &Plan) -> Result<(), String> {
    let limit = getrlimit(Resource::Nofile);
    let max = limit.maximum.unwrap_or(u64::MAX);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let now = setrlimit(Resource::Nofile, raised).map_or_else(|_| limit.current.unwrap_or(max), |()| max);
    let connections = plan.own_connections() as u64;
    let own = OWN_DESCRIPTORS + THREADS_DESCRIPTORS * plan.threads as u64;
    let wanted = connections + own;
    let most = now.saturating_sub(own);
    refuse!(
        wanted > now,
        "load: {connections} connections need {wanted} descriptors, and the limit is {now}: raise it (ulimit -n) or take at most {most}"
    );
    Ok(())
}
