use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{channel, Receiver};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(1);

struct Feed {
    socket: TcpStream,
    id: Vec<u8>,
    k: u64,
    due: Instant,
}

fn begin(mut socket: TcpStream) -> Option<Feed> {
    let mut head = [0; 4096];
    let count = socket.read(&mut head).unwrap();
    if !head.starts_with(b"GET /test/") {
        let _ = socket.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        return None;
    }
    let path = &head[b"GET /test/".len()..count];
    let id = path[..path.iter().position(|&byte| byte == b' ').unwrap()].to_vec();
    let mut text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    let body = [b"Welcome: ", &id[..], b"\n"].concat();
    text.extend(format!("{:x}\r\n", body.len()).into_bytes());
    text.extend(body);
    text.extend(b"\r\n");
    socket.set_nodelay(true).unwrap();
    socket.write_all(&text).unwrap();
    Some(Feed { socket, id, k: 0, due: Instant::now() + INTERVAL })
}

fn send(begun: Receiver<Feed>) {
    let mut feeds: VecDeque<Feed> = VecDeque::new();
    let mut text = Vec::new();
    loop {
        feeds.extend(begun.try_iter());
        let now = Instant::now();
        while feeds.front().map_or(false, |feed| feed.due <= now) {
            let mut feed = feeds.pop_front().unwrap();
            feed.k += 1;
            let digits = feed.k.ilog10() as usize + 1;
            text.clear();
            write!(text, "{:x}\r\nChunk {} for ", 12 + digits + feed.id.len(), feed.k).unwrap();
            text.extend_from_slice(&feed.id);
            text.extend_from_slice(b"\n\r\n");
            if feed.socket.write_all(&text).is_ok() {
                feed.due += INTERVAL;
                feeds.push_back(feed);
            }
        }
        sleep(TICK);
    }
}

fn main() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("::ready port={}", server.local_addr().unwrap().port());
    let (beginning, begun) = channel();
    spawn(move || send(begun));
    for socket in server.incoming() {
        if let Some(feed) = begin(socket.unwrap()) {
            beginning.send(feed).unwrap();
        }
    }
}
