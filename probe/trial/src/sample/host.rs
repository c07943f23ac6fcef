//! Figures of the whole host: what its CPUs did, how long threads waited (pressure), and the kernel's own memory.

use crate::tree::procfs::{kib_field, ProcFs, ReopenedFile};
use std::fs::File;
use std::io;
use std::rc::Rc;
use wire::messages::{CpuTime, Pressure};
use wire::os;
use wire::sys::tick_ns;

/// Below /proc: what every trial reads, twice or more.
pub struct KernelFiles {
    pub procfs: ProcFs,
    /// The figures of trials for which /proc has no values.
    pub missing: Vec<String>,
    /// What concerns the probe itself, or programs that crash, by names for messages.
    pub of_probe: [(&'static str, ReopenedFile); 2],
    /// The status of the process that started the probe.
    parent: ReopenedFile,
    /// Settings of the host that change what programs can do, by their names. Only root can change them, so there are
    /// none for others.
    pub settings: Vec<(&'static str, ReopenedFile)>,
    stat: ReopenedFile,
    cpu: ReopenedFile,
    memory: ReopenedFile,
    io: ReopenedFile,
    meminfo: ReopenedFile,
}

/// Settings that all trials share. Each is read twice in a trial, so the list is short.
const SETTINGS: [&str; 16] = [
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/domainname",
    "/proc/sys/net/core/somaxconn",
    "/proc/sys/net/core/rmem_max",
    "/proc/sys/net/core/wmem_max",
    "/proc/sys/net/core/netdev_max_backlog",
    "/proc/sys/net/ipv4/tcp_rmem",
    "/proc/sys/net/ipv4/tcp_wmem",
    "/proc/sys/net/ipv4/tcp_congestion_control",
    "/proc/sys/net/ipv4/tcp_max_syn_backlog",
    "/proc/sys/net/ipv4/ip_local_port_range",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/nr_hugepages",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
];

/// CPU times, pressure and the kernel's memory at the start of a trial.
pub struct HostBaseline {
    /// [`MEMINFO_KEYS`].
    pub kernel_bytes: Option<u64>,
    files: Rc<KernelFiles>,
    cpus: Vec<CpuTime>,
    pressure: Pressure,
}

impl KernelFiles {
    pub fn open() -> io::Result<KernelFiles> {
        let mut procfs = ProcFs::open()?;
        let mut missing = Vec::new();
        if !procfs.lists_children {
            missing.push("children in /proc: the kernel does not list them".into());
        }
        if procfs.hides_processes() {
            missing.push("processes in /proc: hidepid hides those that may not be traced".into());
        }
        if File::open("/proc/self/smaps_rollup").is_err() {
            missing.push("PSS: /proc/self/smaps_rollup cannot be read".into());
        }
        let settings = SETTINGS.iter().filter(|_| os::user_id() == 0);
        Ok(KernelFiles {
            of_probe: [
                ("the probe's oom_score_adj", ReopenedFile::open("/proc/self/oom_score_adj")),
                ("kernel.core_pattern", ReopenedFile::open("/proc/sys/kernel/core_pattern")),
            ],
            settings: settings.map(|name| (*name, ReopenedFile::open(name))).collect(),
            parent: ReopenedFile::open(&format!("/proc/{}/status", os::parent_id().unwrap_or_default())),
            stat: ReopenedFile::open("/proc/stat"),
            cpu: ReopenedFile::open("/proc/pressure/cpu"),
            memory: ReopenedFile::open("/proc/pressure/memory"),
            io: ReopenedFile::open("/proc/pressure/io"),
            meminfo: ReopenedFile::open("/proc/meminfo"),
            procfs,
            missing,
        })
    }

    /// Continues the process that started the probe where it is stopped, or will be once it gets a CPU; true if it was.
    /// Unknown where it is hidden.
    pub fn resume_parent(&self, pid: i32) -> bool {
        let stopped = self.parent.read().map(|status| is_stopped(&status));
        if stopped != Some(false) {
            let _ = os::kill(pid, libc::SIGCONT);
        }
        stopped == Some(true)
    }

    fn cpu_times(&self, cpus: &[usize]) -> Vec<CpuTime> {
        let mut times = parse_stat(&self.stat.read().unwrap_or_default(), tick_ns());
        times.retain(|time| cpus.contains(&time.cpu));
        times
    }

    /// The counters of pressure since the host booted.
    fn pressure(&self) -> Pressure {
        let counter = |file: &ReopenedFile| file.read().and_then(|text| parse_pressure(&text));
        Pressure { cpu_ns: counter(&self.cpu), memory_ns: counter(&self.memory), io_ns: counter(&self.io) }
    }
}

impl HostBaseline {
    /// Reads the present counters of these CPUs and of the host's pressure.
    pub fn read(files: &Rc<KernelFiles>, cpus: &[usize]) -> HostBaseline {
        HostBaseline {
            kernel_bytes: files.meminfo.read().and_then(|text| parse_meminfo(&text)),
            files: Rc::clone(files),
            cpus: files.cpu_times(cpus),
            pressure: files.pressure(),
        }
    }

    /// The times of each CPU since then; a CPU that went offline is left out.
    pub fn cpus_since(&self) -> Vec<CpuTime> {
        let cpus: Vec<_> = self.cpus.iter().map(|time| time.cpu).collect();
        let now = self.files.cpu_times(&cpus);
        let differences = now.iter().filter_map(|now| {
            let begin = self.cpus.iter().find(|begin| begin.cpu == now.cpu)?;
            // The kernel's idle time may go back a little.
            Some(CpuTime {
                cpu: now.cpu,
                busy_ns: now.busy_ns.saturating_sub(begin.busy_ns),
                idle_ns: now.idle_ns.saturating_sub(begin.idle_ns),
                stolen_ns: now.stolen_ns.saturating_sub(begin.stolen_ns),
            })
        });
        differences.collect()
    }

    /// By how much the pressure counters grew since.
    pub fn pressure_since(&self) -> Pressure {
        let (begin, now) = (&self.pressure, self.files.pressure());
        let growth = |now: Option<u64>, begin: Option<u64>| Some(now?.saturating_sub(begin?));
        Pressure {
            cpu_ns: growth(now.cpu_ns, begin.cpu_ns),
            memory_ns: growth(now.memory_ns, begin.memory_ns),
            io_ns: growth(now.io_ns, begin.io_ns),
        }
    }
}

/// From /proc/PID/status: whether a signal has stopped the process, or SIGSTOP waits for it.
fn is_stopped(status: &[u8]) -> bool {
    let status = String::from_utf8_lossy(status);
    let field = |key: &str| status.lines().find_map(|line| line.strip_prefix(key));
    let pending = |key| field(key).and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let stop = 1 << (libc::SIGSTOP - 1);
    field("State:").is_some_and(|state| state.trim_start().starts_with('T'))
        || pending("ShdPnd:").is_some_and(|mask| mask & stop != 0)
}

/// The lines `cpu0 user nice system idle iowait irq softirq steal …` (proc_stat(5)).
fn parse_stat(text: &[u8], tick_ns: u64) -> Vec<CpuTime> {
    let text = String::from_utf8_lossy(text);
    let line = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        let cpu = name.strip_prefix("cpu")?.parse().ok()?;
        let mut ticks = rest.split_ascii_whitespace().map(|word| word.parse::<u64>());
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
    // The lines of single CPUs come first.
    let lines = text.lines().take_while(|line| line.starts_with("cpu"));
    lines.filter_map(line).collect()
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS` (the kernel's Documentation/accounting/psi.rst).
fn parse_pressure(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let total = some.split_once("total=")?.1.trim();
    total.parse::<u64>().ok()?.checked_mul(1000)
}

/// The fields of /proc/meminfo that grow with connections, threads and their memory.
const MEMINFO_KEYS: [&str; 3] = ["Slab:", "KernelStack:", "PageTables:"];

/// The kernel's own memory, and TCP's buffers. They are known for the whole host only, so they hold both ends of a
/// connection.
pub fn kernel_memory(procfs: &mut ProcFs, page_bytes: u64) -> (Option<u64>, Option<u64>) {
    let kernel_bytes = procfs.read(format_args!("meminfo")).and_then(parse_meminfo);
    let pages = procfs.read(format_args!("net/sockstat")).and_then(parse_sockstat);
    (kernel_bytes, pages.and_then(|pages| pages.checked_mul(page_bytes)))
}

/// The sum of [`MEMINFO_KEYS`] in bytes.
fn parse_meminfo(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    MEMINFO_KEYS.into_iter().try_fold(0u64, |sum, key| sum.checked_add(kib_field(text, key)?))
}

/// Pages that TCP holds for buffers.
fn parse_sockstat(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_ascii_whitespace();
    words.find(|word| *word == "mem")?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_lines_of_single_cpus() {
        let text =
            b"cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 40 5 6 7 8 0 0\ncpu11 1 1 1 1 1 1 1 1\ncpu2 1 x\nintr 5\n";
        let times = parse_stat(text, 10);
        let first = CpuTime { cpu: 0, busy_ns: 190, idle_ns: 450, stolen_ns: 80 };
        assert_eq!(times.len(), 2);
        assert_eq!((times[0], times[1].cpu), (first, 11));
    }

    #[test]
    fn parses_pressure() {
        let text = b"some avg10=1.00 avg60=2.00 avg300=0.00 total=48212\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(parse_pressure(text), Some(48_212_000));
        assert_eq!(parse_pressure(b"full total=7\n"), None);
        assert_eq!(parse_pressure(b"some total=x\n"), None);
        assert_eq!(parse_pressure(b"some total=18446744073709551615\n"), None);
        assert_eq!(parse_pressure(b"\xff"), None);
    }

    #[test]
    fn parses_the_kernels_memory() {
        let text = b"MemTotal: 24683 kB\nSlab:              100 kB\nSReclaimable: 7 kB\nKernelStack:        20 kB\nPageTables:          3 kB\nSecPageTables: 9 kB\n";
        assert_eq!(parse_meminfo(text), Some(123 * 1024));
        assert_eq!(parse_meminfo(b"Slab: 1 kB\n"), None);
        assert_eq!(parse_meminfo(b"Slab: x kB\nKernelStack: 1 kB\nPageTables: 1 kB\n"), None);
        let text = b"sockets: used 5\nTCP: inuse 3 orphan 0 tw 9 alloc 4 mem 17\nUDP: inuse 0 mem 2\n";
        assert_eq!(parse_sockstat(text), Some(17));
        assert_eq!(parse_sockstat(b"UDP: mem 2\n"), None);
        assert_eq!(parse_sockstat(b"TCP: mem"), None);
    }

    #[test]
    fn reads_this_host() {
        let mut procfs = ProcFs::open().unwrap();
        let files = Rc::new(KernelFiles::open().unwrap());
        let baseline = HostBaseline::read(&files, &[0, 9999]);
        let cpus = baseline.cpus_since();
        assert_eq!(cpus.iter().map(|time| time.cpu).collect::<Vec<_>>(), [0]);
        assert!(baseline.cpus[0].busy_ns > 0);
        let pressure = baseline.pressure_since();
        assert_eq!(baseline.pressure.cpu_ns.is_some(), pressure.cpu_ns.is_some());
        let (kernel_bytes, tcp_bytes) = kernel_memory(&mut procfs, 4096);
        let (before, now) = (baseline.kernel_bytes.unwrap(), kernel_bytes.unwrap());
        assert!(now > 100_000);
        assert!(before.abs_diff(now) < now / 2, "{before} {now}");
        assert!(tcp_bytes.is_some());
    }
}
