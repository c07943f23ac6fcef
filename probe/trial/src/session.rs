//! The trials of one probe, one after another: what outlives a trial are its own CPUs, a cgroup that can be used again,
//! and the places for files, which are empty.

use crate::inputs;
use crate::leave::places::Places;
use crate::leave::shared_memory::SharedMemory;
use crate::loads::{Engine, Loads};
use crate::program::NO_ENGINE;
use crate::reference;
use crate::run::{run, Setup};
use crate::sample::host::KernelFiles;
use crate::start::launcher::Launcher;
use crate::tree::cgroup::Cgroup;
use crate::tree::procfs::ProcFs;
use std::os::unix::io::{AsFd, OwnedFd};
use std::rc::Rc;
use wire::clock;
use wire::os::{become_subreaper, parent_id};
use wire::pin::ProbeCpus;
use wire::refuse;
use wire::request::{Request, Service};
use wire::requests::Requests;
use wire::text::failed;
use wire::writer::{ReaderGone, Writer};

/// In an argument of the program: replaced by the URLs of its upstreams.
const UPSTREAMS: &str = "{upstreams}";

/// Of plain commands that follow one shorter than this, each tenth is compared with the state before it: the kernel counts
/// in ticks of 10 ms, and the comparisons take a tenth of the time of such a command.
const BRIEF_NS: u64 = 20_000_000;
const COMPARED: u64 = 10;

pub struct Session<'a> {
    engine: Option<&'a Engine>,
    parent: Option<i32>,
    /// The isolation that the probe should have but lacks, such as namespaces, and why.
    lacking: Vec<String>,
    /// Where programs may leave files.
    pub places: Places,
    cpus: ProbeCpus,
    /// That of the previous trial, if it can be used again.
    pub cgroup: Option<Cgroup>,
    pub launcher: Launcher,
    trials: u64,
    /// How long the last trial took.
    last_ns: u64,
    pub files: Rc<KernelFiles>,
    pub procfs: ProcFs,
}

impl<'a> Session<'a> {
    /// `parent`: the process that started the probe; in its own namespaces the probe sees none. `outside`: why it has
    /// no namespaces, if it should have them. `shared`: its own shared memory, or why there is none.
    pub fn new(
        parent: Option<i32>,
        outside: Option<String>,
        shared: Result<Option<SharedMemory>, String>,
        engine: Option<&'a Engine>,
    ) -> Result<Session<'a>, String> {
        become_subreaper().map_err(failed("PR_SET_CHILD_SUBREAPER"))?;
        let outside = outside.map(|why| format!("namespaces of the probe's own: {why}"));
        let mut lacking = Vec::from_iter(outside);
        let shared = shared.unwrap_or_else(|why| {
            lacking.push(format!("shared memory of the probe's own: {why}"));
            None
        });
        let files = Rc::new(KernelFiles::open().map_err(failed("/proc"))?);
        Ok(Session {
            engine,
            parent,
            lacking,
            places: Places::new(shared),
            cpus: ProbeCpus::inherited()?,
            cgroup: None,
            launcher: Launcher::new().map_err(failed("memory of the launcher"))?,
            trials: 0,
            last_ns: 0,
            procfs: files.procfs.clone(),
            files,
        })
    }

    /// Carries out a trial. `notices`: what the driver says meanwhile, where engines elsewhere have its loads.
    /// Returns whether the probe can carry out another. The outer error: it could not begin.
    pub fn carry_out(
        &mut self,
        mut request: Request,
        signals: &OwnedFd,
        notices: &mut Requests,
        writer: &mut Writer,
    ) -> Result<Result<bool, ReaderGone>, String> {
        let reference = request.reference.then(|| reference::measure(&request.cpus)).transpose()?;
        let inherited_cpus = self.cpus.pin(&request)?;
        let loads = self.loads(&mut request)?;
        let mut missing = inputs::prepare(&request.inputs)?;
        missing.extend(self.lacking.iter().cloned());
        missing.extend(self.files.missing.iter().cloned());
        missing.extend(self.places.prepare(&mut request));
        // A parent that died before PR_SET_PDEATHSIG sends no signal.
        refuse!(parent_id() != self.parent, "the process that started the probe has ended");
        let is_brief = request.plain && self.last_ns < BRIEF_NS;
        let is_compared = !is_brief || self.trials % COMPARED == 0;
        let setup =
            Setup { loads, missing, inherited_cpus, reference, signals: signals.as_fd(), is_compared };
        let begin_ns = clock::now_ns();
        let done = run(&request, setup, self, notices, writer).map_err(failed("cannot begin the trial"))?;
        Ok(done.map(|(is_good, cgroup)| {
            self.cgroup = cgroup;
            self.last_ns = clock::now_ns().saturating_sub(begin_ns);
            self.trials += 1;
            is_good
        }))
    }

    /// The loads of the request, whose upstreams listen: their URLs are in the program's arguments.
    fn loads(&self, request: &mut Request) -> Result<Option<Box<dyn Loads>>, String> {
        let service = request.service.as_ref();
        let is_driven = |service: &&Service| !service.steps.is_empty() || service.stub.is_some();
        let Some(service) = service.filter(is_driven) else { return Ok(None) };
        let mut loads = (self.engine.ok_or(NO_ENGINE)?.loads)(service)?;
        let ports = loads.listen()?;
        if !ports.is_empty() {
            let url = |port: &u16| format!("http://127.0.0.1:{port}/");
            let urls = ports.iter().map(url).collect::<Vec<_>>().join(",");
            for argument in &mut request.argv {
                *argument = argument.replace(UPSTREAMS, &urls);
            }
        }
        Ok(Some(loads))
    }
}
