//! A fixed computation, timed: how fast the machine is at this moment. Only its changes mean anything.

use crate::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Some milliseconds of a core of our days.
const ROUNDS: u32 = 3_000_000;
const TIMES: usize = 5;
/// Where it begins and ends, so that no compiler can know the one or leave out the other.
static STATE: AtomicU64 = AtomicU64::new(88_172_645_463_325_252);

/// The median time of five, in nanoseconds, on these CPUs; anywhere where none are named.
pub fn on(cpus: &[usize]) -> Result<u64, String> {
    let cpus = cpus.to_vec();
    let timed = std::thread::spawn(move || {
        if !cpus.is_empty() {
            pin::to("cpus", &cpus)?;
        }
        Ok(median())
    });
    let joined = timed.join();
    joined.unwrap_or_else(|_| Err("reference: the computation panicked".into()))
}

fn median() -> u64 {
    let mut found: Vec<u64> = (0..TIMES)
        .map(|_| {
            let start = Instant::now();
            STATE.store(
                spin(STATE.load(Ordering::Relaxed), ROUNDS),
                Ordering::Relaxed,
            );
            start.elapsed().as_nanos() as u64
        })
        .collect();
    found.sort_unstable();
    found[TIMES / 2]
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
    fn the_computation_is_made() {
        // The first number of the published generator.
        assert_eq!(spin(88_172_645_463_325_252, 1), 8_748_534_153_485_358_512);
        assert!(on(&[]).unwrap() > 100_000);
        assert!(on(&[0]).is_ok());
        assert!(on(&[5000]).unwrap_err().starts_with("cpus: 5000"));
    }
}
