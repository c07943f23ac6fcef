//! How a thread waits: sleeps, polls, and what ends them.

use super::*;
use crate::io::test_doubles::{FakeIo, Idle};

/// A back-end that sleeps until the instants of its waits.
fn sleeping() -> FakeIo {
    FakeIo { sleeps: true, ..FakeIo::default() }
}

/// This many waits for an event that does not come: the sleeps, the polls, and for how long they were.
fn in_vain(mut waiter: Waiter, waits: usize) -> (usize, usize, u64) {
    let mut io = sleeping();
    for _ in 0..waits {
        let now = now_ns();
        waiter.wait(Wakeup::at(now + 100_000), now, &mut io, &mut Idle).unwrap();
    }
    let sleeps = io.waits.iter().filter(|wait| matches!(wait, Wait::Event(_)));
    let polls = io.waits.iter().filter(|wait| matches!(wait, Wait::No));
    (sleeps.count(), polls.count(), waiter.busy_poll_ns)
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
        waiter.wait(wakeup, now, &mut io, &mut Idle).unwrap();
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
    assert!(waits.iter().all(|wait| matches!(wait, Wait::Event(_) | Wait::No)));
}

/// So near that it is polled for.
const NEAR_NS: u64 = 25_000;

#[test]
fn a_reply_ends_a_wait_that_is_for_replies_too() {
    let mut io = FakeIo { brings_events: true, ..FakeIo::default() };
    for _ in 0..100 {
        let (mut waiter, turns, now) = (Waiter::new(false, EARLY_NS), io.waits.len(), now_ns());
        let wakeup = Wakeup { is_exact: true, ..Wakeup::at(now + NEAR_NS) };
        waiter.wait(wakeup, now, &mut io, &mut Idle).unwrap();
        assert_eq!(io.waits.len(), turns + 1);
    }
}

#[test]
fn a_poll_that_is_preempted_counts_as_a_short_one() {
    let mut waiter = Waiter::new(false, EARLY_NS);
    let mut io = FakeIo { turn_ns: 1_000_000, ..FakeIo::default() };
    while io.waits.len() < 50 {
        let at_ns = now_ns() + NEAR_NS;
        waiter.poll(at_ns, false, &mut io, &mut Idle).unwrap();
    }
    // Milliseconds without the CPU are no polling, and must not be taken off the time in which the thread was busy.
    assert!(waiter.busy_poll_ns <= io.waits.len() as u64 * MAX_POLL_NS);
}

mod brief {
    use super::super::*;

    /// How many of this many waits began with polling, which found something or not.
    fn polls(poll: &mut BriefPoll, waits: u64, found: bool) -> u64 {
        (0..waits)
            .filter(|_| {
                let polls = poll.until_ns(0, u64::MAX).is_some();
                if polls {
                    poll.polled(found);
                }
                polls
            })
            .count() as u64
    }

    #[test]
    fn a_thread_without_a_cpu_of_its_own_sleeps() {
        assert_eq!(polls(&mut BriefPoll::new(false), 1_000, true), 0);
    }

    #[test]
    fn polling_begins_where_something_comes_and_ends_where_nothing_does() {
        let mut poll = BriefPoll::new(true);
        // The share passes a half with the eleventh attempt.
        assert_eq!(polls(&mut poll, 11 * BRIEF_ATTEMPT, true), 11);
        assert_eq!(polls(&mut poll, 1_000, true), 1_000);
        assert!(polls(&mut poll, 1_000, false) < 60);
        assert_eq!(polls(&mut poll, 10 * BRIEF_ATTEMPT, false), 10);
    }

    #[test]
    fn it_lasts_for_a_moment_at_most() {
        let mut poll = BriefPoll::new(true);
        polls(&mut poll, 20 * BRIEF_ATTEMPT, true);
        assert_eq!(poll.until_ns(7, 1_000_000), Some(7 + MAX_BRIEF_POLL_NS));
        assert_eq!(poll.until_ns(7, 8), Some(8));
    }
}

mod lateness {
    use super::super::*;

