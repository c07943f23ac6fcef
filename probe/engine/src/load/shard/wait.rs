//! Waits until the next instant at which something is due.

use super::brief_poll::BriefPoll;
use crate::io::Wait;
use crate::load::client::{Client, Transport};
use std::io;
use wire::clock::now_ns;

/// A busy-poll that takes longer was preempted: the rest of it does not count as polling.
const MAX_POLL_NS: u64 = 10_000;

/// A handler that knows when its last event was.
pub trait Activity: Client {
    fn last_event_ns(&self) -> u64;
    /// The next turn of the back-end begins now.
    fn wait_begins(&mut self, now_ns: u64);
}

/// What a shard waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// The next instant at which something is due.
    pub at_ns: u64,
    /// Whether each microsecond after it counts.
    pub is_exact: bool,
    /// What arrives before does not end the wait.
    pub reads_at_ns: u64,
    /// What has arrived by then can be left for another wait.
    pub stays_unread: bool,
}

impl Wakeup {
    pub fn at(at_ns: u64) -> Wakeup {
        Wakeup {
            at_ns,
            is_exact: false,
            reads_at_ns: 0,
            stays_unread: false,
        }
    }
}

#[derive(Default)]
pub struct Waiter {
    /// A sleep that must end at an instant is to end so long before it, and the thread polls for the rest.
    early_ns: u64,
    brief: BriefPoll,
    busy_poll_ns: u64,
}

impl Waiter {
    /// `polls_briefly`: before it sleeps until an event, if that pays. `sleeps_late_ns`: how late sleeps end as a rule.
    pub fn new(polls_briefly: bool, sleeps_late_ns: u64) -> Waiter {
        Waiter {
            early_ns: sleeps_late_ns,
            brief: BriefPoll::new(polls_briefly),
            busy_poll_ns: 0,
        }
    }

    /// CPU time spent busy-polling, because the next instant was too near for a sleep.
    pub fn busy_poll_ns(&self) -> u64 {
        self.busy_poll_ns
    }

    /// Waits by turns of the back-end, until an event or the instant.
    pub fn wait<I: Transport, H: Activity>(
        &mut self,
        wakeup: Wakeup,
        now_ns: u64,
        io: &mut I,
        handler: &mut H,
    ) -> io::Result<()> {
        let Wakeup {
            at_ns,
            is_exact,
            reads_at_ns,
            stays_unread,
        } = wakeup;
        handler.wait_begins(now_ns);
        let event_ns = handler.last_event_ns();
        let until_ns = at_ns.saturating_sub(if is_exact { self.early_ns } else { 0 });
        let defers = reads_at_ns >= at_ns;
        let wait = match reads_at_ns.min(until_ns) {
            _ if until_ns <= now_ns => Wait::No,
            reads_at_ns if reads_at_ns <= now_ns => Wait::Event(until_ns),
            // What is due is sent before what has come is read.
            _ if defers && stays_unread => Wait::Sleep(until_ns),
            reads_at_ns => Wait::Instant(reads_at_ns),
        };
        if matches!(wait, Wait::Event(_)) && self.found_briefly(now_ns, at_ns, io, handler)? {
            return Ok(());
        }
        io.turn(wait, handler)?;
        // An event may have brought about something that is due before.
        let is_ended = !defers && handler.last_event_ns() != event_ns;
        if is_ended || self::now_ns() < until_ns {
            return Ok(());
        }
        self.busy_poll(at_ns, defers, io, handler)
    }

    /// Polls for a moment, if that pays; whether an event came.
    fn found_briefly<I: Transport, H: Activity>(
        &mut self,
        now_ns: u64,
        at_ns: u64,
        io: &mut I,
        handler: &mut H,
    ) -> io::Result<bool> {
        let Some(until_ns) = self.brief.until_ns(now_ns, at_ns) else {
            return Ok(false);
        };
        let event_ns = handler.last_event_ns();
        let mut now = now_ns;
        while now < until_ns {
            io.turn(Wait::No, handler)?;
            if handler.last_event_ns() != event_ns {
                self.brief.polled(true);
                return Ok(true);
            }
            let before_ns = std::mem::replace(&mut now, self::now_ns());
            self.busy_poll_ns += (now - before_ns).min(MAX_POLL_NS);
            handler.wait_begins(now);
        }
        self.brief.polled(false);
        Ok(false)
    }

    /// Polls until an instant that is nearer than a sleep is long. It takes a whole CPU, and yet is waiting.
    fn busy_poll<I: Transport, H: Activity>(
        &mut self,
        at_ns: u64,
        defers: bool,
        io: &mut I,
        handler: &mut H,
    ) -> io::Result<()> {
        let event_ns = handler.last_event_ns();
        let mut now = now_ns();
        while now < at_ns {
            match defers {
                true => std::hint::spin_loop(),
                false => {
                    handler.wait_begins(now);
                    io.turn(Wait::No, handler)?;
                    if handler.last_event_ns() != event_ns {
                        break;
                    }
                }
            }
            let before_ns = std::mem::replace(&mut now, now_ns());
            self.busy_poll_ns += (now - before_ns).min(MAX_POLL_NS);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
