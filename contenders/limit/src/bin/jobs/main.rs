//! The floor for jobs: threads that take the next job's number from a counter and put its
//! answer into the job's own place. The main thread beats, and gathers what is there.
#![forbid(unsafe_code)]

mod background;
mod foreground;
mod heartbeat;
mod job;

use std::hint::black_box;
use std::io;
use std::process::exit;
use std::time::{Duration, Instant};

use limit::report;
use limit::settings::{self, Given};

use background::Background;
use foreground::Evidence;
use job::{advance, Job, Kind};

/// How often a job is done before all else.
const TIMES_ALONE: usize = 5;

struct Settings {
    jobs: usize,
    job: Job,
    workers: usize,
    hold: bool,
    trace: bool,
    repeats: u64,
}

fn main() {
    let settings = settings::read("jobs", settings);
    if let Err(error) = run(&settings) {
        eprintln!("jobs: {error}");
        exit(1);
    }
}

fn settings(given: &Given) -> Result<Settings, String> {
    let duration_ms = given.whole_number_or("duration_ms", 0, 3_600_000, 1000)?;
    let rounds = given.whole_number_or("rounds", 1, 1_000_000_000, 1_000_000)?;
    // It changes nothing, but must be one.
    given.cores()?;
    Ok(Settings {
        jobs: given.whole_number("jobs", 1, 1_000_000)? as usize,
        job: Job {
            kind: match given.needed("kind", ["sleep", "cpu", "noop"])? {
                "sleep" => Kind::Sleep(Duration::from_millis(duration_ms)),
                "cpu" => Kind::Cpu { rounds },
                _ => Kind::Noop,
            },
            seed: given.whole_number_or("seed", 0, u64::from(u32::MAX), 0)?,
        },
        workers: given.whole_number("workers", 1, 1024)? as usize,
        hold: given.one_of("hold", ["0", "1"])? == "1",
        trace: given.one_of("trace", ["0", "1"])? == "1",
        repeats: given.repeats()?,
    })
}

fn run(settings: &Settings) -> io::Result<()> {
    // Each begins with the answer of the one before.
    let mut last = settings.job.first(0);
    if let Kind::Cpu { rounds } = settings.job.kind {
        for _ in 0..TIMES_ALONE {
            let begun = Instant::now();
            // Without it the compiler may compute it after the clock was read.
            last = black_box(advance(last, rounds));
            phase("alone", begun.elapsed())?;
        }
    }
    let mut evidence = Evidence::default();
    for time in 0..settings.repeats {
        let hold = settings.hold && time == 0;
        once(settings, hold, &mut evidence)?;
    }
    report::line(&format!(
        "::result answers={} order={} beats={} alone={last}",
        evidence.answers, evidence.order, evidence.beats
    ))
}

/// Does all jobs, with threads of their own.
fn once(settings: &Settings, hold: bool, evidence: &mut Evidence) -> io::Result<()> {
    let begun = Instant::now();
    let background = Background::begin(
        settings.job,
        settings.jobs,
        settings.workers,
        settings.trace,
    )?;
    let submitted = Instant::now();
    phase("submit", submitted - begun)?;
    if hold {
        report::line("::await name=submitted")?;
        io::stdin().read_line(&mut String::new())?;
    }
    let (ended, gap) = foreground::gather(&background, submitted, evidence);
    phase("makespan", ended - begun)?;

    phase("gap", gap)?;
    // Waits until the threads are gone.
    for (unit, span) in background.spans() {
        let (begin, end) = (span.begin - begun, span.end - begun);
        report::line(&format!(
            "::span unit={unit} begin={} end={}",
            begin.as_nanos(),
            end.as_nanos()
        ))?;
    }
    Ok(())
}

fn phase(name: &str, time: Duration) -> io::Result<()> {
    report::line(&format!("::phase name={name} ns={}", time.as_nanos()))
}
