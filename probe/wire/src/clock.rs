//! The kernel's clocks as nanoseconds.

use crate::os;
pub use crate::os::sleep_until;

/// CLOCK_MONOTONIC: the same for all threads, and for servers on this machine.
pub fn now_ns() -> u64 {
    ns_of(libc::CLOCK_MONOTONIC)
}

/// How far CLOCK_MONOTONIC is ahead of the hardware's own clock, whose rate nobody can change. The thread may be preempted
/// between two readings: the least of some is right. 0 for a kernel without that clock.
pub fn ahead_of_raw_ns() -> i64 {
    let ahead_ns = || match ns_of(libc::CLOCK_MONOTONIC_RAW) {
        0 => 0,
        raw_ns => now_ns() as i64 - raw_ns as i64,
    };
    ahead_ns().min(ahead_ns()).min(ahead_ns())
}

/// CLOCK_REALTIME, by which the kernel stamps what arrives.
pub fn realtime_ns() -> u64 {
    ns_of(libc::CLOCK_REALTIME)
}

/// CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    ns_of(libc::CLOCK_THREAD_CPUTIME_ID)
}

pub fn process_cpu_ns() -> u64 {
    ns_of(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of all threads of a process, exact, where /proc counts in ticks. 0 once it has ended.
pub fn cpu_ns_of(pid: i32) -> u64 {
    const CPUCLOCK_SCHED: i32 = 2;
    ns_of((!pid << 3) | CPUCLOCK_SCHED)
}

fn ns_of(clock: libc::clockid_t) -> u64 {
    let (seconds, ns) = os::clock_time(clock);
    seconds as u64 * 1_000_000_000 + ns as u64
}
