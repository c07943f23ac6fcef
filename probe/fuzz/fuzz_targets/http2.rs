//! A connection of HTTP/2: whatever the server sends, each lane ends once, what is sent in answer is bounded, and
//! cancelled lanes are quiet. Replies without a fault are the same however the bytes are cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use engine::load::plan::Http2Plan;
use engine::load::transport::http2::{Arrived, Http2, Http2Request, Http2Requests};
use std::rc::Rc;

const REQUESTS: [&[u8]; 2] = [
    b"GET /a?b HTTP/1.1\r\nHost: h\r\n\r\n",
    b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
];
/// So often a lane gets a further request.
const AGAIN: usize = 20;

fn requests() -> Vec<Http2Request> {
    let mut requests = Http2Requests::new(false);
    let prepare = |bytes: &&[u8]| requests.prepare(&Rc::from(*bytes)).expect("it is one");
    REQUESTS.iter().map(prepare).collect()
}

/// How the loads of a connection behave.
#[derive(Clone, Copy)]
struct Behaviour {
    lanes: usize,
    /// Lanes get further requests.
    sends_again: bool,
    /// Every other lane is given up at its head.
    cancels: bool,
}

/// The reply on a lane: status, body, whether that is the end.
#[derive(Clone, Default, Debug, PartialEq)]
struct Reply {
    status: Option<u16>,
    body: Vec<u8>,
    ended: bool,
}

/// The replies by lane, in order; None if anything failed.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>, total: usize, behaviour: Behaviour) -> Option<Vec<Vec<Reply>>> {
    let requests = requests();
    let mut session = Http2::new(Http2Plan { streams: behaviour.lanes, window_bytes: 65_535 }).expect("it begins");
    let mut replies = vec![vec![Reply::default()]; behaviour.lanes];
    let mut is_open = vec![true; behaviour.lanes];
    let (mut out, mut is_good) = (Vec::new(), true);
    for lane in 0..behaviour.lanes {
        session.send(lane, requests[lane % 2].clone());
    }
    let mut begun = session.poll().is_ok();
    assert!(begun);
    for piece in pieces {
        let mut fed = session.feed(piece);
        let mut steps = 0;
        while let Some((lane, arrived)) = session.next(&mut fed) {
            steps += 1;
            assert!(steps <= 2 * total + 100 * behaviour.lanes, "it does not come to rest");
            assert!(is_open[lane], "lane {lane} has ended");
            let reply = replies[lane].last_mut().expect("it has one");
            match arrived {
                Arrived::Head(status) => {
                    assert!(reply.status.is_none());
                    assert!((200..1000).contains(&status), "{status}");
                    reply.status = Some(status);
                    if behaviour.cancels && lane % 2 == 1 {
                        session.cancel(lane);
                        is_open[lane] = false;
                    }
                    continue;
                }
                Arrived::Body(bytes) => {
                    assert!(reply.status.is_some());
                    reply.body.extend_from_slice(&bytes);
                    continue;
                }
                Arrived::End { .. } => {
                    assert!(reply.status.is_some());
                    reply.ended = true;
                }
                Arrived::Refused | Arrived::Failed(_) => is_good = false,
            }
            is_open[lane] = false;
            if behaviour.sends_again && !session.is_over && !session.is_leaving && replies[lane].len() < AGAIN {
                replies[lane].push(Reply::default());
                is_open[lane] = true;
                session.send(lane, requests[lane % 2].clone());
            }
        }
        begun &= fed.is_ok() && session.poll().is_ok();
        session.take_output(&mut out);
        if !begun || session.is_over {
            is_good = false;
            break;
        }
    }
    // Requests are below a hundred bytes; a frame in answer to one of at least nine has at most twice as many.
    let sent = replies.iter().map(Vec::len).sum::<usize>();
    assert!(out.len() <= 200 + 200 * sent + 3 * total, "{} bytes for {total}", out.len());
    is_good.then_some(replies)
}

fuzz_target!(|data: &[u8]| {
    let [first, cut, data @ ..] = data else { return };
    let behaviour = Behaviour {
        lanes: usize::from(first & 3) + 1,
        sends_again: first & 4 == 4,
        cancels: first & 8 == 8,
    };
    let (left, right) = data.split_at(usize::from(*cut).min(data.len()));
    let halves = read([left, right].into_iter(), data.len(), behaviour);
    let bytes = read(data.chunks(1), data.len(), behaviour);
    // When a further request is sent depends on what has been read.
    if !behaviour.sends_again && !behaviour.cancels {
        if let (Some(halves), Some(bytes)) = (halves, bytes) {
            assert_eq!(halves, bytes);
        }
    }
});
