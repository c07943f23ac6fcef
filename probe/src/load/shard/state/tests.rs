//! What the times of a request count from. The instants of sending are the tests' own.

use super::*;
use crate::clock::{now_ns, sleep_until};
use crate::io::{fakes::FakeIo, Handler};
use crate::load::decoder::ReplyFormat;
use crate::load::outgoing::Outgoing;
use crate::load::plan::Plan;
use std::sync::Arc;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const MS: u64 = 1_000_000;

/// A shard with one connection, which has just begun with its first request, and when the load began.
fn shard(pacing: &str) -> (Shard, u64) {
    let plan = format!(
        r#"{{"protocol": "http", "addresses": ["127.0.0.1:1"], "connections": 1, "requests": 3,
            "pacing": {pacing}, "request": {{"headers": [["Host", "h"]]}}}}"#
    );
    let plan: Arc<Plan> = Arc::new(serde_json::from_str(&plan).unwrap());
    let start_ns = now_ns();
    let mut shard = Shard::new(ShardConfig {
        outgoing: Arc::new(Outgoing::new(&plan).unwrap()),
        replies: Arc::new(ReplyFormat::new(&plan)),
        shard: 0,
        share: plan.share(0),
        start_ns,
        stop: Arc::default(),
        live: Arc::default(),
        plan,
    });
    shard.open_connections(start_ns, &mut FakeIo::default());
    assert!(sends(&shard.connected(0)));
    (shard, start_ns)
}

fn sends(next: &Next) -> bool {
    matches!(next, Next::Send(_))
}

/// What the client does between a reply and its next request is in no service time.
#[test]
fn service_begins_when_the_request_goes_to_the_kernel() {
    let (mut shard, _) = shard(r#"{"kind": "closed"}"#);
    shard.sending(0, now_ns());
    assert!(sends(&shard.received(0, OK, None)));
    let first_ns = shard.recorder.record.replies.service.max();
    // The next request is composed by now, and the client is busy with other replies.
    sleep_until(now_ns() + 20 * MS);
    let sent_ns = now_ns();
    shard.sending(0, sent_ns);
    assert!(sends(&shard.received(0, OK, None)));
    let most_ns = first_ns.max(now_ns() - sent_ns);
    let service = &shard.recorder.record.replies.service;
    assert_eq!(service.len(), 2);
    assert!(service.max() <= most_ns, "{} {most_ns}", service.max());
}

/// An engine that is late to send has its schedule error; a request that found no connection has waited in the queue.
#[test]
fn the_queue_holds_no_delay_of_the_engine() {
    let (mut shard, start_ns) = shard(r#"{"kind": "constant", "rate_per_s": 0.1}"#);
    // From here on all times are in the future, so that nothing is late but what is said here.
    let at = |ms: u64| start_ns + ms * MS;
    let replied = |arrived, now| Instants { arrived, now };
    let next = shard.complete(0, replied(at(5000), at(5000)), Ok(()), true);
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
    let next = shard.complete(0, replied(at(20_070), at(20_075)), Ok(()), true);
    assert!(sends(&next));
    shard.sending(0, at(20_075));
    let record = &shard.recorder.record;
    assert_eq!((record.queue.len(), record.queue.max()), (2, 70 * MS));
    let error = &record.schedule_error;
    assert_eq!((error.len(), error.min()), (2, 5 * MS));
}
