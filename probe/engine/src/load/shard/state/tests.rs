//! The instants from which the times of a request count. The instants of sending are the tests' own.

use super::*;
use crate::io::{test_doubles::FakeIo, Arrival, Ending, Handler, ReplyPart};
use crate::load::http_request::MessageTemplate;
use crate::load::plan::Plan;
use std::sync::Arc;
use wire::clock::{now_ns, sleep_until};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const MS: u64 = 1_000_000;

/// A shard with one connection, which has just begun with its first request, and when the load began.
fn shard(pacing: &str) -> (Shard, u64) {
    let (mut shard, start_ns) = idle(&format!(r#""requests": 3, "pacing": {pacing}"#));
    shard.open_connections(start_ns, &mut FakeIo::default()).unwrap();
    assert!(sends(&shard.connected(0)));
    (shard, start_ns)
}

/// A shard without a connection, by changes of a plan, and when the load begins.
fn idle(changes: &str) -> (Shard, u64) {
    let mut plan = serde_json::json!({
        "protocol": "http", "addresses": ["127.0.0.1:1"], "request": {"headers": [["Host", "h"]]},
    });
    let changes: serde_json::Value = serde_json::from_str(&format!("{{{changes}}}")).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        plan[key] = value.clone();
    }
    let plan: Arc<Plan> = Arc::new(serde_json::from_value(plan).unwrap());
    let start_ns = now_ns();
    let shard = Shard::new(ShardConfig {
        message: Arc::new(MessageTemplate::new(&plan).unwrap()),
        partition: plan.partition(0),
        start_ns,
        slack_ns: 0,
        sleeps_late_ns: 0,
        stop: Arc::default(),
        live: Arc::default(),
        log: None,
        plan,
    })
    .unwrap();
    (shard, start_ns)
}

fn stamped(at_ns: u64) -> Arrival {
    Arrival { stamp_ns: Some(at_ns), is_early: false }
}

fn sends(next: &Next) -> bool {
    matches!(next, Next::Send(_))
}

/// Before a load with a lead begins, each connection is asked once; of that only errors count.
#[test]
fn connections_are_asked_once_before_the_load_begins() {
    let plan = r#""connections": 2, "lead_s": 1, "duration_s": 9,
        "pacing": {"kind": "constant", "rate_per_s": 1}"#;
    let (mut shard, start_ns) = idle(plan);
    let (mut io, begin_ns) = (FakeIo::default(), start_ns + 1000 * MS);
    shard.open_connections(start_ns + MS, &mut io).unwrap();
    // The first was connected before the second was dialled.
    assert!(sends(&shard.connected(1)));
    (0..2).for_each(|slot| shard.sending(slot, now_ns()));
    assert_eq!(shard.received(0, ReplyPart::Bytes(OK), Arrival::default()), Next::Wait);
    shard.dispatch(begin_ns - 1, &mut io);
    assert_eq!(io.sends, 0);
    shard.dispatch(begin_ns, &mut io);
    assert_eq!((io.sends, shard.recorder.record.intended), (1, 1));
    shard.sending(0, begin_ns);
    // The second connection is answered late.
    let answered = Instants::of;
    let at = answered(begin_ns + 20 * MS);
    assert_eq!(shard.complete(1, at, Ok(()), true, None), Next::Wait);
    let at = answered(begin_ns + 30 * MS);
    assert_eq!(shard.complete(0, at, Ok(()), true, None), Next::Wait);
    shard.recorder.settle();
    let replies = &shard.recorder.record.replies;
    assert_eq!((replies.requests, replies.latency.max()), (1, 30 * MS));
    assert!(!shard.is_over(begin_ns + 8999 * MS) && shard.is_over(begin_ns + 9000 * MS));
}

/// A closed loop begins to connect when it begins.
#[test]
fn a_closed_loop_with_a_lead_connects_after_it() {
    let (shard, start_ns) = idle(r#""lead_s": 1, "duration_s": 9"#);
    assert_eq!(shard.dialer.next_ns(), Some(start_ns + 1000 * MS));
}

/// A server may close connections after their replies. None is opened again without a request for it.
#[test]
fn connections_are_opened_again_while_requests_are_left() {
    for (requests, is_opened_again) in [(1, false), (3, true)] {
        let (mut shard, start_ns) = idle(&format!(r#""requests": {requests}"#));
        shard.open_connections(start_ns, &mut FakeIo::default()).unwrap();
        assert!(sends(&shard.connected(0)));
        shard.sending(0, now_ns());
        let next = shard.received(0, ReplyPart::Bytes(OK), Arrival::default());
        assert_eq!(sends(&next), is_opened_again);
        shard.ended(0, Ending::Finished);
        assert_eq!(shard.dialer.queued() > 0, is_opened_again);
    }
}

/// The time that the client takes between a reply and its next request is in no service time.
#[test]
fn service_begins_when_the_request_goes_to_the_kernel() {
    let (mut shard, _) = shard(r#"{"kind": "closed"}"#);
    shard.sending(0, now_ns());
    assert!(sends(&shard.received(0, ReplyPart::Bytes(OK), Arrival::default())));
    shard.recorder.settle();
    let first_ns = shard.recorder.record.replies.service.max();
    assert!(shard.last_event_ns >= shard.connections[0].stage.busy().unwrap().sent_ns);
    // The next request is composed by now, and the client is busy with other replies.
    sleep_until(now_ns() + 20 * MS);
    let sent_ns = now_ns();
    shard.sending(0, sent_ns);
    assert!(sends(&shard.received(0, ReplyPart::Bytes(OK), Arrival::default())));
    let most_ns = first_ns.max(now_ns() - sent_ns);
    shard.recorder.settle();
    let service = &shard.recorder.record.replies.service;
    assert_eq!(service.len(), 2);
    assert!(service.max() <= most_ns, "{} {most_ns}", service.max());
}

/// In a closed loop, where the kernel stamps a reply, the engine's own delay is the time from its arrival to the next
/// request.
#[test]
fn replies_that_wait_for_the_engine_show_in_the_schedule_error() {
    let (mut shard, _) = shard(r#"{"kind": "closed"}"#);
    shard.sending(0, now_ns());
    let arrived_ns = now_ns();
    sleep_until(arrived_ns + 20 * MS);
    assert!(sends(&shard.received(0, ReplyPart::Bytes(OK), stamped(arrived_ns))));
    let sent_ns = now_ns();
    shard.sending(0, sent_ns);
    assert!(sends(&shard.received(0, ReplyPart::Bytes(OK), Arrival::default())));
    shard.sending(0, now_ns());
    shard.recorder.settle();
    let record = &shard.recorder.record;
    let error = &record.schedule_error;
    assert_eq!((error.len(), error.max()), (1, sent_ns - arrived_ns));
    // The latency ends when a reply is read, with a stamp or without.
    assert!(record.replies.latency.max() >= 20 * MS);
}

/// An engine that is late to send has its schedule error; a request that found no connection has waited in the queue.
#[test]
fn the_queue_holds_no_delay_of_the_engine() {
    let (mut shard, start_ns) = shard(r#"{"kind": "constant", "rate_per_s": 0.1}"#);
    // From here on all times are in the future, so only what the test makes late is late.
    let at = |ms: u64| start_ns + ms * MS;
    let replied = |arrived, now| Instants { arrived, now };
    let next = shard.complete(0, replied(at(5000), at(5000)), Ok(()), true, None);
    assert_eq!(next, Next::Wait);
    // Due after ten seconds, with a free connection, and sent 50 ms later.
    let mut io = FakeIo::default();
    shard.dispatch(at(10_050), &mut io);
    assert_eq!(io.sends, 1);
    shard.sending(0, at(10_050));
    let record = &shard.recorder.record;
    // Histograms begin at a nanosecond.
    assert!(record.queue.len() == 1 && record.queue.max() <= 1);
    let error = &record.schedule_error;
    assert_eq!((error.len(), error.max()), (1, 50 * MS));
    // The next one, due after twenty seconds, finds no connection for 70 ms. That reply is read 5 ms late.
    let next = shard.complete(0, replied(at(20_070), at(20_075)), Ok(()), true, None);
    assert!(sends(&next));
    shard.sending(0, at(20_075));
    let record = &shard.recorder.record;
    assert_eq!((record.queue.len(), record.queue.max()), (2, 70 * MS));
    let error = &record.schedule_error;
    assert_eq!((error.len(), error.min()), (2, 5 * MS));
}

/// The dialling of one connection is in no other's connect.
#[test]
fn a_connect_begins_with_its_own_dial() {
    let (mut shard, start_ns) = idle(r#""connections": 20, "requests": 20"#);
    let mut io = FakeIo { open_ns: MS, ..FakeIo::default() };
    shard.open_connections(start_ns, &mut io).unwrap();
    shard.poll_events(&mut io).unwrap();
    let connect = &shard.recorder.record.connect;
    let longest_ns = *io.connects_ns.iter().max().unwrap();
    assert_eq!(connect.len(), 20);
    // Each was looked for before the next was dialled, and a histogram is true to a thousandth.
    assert_eq!(io.waits.len(), 20);
    assert!(connect.max() <= longest_ns + longest_ns / 500, "{} {longest_ns}", connect.max());
}

/// A request that waits for its connection is due when that connection is dialled.
#[test]
fn the_connect_is_in_the_latency_of_a_closed_loop() {
    let request = r#""requests": 3, "request": {"headers": [["Host", "h"]], "close": true}"#;
    let (mut shard, start_ns) = idle(request);
    let mut io = FakeIo::default();
    shard.open_connections(start_ns, &mut io).unwrap();
    sleep_until(now_ns() + 20 * MS);
    shard.handshaking(0);
    sleep_until(now_ns() + 10 * MS);
    assert!(sends(&shard.connected(0)));
    let sent_ns = now_ns();
    shard.sending(0, sent_ns);
    assert_eq!(shard.received(0, ReplyPart::Bytes(OK), Arrival::default()), Next::Close);
    let most_ns = now_ns() - sent_ns;
    let record = &shard.recorder.record;
    let (latency, service) = (&record.replies.latency, &record.replies.service);
    assert!(service.max() <= most_ns + most_ns / 500);
    assert!(latency.min() >= 30 * MS, "{}", latency.min());
    assert!(record.handshake.min() >= 10 * MS && record.connect.len() == 1);
    // It is no wait for a connection.
    assert!(record.queue.is_empty());
}

#[test]
fn the_connect_of_an_open_loop_is_no_queue() {
    let (mut shard, start_ns) = idle(
        r#""pacing": {"kind": "constant", "rate_per_s": 0.1}, "requests": 3,
        "request": {"headers": [["Host", "h"]], "close": true}"#,
    );
    let mut io = FakeIo::default();
    shard.open_connections(start_ns, &mut io).unwrap();
    shard.dispatch(now_ns(), &mut io);
    shard.open_connections(now_ns(), &mut io).unwrap();
    let dialed_ns = now_ns();
    sleep_until(dialed_ns + 20 * MS);
    assert!(sends(&shard.connected(0)));
    shard.sending(0, now_ns());
    shard.received(0, ReplyPart::Bytes(OK), Arrival::default());
    let record = &shard.recorder.record;
    let latency_ns = record.replies.latency.min();
    assert!(latency_ns >= 20 * MS);
    // Until the dial it was free, or the engine's.
    let before_ns = dialed_ns - start_ns;
    assert!(record.queue.len() == 1 && record.queue.max() <= before_ns + before_ns / 500);
}

/// Informational responses are not the beginning of the reply.
#[test]
fn the_first_byte_is_that_of_the_final_response() {
    let early: &[u8] = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    for (first, second) in [
        (early.to_vec(), OK.to_vec()),
        (early[..30].to_vec(), [&early[30..], OK].concat()),
        (OK[..20].to_vec(), OK[20..].to_vec()),
        ([early, &OK[..20]].concat(), OK[20..].to_vec()),
    ] {
        let (mut shard, _) = shard(r#"{"kind": "closed"}"#);
        shard.sending(0, now_ns());
        let before_ns = now_ns();
        assert_eq!(shard.received(0, ReplyPart::Bytes(&first), Arrival::default()), Next::Wait);
        let between_ns = now_ns() - before_ns;
        sleep_until(now_ns() + 20 * MS);
        assert!(sends(&shard.received(0, ReplyPart::Bytes(&second), Arrival::default())));
        shard.recorder.settle();
        let first_byte = &shard.recorder.record.first_byte;
        assert_eq!(first_byte.len(), 1);
        match second.ends_with(OK) {
            true => assert!(first_byte.min() >= 20 * MS),
            // It had begun before the pause.
            false => assert!(first_byte.max() <= between_ns + 2 * MS + between_ns / 500),
        }
    }
}

/// The engine pauses before it reopens a lost connection: this is its own delay, not the server's.
#[test]
fn the_pause_after_a_failure_is_the_engines() {
    let (mut shard, start_ns) = idle(
        r#""pacing": {"kind": "constant", "rate_per_s": 1000}, "duration_s": 9,
        "connections": 1"#,
    );
    let mut io = FakeIo::default();
    shard.open_connections(start_ns, &mut io).unwrap();
    assert!(sends(&shard.connected(0)));
    shard.sending(0, now_ns());
    shard.ended(0, Ending::Finished);
    let lost_ns = now_ns() - start_ns;
    sleep_until(now_ns() + 50 * MS);
    let again_ns = now_ns() + 100 * MS;
    shard.open_connections(again_ns, &mut io).unwrap();
    assert!(sends(&shard.connected(0)));
    shard.sending(0, now_ns());
    let record = &shard.recorder.record;
    assert_eq!(record.queue.len(), 2);
    // The requests that were due before the loss waited for the connection that was in use.
    assert!(record.queue.max() <= lost_ns + lost_ns / 500);
    assert!(record.schedule_error.max() >= 40 * MS);
}

/// The engine sends nothing after the end of the load, so requests that it has not sent grow no older.
#[test]
fn a_request_that_was_not_sent_is_as_old_as_the_load() {
    let (mut shard, start_ns) = idle(
        r#""pacing": {"kind": "constant", "rate_per_s": 10}, "duration_s": 1,
        "connections": 1"#,
    );
    let at = |ms: u64| start_ns + ms * MS;
    shard.open_connections(start_ns, &mut FakeIo::default()).unwrap();
    assert!(sends(&shard.connected(0)));
    shard.sending(0, now_ns());
    shard.publish(at(500));
    let end_ns = shard.stop(at(1000), 0, 0);
    assert_eq!(end_ns, at(1000));
    // The drain has no second of its own.
    shard.publish(at(1500));
    assert_eq!(shard.recorder.record.series.len(), 1);
    assert_eq!(shard.recorder.record.second(0).open, 1);
    shard.count_unfinished(at(6000), end_ns);
    let record = &shard.recorder.record;
    assert_eq!((record.intended, record.unsent), (10, 9));
    assert_eq!(record.replies.unfinished, 10);
    let latency = &record.replies.latency;
    let right = |ns: u64, ms: u64| ns.abs_diff(ms * MS) <= ms * MS / 500;
    // The latency of the first is known to be six seconds at least; the others' is one less, when they were
    // due.
    assert!(right(latency.max(), 6000), "{}", latency.max());
    assert!(right(latency.quantile(0.9), 900), "{}", latency.quantile(0.9));
    assert!(right(latency.min(), 100), "{}", latency.min());
}

/// A request whose connect or handshake times out has waited as long as any other that times out.
#[test]
fn a_connect_that_times_out_is_a_latency() {
    let count = |shard: &Shard, kind: ErrorKind| shard.recorder.record.replies.errors.of(kind);
    for pacing in [r#"{"kind": "constant", "rate_per_s": 0.1}"#, r#"{"kind": "closed"}"#] {
        for (shakes_hands, kind) in [(false, ErrorKind::ConnectTimeout), (true, ErrorKind::HandshakeTimeout)]
        {
            let (mut shard, start_ns) = idle(&format!(
                r#""pacing": {pacing}, "duration_s": 90, "timeout_s": 0.5, "connections": 1,
                "request": {{"headers": [["Host", "h"]], "close": true}}"#
            ));
            let mut io = FakeIo::default();
            shard.open_connections(start_ns, &mut io).unwrap();
            shard.dispatch(start_ns, &mut io);
            shard.open_connections(start_ns, &mut io).unwrap();
            assert!(matches!(shard.connections[0].stage, Stage::Connecting(_)));
            if shakes_hands {
                shard.handshaking(0);
            }
            shard.sweep(now_ns() + 600 * MS, &mut io);
            assert_eq!(count(&shard, kind), 1);
            let record = &shard.recorder.record;
            assert_eq!((record.intended, record.connects_timed_out), (1, 1));
            let latency = &record.replies.latency;
            assert!(latency.len() == 1 && latency.max() >= 500 * MS);
        }
    }
}

/// A server that closes idle connections makes the list of free ones no longer.
#[test]
fn a_connection_is_listed_once() {
    let (mut shard, start_ns) =
        idle(r#""pacing": {"kind": "constant", "rate_per_s": 0.1}, "requests": 9, "connections": 2"#);
    let mut io = FakeIo::default();
    for _ in 0..100 {
        shard.open_connections(start_ns, &mut io).unwrap();
        shard.poll_events(&mut io).unwrap();
        // The first request is on its way on one of the two.
        let free = (0..2).find(|&slot| matches!(shard.connections[slot].stage, Stage::Free(_)));
        shard.ended(free.unwrap(), Ending::Finished);
        assert!(shard.free.len() <= 2);
    }
    assert!(shard.recorder.record.idle_closes >= 100);
}

/// A request that servers leave unprocessed again and again is an error in the end.
#[test]
fn a_request_is_refused_so_often_at_most() {
    let (mut shard, _) = shard(r#"{"kind": "closed"}"#);
    let mut io = FakeIo::default();
    for refusal in 1..=12 {
        assert_eq!(shard.recorder.record.replies.errors.total(), 0, "{refusal}");
        assert!(shard.connections[0].stage.busy().is_some());
        shard.sending(0, now_ns());
        shard.refused(0, now_ns());
        shard.open_connections(now_ns(), &mut io).unwrap();
        if refusal < 12 {
            assert!(sends(&shard.connected(0)));
        }
    }
    let errors = &shard.recorder.record.replies.errors;
    assert_eq!(errors.of(ErrorKind::GoAway), 1);
}

/// A request that follows one which was refused and then lost was not sent before: it counts as intended.
#[test]
fn refusals_are_those_of_one_request() {
    let (mut shard, _) = shard(r#"{"kind": "closed"}"#);
    shard.sending(0, now_ns());
    shard.refused(0, now_ns());
    shard.open_connections(now_ns(), &mut FakeIo::default()).unwrap();
    assert!(sends(&shard.connected(0)));
    shard.lost(0, now_ns(), ErrorKind::Timeout);
    assert_eq!(shard.connections[0].request.refusals, 0);
}

/// A slot whose connection takes no more requests gets another at once; one whose connection came to nothing waits.
#[test]
fn a_slot_that_joins_no_connection() {
    for (ending, queued) in [(Ending::ConnectionDraining, 1), (Ending::ConnectionFailed, 0)] {
        let (mut shard, start_ns) = idle(r#""requests": 1, "connections": 1"#);
        let mut io = FakeIo::default();
        shard.open_connections(start_ns, &mut io).unwrap();
        shard.connections[0].stage = Stage::Joining(start_ns);
        shard.ended(0, ending);
        assert_eq!(shard.dialer.queued(), queued);
        assert_eq!(shard.dialer.next_ns() == Some(0), queued > 0);
    }
}

/// Chunks that are read at once have the last one's stamp: how much earlier the others may have come is the engine's error.
#[test]
fn chunks_that_a_stall_joins_have_a_schedule_error() {
    let (mut shard, start_ns) = idle(
        r#""protocol": "stream", "duration_s": 9, "connections": 1,
        "stream": {"chunk": "c {k}", "interval_s": 0.01}"#,
    );
    shard.open_connections(start_ns, &mut FakeIo::default()).unwrap();
    assert!(sends(&shard.connected(0)));
    let sent_ns = now_ns();
    shard.sending(0, sent_ns);
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = |k| format!("3\r\nc {k}\r\n").into_bytes();
    let count = |shard: &Shard| shard.recorder.record.schedule_error.len();
    let opened = count(&shard);
    // One chunk in a read has its own stamp.
    sleep_until(sent_ns + 10 * MS);
    shard.read_lateness.wait_begins(now_ns());
    shard.woken(now_ns());
    let first_ns = now_ns();
    shard.received(0, ReplyPart::Bytes(&[&head[..], &chunk(1)].concat()), stamped(first_ns));
    assert_eq!(count(&shard), opened);
    // The thread stalls for 40 ms.
    sleep_until(first_ns + 40 * MS);
    let last_ns = now_ns();
    shard.read_lateness.wait_begins(now_ns());
    shard.woken(now_ns());
    shard.received(0, ReplyPart::Bytes(&[chunk(2), chunk(3), chunk(4)].concat()), stamped(last_ns));
    let error = &shard.recorder.record.schedule_error;
    assert_eq!(error.len(), opened + 2);
    let late_ns = last_ns - first_ns;
    assert!(error.max() <= late_ns + late_ns / 500 && error.max() >= 39 * MS);
    // The event that ends a wait has just come.
    let stamp_ns = now_ns();
    shard.read_lateness.wait_begins(0);
    shard.woken(now_ns());
    shard.received(0, ReplyPart::Bytes(&[chunk(5), chunk(6)].concat()), stamped(stamp_ns));
    assert_eq!(count(&shard), opened + 2);
    assert_eq!(shard.recorder.record.chunks + shard.recorder.record.messages, 6);
}

/// The exact wake-up serves a request that has a connection. Replies wait for it where the kernel stamps them, but not
/// while a connection is being opened.
#[test]
fn what_a_shard_waits_for() {
    let (mut shard, start_ns) =
        idle(r#""pacing": {"kind": "constant", "rate_per_s": 0.1}, "duration_s": 90, "connections": 3"#);
    let mut io = FakeIo::default();
    // Two of them are connected by now, and one has the first request.
    shard.open_connections(start_ns, &mut io).unwrap();
    shard.sending(0, start_ns);
    for _ in 0..64 {
        shard.deferral.read(true, true);
    }
    let now = start_ns + 10_000 * MS - MS / 10;
    let (due_ns, sweep_ns) = (start_ns + 10_000 * MS, start_ns + 11_000 * MS);
    let opening = shard.wakeup(now, sweep_ns);
    assert_eq!((opening.at_ns, opening.is_exact), (due_ns, true));
    assert_eq!((opening.reads_at_ns, opening.stays_unread), (now, false));
    assert_eq!(shard.connected(2), Next::Wait);
    shard.deferral.looked(now);
    shard.deferral.sent();
    let open = shard.wakeup(now, sweep_ns);
    assert_eq!((open.at_ns, open.is_exact), (due_ns, true));
    assert_eq!((open.reads_at_ns, open.stays_unread), (due_ns, true));
    // A sweep that is due before the request.
    let swept = shard.wakeup(now, due_ns - 1);
    assert_eq!((swept.at_ns, swept.is_exact), (due_ns - 1, false));
    // No connection is free.
    shard.dispatch(due_ns, &mut io);
    shard.dispatch(start_ns + 20_000 * MS, &mut io);
    assert_eq!((io.sends, shard.free.len()), (2, 0));
    let busy = shard.wakeup(start_ns + 20_000 * MS, start_ns + 40_000 * MS);
    assert_eq!((busy.at_ns, busy.is_exact), (start_ns + 40_000 * MS, false));
    shard.stop(now, 0, 0);
    assert_eq!(shard.wakeup(now, sweep_ns), Wakeup::at(sweep_ns));
}

/// The chunks of many streams are read together, but not while some are being opened.
#[test]
fn many_streams_are_read_together() {
    let waits = |connections: usize, is_open: bool| {
        let (mut shard, start_ns) = idle(&format!(
            r#""protocol": "stream", "duration_s": 9, "connections": {connections},
            "stream": {{"chunk": "c {{k}}", "interval_s": 1}}"#
        ));
        let mut io = FakeIo::default();
        while shard.recorder.record.opened < connections as u64 - 1 {
            shard.open_connections(start_ns, &mut io).unwrap();
        }
        if is_open {
            shard.connected(connections - 1);
        }
        shard.last_event_ns = start_ns;
        shard.wakeup(start_ns, start_ns + 100 * MS).reads_at_ns > start_ns
    };
    assert!(waits(COALESCED_STREAMS, true));
    assert!(!waits(COALESCED_STREAMS, false));
    assert!(!waits(COALESCED_STREAMS - 1, true));
}
