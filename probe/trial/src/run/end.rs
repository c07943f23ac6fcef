//! The state of a trial when its program ended, and what shows that work went on afterwards. Pure.

use wire::messages::{CpuTime, Pressure};

/// Tolerated CPU time beyond what the CPUs had: the probe notices the end somewhat late, or processes end after it.
const EXCESS_NS: u64 = 10_000_000;

/// The kernel adjusts the clock of wall time, but not that of CPU time: one part in this many is tolerated.
const CLOCK_TOLERANCE: u64 = 1000;

/// The state of the trial when the program ended, or when the probe ended the trial.
pub struct End {
    pub ns: u64,
    /// Bytes of stdout that were written before, and not read yet.
    pub unread_bytes: u64,
    pub cpus: Vec<CpuTime>,
    pub pressure: Pressure,
    /// The memory of the host's kernel, before the program was started.
    pub kernel_bytes: Option<u64>,
}

/// Why the program's evidence may be that of work after its end. `cpu_ns`: CPU time of all its processes, `cpus`: how
/// many CPUs they could use at once, which is asked for where they used more than one.
pub fn late_work(end: &End, late_output: bool, cpu_ns: u64, cpus: impl Fn() -> u64) -> Option<String> {
    if late_output {
        return Some("other processes wrote to stdout after the program had ended".into());
    }
    if cpu_ns <= end.ns {
        return None;
    }
    let cpus = cpus();
    let most_ns = end.ns.saturating_mul(cpus);
    if cpu_ns <= most_ns + most_ns / CLOCK_TOLERANCE + EXCESS_NS {
        return None;
    }
    let ms = |ns: u64| ns as f64 / 1e6;
    Some(format!(
        "its processes used {:.1} ms of CPU time, but the program ended after {:.1} ms on {cpus} {}: they worked after that",
        ms(cpu_ns),
        ms(end.ns),
        if cpus == 1 { "CPU" } else { "CPUs" }
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_at_most_that_of_the_cpus() {
        let end = End {
            ns: 1_000_000_000,
            unread_bytes: 0,
            cpus: Vec::new(),
            pressure: Pressure::default(),
            kernel_bytes: None,
        };
        // A thousandth for the clock, and 10 ms.
        for (cpus, most_ns, text) in [(1, 1_011_000_000, "on 1 CPU:"), (2, 2_012_000_000, "on 2 CPUs:")] {
            assert_eq!(late_work(&end, false, most_ns, || cpus), None);
            let why = late_work(&end, false, most_ns + 1, || cpus).unwrap();
            assert!(why.contains(text), "{why}");
        }
        let why = late_work(&end, true, 0, || 1).unwrap();
        assert!(why.contains("wrote to stdout"));
    }
}
