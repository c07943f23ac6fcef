//! The trials of one probe, one after another: what outlives a trial are its own CPUs, a cgroup that can be used again,
//! and the places for files, which are empty.

use crate::trial::tree::cgroup::Cgroup;
use crate::trial::sample::host::KernelFiles;
use crate::trial::inputs;
use crate::wire::pin::ProbeCpus;
use crate::trial::leave::places::Places;
use crate::trial::reference;
use crate::wire::request::Request;
use crate::wire::requests::Requests;
use crate::trial::leave::shared_memory::SharedMemory;
use crate::trial::run::{listen_upstreams, run, Condition, Setup};
use crate::wire::writer::{ReaderGone, Writer};
use rustix::process::{getpid, getppid, set_child_subreaper, Pid};
use std::os::unix::io::OwnedFd;
use std::rc::Rc;

pub struct Session {
    parent: Option<Pid>,
    /// What of its own the probe does not have, though it was to have it, and why.
    lacking: Vec<String>,
    places: Places,
    cpus: ProbeCpus,
    cgroup: Option<Cgroup>,
    files: Rc<KernelFiles>,
}

impl Session {
    /// `parent`: the process that started the probe; in namespaces of its own it sees none. `outside`: why it has none
    /// of these, where it was to have them. `shared`: its own shared memory, or why there is none.
    pub fn new(
        parent: Option<Pid>,
        outside: Option<String>,
        shared: Result<Option<SharedMemory>, String>,
    ) -> Result<Session, String> {
        set_child_subreaper(Some(getpid()))
            .map_err(|error| format!("PR_SET_CHILD_SUBREAPER: {error}"))?;
        let outside = outside.map(|why| format!("namespaces of the probe's own: {why}"));
        let mut lacking = Vec::from_iter(outside);
        let shared = shared.unwrap_or_else(|why| {
            lacking.push(format!("shared memory of the probe's own: {why}"));
            None
        });
        Ok(Session {
            parent,
            lacking,
            places: Places::new(shared),
            cpus: ProbeCpus::inherited()?,
            cgroup: None,
            files: Rc::new(KernelFiles::open().map_err(|error| format!("/proc: {error}"))?),
        })
    }

    /// Carries out a trial. `notices`: what the driver says meanwhile, where engines elsewhere have its loads. The
    /// outer error: it could not begin.
    pub fn carry_out(
        &mut self,
        mut request: Request,
        signals: OwnedFd,
        notices: &mut Requests,
        writer: &mut Writer,
    ) -> Result<Result<Condition, ReaderGone>, String> {
        let reference = request
            .reference
            .then(|| reference::measure(&request.cpus))
            .transpose()?;
        let inherited_cpus = self.cpus.pin(&request)?;
        let stub = listen_upstreams(&mut request)?;
        let mut missing = inputs::prepare(&request.inputs)?;
        missing.extend(self.lacking.iter().cloned());
        missing.extend(self.files.missing.iter().cloned());
        missing.extend(self.places.prepare(&mut request));
        // A parent that died before PR_SET_PDEATHSIG sends no signal.
        if getppid() != self.parent {
            return Err("the process that started the probe has ended".into());
        }
        let setup = Setup {
            stub,
            missing,
            inherited_cpus,
            reference,
            cgroup: self.cgroup.take(),
            files: Rc::clone(&self.files),
            places: &mut self.places,
        };
        let done = run(&request, setup, signals, notices, writer)
            .map_err(|error| format!("cannot begin the trial: {error}"))?;
        Ok(done.map(|(condition, cgroup)| {
            self.cgroup = cgroup;
            condition
        }))
    }
}
