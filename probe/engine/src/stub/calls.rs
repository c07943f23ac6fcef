//! The ledger of the upstreams: how many calls each request made, and whether they overlapped.

use serde::Serialize;
use std::collections::HashMap;

/// Requests that are kept apart, and the longest ids of those; calls of further requests are only counted.
const MAX_IDS: usize = 1_000_000;
const MAX_ID_BYTES: usize = 64;
/// Ends of calls that are kept.
const MAX_ENDS: usize = 4_000_000;

#[derive(Debug)]
struct Calls {
    count: u32,
    last_arrival_ns: u64,
    first_answer_ns: u64,
    slowest_ns: u64,
    /// When each ended that has, and whether it was answered.
    ends: Vec<(u64, bool)>,
}

/// Calls for requests whose clients had hung up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Orphans {
    /// Requests for which calls were under way when their clients hung up.
    pub requests: u64,
    /// Such calls, and later ones for these requests: those that were answered, and those on which the gateway hung up.
    pub answered: u64,
    pub cut: u64,
}

#[derive(Debug, Default)]
pub struct Ledger {
    ids: HashMap<Box<[u8]>, Calls>,
    untracked: u64,
    /// Ends of calls that are kept, and those that are not.
    ends: usize,
    lost_ends: u64,
}

impl Ledger {
    /// A call arrived, and will be answered at `answer_ns`. Calls without an id are of no request.
    pub fn add(&mut self, id: Option<&[u8]>, arrival_ns: u64, answer_ns: u64) {
        let Some(id) = id else { return };
        let delay_ns = answer_ns - arrival_ns;
        if let Some(calls) = self.ids.get_mut(id) {
            calls.count += 1;
            calls.last_arrival_ns = calls.last_arrival_ns.max(arrival_ns);
            calls.first_answer_ns = calls.first_answer_ns.min(answer_ns);
            calls.slowest_ns = calls.slowest_ns.max(delay_ns);
        } else if self.ids.len() < MAX_IDS && id.len() <= MAX_ID_BYTES {
            let calls = Calls {
                count: 1,
                last_arrival_ns: arrival_ns,
                first_answer_ns: answer_ns,
                slowest_ns: delay_ns,
                ends: Vec::new(),
            };
            self.ids.insert(id.into(), calls);
        } else {
            self.untracked += 1;
        }
    }

    /// A call was answered at this instant, after a time that may be longer than planned.
    pub fn answered(&mut self, id: Option<&[u8]>, now_ns: u64, took_ns: u64) {
        if let Some(calls) = id.and_then(|id| self.ids.get_mut(id)) {
            calls.slowest_ns = calls.slowest_ns.max(took_ns);
        }
        self.ended(id, now_ns, true);
    }

    /// The gateway hung up on a call at this instant.
    pub fn cut(&mut self, id: Option<&[u8]>, now_ns: u64) {
        self.ended(id, now_ns, false);
    }

    fn ended(&mut self, id: Option<&[u8]>, now_ns: u64, answered: bool) {
        let Some(calls) = id.and_then(|id| self.ids.get_mut(id)) else { return };
        if self.ends == MAX_ENDS {
            self.lost_ends += 1;
            return;
        }
        self.ends += 1;
        calls.ends.push((now_ns, answered));
    }

    /// The calls beyond the ledger's limit, in words.
    pub fn excess(&self) -> Option<String> {
        if self.untracked > 0 {
            let count = self.untracked;
            return Some(format!(
                "{count} calls had ids of more than {MAX_ID_BYTES} bytes, or were for more than {MAX_IDS} requests"
            ));
        }
        (self.lost_ends > 0).then(|| format!("more than {MAX_ENDS} calls"))
    }

