//! The sleepers: a task for each, and a channel to the one that collects.

use std::time::{Duration, Instant};

use rust_tokio::settings::Given;
use rust_tokio::{line_from_stdin, report, run};
use tokio::sync::mpsc;

const MODULUS: u64 = 2_147_483_647;
const FACTOR: u64 = 48_271;
const SECOND_NS: u64 = 1_000_000_000;
const REPORTS: usize = 10;

/// A task hands over its number and its lateness.
struct Wake {
    number: u64,
    late: Duration,
}

fn main() {
    let given = Given::read();
    let tasks = given.whole_number("tasks", 1, 1_000_000) as usize;
    let seconds = given.whole_number("seconds", 2, 3600);
    let seed = given.whole_number_or("seed", 0, u32::MAX.into(), 0);
    let hold = given.flag("hold");
    run(given.cores(), async move {
        let begin = Instant::now();
        let last_second = begin + Duration::from_secs(seconds - 1);
        let (started, mut all_started) = mpsc::unbounded_channel();
        let (sender, mut numbers) = mpsc::unbounded_channel();
        let mut number = 1 + seed % (MODULUS - 1);
        for _ in 0..tasks {
            number = FACTOR * number % MODULUS;
            let instant = last_second + Duration::from_nanos(number * SECOND_NS / MODULUS);
            tokio::spawn(sleeper(number, instant, started.clone(), sender.clone()));
        }
        drop(started);
        // Each task lets go of its own sender when it is about to sleep; nothing is ever sent.
        let none: Option<()> = all_started.recv().await;
        debug_assert!(none.is_none());
        report(format_args!(
            "::phase name=start ns={}",
            begin.elapsed().as_nanos()
        ));
        if hold {
            report(format_args!("::await name=started"));
            line_from_stdin().await;
        }
        let mut collector = Collector::new(tasks, begin);
        for _ in 0..tasks {
            collector.take(numbers.recv().await.expect("this task has a sender too"));
        }
        collector.report();
    });
}

async fn sleeper(
    number: u64,
    instant: Instant,
    started: mpsc::UnboundedSender<()>,
    numbers: mpsc::UnboundedSender<Wake>,
) {
    drop(started);
    tokio::time::sleep_until(instant.into()).await;
    let late = instant.elapsed();
    numbers
        .send(Wake { number, late })
        .expect("the receiver waits for all");
}

/// Keeps what came, and reports after each tenth of it.
struct Collector {
    tasks: usize,
    reports: usize,
    begin: Instant,
    numbers: Vec<u64>,
    late: Vec<Duration>,
}

impl Collector {
    fn new(tasks: usize, begin: Instant) -> Self {
        Collector {
            tasks,
            reports: tasks.min(REPORTS),
            begin,
            numbers: Vec::new(),
            late: Vec::new(),
        }
    }

    fn take(&mut self, wake: Wake) {
        let before = self.numbers.len() * self.reports / self.tasks;
        self.numbers.push(wake.number);
        self.late.push(wake.late);
        if self.numbers.len() * self.reports / self.tasks > before {
            report(format_args!(
                "::phase name=wake ns={}",
                self.begin.elapsed().as_nanos()
            ));
        }
    }

    fn report(mut self) {
        self.numbers.sort_unstable();
        self.late.sort_unstable();
        let order = self
            .numbers
            .iter()
            .fold(0, |order, number| (31 * order + number) % MODULUS);
        report(format_args!(
            "::result sum={} order={order} late_p50_ns={} late_p99_ns={} late_max_ns={}",
            self.numbers.iter().sum::<u64>(),
            self.percentile(50),
            self.percentile(99),
            self.percentile(100),
        ));
    }

    /// The smallest lateness that so many percent do not exceed.
    fn percentile(&self, percent: usize) -> u128 {
        self.late[(self.tasks * percent).div_ceil(100) - 1].as_nanos()
    }
}
