//! CPU affinity: pins the probe, and checks beforehand whether the program can be pinned.

use crate::os::{sched_getaffinity, sched_setaffinity, CpuSet};
use crate::request::Request;
use crate::text::failed;

/// The CPUs of a probe that carries out one trial after another.
pub struct ProbeCpus {
    /// The CPUs with which it was started.
    own: CpuSet,
    /// The CPUs of the last program. They are tried once: that moves the probe there and back, which takes as
    /// long as a short program.
    usable: Vec<usize>,
}

impl ProbeCpus {
    pub fn inherited() -> Result<ProbeCpus, String> {
        let own = sched_getaffinity(0).map_err(failed("CPU affinity"))?;
        Ok(ProbeCpus { own, usable: Vec::new() })
    }

    /// Pins the probe, unless it is pinned already. Returns the CPUs to which the program must be reset where the
    /// request does not pin it; empty when the probe's own were not changed.
    pub fn pin(&mut self, request: &Request) -> Result<Vec<usize>, String> {
        if !request.cpus.is_empty() && request.cpus != self.usable {
            pin_thread("cpus", &request.cpus)?;
            self.usable = request.cpus.clone();
        }
        if request.probe_cpus.is_empty() {
            // An earlier trial may have pinned it.
            if sched_getaffinity(0) != Ok(self.own) {
                sched_setaffinity(&self.own).map_err(failed("CPU affinity"))?;
            }
            return Ok(Vec::new());
        }
        // By an earlier trial, unless something else has moved it since. A CPU that no set can hold is refused.
        let is_possible = request.probe_cpus.iter().all(|&cpu| cpu < CpuSet::MAX_CPU);
        if !is_possible || sched_getaffinity(0) != Ok(set_of(&request.probe_cpus)) {
            pin_thread("probe_cpus", &request.probe_cpus)?;
        }
        Ok(cpu_list(&self.own))
    }
}

/// The CPUs that the program may use. `inherited`: as [`ProbeCpus::pin`] returned them.
pub fn program_cpus(request: &Request, inherited: &[usize]) -> Vec<usize> {
    match (request.cpus.is_empty(), inherited.is_empty()) {
        (false, _) => request.cpus.clone(),
        (true, false) => inherited.to_vec(),
        (true, true) => sched_getaffinity(0).map_or(Vec::new(), |own| cpu_list(&own)),
    }
}

/// Pins the calling thread to all of these CPUs. The error names those that cannot be used.
pub fn pin_thread(key: &str, cpus: &[usize]) -> Result<(), String> {
    if let Some(cpu) = cpus.iter().find(|&&cpu| cpu >= CpuSet::MAX_CPU) {
        return Err(format!("{key}: {cpu} is over {}", CpuSet::MAX_CPU - 1));
    }
    let set = set_of(cpus);
    let done = sched_setaffinity(&set).and_then(|()| sched_getaffinity(0));
    match done {
        Ok(now) if now == set => Ok(()),
        // The kernel silently drops those that this process may not use.
        Ok(now) => Err(format!("{key}: of {cpus:?} only {:?} can be used", cpu_list(&now))),
        Err(error) => Err(format!("{key}: {cpus:?} cannot be used: {error}")),
    }
}

/// Whether a thread can be pinned to these CPUs: tried on a thread that then ends.
pub fn check(key: &'static str, cpus: &[usize]) -> Result<(), String> {
    if cpus.is_empty() {
        return Ok(());
    }
    let cpus = cpus.to_vec();
    let attempt = std::thread::spawn(move || pin_thread(key, &cpus)).join();
    attempt.unwrap_or_else(|_| Err(format!("{key}: the attempt to use them panicked")))
}

/// A set of CPUs; those that no set can hold are left out.
pub fn set_of(cpus: &[usize]) -> CpuSet {
    let mut set = CpuSet::default();
    let known = cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU);
    known.for_each(|&cpu| set.set(cpu));
    set
}

fn cpu_list(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_cpu_is_named() {
        let error = pin_thread("cpus", &[CpuSet::MAX_CPU - 1]).unwrap_err();
        assert!(error.starts_with("cpus: [1023]"), "{error}");
        let error = pin_thread("cpus", &[CpuSet::MAX_CPU]).unwrap_err();
        assert!(error.starts_with("cpus: 1024 is over 1023"), "{error}");
    }

    #[test]
    fn a_probe_is_pinned_again_where_something_moved_it() {
        let moved = std::thread::spawn(|| {
            let mut cpus = ProbeCpus::inherited().unwrap();
            let all = cpu_list(&cpus.own);
            let request = |probe_cpus: &[usize]| -> Request {
                let request = serde_json::json!({
                    "version": 1, "argv": ["true"], "cwd": "/", "env": {}, "probe_cpus": probe_cpus,
                    "limits": {"wall_s": 1, "memory_bytes": 1, "output_bytes": 1, "processes": 1},
                });
                Request::parse(request.to_string().as_bytes()).unwrap()
            };
            let first = request(&all[..1]);
            for _ in 0..2 {
                assert_eq!(cpus.pin(&first).unwrap(), all);
                assert_eq!(sched_getaffinity(0).unwrap(), set_of(&all[..1]));
            }
            sched_setaffinity(&set_of(&all)).unwrap();
            assert_eq!(cpus.pin(&first).unwrap(), all);
            assert_eq!(sched_getaffinity(0).unwrap(), set_of(&all[..1]));
            assert!(cpus.pin(&request(&[])).unwrap().is_empty());
            assert_eq!(sched_getaffinity(0).unwrap(), cpus.own);
            assert!(cpus.pin(&request(&[CpuSet::MAX_CPU])).is_err());
            cpus.pin(&first).unwrap();
            assert!(cpus.pin(&request(&[all[0], CpuSet::MAX_CPU])).is_err());
        });
        moved.join().unwrap();
    }
}
