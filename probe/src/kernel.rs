//! The kernel's own memory. It is told for the whole host only, so both ends of a connection are in it.

use crate::output::KernelMemory;
use crate::tree::{kernel_bytes, ProcFs};

/// What of /proc/meminfo grows with connections, threads and their memory.
const KEYS: [&str; 3] = ["Slab:", "KernelStack:", "PageTables:"];

pub fn look(procfs: &mut ProcFs, page_bytes: u64) -> KernelMemory {
    let kernel_bytes = procfs.read(format_args!("meminfo")).and_then(parse_meminfo);
    let pages = procfs.read(format_args!("net/sockstat"));
    let pages = pages.and_then(parse_sockstat);
    KernelMemory {
        kernel_bytes,
        tcp_bytes: pages.and_then(|pages| pages.checked_mul(page_bytes)),
    }
}

/// The sum of [`KEYS`] in bytes.
fn parse_meminfo(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    KEYS.into_iter()
        .try_fold(0u64, |sum, key| sum.checked_add(kernel_bytes(text, key)?))
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
    fn adds_up_what_the_kernel_holds() {
        let text = b"MemTotal: 24683 kB\nSlab:              100 kB\nSReclaimable: 7 kB\nKernelStack:        20 kB\nPageTables:          3 kB\nSecPageTables: 9 kB\n";
        assert_eq!(parse_meminfo(text), Some(123 * 1024));
        assert_eq!(parse_meminfo(b"Slab: 1 kB\n"), None);
        assert_eq!(
            parse_meminfo(b"Slab: x kB\nKernelStack: 1 kB\nPageTables: 1 kB\n"),
            None
        );
        let text =
            b"sockets: used 5\nTCP: inuse 3 orphan 0 tw 9 alloc 4 mem 17\nUDP: inuse 0 mem 2\n";
        assert_eq!(parse_sockstat(text), Some(17));
        assert_eq!(parse_sockstat(b"UDP: mem 2\n"), None);
        assert_eq!(parse_sockstat(b"TCP: mem"), None);
    }

    #[test]
    fn this_kernel_tells() {
        let found = look(&mut ProcFs::open().unwrap(), 4096);
        assert!(found.kernel_bytes.unwrap() > 100_000);
        assert!(found.tcp_bytes.is_some());
    }
}
