use std::time::Instant;
use tokio::sync::mpsc::{channel, Receiver, Sender};

async fn relay(i: u64, messages: u64, mut inbox: Receiver<u64>, outbox: Sender<u64>) {
    for _ in 0..messages {
        let value = inbox.recv().await.unwrap();
        outbox.send(value + i).await.unwrap();
    }
}

async fn receive(messages: u64, mut inbox: Receiver<u64>) -> (Instant, u64, u64) {
    let (mut checksum, mut order) = (0, 0);
    for _ in 0..messages {
        let value = inbox.recv().await.unwrap();
        checksum += value;
        order = (31 * order + value) % 2147483647;
    }
    (Instant::now(), checksum, order)
}

async fn ring(n: u64, m: u64) {
    let (first, mut inbox) = channel(32);
    for i in 1..n {
        let (outbox, next) = channel(32);
        tokio::spawn(relay(i, m, inbox, outbox));
        inbox = next;
    }
    let last = tokio::spawn(receive(m, inbox));
    let start = Instant::now();
    for r in (0..m).rev() {
        first.send(r).await.unwrap();
    }
    let (end, checksum, order) = last.await.unwrap();
    assert!(order < 2147483647);
    println!("{} {}", end.duration_since(start).as_nanos(), checksum);
}

// A task of its own: the main thread is not one of the workers.
#[tokio::main(worker_threads = 1)]
async fn main() {
    let arguments: Vec<u64> = std::env::args().skip(1).map(|text| text.parse().unwrap()).collect();
    tokio::spawn(ring(arguments[0], arguments[1])).await.unwrap();
}
