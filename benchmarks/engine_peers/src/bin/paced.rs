//! The floor of an exact open loop: sleeps until a request is due, sends it on the next of C connections, and takes
//! what has come there since the last time. No parsing, no checks, no busy-polling: a request is late by what a
//! wake-up takes, which is printed. `paced PORT CONNECTIONS SECONDS RATE`.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to `now` only.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn sleep_until(at_ns: u64) {
    let at = libc::timespec {
        tv_sec: (at_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (at_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: reads `at` only, and a null pointer is allowed.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &at,
            std::ptr::null_mut(),
        )
    };
}

fn main() -> std::io::Result<()> {
    let words: Vec<u64> = std::env::args()
        .skip(1)
        .map(|word| word.parse().unwrap())
        .collect();
    let (port, connections, seconds, rate) = (words[0] as u16, words[1], words[2], words[3]);
    // SAFETY: takes numbers only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let mut streams = Vec::new();
    for _ in 0..connections {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        streams.push(stream);
    }
    let (mut answered, mut late_ns) = (0u64, 0u64);
    let mut buffer = [0; 4096];
    let begun_ns = now_ns();
    let requests = rate * seconds;
    for number in 0..requests {
        let due_ns = begun_ns + number * 1_000_000_000 / rate;
        if now_ns() < due_ns {
            sleep_until(due_ns);
        }
        let stream = &mut streams[(number % connections) as usize];
        // A reply has come as a whole: it is short.
        match stream.read(&mut buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => answered += 1,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        late_ns += now_ns().saturating_sub(due_ns);
        stream.write_all(REQUEST)?;
    }
    println!(
        "{answered} requests in {seconds} s, each sent {:.1} us late on average",
        late_ns as f64 / requests as f64 / 1e3
    );
    Ok(())
}
