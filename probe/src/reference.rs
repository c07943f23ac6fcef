//! The reference computation: its time shows how fast the machine is at this moment. Only changes of it matter.

use crate::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Some milliseconds on a core of 2024.
const ROUNDS: u32 = 3_000_000;
const RUNS: usize = 5;
/// Input and output, so that no compiler can precompute or omit the computation.
static STATE: AtomicU64 = AtomicU64::new(88_172_645_463_325_252);

/// The median time of five runs, in nanoseconds, on these CPUs; empty: on any.
pub fn measure(cpus: &[usize]) -> Result<u64, String> {
    let cpus = cpus.to_vec();
    let thread = std::thread::spawn(move || {
        if !cpus.is_empty() {
            pin::pin_thread("cpus", &cpus)?;
        }
        Ok(median())
    });
    let joined = thread.join();
    joined.unwrap_or_else(|_| Err("reference: the computation panicked".into()))
}

fn median() -> u64 {
    let mut times: Vec<u64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            STATE.store(
                spin(STATE.load(Ordering::Relaxed), ROUNDS),
                Ordering::Relaxed,
            );
            start.elapsed().as_nanos() as u64
        })
        .collect();
    times.sort_unstable();
    times[RUNS / 2]
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
        assert!(measure(&[]).unwrap() > 100_000);
        assert!(measure(&[0]).is_ok());
        assert!(measure(&[5000]).unwrap_err().starts_with("cpus: 5000"));
    }
}
