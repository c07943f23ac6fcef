//! How a thread waits until the next instant at which something is due, and how late it reads what has come meanwhile.

use crate::io::{Handler, Io, Wait};
use std::io;
use wire::clock::now_ns;

/// A busy-poll that takes longer was preempted: the rest of it does not count as polling.
const MAX_POLL_NS: u64 = 10_000;

/// The events for which a shard waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// The next instant at which something is due.
    pub at_ns: u64,
    /// A request is due then: each microsecond of delay counts.
    pub is_exact: bool,
    /// Replies that arrive earlier do not end the wait.
    pub reads_at_ns: u64,
    /// Replies that have arrived by then may stay unread until another wait.
    pub stays_unread: bool,
}

impl Wakeup {
    pub fn at(at_ns: u64) -> Wakeup {
        Wakeup { at_ns, is_exact: false, reads_at_ns: 0, stays_unread: false }
    }
}

#[derive(Default)]
pub struct Waiter {
    /// A sleep before a due instant ends this long before it, and the thread polls for the rest.
    early_ns: u64,
    brief: BriefPoll,
    /// CPU time spent busy-polling, because the next instant was too near for a sleep.
    pub busy_poll_ns: u64,
}

impl Waiter {
    /// `polls_briefly`: before it sleeps until an event, if that pays. `sleeps_late_ns`: how late sleeps end as a rule.
    pub fn new(polls_briefly: bool, sleeps_late_ns: u64) -> Waiter {
        Waiter { early_ns: sleeps_late_ns, brief: BriefPoll::new(polls_briefly), busy_poll_ns: 0 }
    }

    /// Waits by turns of the back-end, until an event or the instant.
    pub fn wait<I: Io, H: Handler>(
        &mut self,
        wakeup: Wakeup,
        now_ns: u64,
        io: &mut I,
        handler: &mut H,
    ) -> io::Result<()> {
        let Wakeup { at_ns, is_exact, reads_at_ns, stays_unread } = wakeup;
        handler.wait_begins(now_ns);
        let until_ns = at_ns.saturating_sub(if is_exact { self.early_ns } else { 0 });
        let defers = reads_at_ns >= at_ns;
        let wait = match reads_at_ns.min(until_ns) {
            _ if until_ns <= now_ns => Wait::No,
            reads_at_ns if reads_at_ns <= now_ns => Wait::Event(until_ns),
            // The shard sends due requests before it reads replies.
            _ if defers && stays_unread => Wait::Sleep(until_ns),
            reads_at_ns => Wait::Instant(reads_at_ns),
        };
        if matches!(wait, Wait::Event(_)) {
            if let Some(poll_until_ns) = self.brief.until_ns(now_ns, at_ns) {
                let is_found = self.poll(poll_until_ns, false, io, handler)?;
                self.brief.polled(is_found);
                if is_found {
                    return Ok(());
                }
                handler.wait_begins(self::now_ns());
            }
        }
        let has_events = io.turn(wait, handler)?;
        // An event may have brought about something that is due before.
        if (has_events && !defers) || self::now_ns() < until_ns {
            return Ok(());
        }
        self.poll(at_ns, defers, io, handler).map(drop)
    }

    /// Polls until an instant, which uses a whole CPU to wait. Returns whether an event came first. It looks for none
    /// where replies wait (`defers`).
    fn poll<I: Io, H: Handler>(
        &mut self,
        until_ns: u64,
        defers: bool,
        io: &mut I,
        handler: &mut H,
    ) -> io::Result<bool> {
        let mut now = now_ns();
        while now < until_ns {
            match defers {
                true => std::hint::spin_loop(),
                false => {
                    handler.wait_begins(now);
                    if io.turn(Wait::No, handler)? {
                        return Ok(true);
                    }
                }
            }
            let before_ns = std::mem::replace(&mut now, now_ns());
            self.busy_poll_ns += (now - before_ns).min(MAX_POLL_NS);
        }
        Ok(false)
    }
}

/// A sleep and the wake-up from it take about this long on a virtual machine.
const MAX_BRIEF_POLL_NS: u64 = 20_000;
/// One of this many waits begins with polling where polling was in vain before: the load may have changed.
const BRIEF_ATTEMPT: u64 = 32;
/// The weight of the last attempt in the estimate.
const ATTEMPT_WEIGHT: f64 = 1.0 / 16.0;
/// The share of attempts during which something came, from which on polling saves more than it costs.
const MIN_FOUND_SHARE: f64 = 0.5;

/// Whether to poll for a moment before a sleep, by what polling brought about so far: in closed loops whose threads have
/// CPUs of their own. A generator that sleeps between two replies has to be woken by the server, whose CPU pays for that:
/// on loopback, not over a network.
#[derive(Debug, Default)]
pub struct BriefPoll {
    is_allowed: bool,
    waits: u64,
    found_share: f64,
}

impl BriefPoll {
    pub fn new(is_allowed: bool) -> BriefPoll {
        BriefPoll { is_allowed, ..BriefPoll::default() }
    }

    /// Until when to poll before a sleep that lasts until `at_ns`; None if polling does not pay.
    pub fn until_ns(&mut self, now_ns: u64, at_ns: u64) -> Option<u64> {
        if !self.is_allowed {
            return None;
        }
        self.waits += 1;
        let pays = self.found_share >= MIN_FOUND_SHARE || self.waits % BRIEF_ATTEMPT == 0;
        pays.then(|| at_ns.min(now_ns + MAX_BRIEF_POLL_NS))
    }

