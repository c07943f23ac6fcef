//! What the CPUs of the program did while it ran: how evenly its work lay on them.

use crate::output::CpuTime;
use crate::sys::ticks_per_second;
use crate::tree::ProcFs;

/// The CPUs that are looked at, and what they had done when the program started.
pub struct Cpus {
    begin: Vec<CpuTime>,
}

impl Cpus {
    pub fn new(procfs: &mut ProcFs, cpus: &[usize]) -> Cpus {
        Cpus {
            begin: look(procfs, cpus),
        }
    }

    /// What each of them did since; a CPU that has gone is left out.
    pub fn since(&self, procfs: &mut ProcFs) -> Vec<CpuTime> {
        let cpus: Vec<_> = self.begin.iter().map(|one| one.cpu).collect();
        let now = look(procfs, &cpus);
        let pairs = now.iter().filter_map(|now| {
            let begin = self.begin.iter().find(|begin| begin.cpu == now.cpu)?;
            // The kernel's idle time may go back a little.
            Some(CpuTime {
                cpu: now.cpu,
                busy_ns: now.busy_ns.saturating_sub(begin.busy_ns),
                idle_ns: now.idle_ns.saturating_sub(begin.idle_ns),
                stolen_ns: now.stolen_ns.saturating_sub(begin.stolen_ns),
            })
        });
        pairs.collect()
    }
}

fn look(procfs: &mut ProcFs, cpus: &[usize]) -> Vec<CpuTime> {
    let tick_ns = 1_000_000_000 / ticks_per_second();
    let text = procfs.read(format_args!("stat")).unwrap_or_default();
    let mut found = parse(text, tick_ns);
    found.retain(|one| cpus.contains(&one.cpu));
    found
}

/// The lines `cpu0 user nice system idle iowait irq softirq steal …` (proc_stat(5)).
fn parse(text: &[u8], tick_ns: u64) -> Vec<CpuTime> {
    let text = String::from_utf8_lossy(text);
    let line = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        let cpu = name.strip_prefix("cpu")?.parse().ok()?;
        let mut ticks = rest
            .split_ascii_whitespace()
            .map(|word| word.parse::<u64>());
        let mut next = || ticks.next()?.ok()?.checked_mul(tick_ns);
        let (user, nice, system) = (next()?, next()?, next()?);
        let (idle, iowait, irq, softirq, steal) = (next()?, next()?, next()?, next()?, next()?);
        Some(CpuTime {
            cpu,
            busy_ns: user + nice + system + irq + softirq,
            idle_ns: idle + iowait,
            stolen_ns: steal,
        })
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_lines_of_single_cpus() {
        let text = b"cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 40 5 6 7 8 0 0\ncpu11 1 1 1 1 1 1 1 1\ncpu2 1 x\nintr 5\n";
        let found = parse(text, 10);
        let first = CpuTime {
            cpu: 0,
            busy_ns: 190,
            idle_ns: 450,
            stolen_ns: 80,
        };
        assert_eq!(found.len(), 2);
        assert_eq!((found[0], found[1].cpu), (first, 11));
    }

    #[test]
    fn this_host_tells() {
        let mut procfs = ProcFs::open().unwrap();
        let cpus = Cpus::new(&mut procfs, &[0, 9999]);
        let since = cpus.since(&mut procfs);
        assert_eq!(since.iter().map(|one| one.cpu).collect::<Vec<_>>(), [0]);
        assert!(cpus.begin[0].busy_ns > 0);
    }
}
