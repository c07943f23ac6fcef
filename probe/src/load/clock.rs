//! CLOCK_MONOTONIC, as nanoseconds: the same for all threads, and for servers on this machine.

use rustix::time::{clock_gettime, ClockId};

pub fn now_ns() -> u64 {
    of(ClockId::Monotonic)
}

/// CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    of(ClockId::ThreadCPUTime)
}

fn of(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
