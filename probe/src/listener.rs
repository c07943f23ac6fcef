//! Whose socket listens on a port of 127.0.0.1, where loads connect: a program may name the port of somebody else's
//! server, also one where it listens itself on another address.

use crate::procfs::{ProcFs, Process};

/// The state of a listening socket in /proc/net/tcp.
const LISTEN: &[u8] = b"0A";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A process of the trial.
    Trial,
    /// Somebody else.
    Other,
    /// Nothing listens there.
    Nobody,
    /// Files of a process of the trial cannot be read.
    Unknown,
}

/// Who accepts connections to a TCP port of 127.0.0.1, seen from the processes of the trial.
pub fn owner(procfs: &mut ProcFs, processes: &[Process], port: u16) -> Owner {
    let mut listeners = Vec::new();
    for table in ["net/tcp", "net/tcp6"] {
        if let Some(text) = procfs.read(format_args!("{table}")) {
            listeners.extend(listening(text, port));
        }
    }
    // The kernel prefers the socket with the nearest address; those with the same one share the connections.
    let Some(nearest) = listeners.iter().map(|(distance, _)| *distance).min() else {
        return Owner::Nobody;
    };
    listeners.retain(|(distance, _)| *distance == nearest);
    let mut inodes: Vec<u64> = listeners.into_iter().map(|(_, inode)| inode).collect();
    let mut readable = true;
    for process in processes.iter().filter(|process| process.alive) {
        match procfs.sockets(process.pid) {
            Some(sockets) => inodes.retain(|inode| !sockets.contains(inode)),
            None => readable = false,
        }
    }
    match (inodes.is_empty(), readable) {
        (true, _) => Owner::Trial,
        (false, true) => Owner::Other,
        (false, false) => Owner::Unknown,
    }
}

/// How far an address of a listening socket, as tables of /proc/net show it, is from 127.0.0.1; None where it does
/// not accept connections to that.
fn distance(address: &[u8]) -> Option<u8> {
    let word = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
    let loopback = word([127, 0, 0, 1]);
    let mapped = format!("{:016}{}{loopback}", 0, word([0, 0, 0xFF, 0xFF]));
    if address == loopback.as_bytes() || address == mapped.as_bytes() {
        return Some(0);
    }
    let is_any = address.iter().all(|&digit| digit == b'0');
    is_any.then_some(if address.len() == 8 { 1 } else { 2 })
}

/// The sockets that listen on a port, from a table of /proc/net: distances of their addresses, and inodes.
fn listening(table: &[u8], port: u16) -> Vec<(u8, u64)> {
    let port = format!("{port:04X}");
    let lines = table.split(|&byte| byte == b'\n').skip(1);
    lines
        .filter_map(|line| {
            let mut fields = line
                .split(|byte| byte.is_ascii_whitespace())
                .filter(|field| !field.is_empty());
            let local = fields.nth(1)?;
            let state = fields.nth(1)?;
            let inode = fields.nth(5)?;
            let mut parts = local.split(|&byte| byte == b':');
            let (address, own) = (parts.next()?, parts.next()?);
            if state != LISTEN || own != port.as_bytes() {
                return None;
            }
            let inode = std::str::from_utf8(inode).ok()?.parse().ok()?;
            Some((distance(address)?, inode))
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
        assert_eq!(listening(TABLE, 8080), [(0, 4711)]);
        assert_eq!(listening(TABLE, 22), [(1, 99)]);
        assert!(listening(TABLE, 80).is_empty());
        assert!(listening(b"", 80).is_empty());
    }

    #[test]
    fn our_own_listener_and_nobodys() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut procfs = ProcFs::open().unwrap();
        let own = procfs.process(std::process::id() as i32).unwrap();
        let parent = procfs.process(own.parent).unwrap();
        assert_eq!(owner(&mut procfs, &[own], port), Owner::Trial);
        assert_eq!(owner(&mut procfs, &[parent], port), Owner::Other);
        drop(listener);
        assert_eq!(owner(&mut procfs, &[own], port), Owner::Nobody);
    }

    #[test]
    fn listeners_on_other_addresses() {
        let mut procfs = ProcFs::open().unwrap();
        let own = [procfs.process(std::process::id() as i32).unwrap()];
        let mut owner_of = |address: &str| {
            let listener = std::net::TcpListener::bind(address).unwrap();
            owner(&mut procfs, &own, listener.local_addr().unwrap().port())
        };
        assert_eq!(owner_of("127.0.0.2:0"), Owner::Nobody);
        assert_eq!(owner_of("0.0.0.0:0"), Owner::Trial);
        if std::net::TcpListener::bind("[::1]:0").is_ok() {
            assert_eq!(owner_of("[::1]:0"), Owner::Nobody);
            assert_eq!(owner_of("[::]:0"), Owner::Trial);
            assert_eq!(owner_of("[::ffff:127.0.0.1]:0"), Owner::Trial);
        }
    }
}
