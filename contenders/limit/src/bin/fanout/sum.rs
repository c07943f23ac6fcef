//! The sum that a request is answered with, for kind=cpu and mixed.

/// The integers below `work`. The step is 1: see `total`.
#[derive(Clone, Copy)]
pub struct Sum {
    pub work: u64,
    pub step: u64,
}

impl Sum {
    /// The sum of 1 … work−1, in a plain loop. The compiler does not know that the
    /// step is one, so it can neither replace the loop by a formula nor add several
    /// numbers at a time; the loop itself stays as it is, in registers.
    pub fn total(self) -> u64 {
        let Sum { work, step } = self;
        let (mut sum, mut i) = (0, 1);
        while i < work {
            sum += i;
            i += step;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        for (work, expected) in [(1, 0), (2, 1), (10, 45), (100_000, 4_999_950_000)] {
            assert_eq!(Sum { work, step: 1 }.total(), expected);
        }
    }
}
