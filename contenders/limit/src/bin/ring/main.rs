//! The floor for the ring: what relaying costs on one core when there is nothing
//! but a queue for each unit and a run queue of the units that can go on.
#![forbid(unsafe_code)]

mod inbox;
mod ring;

use std::io;
use std::process::exit;
use std::time::Instant;

use limit::report;
use limit::settings::{self, MOST};

use ring::{Evidence, Ring};

pub struct Settings {
    pub nodes: usize,
    pub messages: i64,
    pub token: bool,
    pub trace: bool,
    pub hold: bool,
    pub repeats: u64,
}

fn main() {
    let settings = settings::read("ring", |given| {
        given.one_of("capacity", ["own", "30"])?;
        Ok(Settings {
            nodes: given.whole_number("nodes", 2, MOST)? as usize,
            messages: given.whole_number("messages", 1, MOST)? as i64,
            token: given.one_of("mode", ["pipelined", "token"])? == "token",
            trace: given.one_of("trace", ["0", "1"])? == "1",
            hold: given.one_of("hold", ["0", "1"])? == "1",
            repeats: given.repeats()?,
        })
    });
    if let Err(error) = run(&settings) {
        eprintln!("ring: {error}");
        exit(1);
    }
}

fn run(settings: &Settings) -> io::Result<()> {
    let mut evidence = Evidence::new();
    for time in 0..settings.repeats {
        let hold = settings.hold && time == 0;
        once(settings, hold, &mut evidence)?;
    }
    report::line(&format!(
        "::result checksum={} order={}",
        evidence.checksum, evidence.order
    ))
}

/// Makes a ring, and sends all messages through it.
fn once(settings: &Settings, hold: bool, evidence: &mut Evidence) -> io::Result<()> {
    let start = Instant::now();
    let mut ring = Ring::new(settings);
    report::line(&format!(
        "::phase name=spawn ns={}",
        start.elapsed().as_nanos()
    ))?;
    if hold {
        report::line("::await name=spawned")?;
        io::stdin().read_line(&mut String::new())?;
    }

    let start = Instant::now();
    if settings.trace {
        ring.run::<true>(evidence)?;
    } else {
        ring.run::<false>(evidence)?;
    }
    let relay = evidence.arrived.duration_since(start);
    report::line(&format!("::phase name=relay ns={}", relay.as_nanos()))
}
