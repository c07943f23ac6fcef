//! Reference computations: their times show how fast the machine is at this moment. Only changes of them matter.
//! One computes in registers, one waits for memory: what a program takes changes with one, the other or both.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use wire::pin;
use wire::sys;

/// Some milliseconds on a core of 2024.
const ROUNDS: u32 = 3_000_000;
const RUNS: usize = 5;
/// Input and output, so that no compiler can precompute or omit the computation.
static STATE: AtomicU64 = AtomicU64::new(88_172_645_463_325_252);

/// More than the caches of a core hold, in words of 8 bytes: 32 MiB.
const WORDS: usize = 1 << 22;
/// Some milliseconds: each load waits for the one before.
const LOADS: u32 = 60_000;

/// Median times of five runs each, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub computing_ns: u64,
    pub memory_ns: u64,
}

/// Times both computations on these CPUs; empty: on any.
pub fn measure(cpus: &[usize]) -> Result<Times, String> {
    let cpus = cpus.to_vec();
    let thread = std::thread::spawn(move || {
        if !cpus.is_empty() {
            pin::pin_thread("cpus", &cpus)?;
        }
        let words = touched_words();
        Ok(Times {
            computing_ns: median(|state| spin(state, ROUNDS)),
            memory_ns: median(|state| chase(&words, state, LOADS)),
        })
    });
    let joined = thread.join();
    joined.unwrap_or_else(|_| Err("reference: the computation panicked".into()))
}

fn median(computation: impl Fn(u64) -> u64) -> u64 {
    let mut times: Vec<u64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            STATE.store(computation(STATE.load(Ordering::Relaxed)), Ordering::Relaxed);
            start.elapsed().as_nanos() as u64
        })
        .collect();
    times.sort_unstable();
    times[RUNS / 2]
}

/// Zeros that are really there: pages that were never written all share one, which caches hold. In large pages
/// where the kernel has them, so that few faults precede the measurement.
fn touched_words() -> Vec<u64> {
    let mut words: Vec<u64> = Vec::with_capacity(WORDS);
    sys::advise_large_pages(&mut words);
    // The state is never 0, which no compiler knows.
    words.resize(WORDS, u64::from(STATE.load(Ordering::Relaxed) == 0));
    words
}

/// Loads at places that look random and need the value before; all are zeros, which no compiler knows.
fn chase(words: &[u64], from: u64, loads: u32) -> u64 {
    let mut state = from | 1;
    for _ in 0..loads {
        // Knuth's linear congruential generator (MMIX); its upper bits are the place.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^= words[(state >> 32) as usize % words.len()];
    }
    state
}

/// Marsaglia's xorshift (Journal of Statistical Software 8(14), 2003): each round needs the one before, and no
/// memory.
fn spin(from: u64, rounds: u32) -> u64 {
    let mut x = from;
    for _ in 0..rounds {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_the_published_sequence() {
        // The first number of the published generator.
        assert_eq!(spin(88_172_645_463_325_252, 1), 8_748_534_153_485_358_512);
        let times = measure(&[]).unwrap();
        assert!(times.computing_ns > 100_000);
        // A load that a cache answers takes a nanosecond or so.
        assert!(times.memory_ns > u64::from(LOADS));
        assert!(measure(&[0]).is_ok());
        assert!(measure(&[5000]).unwrap_err().starts_with("cpus: 5000"));
    }

    #[test]
    fn every_load_counts() {
        let mut words = vec![0; 8];
        let without = chase(&words, 1, 100);
        assert_eq!(without, chase(&words, 1, 100));
        words[3] = 1;
        assert_ne!(without, chase(&words, 1, 100));
    }
}
