//! The background jobs: a rayon pool of W threads, a crossbeam channel for the answers.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{bounded, unbounded, Receiver};
use rayon::ThreadPoolBuilder;
use rust_rayon::settings::{Given, MOST};
use rust_rayon::{line_from_stdin, report};

const MODULUS: u64 = 2_147_483_647;
const FACTOR: u64 = 48_271;
const TIMES_ALONE: u64 = 5;
const BEAT: Duration = Duration::from_millis(10);

#[derive(Clone, Copy)]
enum Work {
    Sleep(Duration),
    Compute(u64),
    Nothing,
}

struct Settings {
    jobs: usize,
    work: Work,
    workers: usize,
    trace: bool,
    seed: u64,
}

#[derive(Clone)]
struct Answer {
    value: u64,
    unit: usize,
    begin: Instant,
    end: Instant,
}

#[derive(Default)]
struct Evidence {
    order: u64,
    beats: u64,
}

fn main() {
    let given = Given::read();
    let duration = Duration::from_millis(given.whole_number_or("duration_ms", 0, 3_600_000, 1000));
    let rounds = given.whole_number_or("rounds", 1, MOST, 1_000_000);
    let settings = Settings {
        jobs: given.whole_number("jobs", 1, 1_000_000) as usize,
        work: match given.needed("kind", &["sleep", "cpu", "noop"]) {
            "sleep" => Work::Sleep(duration),
            "cpu" => Work::Compute(rounds),
            _ => Work::Nothing,
        },
        workers: given.whole_number("workers", 1, 1024) as usize,
        trace: given.flag("trace"),
        seed: given.whole_number_or("seed", 0, u32::MAX.into(), 0),
    };
    let hold = given.flag("hold");
    let repeats = given.repeats();
    given.cores(); // Unused: W says how many threads there are.

    // Each begins with the answer of the one before.
    let mut last = first(settings.seed, 0);
    if let Work::Compute(rounds) = settings.work {
        for _ in 0..TIMES_ALONE {
            let start = Instant::now();
            // Without it the compiler may compute it after the clock was read.
            last = black_box(advance(last, rounds));
            phase("alone", start.elapsed());
        }
    }
    let mut evidence = Evidence::default();
    for repeat in 0..repeats {
        in_background(&settings, hold && repeat == 0, &mut evidence);
    }
    report(format_args!(
        "::result answers={} order={} beats={} alone={last}",
        repeats * settings.jobs as u64,
        evidence.order,
        evidence.beats,
    ));
}

/// All jobs, once; the evidence goes on.
fn in_background(settings: &Settings, hold: bool, evidence: &mut Evidence) {
    let start = Instant::now();
    let pool = ThreadPoolBuilder::new()
        .num_threads(settings.workers)
        .build()
        .expect("threads can be started");
    let (sender, receiver) = unbounded();
    let work = settings.work;
    for number in 0..settings.jobs {
        let x = first(settings.seed, number as u64);
        let sender = sender.clone();
        pool.spawn(move || {
            let answer = job(work, x);
            sender
                .send((number, answer))
                .expect("the main thread receives");
        });
    }
    let submitted = Instant::now();
    phase("submit", submitted - start);
    let mut heart = Heart::new(submitted);
    if hold {
        report(format_args!("::await name=submitted"));
        let (line, came) = bounded(1);
        thread::spawn(move || {
            line_from_stdin();
            line.send(())
        });
        heart.beat_until(&came);
    }
    let mut answers = vec![None; settings.jobs];
    for _ in 0..settings.jobs {
        let (number, answer) = heart.beat_until(&receiver);
        answers[number] = Some(answer);
    }
    let end = Instant::now();
    phase("makespan", end - start);
    heart.look_back(end);
    evidence.beats += heart.beats;

    phase("gap", heart.gap);
    for answer in answers.into_iter().flatten() {
        evidence.order = (31 * evidence.order + answer.value) % MODULUS;
        if settings.trace {
            report(format_args!(
                "::span unit={} begin={} end={}",
                answer.unit,
                (answer.begin - start).as_nanos(),
                (answer.end - start).as_nanos()
            ));
        }
    }
}

fn job(work: Work, x: u64) -> Answer {
    let begin = Instant::now();
    let value = match work {
        Work::Sleep(duration) => {
            thread::sleep(duration);
            advance(x, 1)
        }
        Work::Compute(rounds) => advance(x, rounds),
        Work::Nothing => advance(x, 1),
    };
    Answer {
        value,
        unit: rayon::current_thread_index().expect("jobs run in the pool"),
        begin,
        end: Instant::now(),
    }
}

/// The other work: a beat that is due 10 ms after the one before.
struct Heart {
    last: Instant,
    gap: Duration,
    beats: u64,
}

impl Heart {
    fn new(now: Instant) -> Self {
        Heart {
            last: now,
            gap: Duration::ZERO,
            beats: 0,
        }
    }

    fn beat_until<T>(&mut self, receiver: &Receiver<T>) -> T {
        loop {
            let now = Instant::now();
            if now >= self.last + BEAT {
                self.look_back(now);
                self.last = now;
                self.beats += 1;
            }
            if let Ok(value) = receiver.recv_deadline(self.last + BEAT) {
                return value;
            }
        }
    }

    fn look_back(&mut self, now: Instant) {
        self.gap = self.gap.max(now - self.last);
    }
}

/// The number that job i begins with.
fn first(seed: u64, i: u64) -> u64 {
    1 + (seed + i) % (MODULUS - 1)
}

fn advance(mut x: u64, rounds: u64) -> u64 {
    for _ in 0..rounds {
        x = FACTOR * x % MODULUS;
    }
    x
}

fn phase(name: &str, time: Duration) {
    report(format_args!("::phase name={name} ns={}", time.as_nanos()));
}
