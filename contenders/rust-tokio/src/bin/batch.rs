//! The batch: a task for each case, a channel for the answers.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::exit;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rust_tokio::settings::Given;
use rust_tokio::{report, run};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

const OWN_CAPACITY: usize = 100;
/// So many bytes of text may be in progress, where a case counts for its text and this much more.
const MOST_AHEAD: usize = 16 << 20;
const CASE_BYTES: usize = 256;
const LARGEST: i64 = 100_000;
const MOST_SIZE: usize = 1_000_000;
/// A sign, six digits and a space.
const NUMBER_BYTES: usize = 8;
const WRITE_BYTES: usize = 64 * 1024;

type Fault = String;

struct Case {
    number: usize,
    size: usize,
    vectors: [String; 2],
}

struct Answer {
    number: usize,
    product: Result<i64, Fault>,
    compute: Duration,
    /// Dropped when the answer is written.
    permit: OwnedSemaphorePermit,
}

#[derive(Default)]
struct Times {
    read: Duration,
    compute: Duration,
    write: Duration,
    wait_ahead: Duration,
    wait_empty: Duration,
}

fn main() {
    let given = Given::read();
    let cores = given.cores();
    let capacity = given
        .one_of("capacity", &["own", "1", "100", "10000"])
        .parse()
        .unwrap_or(OWN_CAPACITY);
    let repeats = given.repeats();
    let path = given.text("input").to_owned();
    if path.is_empty() {
        given.refuse("input", "the path of a file");
    }
    run(cores, async move {
        let mut cases = 0;
        for _ in 0..repeats {
            match batch(&path, cores, capacity).await {
                Ok(count) => cases += count,
                Err(fault) => {
                    eprintln!("input {path:?}: {fault}");
                    exit(2);
                }
            }
        }
        report(format_args!("::result cases={cases}"));
    });
}

/// Computes the input once; the number of its cases.
async fn batch(path: &str, cores: usize, capacity: usize) -> Result<usize, Fault> {
    let start = Instant::now();
    let (answers, receiver) = channel(capacity);
    let reading = spawn_blocking({
        let path = path.to_owned();
        move || read_all(&path, cores, answers)
    });
    let mut times = Times::default();
    write_all(receiver, &mut times).await?;
    let cases = reading
        .await
        .expect("the reader does not panic")?
        .into_times(&mut times);
    for (name, time) in [
        ("work", start.elapsed()),
        ("read", times.read),
        ("compute", times.compute),
        ("write", times.write),
        ("wait_ahead", times.wait_ahead),
        ("wait_empty", times.wait_empty),
    ] {
        report(format_args!("::phase name={name} ns={}", time.as_nanos()));
    }
    Ok(cases)
}

struct Reading {
    cases: usize,
    busy: Duration,
    waited: Duration,
}

impl Reading {
    fn into_times(self, times: &mut Times) -> usize {
        times.read = self.busy;
        times.wait_ahead = self.waited;
        self.cases
    }
}

/// Reads the cases and starts a task for each. Reading a file blocks, so this is no task itself.
fn read_all(path: &str, cores: usize, answers: Sender<Answer>) -> Result<Reading, Fault> {
    let start = Instant::now();
    let mut waited = Duration::ZERO;
    let ahead = Arc::new(Semaphore::new(MOST_AHEAD));
    let mut input = Input::open(path)?;
    let count = input.whole_number("the number of cases", usize::MAX)?;
    for number in 1..=count {
        let case = input.case(number)?;
        let bytes = CASE_BYTES + case.vectors.iter().map(String::len).sum::<usize>();
        // However large cases are, each core can have one.
        let permits = bytes.min(MOST_AHEAD / (cores + 1)) as u32;
        let waiting = Instant::now();
        let permit = Handle::current().block_on(ahead.clone().acquire_many_owned(permits));
        waited += waiting.elapsed();
        tokio::spawn(solve(
            case,
            permit.expect("it is never closed"),
            answers.clone(),
        ));
    }
    input.end(count)?;
    Ok(Reading {
        cases: count,
        busy: start.elapsed() - waited,
        waited,
    })
}

