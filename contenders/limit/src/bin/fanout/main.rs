//! The floor for fanout: a thread for each core, which waits in epoll for clients,
//! upstreams and the next tick.
#![forbid(unsafe_code)]

mod call;
mod client;
mod gateway;
mod reply;
mod request;
mod sum;

use std::io;
use std::net::SocketAddrV4;
use std::process::exit;
use std::thread;
use std::time::Duration;

use limit::mailbox::mailbox;
use limit::server;
use limit::settings::{self, Given, MOST};

use call::Upstream;
use gateway::{Gateway, Kind, Message};
use sum::Sum;

/// Calls, or sums, for each request.
pub const CALLS: usize = 3;

struct Settings {
    address: SocketAddrV4,
    cores: usize,
    kind: Kind,
}

fn main() {
    let settings = settings::read("fanout", settings);
    if let Err(error) = serve(&settings) {
        eprintln!("fanout: cannot serve: {error}");
        exit(1);
    }
}

fn settings(given: &Given) -> Result<Settings, String> {
    let milliseconds = |key: &str, otherwise| {
        let number = given.whole_number_or(key, 1, MOST, otherwise);
        number.map(Duration::from_millis)
    };
    let kind = given.needed("kind", ["io", "cpu", "mixed"])?;
    let (tick, timeout) = (
        milliseconds("tick_ms", 50)?,
        milliseconds("timeout_ms", 5000)?,
    );
    let work = given.whole_number_or("work", 1, MOST, 100_000)?;
    let sum = Sum {
        work,
        // One, which the compiler cannot know: a program has a name.
        step: 1 + u64::from(std::env::args_os().len() == 0),
    };
    Ok(Settings {
        address: given.address()?,
        cores: given.cores()?,
        kind: match kind {
            "cpu" => Kind::Cpu(sum),
            _ => Kind::Io {
                upstreams: upstreams(given)?,
                tick,
                timeout,
                sum: (kind == "mixed").then_some(sum),
            },
        },
    })
}

fn upstreams(given: &Given) -> Result<Vec<Upstream>, String> {
    let found: Option<Vec<Upstream>> = given
        .text("upstreams")
        .split(',')
        .map(Upstream::from_url)
        .collect();
    found.filter(|all| all.len() == CALLS).ok_or_else(|| {
        let wanted = format!("{CALLS} of http://127.0.0.1:PORT/, with commas between them");
        given.refusal("upstreams", &wanted)
    })
}

fn serve(settings: &Settings) -> io::Result<()> {
    let (mut addresses, mut mailboxes) = (Vec::new(), Vec::new());
    for _ in 0..settings.cores {
        let (address, mailbox) = mailbox()?;
        addresses.push(address);
        mailboxes.push(mailbox);
    }
    for (this, mailbox) in mailboxes.into_iter().enumerate() {
        let (kind, all) = (settings.kind.clone(), addresses.clone());
        thread::Builder::new().spawn(move || {
            let gateway = Gateway::new(kind, mailbox, all, this);
            if let Err(error) = gateway.and_then(|mut gateway| gateway.run()) {
                eprintln!("fanout: cannot wait: {error}");
                exit(1);
            }
        })?;
    }
    let listener = server::begin(settings.address)?;
    server::deal(&listener, &addresses, Message::Connection)
}
