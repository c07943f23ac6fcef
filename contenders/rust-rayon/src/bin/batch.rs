//! The batch: rayon's `par_bridge` over the cases as they are read, a crossbeam channel for the answers.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{bounded, unbounded, Receiver};
use rayon::iter::{ParallelBridge, ParallelIterator};
use rayon::ThreadPoolBuilder;
use rust_rayon::report;
use rust_rayon::settings::Given;

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
    product: i64,
}

/// Nanoseconds, summed over threads.
#[derive(Default)]
struct Times {
    read: AtomicU64,
    compute: AtomicU64,
    wait_full: AtomicU64,
}

fn main() {
    let given = Given::read();
    let cores = given.cores();
    let capacity = given
        .one_of("capacity", &["own", "0", "1", "100", "10000", "unbounded"])
        .parse()
        .ok();
    let path = given.text("input");
    if path.is_empty() {
        given.refuse("input", "the path of a file");
    }
    let mut cases = 0;
    for _ in 0..given.repeats() {
        cases += batch(path, cores, capacity).unwrap_or_else(|fault| {
            eprintln!("input {path:?}: {fault}");
            exit(2);
        });
    }
    report(format_args!("::result cases={cases}"));
}

/// Computes the input once; the number of its cases.
fn batch(path: &str, cores: usize, capacity: Option<usize>) -> Result<usize, Fault> {
    let start = Instant::now();
    let times = Times::default();
    let pool = ThreadPoolBuilder::new()
        .num_threads(cores)
        .build()
        .expect("threads can be started");
    let (sender, receiver) = capacity.map_or_else(unbounded, bounded);
    let cases = Cases::open(path, &times.read)?;
    let count = cases.count;
    let (solved, (write, wait_empty)) = thread::scope(|scope| {
        let writer = scope.spawn(|| write_all(receiver));
        // Whichever thread is idle reads the next case: nothing is read ahead.
        let solved: Result<(), Fault> = pool.install(|| {
            cases
                .par_bridge()
                .try_for_each_with(sender, |answers, case| {
                    let case = case?;
                    let begin = Instant::now();
                    let product = case
                        .smallest_product()
                        .map_err(|fault| format!("case {}: {fault}", case.number))?;
                    add(&times.compute, begin.elapsed());
                    let begin = Instant::now();
                    answers
                        .send(Answer {
                            number: case.number,
                            product,
                        })
                        .expect("the writer receives all");
                    add(&times.wait_full, begin.elapsed());
                    Ok(())
                })
        });
        (solved, writer.join().expect("the writer does not panic"))
    });
    solved?;
    drop(pool);
    let work = start.elapsed();
    let ns = |time: &AtomicU64| time.load(Ordering::Relaxed) as u128;
    for (name, ns) in [
        ("work", work.as_nanos()),
        ("read", ns(&times.read)),
        ("compute", ns(&times.compute)),
        ("write", write.as_nanos()),
        ("wait_full", ns(&times.wait_full)),
        ("wait_empty", wait_empty.as_nanos()),
    ] {
        report(format_args!("::phase name={name} ns={ns}"));
    }
    Ok(count)
}

fn add(sum: &AtomicU64, time: Duration) {
    sum.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
}

/// Writes the answers in the order of the cases; the time that this took, and that of waiting for answers.
fn write_all(answers: Receiver<Answer>) -> (Duration, Duration) {
    let start = Instant::now();
    let mut waited = Duration::ZERO;
    let mut early = HashMap::new(); // before their turn
    let mut next = 1;
    let mut text = String::new();
    loop {
        let waiting = Instant::now();
        let answer = answers.recv();
        waited += waiting.elapsed();
        let Ok(answer) = answer else { break };
        early.insert(answer.number, answer.product);
        while let Some(product) = early.remove(&next) {
            writeln!(text, "Case #{next}: {product}").expect("a string takes all");
            next += 1;
        }
        if text.len() >= WRITE_BYTES {
            write(&mut text);
        }
    }
    write(&mut text);
    (start.elapsed() - waited, waited)
}

fn write(text: &mut String) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        eprintln!("cannot write to stdout: {error}");
        exit(1);
    }
    text.clear();
}

/// The cases of an input, as they are read. The last item may be what is wrong with it.
struct Cases<'a> {
    input: Input,
    count: usize,
    /// The number of the next one; nothing after the end.
    next: Option<usize>,
    busy: &'a AtomicU64,
}

impl<'a> Cases<'a> {
    fn open(path: &str, busy: &'a AtomicU64) -> Result<Self, Fault> {
        let mut input = Input::open(path)?;
        let count = input.whole_number("the number of cases", usize::MAX)?;
        Ok(Cases {
            input,
            count,
            next: Some(1),
            busy,
        })
    }
}

impl Iterator for Cases<'_> {
    type Item = Result<Case, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let begin = Instant::now();
        let number = self.next.take()?;
        let item = if number <= self.count {
            let case = self.input.case(number);
            self.next = case.is_ok().then_some(number + 1);
            Some(case)
        } else {
            self.input.end(self.count).err().map(Err)
        };
        add(self.busy, begin.elapsed());
        item
    }
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
