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

use ring::Ring;

pub struct Settings {
    pub nodes: usize,
    pub messages: i64,
    pub token: bool,
    pub trace: bool,
    pub hold: bool,
}

fn main() {
    let settings = settings::read("ring", |given| {
        Ok(Settings {
            nodes: given.whole_number("nodes", 2, MOST)? as usize,
            messages: given.whole_number("messages", 1, MOST)? as i64,
            token: given.one_of("mode", ["pipelined", "token"])? == "token",
            trace: given.one_of("trace", ["0", "1"])? == "1",
            hold: given.one_of("hold", ["0", "1"])? == "1",
        })
    });
    if let Err(error) = run(&settings) {
        eprintln!("ring: {error}");
        exit(1);
    }
}

fn run(settings: &Settings) -> io::Result<()> {
    let start = Instant::now();
    let mut ring = Ring::new(settings);
    report::line(&format!(
        "::phase name=spawn ns={}",
        start.elapsed().as_nanos()
    ))?;
    if settings.hold {
        report::line("::await name=spawned")?;
        io::stdin().read_line(&mut String::new())?;
    }

    let start = Instant::now();
    let evidence = if settings.trace {
        ring.run::<true>()?
    } else {
        ring.run::<false>()?
    };
    let relay = evidence.arrived.duration_since(start);
    report::line(&format!("::phase name=relay ns={}", relay.as_nanos()))?;
    report::line(&format!(
        "::result checksum={} order={}",
        evidence.checksum, evidence.order
    ))
}
