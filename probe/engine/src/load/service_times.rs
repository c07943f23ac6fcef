//! The service times of answered requests, by the requests' numbers: what joins a request with the calls that its
//! upstreams saw.

use serde::{Deserialize, Serialize};

/// The most requests of a load whose service times another process gets: they fit into one line.
pub const MAX_SENT: usize = 1_000_000;

/// On the way to the process where the upstreams are, in the order of the requests' numbers: by how much a number exceeds
/// the one before, or 0, and the service time.
type Pairs = Vec<(u64, u64)>;

/// `(number, service_ns)` of each; a number comes once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Pairs", into = "Pairs")]
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

    /// The greatest number; 0 where there is none.
    pub fn greatest(&self) -> u64 {
        let numbers = self.0.iter().map(|(number, _)| *number);
        numbers.max().unwrap_or(0)
    }

    /// A number that came more than once, from several records.
    pub fn repeated(&mut self) -> Option<u64> {
        self.0.sort_unstable();
        let mut pairs = self.0.windows(2);
        let pair = pairs.find(|pair| pair[0].0 == pair[1].0)?;
        Some(pair[0].0)
    }
}

impl From<ServiceTimes> for Pairs {
    fn from(mut times: ServiceTimes) -> Pairs {
        times.0.sort_unstable();
        let mut last = 0;
        let step = |(number, service_ns)| (number - std::mem::replace(&mut last, number), service_ns);
        times.0.into_iter().map(step).collect()
    }
}

impl TryFrom<Pairs> for ServiceTimes {
    type Error = String;

    /// The error: numbers that cannot be.
    fn try_from(pairs: Pairs) -> Result<ServiceTimes, String> {
        if pairs.len() > MAX_SENT {
            return Err(format!("service times: of at most {MAX_SENT} requests"));
        }
        let mut last = 0u64;
        let number = |(step, service_ns)| {
            last = last.checked_add(step).filter(|_| step > 0)?;
            Some((last, service_ns))
        };
        let times: Option<_> = pairs.into_iter().map(number).collect();
        let wrong = "service times: numbers of requests ascend from 1";
        times.map(ServiceTimes).ok_or_else(|| wrong.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(pairs: &[(u64, u64)]) -> ServiceTimes {
        let mut times = ServiceTimes::default();
        for &(number, service_ns) in pairs {
            times.add(number, service_ns);
        }
        times
    }

    #[test]
    fn records_have_them_in_the_order_of_their_numbers() {
        let some = times(&[(5, 70), (1, 900), (u64::MAX, u64::MAX), (2, 0)]);
        let text = serde_json::to_string(&some).unwrap();
        assert_eq!(text, "[[1,900],[1,0],[3,70],[18446744073709551610,18446744073709551615]]");
        let read: ServiceTimes = serde_json::from_str(&text).unwrap();
        let pairs: Vec<_> = read.iter().collect();
        assert_eq!(pairs, [(1, 900), (2, 0), (5, 70), (u64::MAX, u64::MAX)]);
        assert_eq!((read.len(), read.greatest()), (4, u64::MAX));
        let none: ServiceTimes = serde_json::from_str("[]").unwrap();
        assert!(none.is_empty() && !read.is_empty());
        assert_eq!(none.greatest(), 0);
    }

    #[test]
    fn pairs_that_are_refused() {
        let refused = |text: &str| serde_json::from_str::<ServiceTimes>(text).unwrap_err().to_string();
        for text in ["[[0, 5]]", "[[1, 5], [0, 5]]", "[[18446744073709551615, 1], [1, 1]]"] {
            assert!(refused(text).contains("ascend from 1"), "{text}");
        }
        for text in ["\"1 2\"", "[1, 2]", "[[1]]", "[[1, 2, 3]]", "[[-1, 2]]", "[[1, 2.5]]"] {
            refused(text);
        }
        let many = |count| Pairs::from(vec![(1, 9); count]);
        assert_eq!(ServiceTimes::try_from(many(MAX_SENT)).unwrap().len(), MAX_SENT);
        let why = ServiceTimes::try_from(many(MAX_SENT + 1)).unwrap_err();
        assert!(why.contains("at most 1000000"), "{why}");
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