    #[test]
    fn bytes_that_end_a_wait_have_just_arrived() {
        let mut read_lateness = ReadLateness::new(0);
        read_lateness.wait_begins(1_000);
        read_lateness.woken(500_000);
        assert_eq!(read_lateness.late_ns(500_300), 300);
    }

    #[test]
    fn bytes_that_were_there_at_once_may_have_come_since_the_look_before() {
        let mut read_lateness = ReadLateness::new(0);
        read_lateness.wait_begins(1_000);
        read_lateness.woken(500_000);
        // Two milliseconds of reading, or of coalescing.
        read_lateness.wait_begins(2_500_000);
        read_lateness.woken(2_501_000);
        assert_eq!(read_lateness.late_ns(2_501_500), 2_001_500);
        read_lateness.wait_begins(2_600_000);
        read_lateness.woken(2_601_000);
        assert_eq!(read_lateness.late_ns(2_601_000), 100_000);
    }
}

mod deferral {
    use super::super::*;

    fn after(reads: &[(bool, bool)]) -> Deferral {
        let mut deferral = Deferral::new(None);
        for &(is_stamped, is_whole) in reads {
            deferral.read(is_stamped, is_whole);
        }
        deferral
    }

    #[test]
    fn replies_wait_where_they_are_stamped_and_whole() {
        let whole = [(true, true); WHOLE_REPLIES as usize];
        assert_eq!(after(&whole).until_ns(5, 900_005), 900_005);
        assert_eq!(after(&whole).until_ns(5, 90_000_000), 1_000_005);
        assert_eq!(after(&whole[1..]).until_ns(5, 10), 5);
        let in_parts = [&whole[..], &[(true, false)], &whole[1..]].concat();
        assert_eq!(after(&in_parts).until_ns(5, 10), 5);
        let unstamped = [&whole[..], &[(false, true)]].concat();
        assert_eq!(after(&unstamped).until_ns(5, 10), 5);
        assert_eq!(after(&[]).until_ns(5, 10), 5);
    }

    #[test]
    fn a_look_in_vain_is_followed_by_a_wait_for_what_arrives() {
        let mut deferral = after(&[(true, true); WHOLE_REPLIES as usize]);
        deferral.looked(5);
        assert_eq!(deferral.until_ns(5, 900_005), 5);
        deferral.read(true, true);
        assert_eq!(deferral.until_ns(5, 900_005), 900_005);
        deferral.looked(5);
        deferral.sent();
        assert_eq!(deferral.until_ns(5, 900_005), 900_005);
    }

    #[test]
    fn replies_stay_unread_for_some_requests_or_some_time() {
        let mut deferral = Deferral::new(None);
        deferral.looked(1_000);
        assert!(deferral.stay_unread(500_999, 33, 64));
        assert!(!deferral.stay_unread(501_000, 33, 64));
        assert!(!deferral.stay_unread(1_001, 32, 64));
        assert!(!deferral.stay_unread(1_001, 0, 1));
        for _ in 0..UNREAD_SENDS {
            assert!(deferral.stay_unread(1_001, 64, 64));
            deferral.sent();
        }
        assert!(!deferral.stay_unread(1_001, 64, 64));
        deferral.looked(600_000);
        assert!(deferral.stay_unread(1_000_000, 64, 64));
    }

    #[test]
    fn chunks_wait_longer_where_they_are_stamped() {
        assert_eq!(after(&[(true, false)]).coalesced_until_ns(7), 2_000_007);
        assert_eq!(after(&[(false, false)]).coalesced_until_ns(7), 500_007);
    }

    #[test]
    fn chunks_wait_for_a_part_of_their_interval() {
        for (interval_ns, stamped_ns, unstamped_ns) in [
            (1_000_000_000, 8_000_000, 500_000),
            (32_000_000, 8_000_000, 500_000),
            (20_000_000, 5_000_000, 500_000),
            (1_000_000, 250_000, 250_000),
        ] {
            let mut deferral = Deferral::new(Some(interval_ns));
            assert_eq!(deferral.coalesced_until_ns(7), 7 + unstamped_ns);
            deferral.read(true, false);
            assert_eq!(deferral.coalesced_until_ns(7), 7 + stamped_ns);
        }
    }
}
