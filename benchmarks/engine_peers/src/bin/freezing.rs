//! A server that answers at once, but freezes: `freezing PERIOD_MS FREEZE_MS [CERTIFICATE KEY]`. In each period
//! of its clock it does nothing for the last FREEZE_MS. With `freezing 0 AFTER_MS` it freezes for good, that long
//! after its first request. With a certificate and its key (PEM) it speaks TLS. Prints its port, and at the end
//! of its stdin the instants at which it answered: nanoseconds of CLOCK_MONOTONIC, a line each.

use engine_peers::{listen, now_ns, Epoll};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::io::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello";

trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

fn tls(certificate: &str, key: &str) -> Arc<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(certificate).unwrap();
    let chain = chain.map(|each| each.unwrap()).collect();
    let key = PrivateKeyDer::from_pem_file(key).unwrap();
    let config = ServerConfig::builder().with_no_client_auth();
    Arc::new(config.with_single_cert(chain, key).unwrap())
}

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ms = |word: &String| word.parse::<u64>().unwrap() * 1_000_000;
    let (period, freeze) = (ms(&words[0]), ms(&words[1]));
    let tls = (words.len() == 4).then(|| tls(&words[2], &words[3]));
    let listener = listen()?;
    println!("{}", listener.local_addr()?.port());
    let epoll = Epoll::new();
    epoll.add(listener.as_raw_fd(), u64::MAX, false);
    let mut streams: HashMap<u64, Box<dyn Stream>> = HashMap::new();
    let ended = Arc::new(AtomicBool::new(false));
    let told = ended.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read(&mut [0]);
        told.store(true, Ordering::Relaxed);
    });
    let mut answered = Vec::with_capacity(1 << 20);
    let (mut ready, mut buffer, mut next, mut first) = (Vec::new(), [0; 16 * 1024], 0, None);
    loop {
        epoll.wait(100, &mut ready);
        if ended.load(Ordering::Relaxed) {
            let mut out = std::io::BufWriter::new(std::io::stdout().lock());
            for at in answered {
                writeln!(out, "{at}")?;
            }
            return out.flush();
        }
        let now = now_ns();
        if period > 0 && now % period >= period - freeze {
            std::thread::sleep(Duration::from_nanos(period - now % period));
        } else if period == 0 && first.is_some_and(|first| now > first + freeze) {
            std::thread::sleep(Duration::from_secs(3600));
        }
        for &data in &ready {
            if data == u64::MAX {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    epoll.add(stream.as_raw_fd(), next, true);
                    streams.insert(next, over(stream, &tls));
                    next += 1;
                }
            } else if let Some(stream) = streams.get_mut(&data) {
                // A connection has one request at a time, of one segment or record; before it, and after, there
                // may be records of the handshake.
                let is_open = loop {
                    match stream.read(&mut buffer) {
                        Ok(count) if count > 0 => {
                            first.get_or_insert(now);
                            answered.push(now_ns());
                            let _ = stream.write_all(REPLY);
                        }
                        Err(error) if error.kind() == ErrorKind::WouldBlock => break true,
                        _ => break false,
                    }
                };
                if !is_open {
                    streams.remove(&data);
                }
            }
        }
    }
}

/// What is read from and written to a connection.
fn over(stream: TcpStream, tls: &Option<Arc<ServerConfig>>) -> Box<dyn Stream> {
    match tls {
        None => Box::new(stream),
        Some(config) => {
            let session = ServerConnection::new(config.clone()).unwrap();
            Box::new(StreamOwned::new(session, stream))
        }
    }
}