    /// Polling has ended. `found`: with an event.
    pub fn polled(&mut self, found: bool) {
        self.found_share += ATTEMPT_WEIGHT * (f64::from(u8::from(found)) - self.found_share);
    }
}

/// A wait that takes longer was ended by an event, whose bytes have just arrived.
const MAX_LOOK_NS: u64 = 10_000;

/// How late bytes are read, at most: the time since the thread could have seen them.
#[derive(Debug)]
pub struct ReadLateness {
    wait_began_ns: u64,
    /// Bytes that are read now arrived at this time or later.
    unread_from_ns: u64,
    /// When the last wait ended: the events that are handed over now had happened by then.
    pub woken_ns: u64,
}

impl ReadLateness {
    pub fn new(now_ns: u64) -> ReadLateness {
        ReadLateness { wait_began_ns: now_ns, unread_from_ns: now_ns, woken_ns: now_ns }
    }

    pub fn wait_begins(&mut self, now_ns: u64) {
        self.wait_began_ns = now_ns;
    }

    /// A wait has ended. Bytes that were there at once may have arrived at any time since the look before.
    pub fn woken(&mut self, now_ns: u64) {
        let was_ready = now_ns.saturating_sub(self.wait_began_ns) <= MAX_LOOK_NS;
        self.unread_from_ns = if was_ready { self.woken_ns } else { now_ns };
        self.woken_ns = now_ns;
    }

    /// How late bytes are read now, at most; or, of those that came before others, how much earlier at most.
    pub fn late_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.unread_from_ns)
    }
}

/// Replies wait at most this long.
const MAX_DEFERRAL_NS: u64 = 1_000_000;
/// This many replies in succession must have come whole before any waits: the rest of a reply may depend on the reading
/// of its first part (a full buffer, an acknowledgement).
const WHOLE_REPLIES: u32 = 64;
/// The engine reads waiting replies after this many sent requests, or after this time. Not after each request: reading
/// one reply takes as many system calls as reading several.
const UNREAD_SENDS: u32 = 8;
const UNREAD_NS: u64 = 500_000;
/// Read coalescing: chunks of many streams are read together, once in this long. Without stamps a lateness can be too
/// large by this.
const COALESCE_NS: u64 = 500_000;
/// With stamps for longer: at most a quarter of the interval between two chunks of a stream. Chunks that are read at once
/// share the stamp of the last, which makes the lateness of the first too large. Two chunks of one stream can only meet
/// within a quarter of their interval if the first is late by three quarters, so this adds at most a third to it.
const COALESCE_STAMPED_NS: u64 = 8_000_000;
const COALESCED_PARTS: u64 = 4;
/// For an interval that is not known.
const COALESCE_UNKNOWN_NS: u64 = 2_000_000;

/// Whether replies may wait in the kernel until the thread has something else to do. This saves a wake-up for each, and
/// the kernel has stamped when it came.
#[derive(Debug, Default)]
pub struct Deferral {
    coalesced_ns: u64,
    is_stamped: bool,
    whole: u32,
    /// The last look at what has arrived, and the requests sent since.
    looked_ns: u64,
    sent: u32,
    /// Nothing had arrived by the last look, and nothing was sent since.
    is_quiet: bool,
}

impl Deferral {
    /// `interval_ns`: between two chunks of a stream, where the plan has it.
    pub fn new(interval_ns: Option<u64>) -> Deferral {
        let part_ns = interval_ns.map(|interval_ns| interval_ns / COALESCED_PARTS);
        Deferral {
            coalesced_ns: part_ns.unwrap_or(COALESCE_UNKNOWN_NS).min(COALESCE_STAMPED_NS),
            ..Deferral::default()
        }
    }

    /// Bytes were read. `is_whole`: they completed a reply.
    pub fn read(&mut self, is_stamped: bool, is_whole: bool) {
        self.is_stamped = is_stamped;
        self.is_quiet = false;
        self.whole = if is_whole { self.whole.saturating_add(1) } else { 0 };
    }

    /// Until when replies wait if the next requests are sent at `at_ns`; the present where they do not.
    pub fn until_ns(&self, now_ns: u64, at_ns: u64) -> u64 {
        // The first of those that come late ends a wait, rather than many looks in vain.
        match self.is_stamped && self.whole >= WHOLE_REPLIES && !self.is_quiet {
            true => at_ns.min(now_ns + MAX_DEFERRAL_NS),
            false => now_ns,
        }
    }

    /// A request goes to the kernel.
    pub fn sent(&mut self) {
        self.sent += 1;
        self.is_quiet = false;
    }

    /// The wait hands over now the bytes that had arrived.
    pub fn looked(&mut self, now_ns: u64) {
        self.looked_ns = now_ns;
        self.sent = 0;
        self.is_quiet = true;
    }

    /// Whether replies that wait need not even be read when the request that is due at `at_ns` is sent. `free`: how many
    /// of the connections have no request. Where fewer are, replies come late, and are looked for each time.
    pub fn stay_unread(&self, at_ns: u64, free: usize, connections: usize) -> bool {
        let is_recent = at_ns < self.looked_ns + UNREAD_NS;
        self.sent < UNREAD_SENDS && is_recent && 2 * free > connections
    }

    /// Until when the chunks of streams wait.
    pub fn coalesced_until_ns(&self, last_event_ns: u64) -> u64 {
        let most_ns = if self.is_stamped { u64::MAX } else { COALESCE_NS };
        last_event_ns + self.coalesced_ns.min(most_ns)
    }
}

#[cfg(test)]
mod tests;
