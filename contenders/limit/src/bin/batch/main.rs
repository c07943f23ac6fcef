//! The floor for batch: blocks of whole cases, numbers made by hand, a radix sort. With one
//! core a loop does it all; with more, or where a queue is asked for, a thread for each core
//! reads a block in its turn and computes it, and the main thread puts the answers in order.
#![forbid(unsafe_code)]

mod crew;
mod input;
mod numbers;
mod solo;
mod solver;
mod sort;

use std::io;
use std::process::exit;
use std::time::{Duration, Instant};

use limit::report;
use limit::settings::{self, Given};

use input::Input;

/// Answers are gathered so far before they are written.
const WRITE_BYTES: usize = 64 * 1024;

struct Settings {
    input: String,
    cores: usize,
    capacity: Capacity,
    repeats: u64,
}

/// Places in the queue of answers; one takes the answers of a block.
#[derive(Clone, Copy)]
pub enum Capacity {
    Own,
    Places(usize),
    Unbounded,
}

pub enum Fault {
    /// The input breaks the rules, or cannot be read.
    Input(String),
    /// It is not the input's fault: no thread could be had, nobody reads the answers.
    System(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault::System(error)
    }
}

/// The report of the work when it is done.
pub struct Told {
    pub cases: u64,
    pub phases: Vec<(&'static str, Duration)>,
}

fn main() {
    let settings = settings::read("batch", settings);
    match run(&settings) {
        Ok(()) => (),
        Err(Fault::Input(complaint)) => {
            eprintln!("batch: {:?}: {complaint}", settings.input);
            exit(2);
        }
        Err(Fault::System(error)) => {
            eprintln!("batch: {error}");
            exit(1);
        }
    }
}

fn settings(given: &Given) -> Result<Settings, String> {
    let input = given.text("input");
    if input.is_empty() {
        return Err(given.refusal("input", "the path of a file"));
    }
    let capacities = ["own", "0", "1", "100", "10000", "unbounded"];
    Ok(Settings {
        input: input.to_owned(),
        cores: given.cores()?,
        capacity: match given.one_of("capacity", capacities)? {
            "own" => Capacity::Own,
            "0" => Capacity::Places(0),
            "1" => Capacity::Places(1),
            "100" => Capacity::Places(100),
            "10000" => Capacity::Places(10_000),
            _ => Capacity::Unbounded,
        },
        repeats: given.repeats()?,
    })
}

fn run(settings: &Settings) -> Result<(), Fault> {
    let mut cases = 0;
    for _ in 0..settings.repeats {
        let begin = Instant::now();
        let told = once(settings)?;
        let work = ("work", begin.elapsed());
        for (name, time) in told.phases.into_iter().chain([work]) {
            report::line(&format!("::phase name={name} ns={}", time.as_nanos()))?;
        }
        cases += told.cases;
    }
    report::line(&format!("::result cases={cases}"))?;
    Ok(())
}

fn once(settings: &Settings) -> Result<Told, Fault> {
    let input = Input::open(&settings.input)?;
    match (settings.cores, settings.capacity) {
        (1, Capacity::Own) => solo::run(input),
        (cores, capacity) => crew::run(input, cores, capacity),
    }
}

/// Does the work, and adds the time that it took.
pub fn timed<R>(total: &mut Duration, work: impl FnOnce() -> R) -> R {
    let begun = Instant::now();
    let done = work();
    *total += begun.elapsed();
    done
}
