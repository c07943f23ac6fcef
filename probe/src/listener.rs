//! Whose socket listens on a port: a program may name the port of somebody else's server.

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

/// Who listens on a TCP port, seen from the processes of the trial.
pub fn owner(procfs: &mut ProcFs, processes: &[Process], port: u16) -> Owner {
    let mut inodes = Vec::new();
    for table in ["net/tcp", "net/tcp6"] {
        if let Some(text) = procfs.read(format_args!("{table}")) {
            inodes.extend(listening(text, port));
        }
    }
    if inodes.is_empty() {
        return Owner::Nobody;
    }
    let mut readable = true;
    for process in processes.iter().filter(|process| process.alive) {
        match procfs.sockets(process.pid) {
            Some(sockets) if sockets.iter().any(|socket| inodes.contains(socket)) => {
                return Owner::Trial
            }
            Some(_) => {}
            None => readable = false,
        }
    }
    match readable {
        true => Owner::Other,
        false => Owner::Unknown,
    }
}

/// The inodes of the sockets that listen on a port, from a table of /proc/net.
fn listening(table: &[u8], port: u16) -> Vec<u64> {
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
            let own = local.rsplit(|&byte| byte == b':').next()?;
            let is_one = state == LISTEN && own == port.as_bytes();
            is_one.then(|| std::str::from_utf8(inode).ok()?.parse().ok())?
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
        assert_eq!(listening(TABLE, 8080), [4711]);
        assert_eq!(listening(TABLE, 22), [99]);
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
}
