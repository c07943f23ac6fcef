//! The kernel's stamps of arriving bytes (SO_TIMESTAMPING, software stamps; Documentation/networking/timestamping.rst).
//! TCP has one for each segment, also over loopback; the bytes of a read have that of the last segment in it. So bytes
//! that a busy or sleeping thread reads late still have the time at which they arrived.
#![allow(unsafe_code)]

use super::set_option;
use rustix::fd::{AsRawFd, OwnedFd};
use std::{io, mem};
use wire::clock::{now_ns, realtime_ns};

/// SOF_TIMESTAMPING_RX_SOFTWARE and SOF_TIMESTAMPING_SOFTWARE of linux/net_tstamp.h: take stamps, and report them.
const RECEIVED: libc::c_int = 1 << 3 | 1 << 4;
/// The message's header, and three times: the software's comes first.
const CONTROL_BYTES: usize = mem::size_of::<libc::cmsghdr>() + 3 * mem::size_of::<Time>();

type Time = [i64; 2];

/// The connections that have stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamping {
    None,
    /// The first connection, and one of each further group of connections.
    Sampled,
    All,
}

const SAMPLED: usize = 64;

impl Stamping {
    pub fn includes(self, slot: usize) -> bool {
        match self {
            Stamping::None => false,
            Stamping::Sampled => slot % SAMPLED == 0,
            Stamping::All => true,
        }
    }
}

/// Room for the control message of one read, aligned as the kernel's structures.
#[repr(C)]
union Control {
    bytes: [u8; CONTROL_BYTES],
    _header: libc::cmsghdr,
}

/// Asks for stamps. Where the kernel has none, reads have no stamp.
pub fn enable(socket: &OwnedFd) {
    let _ = set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, RECEIVED);
}

/// Reads what has arrived, with its stamp by CLOCK_REALTIME.
pub fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let mut control = Control { bytes: [0; CONTROL_BYTES] };
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: zeroes are a valid header, of an empty message.
    let mut message = unsafe { mem::zeroed::<libc::msghdr>() };
    (message.msg_iov, message.msg_iovlen) = (&mut part, 1);
    message.msg_control = (&mut control as *mut Control).cast();
    message.msg_controllen = CONTROL_BYTES;
    // SAFETY: the header describes `buffer` and `control`, which outlive the call.
    let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, 0) };
    if count < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all bytes of the union are initialised.
    let control = unsafe { &control.bytes };
    let length = message.msg_controllen.min(CONTROL_BYTES);
    Ok((count as usize, of_control(&control[..length])))
}

/// The stamp in a control message.
fn of_control(control: &[u8]) -> Option<u64> {
    const HEADER: usize = mem::size_of::<libc::cmsghdr>();
    if control.len() < CONTROL_BYTES {
        return None;
    }
    // SAFETY: this many bytes are there, and any bytes are valid for both types.
    let (header, time) = unsafe {
        let start = control.as_ptr();
        (start.cast::<libc::cmsghdr>().read_unaligned(), start.add(HEADER).cast::<Time>().read_unaligned())
    };
    let is_stamp = header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_TIMESTAMPING;
    let [seconds, nanoseconds] = time.map(|part| u64::try_from(part).ok());
    let stamp = seconds?.checked_mul(1_000_000_000)?.checked_add(nanoseconds?)?;
    Some(stamp).filter(|&stamp| is_stamp && stamp > 0)
}

/// Both clocks are read within this long, unless the thread is preempted between.
const MAX_BRACKET_NS: u64 = 1_000;
/// How often they are read again.
const ATTEMPTS: u32 = 8;

/// How far CLOCK_MONOTONIC is behind CLOCK_REALTIME, the clock of the stamps. It is read again at each wake-up, since
/// the administrator may set the time.
pub fn monotonic_behind_ns() -> u64 {
    behind_ns(|| (now_ns(), realtime_ns(), now_ns()))
}

/// `clocks`: CLOCK_REALTIME between two readings of CLOCK_MONOTONIC. The attempt whose readings are closest counts, and
/// the later of them, so a converted stamp is never earlier than the arrival.
fn behind_ns(mut clocks: impl FnMut() -> (u64, u64, u64)) -> u64 {
    let mut narrowest = (u64::MAX, 0);
    for _ in 0..ATTEMPTS {
        let (before_ns, real_ns, after_ns) = clocks();
        let bracket_ns = after_ns.saturating_sub(before_ns);
        narrowest = narrowest.min((bracket_ns, real_ns.saturating_sub(after_ns)));
        if bracket_ns <= MAX_BRACKET_NS {
            break;
        }
    }
    narrowest.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::clock::now_ns;

    fn control(level: i32, kind: i32, time: Time) -> Vec<u8> {
        let mut bytes = (CONTROL_BYTES).to_ne_bytes().to_vec();
        bytes.extend_from_slice(&level.to_ne_bytes());
        bytes.extend_from_slice(&kind.to_ne_bytes());
        for part in time {
            bytes.extend_from_slice(&part.to_ne_bytes());
        }
        bytes.resize(CONTROL_BYTES, 0);
        bytes
    }

    #[test]
    fn stamps_of_control_messages() {
        let (level, kind) = (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING);
        let right = control(level, kind, [12, 34]);
        assert_eq!(of_control(&right), Some(12_000_000_034));
        for length in 0..right.len() {
            assert_eq!(of_control(&right[..length]), None);
        }
        for wrong in [
            control(level, kind, [0, 0]),
            control(level, kind, [-1, 0]),
            control(level, kind, [0, -1]),
            control(level, kind, [i64::MAX, 0]),
            control(level, kind + 1, [12, 34]),
            control(level + 1, kind, [12, 34]),
        ] {
            assert_eq!(of_control(&wrong), None);
        }
    }

    #[test]
    fn stamps_become_instants_of_the_monotonic_clock() {
        let before = now_ns();
        let behind_ns = monotonic_behind_ns();
        let instant = realtime_ns() - behind_ns;
        let after = now_ns();
        // Two reads of the clocks are between.
        assert!(instant >= before && instant <= after + (after - before));
    }

    /// CLOCK_REALTIME is a second ahead; the thread is away for this long before and after its reading.
    #[test]
    fn a_preemption_between_the_clocks_shifts_no_stamp() {
        const AWAY_NS: u64 = 3_000_000;
        const AHEAD_NS: u64 = 1_000_000_000;
        let read = |away: &[(u64, u64)]| {
            let mut away = away.iter();
            let behind_ns = behind_ns(|| {
                let (before_ns, after_ns) = away.next().unwrap_or(&(0, 0));
                let real_ns = 1_000_050 + before_ns;
                (1_000_000, real_ns + AHEAD_NS, real_ns + 50 + after_ns)
            });
            AHEAD_NS + 2_000_000 - behind_ns
        };
        // Never earlier than it was, and later by the rest of the bracket at most.
        assert_eq!(read(&[]), 2_000_050);
        assert_eq!(read(&[(AWAY_NS, 0); 8]), 2_000_050);
        assert_eq!(read(&[(0, AWAY_NS); 7]), 2_000_050);
        assert_eq!(read(&[(0, AWAY_NS); 8]), 2_000_050 + AWAY_NS);
    }
}
