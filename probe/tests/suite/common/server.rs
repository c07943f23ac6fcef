//! Servers for the load engine: real sockets, a thread for each connection, any behaviour.
#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// A small right reply.
pub const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

pub struct Server {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    /// Connections so far.
    pub accepted: Arc<AtomicU64>,
}

impl Server {
    /// Calls `serve` with each connection and its number from 0, on a thread of its own.
    pub fn start(serve: impl Fn(TcpStream, u64) + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let accepted = Arc::new(AtomicU64::new(0));
        let serve = Arc::new(serve);
        let (stopped, count) = (stop.clone(), accepted.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let (number, serve) = (count.fetch_add(1, Ordering::Relaxed), serve.clone());
                let stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                std::thread::spawn(move || serve(stream, number));
            }
        });
        Server { address, stop, accepted }
    }

    /// Answers each request on each connection with the same bytes, and closes then if asked to.
    pub fn replying(reply: &[u8], close: bool) -> Server {
        let reply = reply.to_vec();
        Server::start(move |mut stream, _| {
            while request(&mut stream).is_some() {
                if stream.write_all(&reply).is_err() || close {
                    return;
                }
            }
        })
    }

    /// Answers each request on each connection with what this makes of its head, or of the line.
    pub fn answering(reply: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Server {
        Server::start(move |stream, _| answer_all(stream, &reply))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

/// Answers each request of a connection with what this makes of its head, or of the line.
pub fn answer_all(mut stream: impl Read + Write, reply: impl Fn(&str) -> Vec<u8>) {
    while let Some(head) = request(&mut stream) {
        if stream.write_all(&reply(&head)).is_err() {
            return;
        }
    }
}

/// Reads a request's head, or a line of TCP; None at the end of the connection.
pub fn request(stream: &mut impl Read) -> Option<String> {
    let (mut text, mut byte) = (Vec::new(), [0]);
    loop {
        match stream.read(&mut byte) {
            Ok(1) => text.push(byte[0]),
            _ => return None,
        }
        let http = text.starts_with(b"GET") || text.starts_with(b"HEAD") || text.starts_with(b"POST");
        let whole = if http { text.ends_with(b"\r\n\r\n") } else { text.ends_with(b"\n") };
        if whole && text.len() > 4 {
            return Some(String::from_utf8(text).unwrap());
        }
    }
}

/// Sends in pieces, each a packet of its own.
pub fn dribble(stream: &mut impl Write, bytes: &[u8], step: usize) {
    for piece in bytes.chunks(step) {
        if stream.write_all(piece).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Ends a connection with a reset.
pub fn reset(stream: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
}
