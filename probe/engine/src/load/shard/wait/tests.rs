//! How a thread waits: sleeps, polls, and what ends them.

use super::*;
use crate::io::fakes::{Counting, FakeIo};
use crate::io::{Next, Slot};
use crate::load::client::{Ending, Part};

impl Client for Counting {
    fn handshaking(&mut self, _: Slot) {}
    fn joined(&mut self, _: Slot, _: bool) -> Next {
        Next::Wait
    }
    fn released(&mut self, _: Slot, _: Option<u64>) {}
    fn parsed(&mut self, _: Slot, _: Part<'_>, _: Option<u64>) -> Next {
        Next::Wait
    }
    fn ended(&mut self, _: Slot, _: Ending) {}
}

impl Activity for Counting {
    /// Their count in place of a time.
    fn last_event_ns(&self) -> u64 {
        self.received
    }
    fn wait_begins(&mut self, _: u64) {}
}

/// A back-end that sleeps until the instants of its waits.
fn sleeping() -> FakeIo {
    FakeIo {
        sleeps: true,
        ..FakeIo::default()
    }
}

/// So many waits for an event that does not come: the sleeps, the polls, and for how long they were.
fn in_vain(mut waiter: Waiter, waits: usize) -> (usize, usize, u64) {
    let mut io = sleeping();
    for _ in 0..waits {
        let now = now_ns();
        waiter
            .wait(
                Wakeup::at(now + 100_000),
                now,
                &mut io,
                &mut Counting::default(),
            )
            .unwrap();
    }
    let sleeps = io
        .waits
        .iter()
        .filter(|wait| matches!(wait, Wait::Event(_)));
    let polls = io.waits.iter().filter(|wait| matches!(wait, Wait::No));
    (sleeps.count(), polls.count(), waiter.busy_poll_ns())
}

#[test]
fn a_thread_with_a_cpu_of_its_own_polls_before_it_sleeps() {
    let (sleeps, polls, ns) = in_vain(Waiter::new(true, 0), 32);
    assert_eq!(sleeps, 32);
    assert!(polls > 0 && ns > 0, "{polls} polls of {ns} ns");
    assert_eq!(in_vain(Waiter::new(false, 0), 32), (32, 0, 0));
}

const EARLY_NS: u64 = 50_000;

/// The waits for instants that are so far away, each after the one before.
fn waits(defers: bool, stays_unread: bool, ahead_ns: u64) -> Vec<Wait> {
    let (mut waiter, mut io) = (Waiter::new(false, EARLY_NS), sleeping());
    for _ in 0..200 {
        let now = now_ns();
        let at_ns = now + ahead_ns;
        let wakeup = Wakeup {
            is_exact: true,
            reads_at_ns: if defers { at_ns } else { now },
            stays_unread,
            ..Wakeup::at(at_ns)
        };
        waiter
            .wait(wakeup, now, &mut io, &mut Counting::default())
            .unwrap();
        assert!(!defers || now_ns() >= at_ns);
    }
    io.waits
}

#[test]
fn polling_makes_no_call_where_replies_wait() {
    // One turn for each wait, and none while it polls until the instant.
    for stays_unread in [false, true] {
        let waits = waits(true, stays_unread, 2 * EARLY_NS);
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
    let waits = waits(false, true, 2 * EARLY_NS);
    assert!(waits.len() >= 200);
    assert!(waits
        .iter()
        .all(|wait| matches!(wait, Wait::Event(_) | Wait::No)));
}

/// So near that it is polled for.
const NEAR_NS: u64 = 25_000;

#[test]
fn a_reply_ends_a_wait_that_is_for_replies_too() {
    let mut handler = Counting::default();
    let mut io = FakeIo {
        brings_events: true,
        ..FakeIo::default()
    };
    for _ in 0..100 {
        let (mut waiter, turns, now) = (Waiter::new(false, EARLY_NS), io.waits.len(), now_ns());
        let wakeup = Wakeup {
            is_exact: true,
            ..Wakeup::at(now + NEAR_NS)
        };
        waiter.wait(wakeup, now, &mut io, &mut handler).unwrap();
        assert_eq!(io.waits.len(), turns + 1);
    }
}

#[test]
fn a_poll_that_is_preempted_counts_as_a_short_one() {
    let (mut waiter, mut handler) = (Waiter::new(false, EARLY_NS), Counting::default());
    let mut io = FakeIo {
        turn_ns: 1_000_000,
        ..FakeIo::default()
    };
    while io.waits.len() < 50 {
        let at_ns = now_ns() + NEAR_NS;
        waiter
            .busy_poll(at_ns, false, &mut io, &mut handler)
            .unwrap();
    }
    // Milliseconds without the CPU are no polling, and must not be taken off the time in which the thread was busy.
    assert!(waiter.busy_poll_ns() <= io.waits.len() as u64 * MAX_POLL_NS);
}
