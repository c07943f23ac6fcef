//! Source and target addresses of connections. A source address has some 28,000 ports for one target; loopback has
//! many addresses.

use crate::io::set_option;
use rustix::fd::OwnedFd;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Connections from one source address, below the usual range of ports.
const PER_SOURCE: u64 = 20_000;

pub struct Sources {
    targets: Vec<SocketAddr>,
    /// The addresses that the plan names; connections take them in turn.
    named: Vec<IpAddr>,
    /// More than one source address is needed, and available.
    spread: bool,
    /// The number of source addresses that are skipped because their ports are exhausted.
    shift: u64,
}

impl Sources {
    pub fn new(targets: &[SocketAddr], named: &[IpAddr], connections: usize) -> Sources {
        let loopback = targets.iter().all(|target| match target.ip() {
            IpAddr::V4(address) => address.is_loopback(),
            IpAddr::V6(_) => false,
        });
        Sources {
            targets: targets.to_vec(),
            named: named.to_vec(),
            spread: loopback && connections as u64 > PER_SOURCE * targets.len() as u64,
            shift: 0,
        }
    }

    /// Target and source of connection `number`, from 0.
    pub fn addresses(&self, number: u64) -> (SocketAddr, Option<IpAddr>) {
        let count = self.targets.len() as u64;
        let target = self.targets[(number % count) as usize];
        if !self.named.is_empty() {
            let turn = (number / count) as usize % self.named.len();
            return (target, Some(self.named[turn]));
        }
        let place = number / count / PER_SOURCE + self.shift;
        let spread = self.spread || self.shift > 0;
        // 127.0.0.1 to 127.0.255.254
        let source = Ipv4Addr::from(0x7f00_0001 + (place % 0xfffd) as u32);
        (target, spread.then_some(source.into()))
    }

    /// The source address of this connection has no ports left.
    pub fn exhausted(&mut self, number: u64) {
        let loopback = matches!(self.addresses(number).0.ip(), IpAddr::V4(address) if address.is_loopback());
        self.shift += u64::from(loopback);
    }
}

/// Binds a socket to a source address; the port is chosen at the connect, where its target is known, so
/// that the same port can serve several targets.
pub fn bind(socket: &OwnedFd, source: IpAddr) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
    Ok(rustix::net::bind(socket, &SocketAddr::from((source, 0)))?)
}

/// Makes the kernel buffer little for a socket that is not read, on this side and on the peer's: some 600 messages of
/// 40 bytes, where it would be 50,000. (The peer's buffer grows with the segment size that this side announces:
/// tcp_sndbuf_expand in the kernel.)
pub fn shrink_buffers(socket: &OwnedFd) -> io::Result<()> {
    rustix::net::sockopt::set_socket_recv_buffer_size(socket, 2048)?;
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, 88)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_spread_where_needed() {
        let target: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let few = Sources::new(&[target], &[], 20_000);
        assert_eq!(few.addresses(19_999), (target, None));
        let many = Sources::new(&[target], &[], 20_001);
        assert_eq!(many.addresses(19_999).1, Some(Ipv4Addr::new(127, 0, 0, 1).into()));
        assert_eq!(many.addresses(20_000).1, Some(Ipv4Addr::new(127, 0, 0, 2).into()));
        let own = [Ipv4Addr::new(127, 0, 0, 9).into(), Ipv4Addr::new(127, 0, 0, 5).into()];
        let named = Sources::new(&[target], &own, 20_001);
        let turns = [0, 1, 20_000].map(|number| named.addresses(number).1.unwrap());
        assert_eq!(turns, [own[0], own[1], own[0]]);
        let far = Sources::new(&["192.0.2.1:80".parse().unwrap()], &[], 100_000);
        assert_eq!(far.addresses(50_000).1, None);
    }

    #[test]
    fn exhausted_sources_are_skipped() {
        let target: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let mut sources = Sources::new(&[target], &[], 10);
        sources.exhausted(3);
        assert_eq!(sources.addresses(3).1, Some(Ipv4Addr::new(127, 0, 0, 2).into()));
        let mut far = Sources::new(&["192.0.2.1:80".parse().unwrap()], &[], 10);
        far.exhausted(3);
        assert_eq!(far.addresses(3).1, None);
    }

    #[test]
    fn a_bound_socket_connects() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let target = listener.local_addr().unwrap();
        let socket =
            rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None);
        let socket = socket.unwrap();
        bind(&socket, Ipv4Addr::new(127, 0, 0, 77).into()).unwrap();
        rustix::net::connect(&socket, &target).unwrap();
        let (_, peer) = listener.accept().unwrap();
        assert_eq!(peer.ip(), IpAddr::V4(Ipv4Addr::new(127, 0, 0, 77)));
    }

    #[test]
    fn little_is_buffered_for_a_paused_reader() {
        use std::io::Write;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let target = listener.local_addr().unwrap();
        let socket =
            rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None);
        let socket = socket.unwrap();
        shrink_buffers(&socket).unwrap();
        rustix::net::connect(&socket, &target).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        peer.set_nonblocking(true).unwrap();
        let message = [b'x'; 40];
        let taken = (0..100_000).take_while(|_| peer.write(&message).is_ok());
        assert!(taken.count() < 5000);
    }
}
