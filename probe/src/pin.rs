//! CPUs: pins the probe, and sees beforehand whether the program can be pinned.

use crate::request::Request;
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};

/// Pins the probe. Gives the CPUs that the program is to be put back to when the request does
/// not pin it; empty when the probe's own were not changed.
pub fn pin(request: &Request) -> Result<Vec<usize>, String> {
    if request.cpus.is_empty() && request.probe_cpus.is_empty() {
        return Ok(Vec::new());
    }
    let own = sched_getaffinity(None).map_err(|error| format!("CPU affinity: {error}"))?;
    if !request.cpus.is_empty() {
        to("cpus", &request.cpus)?;
    }
    if request.probe_cpus.is_empty() {
        sched_setaffinity(None, &own).map_err(|error| format!("CPU affinity: {error}"))?;
        return Ok(Vec::new());
    }
    to("probe_cpus", &request.probe_cpus)?;
    Ok(listed(&own))
}

/// The CPUs that the program may use. `inherited`: as [`pin`] gave them.
pub fn of_the_program(request: &Request, inherited: &[usize]) -> Vec<usize> {
    match (request.cpus.is_empty(), inherited.is_empty()) {
        (false, _) => request.cpus.clone(),
        (true, false) => inherited.to_vec(),
        (true, true) => sched_getaffinity(None).map_or(Vec::new(), |own| listed(&own)),
    }
}

/// Pins the calling thread to all of these CPUs. The error names those that cannot be had.
pub fn to(key: &str, cpus: &[usize]) -> Result<(), String> {
    if let Some(cpu) = cpus.iter().find(|&&cpu| cpu >= CpuSet::MAX_CPU) {
        return Err(format!("{key}: {cpu} is over {}", CpuSet::MAX_CPU - 1));
    }
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    let done = sched_setaffinity(None, &set).and_then(|()| sched_getaffinity(None));
    match done {
        Ok(now) if now == set => Ok(()),
        // The kernel drops those that this process may not use without a word.
        Ok(now) => Err(format!(
            "{key}: of {cpus:?} only {:?} can be used",
            listed(&now)
        )),
        Err(error) => Err(format!("{key}: {cpus:?} cannot be used: {error}")),
    }
}

/// Whether a thread could be pinned to these CPUs: tried on one that then ends.
pub fn check(key: &'static str, cpus: &[usize]) -> Result<(), String> {
    if cpus.is_empty() {
        return Ok(());
    }
    let cpus = cpus.to_vec();
    let tried = std::thread::spawn(move || to(key, &cpus)).join();
    tried.unwrap_or_else(|_| Err(format!("{key}: the attempt to use them panicked")))
}

fn listed(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_is_not_there_is_named() {
        let error = to("cpus", &[CpuSet::MAX_CPU - 1]).unwrap_err();
        assert!(error.starts_with("cpus: [1023]"), "{error}");
        let error = to("cpus", &[CpuSet::MAX_CPU]).unwrap_err();
        assert!(error.starts_with("cpus: 1024 is over 1023"), "{error}");
    }
}
