//! The ring: a thread for each unit, a crossbeam channel between neighbours.

use std::fmt::Arguments;
use std::io::{BufWriter, Stdout, Write};
use std::process::exit;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crossbeam_channel::{bounded, unbounded, Receiver, Sender};
use rust_rayon::settings::{Given, MOST};
use rust_rayon::{line_from_stdin, report};

const MODULUS: u64 = 2_147_483_647;

/// Lines of the trace, collected into blocks; nothing where there is no trace.
type Trace = Option<Arc<Mutex<BufWriter<Stdout>>>>;

struct Ring {
    nodes: u64,
    messages: u64,
    /// None: unbounded.
    capacity: Option<usize>,
    token: bool,
    trace: Trace,
}

/// Unit N's result over all values, including those of earlier rings.
#[derive(Clone, Copy, Default)]
struct Evidence {
    checksum: u64,
    order: u64,
}

fn main() {
    let given = Given::read();
    let ring = Ring {
        nodes: given.whole_number("nodes", 2, MOST),
        messages: given.whole_number("messages", 1, MOST),
        capacity: given
            .one_of("capacity", &["own", "0", "1", "30", "1000", "unbounded"])
            .parse()
            .ok(),
        token: given.one_of("mode", &["pipelined", "token"]) == "token",
        trace: given
            .flag("trace")
            .then(|| Arc::new(Mutex::new(BufWriter::new(std::io::stdout())))),
    };
    let hold = given.flag("hold");
    given.cores(); // Unused: the kernel schedules the threads.
    let mut evidence = Evidence::default();
    for repeat in 0..given.repeats() {
        evidence = ring.once(evidence, hold && repeat == 0);
    }
    report(format_args!(
        "::result checksum={} order={}",
        evidence.checksum, evidence.order
    ));
}

impl Ring {
    fn once(&self, evidence: Evidence, hold: bool) -> Evidence {
        let start = Instant::now();
        let (arrived, arrivals) = bounded(1);
        let (first, units, last) = self.spawn(evidence, self.token.then_some(arrived));
        phase("spawn", start, Instant::now());
        if hold {
            report(format_args!("::await name=spawned"));
            line_from_stdin();
        }

        let start = Instant::now();
        for message in (0..self.messages).rev() {
            first.send(message).expect("unit 1 receives");
            if self.token {
                arrivals.recv().expect("unit N answers");
            }
        }
        let (end, evidence) = last.join().expect("unit N does not panic");
        phase("relay", start, end);
        for unit in units {
            unit.join().expect("a unit does not panic");
        }
        if let Some(trace) = &self.trace {
            trace.lock().unwrap().flush().unwrap_or_else(|error| {
                eprintln!("cannot write to stdout: {error}");
                exit(1);
            });
        }
        evidence
    }

    #[allow(clippy::type_complexity)]
    fn spawn(
        &self,
        evidence: Evidence,
        arrived: Option<Sender<()>>,
    ) -> (
        Sender<u64>,
        Vec<JoinHandle<()>>,
        JoinHandle<(Instant, Evidence)>,
    ) {
        let (first, mut inbox) = self.channel();
        let mut units = Vec::new();
        for i in 1..self.nodes {
            let (outbox, next) = self.channel();
            let trace = self.trace.clone();
            units.push(thread::spawn(move || relay(i, inbox, outbox, trace)));
            inbox = next;
        }
        let (n, trace) = (self.nodes, self.trace.clone());
        let last = thread::spawn(move || last_unit(n, inbox, arrived, trace, evidence));
        (first, units, last)
    }

    fn channel(&self) -> (Sender<u64>, Receiver<u64>) {
        self.capacity.map_or_else(unbounded, bounded)
    }
}

/// Unit i, one of 1 … N-1.
fn relay(i: u64, inbox: Receiver<u64>, outbox: Sender<u64>, trace: Trace) {
    let terminator = terminator(i);
    let name = name(&trace);
    for value in inbox {
        match value - terminator {
            0 => print(
                &trace,
                format_args!("* Proc: {name}, Seq#: {i}, Msg#: terminate!"),
            ),
            r => print(
                &trace,
                format_args!(": Proc: {name}, Seq#: {i}, Msg#: {r} .."),
            ),
        }
        outbox.send(value + i).expect("the next unit receives");
        if value == terminator {
            return;
        }
    }
}

/// Unit N: returns when the last message came, and the evidence.
fn last_unit(
    n: u64,
    inbox: Receiver<u64>,
    arrived: Option<Sender<()>>,
    trace: Trace,
    mut evidence: Evidence,
) -> (Instant, Evidence) {
    let terminator = terminator(n);
    let name = name(&trace);
    for value in inbox {
        evidence.checksum += value;
        evidence.order = (31 * evidence.order + value) % MODULUS;
        match value - terminator {
            0 => print(
                &trace,
                format_args!("@ Proc: {name}, Seq#: {n}, ring terminated."),
            ),
            r => print(
                &trace,
                format_args!("> Proc: {name}, Seq#: {n}, Msg#: {r} .."),
            ),
        }
        if let Some(arrived) = &arrived {
            arrived.send(()).expect("the feeder waits");
        }
        if value == terminator {
            break;
        }
    }
    (Instant::now(), evidence)
}

/// Message 0, which ends the ring, as unit i receives it: the units before have added their numbers.
fn terminator(i: u64) -> u64 {
    i * (i - 1) / 2
}

fn name(trace: &Trace) -> String {
    match trace {
        Some(_) => format!("{:?}", thread::current().id()),
        None => String::new(),
    }
}

fn print(trace: &Trace, line: Arguments<'_>) {
    if let Some(out) = trace {
        // The final flush reports an error.
        let _ = writeln!(out.lock().unwrap(), "{line}");
    }
}

fn phase(name: &str, start: Instant, end: Instant) {
    let ns = (end - start).as_nanos();
    report(format_args!("::phase name={name} ns={ns}"));
}
