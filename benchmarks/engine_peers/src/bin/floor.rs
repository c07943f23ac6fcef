//! The floor: sends one request after another on each of C connections and counts what comes back, by
//! io_uring as the engine uses it, without parsing, timing or checks. `floor PORT CONNECTIONS SECONDS`.

use io_uring::types::{BufRingEntry, Fixed, SubmitArgs, Timespec};
use io_uring::{cqueue, opcode, IoUring};
use std::net::TcpStream;
use std::os::unix::io::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const BUFFERS: u16 = 512;
const BUFFER_BYTES: usize = 4096;

#[repr(C, align(4096))]
struct Pages([u8; BUFFERS as usize * 16]);

fn main() -> std::io::Result<()> {
    let words: Vec<u64> = std::env::args()
        .skip(1)
        .map(|word| word.parse().unwrap())
        .collect();
    let (port, connections, seconds) = (words[0] as u16, words[1] as usize, words[2]);
    let streams: Vec<TcpStream> = (0..connections)
        .map(|_| TcpStream::connect(("127.0.0.1", port)))
        .collect::<Result<_, _>>()?;
    let mut ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_cqsize(65_536)
        .build(4096)?;
    let files: Vec<i32> = streams.iter().map(|stream| stream.as_raw_fd()).collect();
    ring.submitter().register_files(&files)?;
    let mut pages = Box::new(Pages([0; BUFFERS as usize * 16]));
    let mut bytes = vec![0u8; usize::from(BUFFERS) * BUFFER_BYTES];
    let entries = pages.0.as_mut_ptr().cast::<BufRingEntry>();
    // SAFETY: pages and bytes outlive the ring's last use.
    unsafe {
        ring.submitter()
            .register_buf_ring_with_flags(entries as u64, BUFFERS, 0, 0)?;
    }
    let mut tail = 0u16;
    let mut give = |tail: &mut u16, buffer: u16| {
        let place = usize::from(*tail & (BUFFERS - 1));
        // SAFETY: within the ring, and not read before the tail passes it.
        let entry = unsafe { &mut *entries.add(place) };
        entry.set_addr(bytes[usize::from(buffer) * BUFFER_BYTES..].as_mut_ptr() as u64);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(buffer);
        *tail = tail.wrapping_add(1);
    };
    let publish = |tail: u16| {
        // SAFETY: the tail lies in the first entry and is shared with the kernel.
        let shared = unsafe { &*BufRingEntry::tail(entries).cast::<AtomicU16>() };
        shared.store(tail, Ordering::Release);
    };
    (0..BUFFERS).for_each(|buffer| give(&mut tail, buffer));
    publish(tail);
    let send = |index: usize| {
        opcode::Send::new(Fixed(index as u32), REQUEST.as_ptr(), REQUEST.len() as u32)
            .build()
            .user_data(u64::MAX)
    };
    let receive = |index: usize| {
        opcode::RecvMulti::new(Fixed(index as u32), 0)
            .build()
            .user_data(index as u64)
    };
    for index in 0..connections {
        // SAFETY: the request is static.
        unsafe {
            ring.submission().push(&receive(index)).unwrap();
            ring.submission().push(&send(index)).unwrap();
        }
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut count = 0u64;
    let mut done = Vec::with_capacity(65_536);
    while Instant::now() < end {
        let time = Timespec::from(Duration::from_millis(100));
        let _ = ring
            .submitter()
            .submit_with_args(1, &SubmitArgs::new().timespec(&time));
        done.clear();
        done.extend(
            ring.completion()
                .map(|one: cqueue::Entry| (one.user_data(), one.result(), one.flags())),
        );
        for &(data, result, flags) in &done {
            if data == u64::MAX {
                continue;
            }
            if let Some(buffer) = cqueue::buffer_select(flags) {
                give(&mut tail, buffer);
            }
            let index = data as usize;
            // SAFETY: as above.
            unsafe {
                if result > 0 {
                    count += 1;
                    ring.submission().push(&send(index)).unwrap();
                }
                if !cqueue::more(flags) {
                    ring.submission().push(&receive(index)).unwrap();
                }
            }
        }
        publish(tail);
    }
    println!("{count} requests in {seconds} s");
    // The ring's own memory must be gone before the buffers are.
    drop(ring);
    Ok(())
}
