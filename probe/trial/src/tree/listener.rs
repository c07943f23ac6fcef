//! Finds out whose socket listens where loads connect, usually on a port of 127.0.0.1: a program may name the port of
//! another server, even if it listens on that port itself at another address.

use crate::tree::procfs::{ProcFs, Process};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// The state of a listening socket in /proc/net/tcp.
const LISTEN: &[u8] = b"0A";

/// The longest that files are searched for sockets: each of a thousand processes may have a million files.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A process of the trial.
    Trial,
    /// A process outside of the trial.
    Other,
    /// Nothing listens there.
    Nobody,
    /// A process of the trial has too many files, or files that cannot be read since it gave up privileges: one of
    /// these sockets, by their inodes, may be its own. It was if none is left when all processes have ended.
    Unknown(Vec<u64>),
}

/// The owner of a TCP address on which connections are accepted, seen from the processes of the trial.
pub fn owner(procfs: &mut ProcFs, processes: &[Process], address: SocketAddr) -> Owner {
    let mut listeners = listeners(procfs, address);
    // The kernel prefers the socket with the nearest address; those with the same one share the connections.
    let Some(nearest) = listeners.iter().map(|(distance, _)| *distance).min() else { return Owner::Nobody };
    listeners.retain(|(distance, _)| *distance == nearest);
    let mut inodes: Vec<u64> = listeners.into_iter().map(|(_, inode)| inode).collect();
    let mut readable = true;
    let deadline = Instant::now() + SEARCH_TIMEOUT;
    for process in processes.iter().filter(|process| process.alive) {
        match procfs.sockets(process.living_thread, deadline) {
            Some(sockets) => inodes.retain(|inode| !sockets.contains(inode)),
            None => readable = false,
        }
    }
    match (inodes.is_empty(), readable) {
        (true, _) => Owner::Trial,
        (false, true) => Owner::Other,
        (false, false) => Owner::Unknown(inodes),
    }
}

/// Whether one of these sockets, by their inodes, listens at an address.
pub fn still_listens(procfs: &mut ProcFs, inodes: &[u64], address: SocketAddr) -> bool {
    let listeners = listeners(procfs, address);
    listeners.iter().any(|(_, inode)| inodes.contains(inode))
}

/// The sockets that listen at an address: distances of their own, and inodes.
fn listeners(procfs: &mut ProcFs, address: SocketAddr) -> Vec<(u8, u64)> {
    let mut listeners = Vec::new();
    for table in ["net/tcp", "net/tcp6"] {
        if let Some(text) = procfs.read(format_args!("{table}")) {
            listeners.extend(listening(text, address));
        }
    }
    listeners
}

/// How far an address of a listening socket, as tables of /proc/net show it, is from that of a host; None if it
/// does not accept connections to that.
fn distance(address: &[u8], host: IpAddr) -> Option<u8> {
    let same = match host {
        IpAddr::V4(host) => {
            address == shown(&host.octets()).as_bytes()
                || address == shown(&host.to_ipv6_mapped().octets()).as_bytes()
        }
        IpAddr::V6(host) => address == shown(&host.octets()).as_bytes(),
    };
    if same {
        return Some(0);
    }
    let is_any = address.iter().all(|&digit| digit == b'0');
    match (is_any, address.len()) {
        (true, 8) if host.is_ipv4() => Some(1),
        (true, 32) => Some(2),
        _ => None,
    }
}

/// An address as the tables have it: words of four bytes, each in this machine's order.
fn shown(octets: &[u8]) -> String {
    let words = octets.chunks_exact(4);
    words.map(|word| format!("{:08X}", u32::from_ne_bytes([word[0], word[1], word[2], word[3]]))).collect()
}

