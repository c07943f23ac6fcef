//! The floor for sleepers: no tasks, but a heap of instants, and one thread that sleeps until the
//! next of them.
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::process::exit;
use std::thread;
use std::time::{Duration, Instant};

use limit::report;
use limit::settings::{self, Given};

const MODULUS: u64 = 2_147_483_647;
const FACTOR: u64 = 48_271;
const SECOND_NS: u64 = 1_000_000_000;
const REPORTS: usize = 10;

struct Settings {
    tasks: usize,
    seconds: u64,
    seed: u64,
    hold: bool,
}

fn main() {
    let settings = settings::read("sleepers", settings);
    if let Err(error) = run(&settings) {
        eprintln!("sleepers: {error}");
        exit(1);
    }
}

fn settings(given: &Given) -> Result<Settings, String> {
    // It changes nothing, but must be one.
    given.cores()?;
    Ok(Settings {
        tasks: given.whole_number("tasks", 1, 1_000_000)? as usize,
        seconds: given.whole_number("seconds", 2, 3600)?,
        seed: given.whole_number_or("seed", 0, u64::from(u32::MAX), 0)?,
        hold: given.one_of("hold", ["0", "1"])? == "1",
    })
}

fn run(settings: &Settings) -> io::Result<()> {
    let begin = Instant::now();
    let last_second_ns = (settings.seconds - 1) * SECOND_NS;
    // Nanoseconds since the beginning, and the number.
    let mut asleep = BinaryHeap::with_capacity(settings.tasks);
    let mut number = 1 + settings.seed % (MODULUS - 1);
    for _ in 0..settings.tasks {
        number = FACTOR * number % MODULUS;
        let instant_ns = last_second_ns + number * SECOND_NS / MODULUS;
        asleep.push(Reverse((instant_ns, number)));
    }
    phase("start", begin)?;
    let line = if settings.hold {
        report::line("::await name=started")?;
        // Instants come while it waits, so another thread does.
        Some(thread::spawn(|| io::stdin().read_line(&mut String::new())))
    } else {
        None
    };
    collect(settings.tasks, begin, asleep)?;
    if let Some(line) = line {
        line.join().expect("it does not panic")?;
    }
    Ok(())
}

/// Takes the numbers when they are due.
fn collect(
    tasks: usize,
    begin: Instant,
    mut asleep: BinaryHeap<Reverse<(u64, u64)>>,
) -> io::Result<()> {
    let reports = tasks.min(REPORTS);
    let (mut sum, mut order, mut count) = (0, 0, 0);
    let mut late_ns = Vec::with_capacity(tasks);
    while let Some(Reverse((instant_ns, number))) = asleep.pop() {
        let mut now_ns = begin.elapsed().as_nanos() as u64;
        while now_ns < instant_ns {
            thread::sleep(Duration::from_nanos(instant_ns - now_ns));
            now_ns = begin.elapsed().as_nanos() as u64;
        }
        late_ns.push(now_ns - instant_ns);
        sum += number;
        // They come in the order of their instants.
        order = (31 * order + number) % MODULUS;
        count += 1;
        if count * reports / tasks > (count - 1) * reports / tasks {
            phase("wake", begin)?;
        }
    }
    late_ns.sort_unstable();
    // The smallest lateness that so many percent do not exceed.
    let percentile = |percent: usize| late_ns[(tasks * percent + 99) / 100 - 1];
    report::line(&format!(
        "::result sum={sum} order={order} late_p50_ns={} late_p99_ns={} late_max_ns={}",
        percentile(50),
        percentile(99),
        percentile(100)
    ))
}

fn phase(name: &str, begin: Instant) -> io::Result<()> {
    report::line(&format!(
        "::phase name={name} ns={}",
        begin.elapsed().as_nanos()
    ))
}
