//! The floor for the ring: what relaying costs on one core when there is nothing
//! but a queue for each unit and a run queue of the units that can go on.
#![forbid(unsafe_code)]

mod inbox;
mod ring;
mod settings;

use std::io::{self, Write};
use std::process::exit;
use std::time::Instant;

use ring::Ring;
use settings::Settings;

fn main() {
    let settings = match settings::parse(std::env::args().skip(1)) {
        Ok(settings) => settings,
        Err(complaint) => {
            eprintln!("ring: {complaint}");
            exit(2);
        }
    };
    if let Err(error) = run(&settings) {
        eprintln!("ring: {error}");
        exit(1);
    }
}

fn run(settings: &Settings) -> io::Result<()> {
    let start = Instant::now();
    let mut ring = Ring::new(settings);
    report(&format!(
        "::phase name=spawn ns={}",
        start.elapsed().as_nanos()
    ))?;
    if settings.hold {
        report("::await name=spawned")?;
        io::stdin().read_line(&mut String::new())?;
    }

    let start = Instant::now();
    let evidence = if settings.trace {
        ring.run::<true>()?
    } else {
        ring.run::<false>()?
    };
    let relay = evidence.arrived.duration_since(start);
    report(&format!("::phase name=relay ns={}", relay.as_nanos()))?;
    report(&format!(
        "::result checksum={} order={}",
        evidence.checksum, evidence.order
    ))
}

fn report(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
