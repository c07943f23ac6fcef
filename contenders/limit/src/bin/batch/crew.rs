//! Several threads. Whoever has nothing to do takes the input, reads the next block and
//! computes it: its text never leaves the core that read it. The main thread writes.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{channel, sync_channel, Receiver, SendError, Sender, SyncSender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::input::{Block, Input};
use crate::solver::Solver;
use crate::{timed, Capacity, Fault, Told, WRITE_BYTES};

/// Blocks under way for each thread: from the reading until the answers are written.
const BLOCKS_PER_THREAD: usize = 4;
const CALM: &str = "no thread panics";

/// The answers of a block; blocks are numbered from 0.
struct Done {
    number: u64,
    answers: Result<Vec<u8>, Fault>,
}

#[derive(Clone)]
enum Queue {
    Bounded(SyncSender<Done>),
    Unbounded(Sender<Done>),
}

impl Queue {
    fn new(capacity: Capacity, blocks: usize) -> (Self, Receiver<Done>) {
        let places = match capacity {
            // As many as there are blocks: no thread ever waits for one.
            Capacity::Own => blocks,
            Capacity::Places(places) => places,
            Capacity::Unbounded => {
                let (sender, receiver) = channel();
                return (Queue::Unbounded(sender), receiver);
            }
        };
        let (sender, receiver) = sync_channel(places);
        (Queue::Bounded(sender), receiver)
    }

    fn send(&self, done: Done) -> Result<(), SendError<Done>> {
        match self {
            Queue::Bounded(sender) => sender.send(done),
            Queue::Unbounded(sender) => sender.send(done),
        }
    }
}

/// The input, which one thread has at a time.
struct Source {
    input: Input,
    /// Memory for answers, which comes back when they are written. Who has none must not
    /// read: so there is an end to the answers that wait for a block before them.
    spare: Receiver<Vec<u8>>,
    blocks: u64,
    wait_ahead: Duration,
}

impl Source {
    /// Fills the block; gives its number, and room for its answers. None: there is nothing
    /// more to do.
    fn turn(&mut self, block: &mut Block) -> Option<(u64, Result<Vec<u8>, Fault>)> {
        let room = timed(&mut self.wait_ahead, || self.spare.recv()).ok()?;
        let filled = match self.input.fill(block) {
            Ok(true) => Ok(room),
            Ok(false) => return None,
            Err(fault) => Err(fault),
        };
        self.blocks += 1;
        Some((self.blocks - 1, filled))
    }
}

#[derive(Default)]
struct Times {
    compute: Duration,
    wait_full: Duration,
}

pub fn run(input: Input, threads: usize, capacity: Capacity) -> Result<Told, Fault> {
    let blocks = BLOCKS_PER_THREAD * threads;
    let (give_back, spare) = channel();
    for _ in 0..blocks {
        // Its receiver is there, two lines above.
        let _ = give_back.send(Vec::new());
    }
    let source = Arc::new(Mutex::new(Source {
        input,
        spare,
        blocks: 0,
        wait_ahead: Duration::ZERO,
    }));
    let (queue, done) = Queue::new(capacity, blocks);
    let mut running = Vec::new();
    for _ in 0..threads {
        let (source, queue) = (Arc::clone(&source), queue.clone());
        running.push(thread::Builder::new().spawn(move || work(&source, &queue))?);
    }
    // The queue ends when the threads have.
    drop(queue);
    let (write, wait_empty) = write_in_order(&done, &give_back)?;

    let mut times = Times::default();
    for thread in running {
        let of_thread = thread.join().expect(CALM);
        times.compute += of_thread.compute;
        times.wait_full += of_thread.wait_full;
    }
    let source = source.lock().expect(CALM);
    Ok(Told {
        cases: source.input.cases,
        phases: vec![
            ("read", source.input.busy),
            ("compute", times.compute),
            ("write", write),
            ("wait_ahead", source.wait_ahead),
            ("wait_full", times.wait_full),
            ("wait_empty", wait_empty),
        ],
    })
}

/// What each thread does, until the input ends, something is wrong with it, or nobody takes
/// the answers any more.
fn work(source: &Mutex<Source>, queue: &Queue) -> Times {
    let (mut block, mut solver) = (Block::new(), Solver::default());
    let mut times = Times::default();
    loop {
        // In a statement of its own, after which the others have their turns.
        let turn = source.lock().expect(CALM).turn(&mut block);
        let (number, filled) = match turn {
            Some(turn) => turn,
            None => return times,
        };
        let solved = filled.and_then(|mut answers| {
            let solved = timed(&mut times.compute, || solver.solve(&block, &mut answers));
            solved.map(|()| answers)
        });
        let failed = solved.is_err();
        let done = Done {
            number,
            answers: solved,
        };
        let sent = timed(&mut times.wait_full, || queue.send(done));
        if failed || sent.is_err() {
            return times;
        }
    }
}

/// Gives the times in which it wrote, and in which it waited for answers. The first block
/// with a fault ends it: what stands before is written.
fn write_in_order(
    done: &Receiver<Done>,
    give_back: &Sender<Vec<u8>>,
) -> Result<(Duration, Duration), Fault> {
    let (begun, mut wait_empty) = (Instant::now(), Duration::ZERO);
    let mut out = BufWriter::with_capacity(WRITE_BYTES, io::stdout().lock());
    let (mut early, mut next) = (BTreeMap::new(), 0);
    while let Ok(block) = timed(&mut wait_empty, || done.recv()) {
        early.insert(block.number, block.answers);
        while let Some(answers) = early.remove(&next) {
            let mut answers = answers?;
            out.write_all(&answers)?;
            answers.clear();
            // Nobody needs it when the input has ended.
            let _ = give_back.send(answers);
            next += 1;
        }
    }
    out.flush()?;
    Ok((begun.elapsed() - wait_empty, wait_empty))
}
