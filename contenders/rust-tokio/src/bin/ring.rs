//! The ring: a task for each unit, a bounded `mpsc` channel between neighbours.

use std::io::{BufWriter, Stdout, Write};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rust_tokio::settings::{Given, MOST};
use rust_tokio::{line_from_stdin, report, run};
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::task::JoinHandle;

const MODULUS: u64 = 2_147_483_647;
/// `mpsc::channel` has no default; this is what Tokio's tutorial has.
const OWN_CAPACITY: usize = 32;

/// Lines of the trace, collected into blocks; nothing where there is no trace.
type Trace = Option<Arc<Mutex<BufWriter<Stdout>>>>;

#[derive(Clone)]
struct Ring {
    nodes: u64,
    messages: u64,
    capacity: usize,
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
            .one_of("capacity", &["own", "1", "30", "1000"])
            .parse()
            .unwrap_or(OWN_CAPACITY),
        token: given.one_of("mode", &["pipelined", "token"]) == "token",
        trace: given
            .flag("trace")
            .then(|| Arc::new(Mutex::new(BufWriter::new(std::io::stdout())))),
    };
    let hold = given.flag("hold");
    let repeats = given.repeats();
    run(given.cores(), async move {
        let mut evidence = Evidence::default();
        for repeat in 0..repeats {
            evidence = ring.once(evidence, hold && repeat == 0).await;
        }
        report(format_args!(
            "::result checksum={} order={}",
            evidence.checksum, evidence.order
        ));
    });
}

impl Ring {
    async fn once(&self, evidence: Evidence, hold: bool) -> Evidence {
        let start = Instant::now();
        let (arrived, mut arrivals) = channel(1);
        let (first, last) = self.spawn(evidence, self.token.then_some(arrived));
        report(format_args!(
            "::phase name=spawn ns={}",
            start.elapsed().as_nanos()
        ));
        if hold {
            report(format_args!("::await name=spawned"));
            line_from_stdin().await;
        }

        let start = Instant::now();
        for message in (0..self.messages).rev() {
            first.send(message).await.expect("unit 1 receives");
            if self.token {
                arrivals.recv().await.expect("unit N answers");
            }
        }
        let (end, evidence) = last.await.expect("unit N does not panic");
        report(format_args!(
            "::phase name=relay ns={}",
            end.duration_since(start).as_nanos()
        ));
        if let Some(trace) = &self.trace {
            trace.lock().unwrap().flush().unwrap_or_else(|error| {
                eprintln!("cannot write to stdout: {error}");
                std::process::exit(1);
            });
        }
        evidence
    }

    /// Starts the units: the way into the first, and what the last one returns.
    fn spawn(
        &self,
        evidence: Evidence,
        arrived: Option<Sender<()>>,
    ) -> (Sender<u64>, JoinHandle<(Instant, Evidence)>) {
        let (first, mut inbox) = channel(self.capacity);
        for i in 1..self.nodes {
            let (outbox, next) = channel(self.capacity);
            tokio::spawn(relay(i, inbox, outbox, self.trace.clone()));
            inbox = next;
        }
        let last = tokio::spawn(last_unit(
            self.nodes,
            inbox,
            arrived,
            self.trace.clone(),
            evidence,
        ));
        (first, last)
    }
}

/// Unit i, one of 1 … N-1.
async fn relay(i: u64, mut inbox: Receiver<u64>, outbox: Sender<u64>, trace: Trace) {
    let terminator = terminator(i);
    let name = name(&trace);
    while let Some(value) = inbox.recv().await {
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
        outbox
            .send(value + i)
            .await
            .expect("the next unit receives");
        if value == terminator {
            return;
        }
    }
}

/// Unit N: returns when the last message came, and the evidence.
async fn last_unit(
    n: u64,
    mut inbox: Receiver<u64>,
    arrived: Option<Sender<()>>,
    trace: Trace,
    mut evidence: Evidence,
) -> (Instant, Evidence) {
    let terminator = terminator(n);
    let name = name(&trace);
    while let Some(value) = inbox.recv().await {
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
            arrived.send(()).await.expect("the feeder waits");
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
    trace
        .as_ref()
        .map_or_else(String::new, |_| tokio::task::id().to_string())
}

fn print(trace: &Trace, line: std::fmt::Arguments<'_>) {
    if let Some(out) = trace {
        // The final flush reports an error.
        let _ = writeln!(out.lock().unwrap(), "{line}");
    }
}
