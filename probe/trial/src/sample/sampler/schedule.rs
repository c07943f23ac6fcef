//! When regular samples are due. Pure: callers pass the times.

/// A start is sampled densely, so that short programs have samples too.
const FIRST_SAMPLES_NS: [u64; 5] = [2_000_000, 5_000_000, 10_000_000, 20_000_000, 40_000_000];

/// The dense samples end early where one takes more CPU than this.
const CHEAP_SAMPLE_NS: u64 = 300_000;

/// A tree of many processes that grows quickly may be a fork bomb: it is sampled again after this time, at any cost.
const GROWING_NS: u64 = 5_000_000;

pub struct Schedule {
    interval_ns: Option<u64>,
    is_dense: bool,
    pub due_ns: Option<u64>,
    count: u64,
    first_ns: u64,
    last_ns: u64,
}

impl Schedule {
    /// `interval_ns`: None for no regular samples. `is_dense`: with those of the start.
    pub fn new(interval_ns: Option<u64>, is_dense: bool) -> Schedule {
        let first_ns = if is_dense { FIRST_SAMPLES_NS[0] } else { u64::MAX };
        Schedule {
            interval_ns,
            is_dense,
            due_ns: interval_ns.map(|interval| interval.min(first_ns)),
            count: 0,
            first_ns: 0,
            last_ns: 0,
        }
    }

    /// How many samples were taken, and their mean interval.
    pub fn taken(&self) -> (u64, Option<u64>) {
        let span = self.last_ns - self.first_ns;
        let interval = (self.count > 1).then(|| span / (self.count - 1));
        (self.count, interval)
    }

    /// A sample that began at `now_ns` used `cpu_ns`. `is_growing`: the number of processes grows quickly.
    /// `free_at_ns`: when the budget allows the next sample.
    pub fn took(&mut self, now_ns: u64, cpu_ns: u64, is_growing: bool, free_at_ns: u64) {
        if self.count == 0 {
            self.first_ns = now_ns;
        }
        self.last_ns = now_ns;
        self.count += 1;
        let interval = self.interval_ns.unwrap_or(u64::MAX);
        let mut early = FIRST_SAMPLES_NS.iter().filter(|_| self.is_dense);
        let early = early.find(|&&at| at > now_ns);
        self.due_ns = Some(match early {
            _ if is_growing => now_ns + GROWING_NS,
            Some(&at) if cpu_ns < CHEAP_SAMPLE_NS && at - now_ns < interval => at,
            _ => free_at_ns.max(now_ns.saturating_add(interval)),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_start_is_sampled_densely() {
        let mut schedule = Schedule::new(Some(50 * MS), true);
        let mut dues = Vec::new();
        while dues.len() < 7 {
            let due = schedule.due_ns.unwrap();
            dues.push(due / MS);
            schedule.took(due, 1, false, 0);
        }
        assert_eq!(dues, [2, 5, 10, 20, 40, 90, 140]);
        assert_eq!(schedule.taken(), (7, Some(23 * MS)));
    }

    #[test]
    fn short_intervals_and_expensive_samples_end_the_dense_samples() {
        let mut schedule = Schedule::new(Some(MS), true);
        assert_eq!(schedule.due_ns, Some(MS));
        schedule.took(MS, 1, false, 0);
        assert_eq!(schedule.due_ns, Some(2 * MS));
        let mut schedule = Schedule::new(Some(50 * MS), true);
        schedule.took(2 * MS, CHEAP_SAMPLE_NS, false, 0);
        assert_eq!(schedule.due_ns, Some(52 * MS));
    }

    #[test]
    fn the_budget_delays_samples_but_not_those_of_a_growing_tree() {
        let mut schedule = Schedule::new(Some(50 * MS), true);
        schedule.took(100 * MS, MS, false, 900 * MS);
        assert_eq!(schedule.due_ns, Some(900 * MS));
        schedule.took(900 * MS, MS, true, 2_000 * MS);
        assert_eq!(schedule.due_ns, Some(905 * MS));
        assert_eq!(schedule.taken(), (2, Some(800 * MS)));
    }

    #[test]
    fn without_dense_samples_the_first_is_due_after_the_interval() {
        let mut schedule = Schedule::new(Some(50 * MS), false);
        assert_eq!(schedule.due_ns, Some(50 * MS));
        // A mark before it.
        schedule.took(MS, 1, false, 0);
        assert_eq!(schedule.due_ns, Some(51 * MS));
    }

    #[test]
    fn without_an_interval_no_sample_is_due() {
        let schedule = Schedule::new(None, true);
        assert_eq!((schedule.due_ns, schedule.taken()), (None, (0, None)));
    }
}
