//! Counts by kind: of errors, of statuses, of faults in the sequences of streams.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How often each kind occurred, where it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counts<K: Ord>(BTreeMap<K, u64>);

impl<K: Ord> Default for Counts<K> {
    fn default() -> Counts<K> {
        Counts(BTreeMap::new())
    }
}

impl<K: Copy + Ord> Counts<K> {
    /// Saturates: a server's numbers may skip that many.
    pub fn add(&mut self, kind: K, count: u64) {
        let own = self.0.entry(kind).or_default();
        *own = own.saturating_add(count);
    }

    pub fn merge(&mut self, other: &Counts<K>) {
        other.iter().for_each(|(kind, count)| self.add(kind, count));
    }

    pub fn of(&self, kind: K) -> u64 {
        self.0.get(&kind).copied().unwrap_or(0)
    }

    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    pub fn iter(&self) -> impl Iterator<Item = (K, u64)> + '_ {
        self.0.iter().map(|(&kind, &count)| (kind, count))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Ord + fmt::Display> fmt::Display for Counts<K> {
    /// `reset 2, timeout 5`
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<_> = self.0.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        text.write_str(&counts.join(", "))
    }
}
