//! How a server begins and ends.

use std::io::Write;
use std::net::Ipv4Addr;
use std::process::exit;

use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{signal, SignalKind};

const BACKLOG: u32 = 4096;

/// A listener, which is announced. From now on SIGTERM and the end of stdin end the program, whatever
/// is in progress. Must be called inside the runtime.
pub fn listen(host: Ipv4Addr, port: u16) -> TcpListener {
    let socket = TcpSocket::new_v4().expect("a socket can be made");
    let listener = socket
        .set_reuseaddr(true)
        .and_then(|()| socket.bind((host, port).into()))
        .and_then(|()| socket.listen(BACKLOG))
        .unwrap_or_else(|error| {
            eprintln!("port must be one that is free on {host}, not {port}: {error}");
            exit(2);
        });
    end_when_told();
    let address = listener.local_addr().expect("a listener has an address");
    let mut out = std::io::stdout().lock();
    if let Err(error) = writeln!(out, "::ready port={}", address.port()) {
        eprintln!("cannot write to stdout: {error}");
        exit(1);
    }
    listener
}

fn end_when_told() {
    let mut terminate = signal(SignalKind::terminate()).expect("signals can be received");
    // A thread, not a task: worker threads may be busy with computations.
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        exit(0);
    });
    tokio::spawn(async move {
        terminate.recv().await;
        exit(0);
    });
}
