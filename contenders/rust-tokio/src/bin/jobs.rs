//! The background jobs: a task for each, with a semaphore. Those that compute do so in `spawn_blocking`.

use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rust_tokio::settings::{Given, MOST};
use rust_tokio::{line_from_stdin, report, run};
use tokio::sync::Semaphore;
use tokio::task::{spawn_blocking, JoinHandle};
use tokio::time::{interval_at, Interval, MissedTickBehavior};

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

#[derive(Clone, Copy)]
struct Settings {
    jobs: u64,
    work: Work,
    workers: usize,
    trace: bool,
    seed: u64,
}

struct Answer {
    value: u64,
    place: usize,
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
        jobs: given.whole_number("jobs", 1, 1_000_000),
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
    run(given.cores(), async move {
        // Each begins with the answer of the one before.
        let mut last = first(settings.seed, 0);
        if let Work::Compute(rounds) = settings.work {
            for _ in 0..TIMES_ALONE {
                let start = Instant::now();
                // Without it the compiler may compute it after the clock was read.
                last = black_box(advance(last, rounds));
                report(format_args!(
                    "::phase name=alone ns={}",
                    start.elapsed().as_nanos()
                ));
            }
        }
        let mut evidence = Evidence::default();
        for repeat in 0..repeats {
            in_background(settings, hold && repeat == 0, &mut evidence).await;
        }
        report(format_args!(
            "::result answers={} order={} beats={} alone={}",
            repeats * settings.jobs,
            evidence.order,
            evidence.beats,
            last
        ));
    });
}

/// All jobs, once; the evidence goes on.
async fn in_background(settings: Settings, hold: bool, evidence: &mut Evidence) {
    let start = Instant::now();
    let places = Arc::new(Places::new(settings.workers));
    let jobs: Vec<JoinHandle<Answer>> = (0..settings.jobs)
        .map(|number| {
            tokio::spawn(job(
                places.clone(),
                settings.work,
                first(settings.seed, number),
            ))
        })
        .collect();
    let submitted = Instant::now();
    report(format_args!(
        "::phase name=submit ns={}",
        (submitted - start).as_nanos()
    ));
    let mut heart = Heart::new(submitted);
    if hold {
        report(format_args!("::await name=submitted"));
        heart.beat_until(line_from_stdin()).await;
    }
    let mut answers = Vec::with_capacity(jobs.len());
    for job in jobs {
        answers.push(heart.beat_until(job).await.expect("a job does not panic"));
    }
    let end = Instant::now();
    report(format_args!(
        "::phase name=makespan ns={}",
        (end - start).as_nanos()
    ));
    heart.look_back(end);
    evidence.beats += heart.beats;

    report(format_args!("::phase name=gap ns={}", heart.gap.as_nanos()));
    for answer in &answers {
        evidence.order = (31 * evidence.order + answer.value) % MODULUS;
        if settings.trace {
            report(format_args!(
                "::span unit={} begin={} end={}",
                answer.place,
                (answer.begin - start).as_nanos(),
                (answer.end - start).as_nanos()
            ));
        }
    }
}

async fn job(places: Arc<Places>, work: Work, x: u64) -> Answer {
    let _permit = places
        .semaphore
        .acquire()
        .await
        .expect("it is never closed");
    let place = places.take();
    let begin = Instant::now();
    let value = match work {
        Work::Sleep(duration) => {
            tokio::time::sleep(duration).await;
            advance(x, 1)
        }
        Work::Compute(rounds) => spawn_blocking(move || advance(x, rounds))
            .await
            .expect("it does not panic"),
        Work::Nothing => advance(x, 1),
    };
    let end = Instant::now();
    places.give_back(place);
    Answer {
        value,
        place,
        begin,
        end,
    }
}

/// A semaphore whose places have numbers.
struct Places {
    semaphore: Semaphore,
    free: Mutex<Vec<usize>>,
}

impl Places {
    fn new(count: usize) -> Self {
        Places {
            semaphore: Semaphore::new(count),
            free: Mutex::new((0..count).rev().collect()),
        }
    }

    fn take(&self) -> usize {
        self.free
            .lock()
            .unwrap()
            .pop()
            .expect("there is a place for each permit")
    }

    fn give_back(&self, place: usize) {
        self.free.lock().unwrap().push(place);
    }
}

/// The other work: a beat that is due 10 ms after the one before.
struct Heart {
    due: Interval,
    last: Instant,
    gap: Duration,
    beats: u64,
}

impl Heart {
    fn new(now: Instant) -> Self {
        let mut due = interval_at((now + BEAT).into(), BEAT);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Heart {
            due,
            last: now,
            gap: Duration::ZERO,
            beats: 0,
        }
    }

    async fn beat_until<T>(&mut self, event: impl std::future::Future<Output = T>) -> T {
        let mut event = std::pin::pin!(event);
        loop {
            tokio::select! {
                value = &mut event => return value,
                _ = self.due.tick() => {
                    let now = Instant::now();
                    self.look_back(now);
                    self.last = now;
                    self.beats += 1;
                }
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