async fn solve(case: Case, permit: OwnedSemaphorePermit, answers: Sender<Answer>) {
    let start = Instant::now();
    let product = case.smallest_product();
    let answer = Answer {
        number: case.number,
        product,
        compute: start.elapsed(),
        permit,
    };
    drop(case.vectors);
    // Nobody receives any more where another case was wrong.
    let _ = answers.send(answer).await;
}

/// Writes the answers in the order of the cases.
async fn write_all(mut answers: Receiver<Answer>, times: &mut Times) -> Result<(), Fault> {
    let start = Instant::now();
    let mut early = HashMap::new(); // before their turn
    let mut next = 1;
    let mut text = String::new();
    loop {
        let waiting = Instant::now();
        let answer = answers.recv().await;
        times.wait_empty += waiting.elapsed();
        let Some(answer) = answer else { break };
        times.compute += answer.compute;
        early.insert(answer.number, answer);
        while let Some(due) = early.remove(&next) {
            let product = due
                .product
                .map_err(|fault| format!("case {next}: {fault}"))?;
            writeln!(text, "Case #{next}: {product}").expect("a string takes all");
            drop(due.permit);
            next += 1;
        }
        if text.len() >= WRITE_BYTES {
            write(&mut text);
        }
    }
    write(&mut text);
    times.write = start.elapsed() - times.wait_empty;
    Ok(())
}

fn write(text: &mut String) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        eprintln!("cannot write to stdout: {error}");
        exit(1);
    }
    text.clear();
}

impl Case {
    fn smallest_product(&self) -> Result<i64, Fault> {
        let [mut first, mut second] = [self.numbers(0)?, self.numbers(1)?];
        first.sort_unstable();
        second.sort_unstable();
        Ok(first
            .iter()
            .zip(second.iter().rev())
            .map(|(one, other)| one * other)
            .sum())
    }

    fn numbers(&self, which: usize) -> Result<Vec<i64>, Fault> {
        let mut numbers = Vec::new();
        let text = &self.vectors[which];
        for word in text.split(' ').filter(|_| !text.is_empty()) {
            match word.parse() {
                Ok(number) if (-LARGEST..=LARGEST).contains(&number) => numbers.push(number),
                _ => return Err(format!("numbers must be from {} to {LARGEST}", -LARGEST)),
            }
        }
        match numbers.len() == self.size {
            true => Ok(numbers),
            false => Err(format!(
                "a vector has {} numbers instead of {}",
                numbers.len(),
                self.size
            )),
        }
    }
}

struct Input(BufReader<File>);

impl Input {
    fn open(path: &str) -> Result<Self, Fault> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        Ok(Input(BufReader::with_capacity(WRITE_BYTES, file)))
    }

    fn case(&mut self, number: usize) -> Result<Case, Fault> {
        let about = |fault| format!("case {number}: {fault}");
        let size = self.whole_number("a size", MOST_SIZE).map_err(about)?;
        let mut vector = || self.line(size * NUMBER_BYTES + 1).map_err(about);
        Ok(Case {
            number,
            size,
            vectors: [vector()?, vector()?],
        })
    }

    fn whole_number(&mut self, what: &str, most: usize) -> Result<usize, Fault> {
        match self.line(20)?.parse() {
            Ok(number) if number <= most => Ok(number),
            _ => Err(format!("{what} must be a whole number from 0 to {most}")),
        }
    }

    /// A line of so many bytes at most, without its newline.
    fn line(&mut self, most: usize) -> Result<String, Fault> {
        let mut line = String::new();
        self.0
            .by_ref()
            .take(most as u64 + 1)
            .read_line(&mut line)
            .map_err(|error| error.to_string())?;
        match line.pop() {
            Some('\n') => Ok(line),
            _ => Err("a line is cut off, or too long".to_owned()),
        }
    }

    fn end(&mut self, count: usize) -> Result<(), Fault> {
        match self.0.fill_buf() {
            Ok([]) => Ok(()),
            Ok(_) => Err(format!("it goes on after case {count}, the last")),
            Err(error) => Err(error.to_string()),
        }
    }
}
