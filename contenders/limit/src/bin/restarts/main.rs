//! The floor for restarts: no units that run, but a table of states and a queue of messages on one
//! thread. A message is a call; one that fails unwinds out of it, and its state is replaced.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::io;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::process::exit;
use std::time::Instant;

use limit::report;
use limit::settings::{self, Given};

const MODULUS: u64 = 2_147_483_647;
const FACTOR: u64 = 48_271;

struct Settings {
    units: usize,
    messages: u64,
    every: u64,
    seed: u64,
}

/// The state that a unit loses when it fails.
struct State {
    born_ns: u64,
    handled: u64,
    folded: u64,
}

impl State {
    fn new(begin: Instant) -> Self {
        State {
            born_ns: ns_since(begin),
            handled: 0,
            folded: 0,
        }
    }

    #[inline(never)]
    fn handle(&mut self, number: u64, fails: bool) {
        if fails {
            // Without the hook of panics, which would report it.
            resume_unwind(Box::new("failure"));
        }
        self.handled += 1;
        self.folded = (31 * self.folded + number) % MODULUS;
    }
}

/// The collector's knowledge of a unit. `failed_ns`: when the message was sent that made it fail, until
/// it has answered since.
struct Unit {
    state: State,
    number: u64,
    left: u64,
    folded: u64,
    sent_ns: u64,
    failed_ns: Option<u64>,
}

#[derive(Default)]
struct Books {
    answers: u64,
    failures: u64,
    fresh: u64,
    answer_ns: Vec<u64>,
    recovery_ns: Vec<u64>,
    calm_ns: Vec<u64>,
}

fn main() {
    let settings = settings::read("restarts", settings);
    if let Err(error) = run(&settings) {
        eprintln!("restarts: {error}");
        exit(1);
    }
}

fn settings(given: &Given) -> Result<Settings, String> {
    // It changes nothing, but must be one.
    given.cores()?;
    Ok(Settings {
        units: given.whole_number("units", 1, 100_000)? as usize,
        messages: given.whole_number("messages", 2, 1_000_000)?,
        every: given.whole_number("every", 2, 1_000_000)?,
        seed: given.whole_number_or("seed", 0, u64::from(u32::MAX), 0)?,
    })
}

fn run(settings: &Settings) -> io::Result<()> {
    let begin = Instant::now();
    let mut units: Vec<Unit> = (0..settings.units as u64)
        .map(|unit| Unit {
            state: State::new(begin),
            number: 1 + (settings.seed + unit) % (MODULUS - 1),
            left: 0,
            folded: 0,
            sent_ns: 0,
            failed_ns: None,
        })
        .collect();
    phase("start", begin, 0)?;
    let mut books = Books::default();
    for name in ["warm", "failing", "calm"] {
        let begin_ns = ns_since(begin);
        let below = if name == "failing" {
            MODULUS / settings.every
        } else {
            books.calm_ns.clear();
            0
        };
        pass(&mut units, settings.messages, below, begin, &mut books);
        phase(name, begin, begin_ns)?;
    }
    let order = units
        .iter()
        .fold(0, |order, unit| (31 * order + unit.folded) % MODULUS);
    report::line(&format!(
        "::result answers={} failures={} fresh={} order={order} {} {} {}",
        books.answers,
        books.failures,
        books.fresh,
        percentiles("answer", books.answer_ns),
        percentiles("recovery", books.recovery_ns),
        percentiles("calm", books.calm_ns),
    ))
}

/// All messages of a pass: numbers below `failing_below` make their units fail.
fn pass(units: &mut [Unit], messages: u64, failing_below: u64, begin: Instant, books: &mut Books) {
    let mut queue = VecDeque::with_capacity(units.len());
    let now_ns = ns_since(begin);
    for (index, unit) in units.iter_mut().enumerate() {
        unit.left = messages;
        queue.push_back((index, unit.message(now_ns, failing_below)));
    }
    while let Some((index, (number, fails))) = queue.pop_front() {
        let unit = &mut units[index];
        if catch_unwind(AssertUnwindSafe(|| unit.state.handle(number, fails))).is_err() {
            books.failures += 1;
            unit.failed_ns = Some(unit.sent_ns);
            unit.state = State::new(begin);
            queue.push_back((index, unit.message(unit.state.born_ns, failing_below)));
            continue;
        }
        let now_ns = ns_since(begin);
        unit.answered(now_ns, failing_below > 0, books);
        if unit.left > 0 {
            queue.push_back((index, unit.message(now_ns, failing_below)));
        }
    }
}

impl Unit {
    /// The next message, sent now: its number, and whether it makes the unit fail.
    fn message(&mut self, now_ns: u64, failing_below: u64) -> (u64, bool) {
        self.number = FACTOR * self.number % MODULUS;
        self.left -= 1;
        self.sent_ns = now_ns;
        let fails = self.number < failing_below && self.left > 0 && self.failed_ns.is_none();
        (self.number, fails)
    }

    fn answered(&mut self, now_ns: u64, failing: bool, books: &mut Books) {
        if let Some(failed_ns) = self.failed_ns.take() {
            books.fresh += u64::from(self.state.born_ns >= failed_ns);
            books.recovery_ns.push(now_ns - failed_ns);
        } else if failing {
            books.answer_ns.push(now_ns - self.sent_ns);
        } else {
            books.calm_ns.push(now_ns - self.sent_ns);
        }
        books.answers += 1;
        self.folded = (31 * self.folded + self.state.folded + self.state.handled) % MODULUS;
    }
}

/// The smallest times that so many percent do not exceed; 0 where there is none.
fn percentiles(name: &str, mut times_ns: Vec<u64>) -> String {
    times_ns.sort_unstable();
    let at = |percent: usize| match times_ns.len() {
        0 => 0,
        many => times_ns[(many * percent + 99) / 100 - 1],
    };
    format!(
        "{name}_p50_ns={} {name}_p99_ns={} {name}_max_ns={}",
        at(50),
        at(99),
        at(100)
    )
}

fn ns_since(begin: Instant) -> u64 {
    begin.elapsed().as_nanos() as u64
}

fn phase(name: &str, begin: Instant, since_ns: u64) -> io::Result<()> {
    report::line(&format!(
        "::phase name={name} ns={}",
        ns_since(begin) - since_ns
    ))
}
