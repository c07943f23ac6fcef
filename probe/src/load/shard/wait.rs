//! Waits until the next instant at which something is due.

use super::brief_poll::BriefPoll;
use super::wakeup::WakeupLatency;
use crate::clock::now_ns;
use crate::io::{Handler, Io, Wait};
use std::io;

/// A busy-poll that takes longer was preempted: the rest of it does not count as polling.
const MAX_POLL_NS: u64 = 10_000;

/// A handler that knows when its last event was.
pub trait Activity: Handler {
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
    latency: WakeupLatency,
    brief: BriefPoll,
    busy_poll_ns: u64,
}

impl Waiter {
    /// `polls_briefly`: before it sleeps until an event, if that pays.
    pub fn new(polls_briefly: bool) -> Waiter {
        Waiter {
            brief: BriefPoll::new(polls_briefly),
            ..Waiter::default()
        }
    }

    /// CPU time spent busy-polling, because the next instant was too near for a sleep.
    pub fn busy_poll_ns(&self) -> u64 {
        self.busy_poll_ns
    }

    /// Waits by turns of the back-end, until an event or the instant.
    pub fn wait<I: Io, H: Activity>(
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
        if at_ns <= now_ns {
            return io.turn(Wait::No, handler);
        }
        if !is_exact {
            let wait = match reads_at_ns.min(at_ns) {
                reads_at_ns if reads_at_ns > now_ns => Wait::Instant(reads_at_ns),
                _ => Wait::Event(at_ns),
            };
            if matches!(wait, Wait::Event(_)) && self.found_briefly(now_ns, at_ns, io, handler)? {
                return Ok(());
            }
            return io.turn(wait, handler);
        }
        let event_ns = handler.last_event_ns();
        let defers = reads_at_ns >= at_ns;
        match self.latency.sleep_until_ns(now_ns, at_ns) {
            None => {
                self.latency.polls(at_ns - now_ns);
                io.turn(Wait::No, handler)?;
            }
            Some(until_ns) => {
                let wait = match (defers, stays_unread) {
                    (true, true) => Wait::Sleep(until_ns),
                    (true, false) => Wait::Instant(until_ns),
                    (false, _) => Wait::Event(until_ns),
                };
                io.turn(wait, handler)?;
                let late_ns = self::now_ns().checked_sub(until_ns);
                // An event may have ended a wait for one.
                let late_ns = late_ns.filter(|_| defers || handler.last_event_ns() == event_ns);
                if let Some(late_ns) = late_ns {
                    self.latency.observe(late_ns);
                }
            }
        }
        if !defers && handler.last_event_ns() != event_ns {
            // What the event brought about must not wait in a queue of the back-end while this thread polls.
            return Ok(());
        }
        self.busy_poll(at_ns, defers, io, handler)
    }

