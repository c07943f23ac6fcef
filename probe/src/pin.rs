//! CPU affinity: pins the probe, and checks beforehand whether the program can be pinned.

use crate::request::Request;
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};

/// Pins the probe. `own`: the CPUs that it was started with. Returns the CPUs that the program is to be reset to
/// where the request does not pin it; empty when the probe's own were not changed.
pub fn pin_probe(request: &Request, own: &CpuSet) -> Result<Vec<usize>, String> {
    if !request.cpus.is_empty() {
        pin_thread("cpus", &request.cpus)?;
    }
    if request.probe_cpus.is_empty() {
        // An earlier trial may have pinned it.
        sched_setaffinity(None, own).map_err(|error| format!("CPU affinity: {error}"))?;
        return Ok(Vec::new());
    }
    pin_thread("probe_cpus", &request.probe_cpus)?;
    Ok(cpu_list(own))
}

/// The CPUs that the program may use. `inherited`: as [`pin_probe`] returned them.
pub fn program_cpus(request: &Request, inherited: &[usize]) -> Vec<usize> {
    match (request.cpus.is_empty(), inherited.is_empty()) {
        (false, _) => request.cpus.clone(),
        (true, false) => inherited.to_vec(),
        (true, true) => sched_getaffinity(None).map_or(Vec::new(), |own| cpu_list(&own)),
    }
}

/// Pins the calling thread to all of these CPUs. The error names those that cannot be used.
pub fn pin_thread(key: &str, cpus: &[usize]) -> Result<(), String> {
    if let Some(cpu) = cpus.iter().find(|&&cpu| cpu >= CpuSet::MAX_CPU) {
        return Err(format!("{key}: {cpu} is over {}", CpuSet::MAX_CPU - 1));
    }
    let set = set_of(cpus);
    let done = sched_setaffinity(None, &set).and_then(|()| sched_getaffinity(None));
    match done {
        Ok(now) if now == set => Ok(()),
        // The kernel silently drops those that this process may not use.
        Ok(now) => Err(format!(
            "{key}: of {cpus:?} only {:?} can be used",
            cpu_list(&now)
        )),
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
    let mut set = CpuSet::new();
    let known = cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU);
    known.for_each(|&cpu| set.set(cpu));
    set
}

fn cpu_list(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect()
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
}
