//! What a program does to the probe instead of its work: signals, limits, CPUs. It is recorded; where it can be
//! undone it has no effect.

use crate::text::quoted;
use rustix::process::{getrlimit, Resource, Rlimit};
use rustix::thread::{sched_getaffinity, CpuSet};

/// Texts that are kept.
const MAX_TEXTS: usize = 8;

const RESOURCES: [(Resource, &str); 6] = [
    (Resource::Nofile, "open files"),
    (Resource::As, "address space"),
    (Resource::Data, "data"),
    (Resource::Fsize, "file size"),
    (Resource::Cpu, "CPU time"),
    (Resource::Nproc, "processes"),
];

pub struct Interference {
    texts: Vec<String>,
    limits: Vec<Rlimit>,
    cpus: Option<CpuSet>,
}

impl Interference {
    /// Remembers the probe's own limits and CPUs.
    pub fn watch() -> Interference {
        Interference {
            texts: Vec::new(),
            limits: limits(),
            cpus: sched_getaffinity(None).ok(),
        }
    }

    /// Each text once, the first of them.
    pub fn add(&mut self, text: String) {
        if self.texts.len() < MAX_TEXTS && !self.texts.contains(&text) {
            self.texts.push(text);
        }
    }

    /// A signal from a process of the trial, or from one that has ended since.
    pub fn signal(&mut self, name: &str, sender: i32, ended: bool) {
        self.add(match ended {
            true => format!("{name} to the probe from a process that has ended"),
            false => format!("{name} to the probe from process {sender} of the trial"),
        });
    }

    /// A process that left the trial's cgroup.
    pub fn left_cgroup(&mut self, name: &str) {
        self.add(format!(
            "a process left the trial's cgroup {}",
            quoted(name)
        ));
    }

    /// Compares the probe's limits and CPUs with those at the beginning, and gives all texts.
    pub fn finish(&mut self) -> Vec<String> {
        let changed: Vec<_> = RESOURCES
            .iter()
            .zip(self.limits.iter().zip(limits()))
            .filter(|(_, (before, now))| {
                (before.current, before.maximum) != (now.current, now.maximum)
            })
            .map(|((_, name), _)| *name)
            .collect();
        if !changed.is_empty() {
            self.add(format!(
                "the probe's limits were changed: {}",
                changed.join(", ")
            ));
        }
        if self.cpus.is_some() && self.cpus != sched_getaffinity(None).ok() {
            self.add("the probe was moved to other CPUs".into());
        }
        std::mem::take(&mut self.texts)
    }
}

fn limits() -> Vec<Rlimit> {
    RESOURCES
        .iter()
        .map(|(resource, _)| getrlimit(*resource))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_once_and_not_too_many() {
        let mut seen = Interference::watch();
        for sender in [7, 7, 8] {
            seen.signal("SIGTERM", sender, false);
        }
        seen.signal("SIGTERM", 9, true);
        for number in 0..100 {
            seen.left_cgroup(&format!("/{number}"));
        }
        let texts = seen.finish();
        assert_eq!(texts.len(), MAX_TEXTS);
        assert_eq!(texts[0], "SIGTERM to the probe from process 7 of the trial");
        assert!(texts[2].ends_with("that has ended"));
    }

    #[test]
    fn a_changed_limit_is_named() {
        let mut seen = Interference::watch();
        seen.limits[3].current = Some(12345);
        assert_eq!(
            seen.finish(),
            ["the probe's limits were changed: file size"]
        );
    }
}