    /// Polls for a moment, if that pays; whether an event came.
    fn found_briefly<I: Io, H: Activity>(
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
    fn busy_poll<I: Io, H: Activity>(
        &mut self,
        at_ns: u64,
        defers: bool,
        io: &mut I,
        handler: &mut H,
    ) -> io::Result<()> {
        let event_ns = handler.last_event_ns();
        let mut now = now_ns();
        if defers && self.is_to_poll(now, at_ns) {
            // The replies of the last wait may have left something in a queue, and no turn follows before the instant.
            io.flush()?;
            now = now_ns();
        }
        while self.is_to_poll(now, at_ns) {
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

    fn is_to_poll(&self, now_ns: u64, at_ns: u64) -> bool {
        now_ns < at_ns && self.latency.is_near(at_ns - now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{CloseReason, Next, Slot};
    use rustix::fd::OwnedFd;
    use rustix::net::SocketAddrAny;
    use std::rc::Rc;

    /// A back-end that notes its waits, and sleeps.
    #[derive(Default)]
    struct Waits(Vec<Wait>);

    impl Io for Waits {
        fn open(&mut self, _: Slot, _: OwnedFd, _: &SocketAddrAny) -> io::Result<()> {
            Ok(())
        }
        fn send(&mut self, _: Slot, _: Rc<[u8]>, _: &mut impl Handler) {}
        fn close(&mut self, _: Slot) {}
        fn socket(&self, _: Slot) -> Option<&OwnedFd> {
            None
        }
        fn pause(&mut self, _: Slot) {}
        fn resume(&mut self, _: Slot, _: &mut impl Handler) {}
        fn turn(&mut self, wait: Wait, _: &mut impl Handler) -> io::Result<()> {
            self.0.push(wait);
            if let Wait::Event(at) | Wait::Instant(at) | Wait::Sleep(at) = wait {
                crate::clock::sleep_until(at);
            }
            Ok(())
        }
        const NONBLOCKING: bool = true;
    }

    struct Idle;

    impl Handler for Idle {
        fn connected(&mut self, _: Slot) -> Next {
            Next::Wait
        }
        fn received(&mut self, _: Slot, _: &[u8], _: Option<u64>) -> Next {
            Next::Wait
        }
        fn sending(&mut self, _: Slot, _: u64) {}
        fn woken(&mut self, _: u64) {}
        fn closed(&mut self, _: Slot, _: CloseReason) {}
    }

    impl Activity for Idle {
        fn last_event_ns(&self) -> u64 {
            0
        }
        fn wait_begins(&mut self, _: u64) {}
    }

    /// So many waits for an event that does not come: the sleeps, the polls, and for how long they were.
    fn in_vain(mut waiter: Waiter, waits: usize) -> (usize, usize, u64) {
        let mut io = Waits::default();
        for _ in 0..waits {
            let now = now_ns();
            waiter
                .wait(Wakeup::at(now + 100_000), now, &mut io, &mut Idle)
                .unwrap();
        }
        let sleeps = io.0.iter().filter(|wait| matches!(wait, Wait::Event(_)));
        let polls = io.0.iter().filter(|wait| matches!(wait, Wait::No));
        (sleeps.count(), polls.count(), waiter.busy_poll_ns())
    }

    #[test]
    fn a_thread_with_a_cpu_of_its_own_polls_before_it_sleeps() {
        let (sleeps, polls, ns) = in_vain(Waiter::new(true), 32);
        assert_eq!(sleeps, 32);
        assert!(polls > 0 && ns > 0, "{polls} polls of {ns} ns");
        assert_eq!(in_vain(Waiter::new(false), 32), (32, 0, 0));
    }

    /// The waits for instants that are so far away, each after the one before.
    fn waits(defers: bool, stays_unread: bool, ahead_ns: u64) -> Vec<Wait> {
        let (mut waiter, mut io) = (Waiter::default(), Waits::default());
        for _ in 0..200 {
            let now = now_ns();
            let at_ns = now + ahead_ns;
            let wakeup = Wakeup {
                is_exact: true,
                reads_at_ns: if defers { at_ns } else { now },
                stays_unread,
                ..Wakeup::at(at_ns)
            };
            waiter.wait(wakeup, now, &mut io, &mut Idle).unwrap();
            assert!(!defers || now_ns() >= at_ns);
        }
        io.0
    }

    #[test]
    fn polling_makes_no_call_where_replies_wait() {
        // One turn for each wait, and none while it polls until the instant.
        for stays_unread in [false, true] {
            let waits = waits(true, stays_unread, 50_000);
            assert_eq!(waits.len(), 200);
            for wait in waits {
                match wait {
                    Wait::Sleep(_) => assert!(stays_unread),
                    Wait::Instant(_) => assert!(!stays_unread),
                    Wait::No => {}
                    Wait::Event(_) => panic!("ended by what arrives"),
                }
            }
        }
    }

    #[test]
    fn replies_end_a_wait_where_they_must() {
        let waits = waits(false, true, 50_000);
        assert!(waits.len() >= 200);
        assert!(waits
            .iter()
            .all(|wait| matches!(wait, Wait::Event(_) | Wait::No)));
    }

    /// A back-end that puts something into its queue for each event, until the next turn or flush.
    #[derive(Default)]
    struct Queue {
        brings_events: bool,
        /// How long a turn takes.
        turn_ns: u64,
        turns: u64,
        is_full: bool,
    }

    impl Io for Queue {
        fn open(&mut self, _: Slot, _: OwnedFd, _: &SocketAddrAny) -> io::Result<()> {
            Ok(())
        }
        fn send(&mut self, _: Slot, _: Rc<[u8]>, _: &mut impl Handler) {}
        fn close(&mut self, _: Slot) {}
        fn socket(&self, _: Slot) -> Option<&OwnedFd> {
            None
        }
        fn pause(&mut self, _: Slot) {}
        fn resume(&mut self, _: Slot, _: &mut impl Handler) {}
        fn turn(&mut self, _: Wait, handler: &mut impl Handler) -> io::Result<()> {
            self.turns += 1;
            self.is_full = self.brings_events;
            if self.brings_events {
                handler.received(0, b"x", None);
            }
            if self.turn_ns > 0 {
                crate::clock::sleep_until(now_ns() + self.turn_ns);
            }
            Ok(())
        }
        fn flush(&mut self) -> io::Result<()> {
            self.is_full = false;
            Ok(())
        }
        const NONBLOCKING: bool = true;
    }

    /// Counts its events in place of their times.
    #[derive(Default)]
    struct Counting(u64);

    impl Handler for Counting {
        fn connected(&mut self, _: Slot) -> Next {
            Next::Wait
        }
        fn received(&mut self, _: Slot, _: &[u8], _: Option<u64>) -> Next {
            self.0 += 1;
            Next::Wait
        }
        fn sending(&mut self, _: Slot, _: u64) {}
        fn woken(&mut self, _: u64) {}
        fn closed(&mut self, _: Slot, _: CloseReason) {}
    }

    impl Activity for Counting {
        fn last_event_ns(&self) -> u64 {
            self.0
        }
        fn wait_begins(&mut self, _: u64) {}
    }

    /// A thread whose wakeups are late: it polls for the last microseconds.
    fn polling() -> Waiter {
        let mut waiter = Waiter::default();
        (0..1000).for_each(|_| waiter.latency.observe(u64::MAX));
        waiter
    }

    /// So near that it is polled for.
    const NEAR_NS: u64 = 25_000;

    #[test]
    fn nothing_is_left_in_a_queue_while_the_thread_polls() {
        let mut handler = Counting::default();
        let mut io = Queue {
            brings_events: true,
            ..Queue::default()
        };
        let mut polls = 0;
        // On a busy host the instant has often passed before there is anything to poll for.
        while polls < 100 {
            let (mut waiter, now) = (polling(), now_ns());
            let wakeup = Wakeup {
                is_exact: true,
                reads_at_ns: now + NEAR_NS,
                ..Wakeup::at(now + NEAR_NS)
            };
            waiter.wait(wakeup, now, &mut io, &mut handler).unwrap();
            if waiter.busy_poll_ns() > 0 {
                polls += 1;
                assert!(!io.is_full);
            }
            // Where replies end a wait, it is over after the turn that brought one: the next wait submits.
            let (turns, now) = (io.turns, now_ns());
            let wakeup = Wakeup {
                is_exact: true,
                ..Wakeup::at(now + NEAR_NS)
            };
            waiter.wait(wakeup, now, &mut io, &mut handler).unwrap();
            assert_eq!(io.turns, turns + 1);
        }
    }

    #[test]
    fn a_poll_that_is_preempted_counts_as_a_short_one() {
        let (mut waiter, mut handler) = (polling(), Counting::default());
        let mut io = Queue {
            turn_ns: 1_000_000,
            ..Queue::default()
        };
        while io.turns < 50 {
            let at_ns = now_ns() + NEAR_NS;
            waiter
                .busy_poll(at_ns, false, &mut io, &mut handler)
                .unwrap();
        }
        // Milliseconds without the CPU are no polling, and must not be taken off the time in which the thread was busy.
        assert!(waiter.busy_poll_ns() <= io.turns * MAX_POLL_NS);
    }
}
