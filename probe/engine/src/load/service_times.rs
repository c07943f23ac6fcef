//! The service times of answered requests, by the requests' numbers: what joins a request with the calls that its
//! upstreams saw. As a text, `step service_ns step service_ns …`, they go to the process where the upstreams are.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most requests of a load whose service times another process gets: as a text they fit into one line.
pub const MAX_SENT: usize = 1_000_000;

/// `(number, service_ns)` of each; a number comes once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

    /// Two whole numbers for each request, in the order of the requests' numbers: by how much its number exceeds the
    /// one before, or 0, and its service time.
    fn text(&self) -> String {
        let mut ordered = self.0.clone();
        ordered.sort_unstable();
        let mut text = String::with_capacity(13 * ordered.len());
        let mut last = 0;
        for (number, service_ns) in ordered {
            if !text.is_empty() {
                text.push(' ');
            }
            text += &format!("{} {service_ns}", number - last);
            last = number;
        }
        text
    }

    /// The error: the text is none of `text`.
    fn parse(text: &str) -> Result<ServiceTimes, String> {
        let mut times = ServiceTimes::default();
        if text.is_empty() {
            return Ok(times);
        }
        let (mut words, mut last) = (text.split(' ').map(whole_number), 0u64);
        while let Some(step) = words.next() {
            let (step, service_ns) = (step?, words.next().unwrap_or_else(|| whole_number(""))?);
            let number = last.checked_add(step).filter(|_| step > 0);
            last = number.ok_or("service times: numbers of requests ascend from 1")?;
            if times.len() == MAX_SENT {
                return Err(format!("service times: of at most {MAX_SENT} requests"));
            }
            times.add(last, service_ns);
        }
        Ok(times)
    }
}

fn whole_number(word: &str) -> Result<u64, String> {
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    let number = word.parse().ok().filter(|_| digits);
    number.ok_or_else(|| "service times: pairs of whole numbers, with a space between two".into())
}

impl Serialize for ServiceTimes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for ServiceTimes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ServiceTimes, D::Error> {
        let text = String::deserialize(deserializer)?;
        ServiceTimes::parse(&text).map_err(D::Error::custom)
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
    fn a_text_has_them_in_the_order_of_their_numbers() {
        let some = times(&[(5, 70), (1, 900), (u64::MAX, u64::MAX), (2, 0)]);
        let text = some.text();
        assert_eq!(
            text,
            "1 900 1 0 3 70 18446744073709551610 18446744073709551615"
        );
        let read = ServiceTimes::parse(&text).unwrap();
        let pairs: Vec<_> = read.iter().collect();
        assert_eq!(pairs, [(1, 900), (2, 0), (5, 70), (u64::MAX, u64::MAX)]);
        assert_eq!((read.len(), read.greatest()), (4, u64::MAX));
        let none = ServiceTimes::parse("").unwrap();
        assert!(none.is_empty() && none.text().is_empty() && !read.is_empty());
        assert_eq!(none.greatest(), 0);
    }

    #[test]
    fn as_json() {
        let some = times(&[(3, 4)]);
        let text = serde_json::to_string(&some).unwrap();
        assert_eq!(text, r#""3 4""#);
        assert_eq!(serde_json::from_str::<ServiceTimes>(&text).unwrap(), some);
        // An escape makes another text of it.
        let escaped = r#""3\u00204""#;
        assert_eq!(serde_json::from_str::<ServiceTimes>(escaped).unwrap(), some);
        assert!(serde_json::from_str::<ServiceTimes>("[3, 4]").is_err());
    }

    #[test]
    fn texts_that_are_refused() {
        for text in [
            "1",
            " ",
            "1 2 3",
            "1  2",
            " 1 2",
            "1 2 ",
            "+1 2",
            "-1 2",
            "1 2.5",
            "1 x",
            "1\n2",
            "1 18446744073709551616",
        ] {
            let why = ServiceTimes::parse(text).unwrap_err();
            assert!(why.contains("pairs of whole numbers"), "{text}: {why}");
        }
        for text in ["0 5", "1 5 0 5", "18446744073709551615 1 1 1"] {
            let why = ServiceTimes::parse(text).unwrap_err();
            assert!(why.contains("ascend from 1"), "{text}: {why}");
        }
    }

    #[test]
    fn as_many_as_fit_into_a_line() {
        let mut text = "1 9".to_owned() + &" 1 9".repeat(MAX_SENT - 1);
        assert_eq!(ServiceTimes::parse(&text).unwrap().len(), MAX_SENT);
        text += " 1 9";
        let why = ServiceTimes::parse(&text).unwrap_err();
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
