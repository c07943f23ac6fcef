//! The restarts: a task for each unit, all in a `JoinSet`. A panic ends its task only; the set hands out the error
//! that says so, and the collector spawns another.

use std::collections::HashMap;
use std::time::Instant;

use rust_tokio::settings::Given;
use rust_tokio::{report, run};
use tokio::sync::mpsc;
use tokio::task::{Id, JoinSet};

const MODULUS: u64 = 2_147_483_647;
const FACTOR: u64 = 48_271;

/// A unit's next message.
struct Message {
    number: u64,
    fails: bool,
}

/// How many numbers a unit handled since it began, and their fold.
struct Answer {
    unit: usize,
    handled: u64,
    folded: u64,
    born: Instant,
}

/// All units: where each takes its messages, and its task.
struct Units {
    tasks: JoinSet<()>,
    units: HashMap<Id, usize>,
    inboxes: Vec<mpsc::Sender<Message>>,
    answers: mpsc::Sender<Answer>,
}

impl Units {
    fn start(&mut self, unit: usize) -> mpsc::Sender<Message> {
        let (sender, inbox) = mpsc::channel(1);
        let task = self.tasks.spawn(serve(unit, inbox, self.answers.clone()));
        self.units.insert(task.id(), unit);
        sender
    }

    /// The unit whose task has ended.
    async fn failed(&mut self) -> usize {
        let error = match self.tasks.join_next_with_id().await {
            Some(Err(error)) if error.is_panic() => error,
            _ => unreachable!("units end by panics only"),
        };
        self.units.remove(&error.id()).expect("it was started")
    }

    async fn send(&self, unit: usize, message: Message) {
        let sent = self.inboxes[unit].send(message).await;
        assert!(sent.is_ok(), "it waits for messages");
    }
}

async fn serve(unit: usize, mut inbox: mpsc::Receiver<Message>, answers: mpsc::Sender<Answer>) {
    let born = Instant::now();
    let (mut handled, mut folded) = (0, 0);
    while let Some(message) = inbox.recv().await {
        if message.fails {
            panic!("a message that makes its unit fail");
        }
        handled += 1;
        folded = (31 * folded + message.number) % MODULUS;
        let answer = Answer {
            unit,
            handled,
            folded,
            born,
        };
        if answers.send(answer).await.is_err() {
            return;
        }
    }
}

fn main() {
    let given = Given::read();
    let units = given.whole_number("units", 1, 100_000) as usize;
    let messages = given.whole_number("messages", 2, 1_000_000);
    let every = given.whole_number("every", 2, 1_000_000);
    let seed = given.whole_number_or("seed", 0, u32::MAX.into(), 0);
    // The usual hook prints each panic.
    std::panic::set_hook(Box::new(|_| {}));
    run(given.cores(), async move {
        let begin = Instant::now();
        let (sender, mut answers) = mpsc::channel(32);
        let mut all = Units {
            tasks: JoinSet::new(),
            units: HashMap::new(),
            inboxes: Vec::new(),
            answers: sender,
        };
        for unit in 0..units {
            let inbox = all.start(unit);
            all.inboxes.push(inbox);
        }
        phase("start", begin);
        let mut books = Books::new(units, MODULUS / every, seed);
        for name in ["warm", "failing", "calm"] {
            let begin = Instant::now();
            books.begin(name, messages);
            for unit in 0..units {
                all.send(unit, books.message(unit)).await;
            }
            while books.open > 0 {
                let unit = tokio::select! {
                    Some(answer) = answers.recv() => {
                        let unit = answer.unit;
                        if !books.answered(answer) {
                            continue;
                        }
                        unit
                    }
                    unit = all.failed() => {
                        books.failed(unit);
                        all.inboxes[unit] = all.start(unit);
                        unit
                    }
                };
                all.send(unit, books.message(unit)).await;
            }
            phase(name, begin);
        }
        books.report();
    });
}

