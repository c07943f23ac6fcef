//! Time in which threads of the host had to wait: for a CPU, for memory, for the disk (Linux PSI).

use crate::output::Pressure;
use crate::tree::ProcFs;

/// Since the host began.
pub fn now(procfs: &mut ProcFs) -> Pressure {
    let mut of = |name: &str| {
        procfs
            .read(format_args!("pressure/{name}"))
            .and_then(some_total)
    };
    Pressure {
        cpu_ns: of("cpu"),
        memory_ns: of("memory"),
        io_ns: of("io"),
    }
}

/// What came since `begin`.
pub fn since(begin: &Pressure, procfs: &mut ProcFs) -> Pressure {
    let now = now(procfs);
    let grown = |now: Option<u64>, begin: Option<u64>| Some(now?.saturating_sub(begin?));
    Pressure {
        cpu_ns: grown(now.cpu_ns, begin.cpu_ns),
        memory_ns: grown(now.memory_ns, begin.memory_ns),
        io_ns: grown(now.io_ns, begin.io_ns),
    }
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS` (the kernel's Documentation/accounting/psi.rst).
fn some_total(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let total = some.split_once("total=")?.1.trim();
    total.parse::<u64>().ok()?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_writes() {
        let text = b"some avg10=1.00 avg60=2.00 avg300=0.00 total=48212\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(some_total(text), Some(48_212_000));
        assert_eq!(some_total(b"full total=7\n"), None);
        assert_eq!(some_total(b"some total=x\n"), None);
        assert_eq!(some_total(b"some total=18446744073709551615\n"), None);
        assert_eq!(some_total(b"\xff"), None);
    }

    #[test]
    fn time_goes_forward() {
        let mut procfs = ProcFs::open().unwrap();
        let begin = now(&mut procfs);
        let since = since(&begin, &mut procfs);
        assert_eq!(begin.cpu_ns.is_some(), since.cpu_ns.is_some());
    }
}
