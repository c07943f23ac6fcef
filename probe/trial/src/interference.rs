//! A program's interference with the probe: signals, limits, CPUs, priorities. The probe records it.

use crate::sample::host::KernelFiles;
use crate::start::inherited::{Inherited, Limits};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;
use wire::clock;
use wire::os::{sched_getaffinity, CpuSet};
use wire::sys::scheduling_of;

/// NTP adjusts clocks by at most half of one part in this many.
const CLOCK_TOLERANCE: u64 = 1000;
const CLOCK_GRAIN_NS: u64 = 1_000_000;

/// The most texts that are kept.
const MAX_TEXTS: usize = 8;

pub struct Interference {
    texts: Vec<String>,
    files: Rc<KernelFiles>,
    plain: bool,
    /// The state of the probe and of its host at the beginning. None: nothing is compared.
    before: Option<(Inherited, Environment)>,
}

impl Interference {
    /// Remembers the probe's own limits and CPUs, to compare them later. `plain`: a plain command may change settings
    /// of the host.
    pub fn watch(files: Rc<KernelFiles>, plain: bool, is_compared: bool) -> Interference {
        let state = || (Inherited::of(0), Environment::read(&files, plain));
        Interference { texts: Vec::new(), before: is_compared.then(state), plain, files }
    }

    /// Adds a text, unless it is there already, or enough others are.
    pub fn add(&mut self, text: String) {
        if self.texts.len() < MAX_TEXTS && !self.texts.contains(&text) {
            self.texts.push(text);
        }
    }

    /// Compares all threads of the probe with what they were given: the schedule of its first, and either the CPUs of
    /// that one or some of these. `is_alone`: there is one thread.
    pub fn compare_threads(&mut self, cpus: &[CpuSet], is_alone: bool) {
        let Some((Inherited { scheduling, cpus: first_cpus, .. }, _)) = self.before else { return };
        let folder = (!is_alone).then(|| fs::read_dir("/proc/self/task"));
        let threads = folder.into_iter().flatten().flatten();
        let names = threads.flatten().map(|thread| thread.file_name());
        let mut threads: Vec<i32> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
        // /proc may also be missing, or belong to another namespace with other numbers.
        if !threads.contains(&(std::process::id() as i32)) {
            threads = vec![0];
        }
        for thread in threads {
            if scheduling_of(thread).ok() != scheduling {
                self.add("the probe's scheduling was changed".into());
            }
            let Ok(own) = sched_getaffinity(thread) else { continue };
            let given = |first: &CpuSet| own == *first || cpus.contains(&own);
            if !first_cpus.as_ref().map_or(true, given) {
                self.add("the probe was moved to other CPUs".into());
            }
        }
    }

    /// In words, which of the probe's limits were lowered. Since then any call of the probe may have failed.
    pub fn lowered_limits(&self) -> Option<String> {
        let (own, _) = self.before.as_ref()?;
        own.limits.lowered_to(&Limits::of(0))
    }

    /// Compares the probe's CPUs and environment with those at the beginning, and gives all texts.
    pub fn finish(&mut self) -> Vec<String> {
        if let Some((Inherited { cpus, .. }, environment)) = self.before.take() {
            let now = Environment::read(&self.files, self.plain);
            for text in environment.changed_to(&now) {
                self.add(text);
            }
            if cpus.is_some() && cpus != sched_getaffinity(0).ok() {
                self.add("the probe was moved to other CPUs".into());
            }
        }
        std::mem::take(&mut self.texts)
    }
}

/// Settings that only root can change: which process the kernel kills when memory runs out, which program it starts
/// after a crash, settings that all trials share, how fast clocks go, and the mounts where the probe looks.
struct Environment {
    /// Texts of files, by the names of those.
    files: Vec<(&'static str, Option<Vec<u8>>)>,
    devices: [Option<u64>; 2],
    now_ns: u64,
    ahead_of_raw_ns: i64,
}

impl Environment {
    fn read(files: &KernelFiles, plain: bool) -> Environment {
        let settings = files.settings.iter().filter(|_| !plain);
        let files = files.of_probe.iter().chain(settings);
        Environment {
            files: files.map(|(name, file)| (*name, file.read())).collect(),
            devices: ["/proc", "/dev/shm"].map(|path| fs::metadata(path).ok().map(|file| file.dev())),
            now_ns: clock::now_ns(),
            ahead_of_raw_ns: clock::ahead_of_raw_ns(),
        }
    }

    fn changed_to(&self, now: &Environment) -> Vec<String> {
        let passed_ns = now.now_ns.saturating_sub(self.now_ns);
        let gained_ns = now.ahead_of_raw_ns.abs_diff(self.ahead_of_raw_ns);
        let is_other_rate = gained_ns > passed_ns / CLOCK_TOLERANCE + CLOCK_GRAIN_NS;
        let rate = is_other_rate.then_some("the rate of the host's clocks");
        let files = self.files.iter().zip(&now.files).filter(|(before, now)| before != now);
        let changed = rate.into_iter().chain(files.map(|((name, _), _)| *name));
        let replaced = "/proc or /dev/shm of the probe was replaced".to_owned();
        let replaced = (self.devices != now.devices).then_some(replaced);
        replaced.into_iter().chain(changed.map(|name| format!("{name} was changed"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_were_changed_are_named() {
        let files = KernelFiles::open().unwrap();
        let of = |value: &[u8]| Environment {
            files: vec![("/proc/sys/a", Some(b"1".to_vec())), ("/proc/sys/b", Some(value.to_vec()))],
            ..Environment::read(&files, true)
        };
        assert!(of(b"2").changed_to(&of(b"2")).is_empty());
        assert_eq!(of(b"2").changed_to(&of(b"3")), ["/proc/sys/b was changed"]);
        // Only for root, and never for a plain command.
        let count = |plain| Environment::read(&files, plain).files.len();
        assert_eq!(count(false), 2 + files.settings.len());
        assert_eq!(count(true), 2);
    }

    /// All times would be shorter, also if the rate is as before at the end. NTP's own corrections are smaller.
    #[test]
    fn clocks_whose_rate_was_changed_are_named() {
        let files = KernelFiles::open().unwrap();
        let at = |now_ns, ahead_of_raw_ns| Environment {
            now_ns,
            ahead_of_raw_ns,
            ..Environment::read(&files, true)
        };
        let changes = |slower_ns: i64| at(0, 5).changed_to(&at(10_000_000_000, 5 - slower_ns));
        assert!(changes(5_000_000).is_empty());
        for slower_ns in [50_000_000, -50_000_000] {
            assert_eq!(changes(slower_ns), ["the rate of the host's clocks was changed"]);
        }
        // Beside each other, the clocks of this host agree.
        let now = Environment::read(&files, true);
        assert!(now.changed_to(&Environment::read(&files, true)).is_empty());
    }

    #[test]
    fn each_text_once_and_not_too_many() {
        let files = Rc::new(KernelFiles::open().unwrap());
        let mut seen = Interference::watch(files, false, true);
        for sender in [7, 7, 8] {
            seen.add(format!("from {sender}"));
        }
        for number in 0..100 {
            seen.add(format!("/{number}"));
        }
        let texts = seen.finish();
        assert_eq!(texts.len(), MAX_TEXTS);
        assert_eq!(texts[..3], ["from 7", "from 8", "/0"]);
    }
}