fn phase(name: &str, begin: Instant) {
    report(format_args!(
        "::phase name={name} ns={}",
        begin.elapsed().as_nanos()
    ));
}

/// The collector's knowledge of a unit. `failed`: when the message was sent that made it fail, until it has answered
/// since.
struct Book {
    number: u64,
    left: u64,
    folded: u64,
    sent: Instant,
    failed: Option<Instant>,
}

/// Each unit's next message, its answers and failures.
struct Books {
    failing_below: u64,
    units: Vec<Book>,
    /// Units with messages left in this pass.
    open: usize,
    is_failing: bool,
    answers: u64,
    failures: u64,
    fresh: u64,
    answer_ns: Vec<u128>,
    recovery_ns: Vec<u128>,
    calm_ns: Vec<u128>,
}

impl Books {
    fn new(units: usize, failing_below: u64, seed: u64) -> Self {
        let now = Instant::now();
        let book = |unit| Book {
            number: 1 + (seed + unit) % (MODULUS - 1),
            left: 0,
            folded: 0,
            sent: now,
            failed: None,
        };
        Books {
            failing_below,
            units: (0..units as u64).map(book).collect(),
            open: 0,
            is_failing: false,
            answers: 0,
            failures: 0,
            fresh: 0,
            answer_ns: Vec::new(),
            recovery_ns: Vec::new(),
            calm_ns: Vec::new(),
        }
    }

    fn begin(&mut self, pass: &str, messages: u64) {
        self.is_failing = pass == "failing";
        if !self.is_failing {
            self.calm_ns.clear();
        }
        for unit in &mut self.units {
            unit.left = messages;
        }
        self.open = self.units.len();
    }

    /// The unit's next message, which is sent now.
    fn message(&mut self, unit: usize) -> Message {
        let unit = &mut self.units[unit];
        unit.number = FACTOR * unit.number % MODULUS;
        unit.left -= 1;
        let may_fail = self.is_failing && unit.left > 0 && unit.failed.is_none();
        unit.sent = Instant::now();
        Message {
            number: unit.number,
            fails: may_fail && unit.number < self.failing_below,
        }
    }

    fn failed(&mut self, unit: usize) {
        self.failures += 1;
        self.units[unit].failed = Some(self.units[unit].sent);
    }

    /// Takes an answer, and returns whether the unit has another message.
    fn answered(&mut self, answer: Answer) -> bool {
        let now = Instant::now();
        let unit = &mut self.units[answer.unit];
        if let Some(failed) = unit.failed.take() {
            self.fresh += u64::from(answer.born >= failed);
            self.recovery_ns.push((now - failed).as_nanos());
        } else if self.is_failing {
            self.answer_ns.push((now - unit.sent).as_nanos());
        } else {
            self.calm_ns.push((now - unit.sent).as_nanos());
        }
        self.answers += 1;
        unit.folded = (31 * unit.folded + answer.folded + answer.handled) % MODULUS;
        if unit.left == 0 {
            self.open -= 1;
        }
        unit.left > 0
    }

    fn report(self) {
        let order = self
            .units
            .iter()
            .fold(0, |order, unit| (31 * order + unit.folded) % MODULUS);
        report(format_args!(
            "::result answers={} failures={} fresh={} order={order} {} {} {}",
            self.answers,
            self.failures,
            self.fresh,
            percentiles("answer", self.answer_ns),
            percentiles("recovery", self.recovery_ns),
            percentiles("calm", self.calm_ns),
        ));
    }
}

/// The smallest times that so many percent do not exceed; 0 where there is none.
fn percentiles(name: &str, mut times_ns: Vec<u128>) -> String {
    times_ns.sort_unstable();
    let at = |percent: usize| match times_ns.len() {
        0 => 0,
        many => times_ns[(many * percent).div_ceil(100) - 1],
    };
    format!(
        "{name}_p50_ns={} {name}_p99_ns={} {name}_max_ns={}",
        at(50),
        at(99),
        at(100)
    )
}
