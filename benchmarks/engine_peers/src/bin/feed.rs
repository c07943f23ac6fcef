//! A feed after the workload's contract, for the engine's own cost: each connection gets a chunk every
//! second, at a time of its own, with the time at which it was due. `feed [LATE_EVERY LATE_MS]`: every so-manieth
//! chunk of a connection is so much too late, counted from when it was really sent: a host that stands still
//! before the sending is not in it. Prints its port.

use engine_peers::{listen, now_ns, Epoll};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::io::AsRawFd;

const SECOND: u64 = 1_000_000_000;

struct Feed {
    stream: TcpStream,
    id: String,
    base: u64,
    k: u64,
}

fn main() -> std::io::Result<()> {
    let words: Vec<u64> = std::env::args()
        .skip(1)
        .map(|word| word.parse().unwrap())
        .collect();
    let (every, late) = match words[..] {
        [every, late] => (every, late * 1_000_000),
        _ => (0, 0),
    };
    let listener = listen()?;
    println!("{}", listener.local_addr()?.port());
    let epoll = Epoll::new();
    epoll.add(listener.as_raw_fd(), u64::MAX, false);
    let mut feeds: HashMap<u64, Feed> = HashMap::new();
    let mut due: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    let (mut ready, mut buffer, mut next) = (Vec::new(), [0; 4096], 0);
    let send_at = |feed: &Feed| {
        let extra = if every > 0 && feed.k % every == 0 {
            late
        } else {
            0
        };
        feed.base + feed.k * SECOND + extra
    };
    loop {
        let wait = due.peek().map_or(-1, |Reverse((at, _))| {
            (at.saturating_sub(now_ns()) / 1_000_000) as i32
        });
        epoll.wait(wait, &mut ready);
        for &data in &ready {
            if data == u64::MAX {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    epoll.add(stream.as_raw_fd(), next, true);
                    let feed = Feed {
                        stream,
                        id: String::new(),
                        base: 0,
                        k: 0,
                    };
                    feeds.insert(next, feed);
                    next += 1;
                }
            } else if let Some(feed) = feeds.get_mut(&data) {
                match feed.stream.read(&mut buffer) {
                    Ok(count) if count > 0 && feed.k == 0 => {
                        let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
                        let target = text.split(' ').nth(1).unwrap_or("");
                        feed.id = target.rsplit('/').next().unwrap_or("").into();
                        let welcome = format!("Welcome: {}", feed.id);
                        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
                        let _ = write!(feed.stream, "{head}{:x}\r\n{welcome}\r\n", welcome.len());
                        feed.base = now_ns();
                        feed.k = 1;
                        due.push(Reverse((send_at(feed), data)));
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    _ => drop(feeds.remove(&data)),
                }
            }
        }
        let now = now_ns();
        while let Some(&Reverse((at, data))) = due.peek() {
            if at > now {
                break;
            }
            due.pop();
            if let Some(feed) = feeds.get_mut(&data) {
                let on_time = match every {
                    0 => feed.base + feed.k * SECOND,
                    _ => now_ns() - if feed.k % every == 0 { late } else { 0 },
                };
                let chunk = format!("Chunk {} for {} due={on_time}", feed.k, feed.id);
                let _ = write!(feed.stream, "{:x}\r\n{chunk}\r\n", chunk.len());
                feed.k += 1;
                due.push(Reverse((send_at(feed), data)));
            }
        }
    }
}
