//! The service times of answered requests, by the requests' numbers: they join a request with the calls that its
//! upstreams saw.

use serde::{Deserialize, Serialize};

/// The most requests of a load whose service times another process gets: they fit into one line.
pub const MAX_SENT: usize = 500_000;

/// `(number, service_ns)` of each request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServiceTimes(Vec<(u64, u64)>);

impl ServiceTimes {
    pub fn add(&mut self, number: u64, service_ns: u64) {
        self.0.push((number, service_ns));
    }

    /// Adds those of other requests.
    pub fn merge(&mut self, other: &ServiceTimes) {
        self.0.extend_from_slice(&other.0);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// A number that occurs twice.
    pub fn repeated(&mut self) -> Option<u64> {
        self.0.sort_unstable();
        let mut pairs = self.0.windows(2);
        let pair = pairs.find(|pair| pair[0].0 == pair[1].0)?;
        Some(pair[0].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(pairs: &[(u64, u64)]) -> ServiceTimes {
        ServiceTimes(pairs.to_vec())
    }

    #[test]
    fn records_have_pairs() {
        let some = times(&[(5, 70), (1, 900), (u64::MAX, u64::MAX)]);
        let text = serde_json::to_string(&some).unwrap();
        assert_eq!(text, "[[5,70],[1,900],[18446744073709551615,18446744073709551615]]");
        assert_eq!(serde_json::from_str::<ServiceTimes>(&text).unwrap(), some);
        for text in ["\"1 2\"", "[1, 2]", "[[1]]", "[[1, 2, 3]]", "[[-1, 2]]", "[[1, 2.5]]"] {
            assert!(serde_json::from_str::<ServiceTimes>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_that_comes_twice() {
        let mut some = times(&[(2, 5), (9, 5)]);
        some.merge(&times(&[(1, 5), (3, 5)]));
        assert_eq!((some.repeated(), some.len()), (None, 4));
        some.merge(&times(&[(9, 6)]));
        assert_eq!(some.repeated(), Some(9));
    }
}
