//! The units, and the scheduler that gives them turns.

use std::collections::VecDeque;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::time::Instant;

use crate::inbox::Inbox;
use crate::Settings;

const MODULUS: i64 = 2_147_483_647;

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// In the run queue, or having its turn.
    Ready,
    NeedsMessage,
    /// The next unit's inbox is full.
    NeedsRoom,
}

struct Unit {
    inbox: Inbox,
    state: State,
}

/// Unit 0 is the feeder; its inbox takes unit N's acknowledgements in token mode.
pub struct Ring {
    units: Vec<Unit>,
    run_queue: VecDeque<usize>,
    unsent: i64,
    token: bool,
    out: BufWriter<StdoutLock<'static>>,
}

/// Unit N's values when the last message has arrived. The checksum and the order continue
/// from one ring to the next.
pub struct Evidence {
    pub checksum: i64,
    pub order: i64,
    pub arrived: Instant,
}

impl Evidence {
    pub fn new() -> Self {
        Evidence {
            checksum: 0,
            order: 0,
            arrived: Instant::now(),
        }
    }
}

impl Ring {
    pub fn new(settings: &Settings) -> Self {
        let unit = || Unit {
            inbox: Inbox::new(),
            state: State::NeedsMessage,
        };
        Ring {
            units: (0..=settings.nodes).map(|_| unit()).collect(),
            run_queue: VecDeque::with_capacity(settings.nodes + 1),
            unsent: settings.messages,
            token: settings.token,
            out: BufWriter::new(io::stdout().lock()),
        }
    }

    /// Gives turns until no unit can go on.
    pub fn run<const TRACE: bool>(&mut self, evidence: &mut Evidence) -> io::Result<()> {
        let last = self.units.len() - 1;
        if self.token {
            self.units[0].inbox.push(0);
        }
        self.make_ready(0);
        while let Some(i) = self.run_queue.pop_front() {
            match i {
                0 => self.feed(),
                _ if i == last => self.receive::<TRACE>(evidence)?,
                _ => self.relay::<TRACE>(i)?,
            }
        }
        self.out.flush()
    }

    fn make_ready(&mut self, i: usize) {
        self.units[i].state = State::Ready;
        self.run_queue.push_back(i);
    }

    /// Unit i has sent: the next has something to do.
    fn wake_next(&mut self, i: usize) {
        if self.units[i + 1].state == State::NeedsMessage {
            self.make_ready(i + 1);
        }
    }

    /// Unit i has received: the one before has room.
    fn wake_previous(&mut self, i: usize) {
        if self.units[i - 1].state == State::NeedsRoom {
            self.make_ready(i - 1);
        }
    }

    fn feed(&mut self) {
        let (feeder, first) = pair(&mut self.units, 0);
        feeder.state = State::NeedsRoom;
        while self.unsent > 0 && first.inbox.room() > 0 {
            if self.token {
                if feeder.inbox.is_empty() {
                    feeder.state = State::NeedsMessage;
                    break;
                }
                feeder.inbox.pop();
            }
            self.unsent -= 1;
            first.inbox.push(self.unsent);
        }
        if self.unsent == 0 {
            feeder.state = State::NeedsMessage;
        }
        if !first.inbox.is_empty() {
            self.wake_next(0);
        }
    }

    /// A turn of unit i, one of 1 … N−1: it goes on while it has messages and the
    /// next has room.
    fn relay<const TRACE: bool>(&mut self, i: usize) -> io::Result<()> {
        let number = i as i64;
        let (unit, next) = pair(&mut self.units, i);
        let count = unit.inbox.len().min(next.inbox.room());
        if TRACE {
            for _ in 0..count {
                let value = unit.inbox.pop();
                trace(&mut self.out, [':', '*'], number, value)?;
                next.inbox.push(value + number);
            }
        } else {
            unit.inbox.move_to(&mut next.inbox, count, number);
        }
        unit.state = if unit.inbox.is_empty() {
            State::NeedsMessage
        } else {
            State::NeedsRoom
        };
        self.wake_next(i);
        self.wake_previous(i);
        Ok(())
    }

    /// A turn of unit N.
    fn receive<const TRACE: bool>(&mut self, evidence: &mut Evidence) -> io::Result<()> {
        let last = self.units.len() - 1;
        let number = last as i64;
        self.units[last].state = State::NeedsMessage;
        while !self.units[last].inbox.is_empty() {
            let value = self.units[last].inbox.pop();
            evidence.checksum += value;
            evidence.order = (31 * evidence.order + value) % MODULUS;
            if TRACE {
                trace(&mut self.out, ['>', '@'], number, value)?;
            }
            if value == terminator(number) {
                evidence.arrived = Instant::now();
            } else if self.token {
                self.units[0].inbox.push(value);
                self.make_ready(0);
            }
        }
        self.wake_previous(last);
        Ok(())
    }
}

/// Unit i and the next.
fn pair(units: &mut [Unit], i: usize) -> (&mut Unit, &mut Unit) {
    let (before, after) = units.split_at_mut(i + 1);
    (&mut before[i], &mut after[0])
}

/// Message 0, which ends the ring, as unit i receives it: the units before have
/// added their numbers.
fn terminator(i: i64) -> i64 {
    i * (i - 1) / 2
}

fn trace(out: &mut impl Write, signs: [char; 2], i: i64, value: i64) -> io::Result<()> {
    let message = value - terminator(i);
    match (signs, message) {
        ([_, sign @ '@'], 0) => writeln!(out, "{sign} Proc: {i}, Seq#: {i}, ring terminated."),
        ([_, sign], 0) => writeln!(out, "{sign} Proc: {i}, Seq#: {i}, Msg#: terminate!"),
        ([sign, _], _) => writeln!(out, "{sign} Proc: {i}, Seq#: {i}, Msg#: {message} .."),
    }
}
