//! Keeps the probe's own looks at the tree below a share of one core: after a look that took c
//! of CPU, the next may begin c / share later, but not later than a longest rest: limits must hold
//! even where a look is dear, or seems so because the host took the CPU away. Pure: it is told the times.

pub struct Governor {
    /// The share is one in so many.
    one_in: u64,
    longest_rest_ns: u64,
    free_at_ns: u64,
}

impl Governor {
    pub fn new(one_in: u64, longest_rest_ns: u64) -> Governor {
        Governor {
            one_in,
            longest_rest_ns,
            free_at_ns: 0,
        }
    }

    /// A look that began at `now_ns` used `cpu_ns`. Looks that could not wait add to the debt.
    pub fn spent(&mut self, now_ns: u64, cpu_ns: u64) {
        let rest = cpu_ns.saturating_mul(self.one_in);
        let free_at = self.free_at_ns.max(now_ns).saturating_add(rest);
        self.free_at_ns = free_at.min(now_ns.saturating_add(self.longest_rest_ns));
    }

    pub fn free_at_ns(&self) -> u64 {
        self.free_at_ns
    }

    pub fn allows(&self, now_ns: u64) -> bool {
        now_ns >= self.free_at_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dear_look_is_followed_by_a_long_rest() {
        let mut governor = Governor::new(100, 5_000);
        assert!(governor.allows(0));
        governor.spent(1_000, 10);
        assert!(!governor.allows(1_999));
        assert!(governor.allows(2_000));
        governor.spent(2_000, u64::MAX);
        assert!(!governor.allows(6_999));
        assert!(governor.allows(7_000));
    }

    #[test]
    fn the_share_is_kept() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut governor = Governor::new(200, u64::MAX);
            let (mut now, mut used) = (0, 0);
            for _ in 0..random.usize(1..200) {
                let cost = random.u64(1..10_000_000);
                now = governor.free_at_ns().max(now + 50_000_000);
                governor.spent(now, cost);
                used += cost;
            }
            assert!(used * 200 <= governor.free_at_ns(), "seed {seed}");
        }
    }
}
