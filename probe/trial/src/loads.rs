//! A trial's requests to a load engine: loads of a service, step after step, and upstreams for it.

use std::io;
use std::net::SocketAddr;
use std::os::unix::io::{BorrowedFd, OwnedFd};
use wire::messages::{Failure, Verdict};
use wire::os::CpuSet;
use wire::request::Service;
use wire::requests::Requests;
use wire::writer::{ReaderGone, Writer};

/// A load engine, where the probe has one.
pub struct Engine {
    /// The loads of a service that has some, or upstreams. The error: what is wrong with their plans.
    pub loads: fn(&Service) -> Result<Box<dyn Loads>, String>,
    /// Does what the request, which is no trial, asks for. The outer error is why it could not begin.
    pub run: Run,
}

pub type Run = fn(&[u8], &OwnedFd, &mut Requests, &mut Writer) -> Result<Result<(), ReaderGone>, String>;

/// Times are those of the trial.
pub trait Loads {
    /// Lets the upstreams listen, and returns their ports. They do not answer yet.
    fn listen(&mut self) -> Result<Vec<u16>, String>;

    /// Upstreams answer from now on, on a thread of their own.
    fn serve_upstreams(&mut self) -> io::Result<()>;

    /// The CPUs that each thread of loads and of upstreams is pinned to.
    fn cpus(&self) -> Vec<CpuSet>;

    fn step_name(&self, step: usize) -> String;

    /// Starts the loads of a step. The error is why they cannot begin.
    fn begin(&mut self, step: usize, address: SocketAddr, t_ns: u64) -> Result<(), String>;

    /// Has engines elsewhere carry out the loads of a step.
    fn await_engines(&mut self, step: usize, address: SocketAddr);

    /// Takes the driver's line about engines elsewhere. The error: the line does not fit the trial.
    fn notice(&mut self, line: &[u8], t_ns: u64) -> Result<Notice, String>;

    /// When the next mark of the running step is due.
    fn next_mark_ns(&self) -> Option<u64>;

    /// The name of the mark that is due, which is taken.
    fn take_mark(&mut self) -> String;

    /// Each becomes readable when its load has ended.
    fn files(&self) -> Vec<BorrowedFd<'_>>;

    /// Collects a load that has ended, by its index in `files`. Returns the step when it was its last one.
    fn finish(&mut self, index: usize, t_ns: u64) -> Option<usize>;

    /// The step that follows the last one; None if that allows no other. The error ends the trial. `cpu_ns`: what
    /// the server has used until now.
    fn judge(&mut self, cpu_ns: u64) -> Result<Option<usize>, Failure>;

    /// Asks the running loads to end.
    fn interrupt(&mut self);

    /// Waits for the loads that were asked to end, and keeps what they recorded.
    fn join(&mut self, t_ns: u64);

    fn stop_upstreams(&mut self);

    /// Requests that the upstreams saw and that such a trial must not make, with the verdict on them.
    fn fault(&self, verdict: Verdict) -> Option<Failure>;

    /// Writes a message for each load.
    fn report(&self, writer: &mut Writer) -> Result<(), ReaderGone>;
}

/// The driver's messages about engines on other machines.
pub enum Notice {
    Progress,
    /// The last load of this step has ended.
    StepEnded(usize),
    /// Why the loads do not take place.
    Failed(String),
}
