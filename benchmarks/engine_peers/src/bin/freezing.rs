//! A server that answers at once, but freezes: `freezing PERIOD_MS FREEZE_MS`. In each period of its clock
//! it does nothing for the last FREEZE_MS. With `freezing 0 AFTER_MS` it freezes for good, that long after its
//! first request. Prints its port, and at the end of its stdin the instants at which it answered: nanoseconds
//! of CLOCK_MONOTONIC, a line each.

use engine_peers::{listen, now_ns, Epoll};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::io::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello";

fn main() -> std::io::Result<()> {
    let words: Vec<u64> = std::env::args()
        .skip(1)
        .map(|word| word.parse().unwrap())
        .collect();
    let (period, freeze) = (words[0] * 1_000_000, words[1] * 1_000_000);
    let listener = listen()?;
    println!("{}", listener.local_addr()?.port());
    let epoll = Epoll::new();
    epoll.add(listener.as_raw_fd(), u64::MAX, false);
    let mut streams: HashMap<u64, TcpStream> = HashMap::new();
    let over = Arc::new(AtomicBool::new(false));
    let told = over.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read(&mut [0]);
        told.store(true, Ordering::Relaxed);
    });
    let mut answered = Vec::with_capacity(1 << 20);
    let (mut ready, mut buffer, mut next, mut first) = (Vec::new(), [0; 16 * 1024], 0, None);
    loop {
        epoll.wait(100, &mut ready);
        if over.load(Ordering::Relaxed) {
            let mut out = std::io::BufWriter::new(std::io::stdout().lock());
            for at in answered {
                writeln!(out, "{at}")?;
            }
            return out.flush();
        }
        let now = now_ns();
        if period > 0 && now % period >= period - freeze {
            std::thread::sleep(Duration::from_nanos(period - now % period));
        } else if period == 0 && first.map_or(false, |first| now > first + freeze) {
            std::thread::sleep(Duration::from_secs(3600));
        }
        for &data in &ready {
            if data == u64::MAX {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    epoll.add(stream.as_raw_fd(), next, true);
                    streams.insert(next, stream);
                    next += 1;
                }
            } else if let Some(stream) = streams.get_mut(&data) {
                match stream.read(&mut buffer) {
                    Ok(count) if count > 0 => {
                        first.get_or_insert(now);
                        answered.push(now_ns());
                        let _ = stream.write_all(REPLY);
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    _ => drop(streams.remove(&data)),
                }
            }
        }
    }
}
