//! The counts of the live view.

use super::histogram::Histogram;
use super::record::{add, merged};

merged! {
/// The events of an interval. Its times have two digits, so that it is small enough to be copied.
pub struct Interval {
    requests: u64, add;
    errors: u64, add;
    intended: u64, add;
    /// Connections that are open now, and requests in flight.
    open: u64, add;
    in_flight: u64, add;
    times: Histogram, Histogram::merge;
}
}

impl Default for Interval {
    fn default() -> Interval {
        Interval { requests: 0, errors: 0, intended: 0, open: 0, in_flight: 0, times: Histogram::compact() }
    }
}

impl Interval {
    /// Takes the counts; open connections and requests in flight stay.
    pub fn take(&mut self) -> Interval {
        let (open, in_flight) = (self.open, self.in_flight);
        std::mem::replace(self, Interval { open, in_flight, ..Interval::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(scale: u64) -> Interval {
        let mut interval = Interval {
            requests: scale,
            errors: 2 * scale,
            intended: 3 * scale,
            open: 4 * scale,
            in_flight: 5 * scale,
            ..Interval::default()
        };
        interval.times.add(1000 * scale);
        interval
    }

    #[test]
    fn counts_are_taken_and_connections_stay() {
        let mut rest = interval(1);
        rest.merge(&interval(2));
        let taken = rest.take();
        assert_eq!((taken.requests, taken.errors, taken.intended), (3, 6, 9));
        assert_eq!((taken.open, taken.in_flight, taken.times.max()), (12, 15, 2000));
        assert_eq!((rest.requests, rest.errors, rest.intended), (0, 0, 0));
        assert_eq!((rest.open, rest.in_flight), (12, 15));
        assert!(rest.times.is_empty());
    }
}
