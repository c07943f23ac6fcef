//! The work of a job.

use std::thread;
use std::time::Duration;

const MODULUS: u64 = 2_147_483_647;

#[derive(Clone, Copy)]
pub enum Kind {
    Sleep(Duration),
    Cpu { rounds: u64 },
    Noop,
}

#[derive(Clone, Copy)]
pub struct Job {
    pub kind: Kind,
    pub seed: u64,
}

impl Job {
    /// The number that job i begins with.
    pub fn first(self, i: usize) -> u64 {
        1 + (self.seed + i as u64) % (MODULUS - 1)
    }

    /// Does job i; its answer is never 0.
    pub fn answer(self, i: usize) -> u32 {
        let rounds = match self.kind {
            Kind::Cpu { rounds } => rounds,
            Kind::Noop => 1,
            Kind::Sleep(duration) => {
                thread::sleep(duration);
                1
            }
        };
        advance(self.first(i), rounds) as u32
    }
}

pub fn advance(mut x: u64, rounds: u64) -> u64 {
    for _ in 0..rounds {
        x = 48271 * x % MODULUS;
    }
    x
}

/// The evidence, with one more answer.
pub fn order(before: u64, answer: u32) -> u64 {
    (31 * before + u64::from(answer)) % MODULUS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: Kind, seed: u64, i: usize) -> u32 {
        Job { kind, seed }.answer(i)
    }

    #[test]
    fn jobs_give_the_answers_of_the_contract() {
        let soon = Kind::Sleep(Duration::ZERO);
        let found = [answer(soon, 1, 0), answer(Kind::Noop, 1, 1)];
        assert_eq!(found, [96542, 144_813]);
        let both = found.iter().fold(0, |before, &one| order(before, one));
        assert_eq!(both, 3_137_615);
        // The generator's published check: 399268537 after ten thousand steps from 1.
        let rounds = 10_000;
        assert_eq!(answer(Kind::Cpu { rounds }, 0, 0), 399_268_537);
        // S + i of a whole turn begins again.
        assert_eq!(answer(Kind::Noop, MODULUS - 2, 1), 48271);
    }
}