    /// Counts the calls of a request that ended after its client had hung up.
    pub fn count_orphans(&self, id: &str, hung_up_ns: u64, orphans: &mut Orphans) {
        let Some(calls) = self.ids.get(id.as_bytes()) else { return };
        let after = || calls.ends.iter().filter(|(end_ns, _)| *end_ns > hung_up_ns);
        let answered = after().filter(|(_, answered)| *answered).count() as u64;
        orphans.answered += answered;
        orphans.cut += after().count() as u64 - answered;
        orphans.requests += u64::from(after().count() > 0);
    }

    /// The number of calls of a request, whether they overlapped, and the longest delay among them. They overlap when
    /// the last arrives before the first is answered.
    pub fn calls_of(&self, id: &str) -> Option<(u32, bool, u64)> {
        let calls = self.ids.get(id.as_bytes())?;
        let overlapped = calls.last_arrival_ns < calls.first_answer_ns;
        Some((calls.count, overlapped, calls.slowest_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_end_after_their_client_has_hung_up() {
        let mut ledger = Ledger::default();
        for id in [&b"a"[..], b"b"] {
            (0..3).for_each(|_| ledger.add(Some(id), 0, 100));
            ledger.answered(Some(id), 40, 40);
        }
        ledger.answered(Some(b"a"), 60, 60);
        ledger.cut(Some(b"a"), 51);
        ledger.cut(Some(b"b"), 50);
        ledger.cut(Some(b"nobody"), 50);
        let mut orphans = Orphans::default();
        for id in ["a", "b", "nobody"] {
            ledger.count_orphans(id, 50, &mut orphans);
        }
        let right = Orphans { requests: 1, answered: 1, cut: 1 };
        assert_eq!(orphans, right);
    }

    #[test]
    fn what_the_ledger_keeps_is_bounded() {
        let mut ledger = Ledger::default();
        for number in 0..MAX_IDS {
            ledger.add(Some(&number.to_ne_bytes()), 0, 1);
        }
        assert_eq!(ledger.excess(), None);
        ledger.add(Some(&0usize.to_ne_bytes()), 0, 1);
        assert_eq!(ledger.excess(), None);
        ledger.add(Some(b"another"), 0, 1);
        assert!(ledger.excess().unwrap().starts_with("1 calls had ids"));
        assert_eq!(ledger.ids.len(), MAX_IDS);
        let mut ledger = Ledger::default();
        ledger.add(Some(&[b'x'; MAX_ID_BYTES]), 0, 1);
        assert_eq!(ledger.excess(), None);
        ledger.add(Some(&[b'x'; MAX_ID_BYTES + 1]), 0, 1);
        assert!(ledger.excess().is_some());
        let mut ledger = Ledger::default();
        ledger.add(Some(b"a"), 0, 1);
        ledger.ends = MAX_ENDS - 1;
        ledger.answered(Some(b"a"), 1, 1);
        assert_eq!(ledger.excess(), None);
        ledger.cut(Some(b"a"), 1);
        assert_eq!(ledger.excess().unwrap(), "more than 4000000 calls");
    }

    #[test]
    fn overlapping_and_sequential_calls() {
        let mut ledger = Ledger::default();
        for upstream in 0..3 {
            ledger.add(Some(b"a"), 100 + upstream, 200 + 10 * upstream);
            ledger.add(Some(b"b"), 100 * upstream, 100 * upstream + 50);
        }
        ledger.add(Some(b"c"), 5, 6);
        ledger.add(None, 5, 6);
        assert_eq!(ledger.calls_of("a"), Some((3, true, 118)));
        assert_eq!(ledger.calls_of("b"), Some((3, false, 50)));
        assert_eq!(ledger.calls_of("nobody"), None);
        ledger.answered(Some(b"c"), 9, 3);
        ledger.answered(None, 9, 1000);
        ledger.answered(Some(b"nobody"), 9, 1000);
        assert_eq!(ledger.calls_of("c"), Some((1, true, 3)));
        ledger.answered(Some(b"c"), 9, 1);
        assert_eq!(ledger.calls_of("c"), Some((1, true, 3)));
    }
}
