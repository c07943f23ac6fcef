//! Keeps the cost of sampling below a share of one core: after a sample that took c of CPU, the next may begin
//! c / share later, but at the latest after a maximum rest: limits must be enforced even where a sample is
//! expensive, or seems so because the host took the CPU away. Pure: callers pass the times.

pub struct SamplingBudget {
    /// The inverse of the share: 250 is 0.4 %.
    share_divisor: u64,
    max_rest_ns: u64,
    pub free_at_ns: u64,
}

impl SamplingBudget {
    pub fn new(share_divisor: u64, max_rest_ns: u64) -> SamplingBudget {
        SamplingBudget { share_divisor, max_rest_ns, free_at_ns: 0 }
    }

    /// A sample that began at `now_ns` used `cpu_ns`. Samples that could not wait add to the debt.
    pub fn spent(&mut self, now_ns: u64, cpu_ns: u64) {
        let rest = cpu_ns.saturating_mul(self.share_divisor);
        let free_at = self.free_at_ns.max(now_ns).saturating_add(rest);
        self.free_at_ns = free_at.min(now_ns.saturating_add(self.max_rest_ns));
    }

    pub fn allows(&self, now_ns: u64) -> bool {
        now_ns >= self.free_at_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expensive_sample_is_followed_by_a_long_rest() {
        let mut budget = SamplingBudget::new(100, 5_000);
        assert!(budget.allows(0));
        budget.spent(1_000, 10);
        assert!(!budget.allows(1_999));
        assert!(budget.allows(2_000));
        budget.spent(2_000, u64::MAX);
        assert!(!budget.allows(6_999));
        assert!(budget.allows(7_000));
    }

    #[test]
    fn the_share_is_kept() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut budget = SamplingBudget::new(200, u64::MAX);
            let (mut now, mut used) = (0, 0);
            for _ in 0..random.usize(1..200) {
                let cost = random.u64(1..10_000_000);
                now = budget.free_at_ns.max(now + 50_000_000);
                budget.spent(now, cost);
                used += cost;
            }
            assert!(used * 200 <= budget.free_at_ns, "seed {seed}");
        }
    }
}