/// The sockets that listen at an address, from a table of /proc/net: distances of their own, and inodes.
fn listening(table: &[u8], at: SocketAddr) -> Vec<(u8, u64)> {
    let port = format!("{:04X}", at.port());
    let lines = table.split(|&byte| byte == b'\n').skip(1);
    lines
        .filter_map(|line| {
            let mut fields = line.split(|byte| byte.is_ascii_whitespace()).filter(|field| !field.is_empty());
            let local = fields.nth(1)?;
            let state = fields.nth(1)?;
            let inode = fields.nth(5)?;
            let mut parts = local.split(|&byte| byte == b':');
            let (address, own) = (parts.next()?, parts.next()?);
            if state != LISTEN || own != port.as_bytes() {
                return None;
            }
            let inode = std::str::from_utf8(inode).ok()?.parse().ok()?;
            Some((distance(address, at.ip())?, inode))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] =
        b"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0\n\
   1: 0100007F:1F90 0100007F:A1B2 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0\n\
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 99 1 0 100 0\n";

    #[test]
    fn listening_sockets_of_a_port() {
        let at = |address: &str| listening(TABLE, address.parse().unwrap());
        assert_eq!(at("127.0.0.1:8080"), [(0, 4711)]);
        assert_eq!(at("127.0.0.1:22"), [(1, 99)]);
        assert!(at("127.0.0.1:80").is_empty());
        assert!(at("192.0.2.1:8080").is_empty());
        assert_eq!(at("192.0.2.1:22"), [(1, 99)]);
        assert!(at("[2001:db8::1]:22").is_empty());
        assert!(listening(b"", "127.0.0.1:80".parse().unwrap()).is_empty());
    }

    #[test]
    fn our_own_listener_and_nobodys() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let mut procfs = ProcFs::open().unwrap();
        let own = procfs.process(std::process::id() as i32).unwrap();
        let parent = procfs.process(own.parent).unwrap();
        assert_eq!(owner(&mut procfs, &[own], at), Owner::Trial);
        assert_eq!(owner(&mut procfs, &[parent], at), Owner::Other);
        // A process whose files cannot be read, since it does not exist.
        let gone = Process { living_thread: -1, ..own };
        let Owner::Unknown(inodes) = owner(&mut procfs, &[parent, gone], at) else {
            panic!("known");
        };
        assert!(still_listens(&mut procfs, &inodes, at));
        drop(listener);
        // A process that another test is starting has a copy of the socket until it executes its program.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while still_listens(&mut procfs, &inodes, at) {
            assert!(std::time::Instant::now() < deadline, "still listens");
            std::thread::yield_now();
        }
        assert_eq!(owner(&mut procfs, &[own], at), Owner::Nobody);
    }

    #[test]
    fn listeners_on_other_addresses() {
        let mut procfs = ProcFs::open().unwrap();
        let own = [procfs.process(std::process::id() as i32).unwrap()];
        let mut owner_at = |address: &str, host: &str| {
            let listener = std::net::TcpListener::bind(address).unwrap();
            let port = listener.local_addr().unwrap().port();
            owner(&mut procfs, &own, SocketAddr::new(host.parse().unwrap(), port))
        };
        assert_eq!(owner_at("127.0.0.2:0", "127.0.0.2"), Owner::Trial);
        assert_eq!(owner_at("127.0.0.1:0", "127.0.0.2"), Owner::Nobody);
        assert_eq!(owner_at("0.0.0.0:0", "127.0.0.2"), Owner::Trial);
        if std::net::TcpListener::bind("[::1]:0").is_ok() {
            assert_eq!(owner_at("[::1]:0", "::1"), Owner::Trial);
            assert_eq!(owner_at("0.0.0.0:0", "::1"), Owner::Nobody);
        }
        let mut owner_of = |address: &str| owner_at(address, "127.0.0.1");
        assert_eq!(owner_of("127.0.0.2:0"), Owner::Nobody);
        assert_eq!(owner_of("0.0.0.0:0"), Owner::Trial);
        if std::net::TcpListener::bind("[::1]:0").is_ok() {
            assert_eq!(owner_of("[::1]:0"), Owner::Nobody);
            assert_eq!(owner_of("[::]:0"), Owner::Trial);
            assert_eq!(owner_of("[::ffff:127.0.0.1]:0"), Owner::Trial);
        }
    }
}
