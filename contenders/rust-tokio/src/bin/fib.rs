//! The fibonacci service: a task for each connection, which reads, computes and writes; with
//! `compute=blocking` a blocking thread computes.

use std::io;
use std::time::Duration;

use rust_tokio::run;
use rust_tokio::service::listen;
use rust_tokio::settings::Given;
use tokio::io::{sink, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// Bytes of a line, its newline included.
const LONGEST: u64 = 100;
const GRACE: Duration = Duration::from_secs(1);
/// Until it accepts again, where no descriptor is free.
const PAUSE: Duration = Duration::from_millis(10);

fn main() {
    let given = Given::read();
    let (host, port) = (given.host(), given.port());
    let blocking = given.one_of("compute", &["inline", "blocking"]) == "blocking";
    run(given.cores(), async move {
        let listener = listen(host, port);
        loop {
            match listener.accept().await {
                Ok((client, _)) => drop(tokio::spawn(converse(client, blocking))),
                Err(_) => sleep(PAUSE).await,
            }
        }
    });
}

/// Answers one client's requests until it closes. An error is: the client went away.
async fn converse(mut client: TcpStream, blocking: bool) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (reading, mut writing) = client.split();
    let mut reader = BufReader::new(reading);
    let mut line = Vec::new();
    loop {
        line.clear();
        (&mut reader)
            .take(LONGEST)
            .read_until(b'\n', &mut line)
            .await?;
        if line.last() == Some(&b'\n') {
            line.pop();
            let reply = match number(&line) {
                None => "error: n must be a whole number from 1 to 90\n".to_owned(),
                Some(n) if blocking => spawn_blocking(move || answer(n))
                    .await
                    .expect("it does not panic"),
                Some(n) => answer(n),
            };
            writing.write_all(reply.as_bytes()).await?;
        } else if line.len() as u64 == LONGEST {
            let refusal = format!("error: a line may have {LONGEST} bytes\n");
            writing.write_all(refusal.as_bytes()).await?;
            writing.shutdown().await?;
            // Closing with bytes unread would reset the connection, and the client might miss the answer.
            let _ = timeout(GRACE, tokio::io::copy_buf(&mut reader, &mut sink())).await;
            return Ok(());
        } else {
            return Ok(());
        }
    }
}

/// The number in a request; None if it is not from 1 to 90.
fn number(line: &[u8]) -> Option<u64> {
    let digits = line.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(line).ok().filter(|_| digits)?;
    text.parse().ok().filter(|n| (1..=90).contains(n))
}

fn answer(n: u64) -> String {
    format!("{}\n", fib(n))
}

fn fib(n: u64) -> u64 {
    match n {
        1 | 2 => 1,
        _ => fib(n - 1) + fib(n - 2),
    }
}
