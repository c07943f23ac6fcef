//! The kernel's clocks as nanoseconds, and back.

use rustix::event::Timespec;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{clock_gettime, ClockId};

/// CLOCK_MONOTONIC: the same for all threads, and for servers on this machine.
pub fn now_ns() -> u64 {
    of(ClockId::Monotonic)
}

/// CLOCK_REALTIME, by which the kernel stamps what arrives.
pub fn realtime_ns() -> u64 {
    of(ClockId::Realtime)
}

/// Sleeps until an instant of [`now_ns`], or a signal.
pub fn sleep_until(at_ns: u64) {
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(at_ns));
}

/// CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    of(ClockId::ThreadCPUTime)
}

/// CPU time of this process.
pub fn process_cpu_ns() -> u64 {
    of(ClockId::ProcessCPUTime)
}

/// A length of time as the kernel takes it.
pub fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    }
}

fn of(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
