//! Waits until the next instant at which something is due.

use super::wakeup::WakeupLatency;
use crate::clock::now_ns;
use crate::io::{Handler, Io};
use std::io;
use std::time::Duration;

/// Read coalescing: chunks of many streams are read together, once in so long, since a wakeup for each would cost more
/// than all other work. A lateness can be too large by this.
const COALESCE_NS: u64 = 500_000;
/// A busy-poll that takes longer was preempted: the rest of it does not count as polling.
const MAX_POLL_NS: u64 = 10_000;

/// A handler that knows when its last event was.
pub trait Activity: Handler {
    fn last_event_ns(&self) -> u64;
    /// The next turn of the back-end begins now.
    fn wait_begins(&mut self, now_ns: u64);
}

#[derive(Default)]
pub struct Waiter {
    latency: WakeupLatency,
    busy_poll_ns: u64,
}

impl Waiter {
    /// CPU time spent busy-polling, because the next instant was too near for a sleep.
    pub fn busy_poll_ns(&self) -> u64 {
        self.busy_poll_ns
    }

    /// One turn of the back-end, which ends with an event, and else at an instant. `coalesce`: whether reads are
    /// coalesced.
    pub fn wait_until<I: Io, H: Activity>(
        &mut self,
        wake_ns: u64,
        coalesce: bool,
        io: &mut I,
        handler: &mut H,
    ) -> io::Result<()> {
        let mut begin_ns = now_ns();
        if coalesce {
            let next_read_ns = handler.last_event_ns() + COALESCE_NS;
            let pause_ns = wake_ns.min(next_read_ns).saturating_sub(begin_ns);
            if pause_ns > 0 {
                std::thread::sleep(Duration::from_nanos(pause_ns));
                begin_ns = now_ns();
            }
        }
        let wait = self.latency.wait(wake_ns.saturating_sub(begin_ns));
        if wait.is_zero() && begin_ns < wake_ns {
            return self.busy_poll(wake_ns, begin_ns, io, handler);
        }
        let event_ns = handler.last_event_ns();
        handler.wait_begins(begin_ns);
        io.turn(wait, handler)?;
        let mut now = now_ns();
        let woken_ns = match handler.last_event_ns() {
            last if last == event_ns => now,
            last => last,
        };
        let took_ns = woken_ns.saturating_sub(begin_ns);
        // An event ended the wait. An event after the time-out came while the wakeup was late.
        if wait.is_zero() || took_ns < wait.as_nanos() as u64 {
            return Ok(());
        }
        self.latency.observe(wait, took_ns);
        if handler.last_event_ns() != event_ns {
            // What the event brought about must not wait in a queue of the back-end while this thread spins.
            return Ok(());
        }
        while now < wake_ns && self.latency.is_near(wake_ns - now) {
            std::hint::spin_loop();
            let before_ns = std::mem::replace(&mut now, now_ns());
            self.busy_poll_ns += (now - before_ns).min(MAX_POLL_NS);
        }
        Ok(())
    }

    /// Polls for events until an instant that is nearer than a sleep is long. It takes a whole CPU, and yet is waiting.
    fn busy_poll<I: Io, H: Activity>(
        &mut self,
        wake_ns: u64,
        mut begin_ns: u64,
        io: &mut I,
        handler: &mut H,
    ) -> io::Result<()> {
        let event_ns = handler.last_event_ns();
        while begin_ns < wake_ns {
            handler.wait_begins(begin_ns);
            io.turn(Duration::ZERO, handler)?;
            if handler.last_event_ns() != event_ns {
                break;
            }
            let now = now_ns();
            self.busy_poll_ns += (now - begin_ns).min(MAX_POLL_NS);
            begin_ns = now;
        }
        Ok(())
    }
}
