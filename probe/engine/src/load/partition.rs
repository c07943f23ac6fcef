//! Divides the connections and the requests of a load among its shards, by their numbers: evenly, or requests in
//! proportion to connections if these cannot be divided evenly.

/// The connections and requests of one shard. Connection n belongs to shard n mod the number of shards; request n
/// belongs to the shard of connection n mod the number of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    shard: u64,
    shards: u64,
    all_connections: u64,
    connections: u64,
}

impl Partition {
    /// `shard` is below `shards`, and there is a connection for each.
    pub fn new(shard: u64, shards: u64, connections: u64) -> Partition {
        debug_assert!(shard < shards && shards <= connections);
        Partition {
            shard,
            shards,
            all_connections: connections,
            connections: count_of(connections, shard, shards),
        }
    }

    /// The number of connections of the shard.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// The number, from 0, of the shard's connection `slot` among all shards'.
    pub fn connection(&self, slot: u64) -> u64 {
        slot * self.shards + self.shard
    }

    /// The number, from 0, of the shard's request `index` among all shards'.
    pub fn request(&self, index: u64) -> u64 {
        let (round, slot) = (index / self.connections, index % self.connections);
        round * self.all_connections + self.connection(slot)
    }

    /// How many of the first `total` requests the shard has.
    pub fn requests(&self, total: u64) -> u64 {
        let (rounds, rest) = (total / self.all_connections, total % self.all_connections);
        rounds * self.connections + count_of(rest, self.shard, self.shards)
    }

    /// Random numbers of the shard's own.
    pub fn random(&self, seed: u64) -> fastrand::Rng {
        fastrand::Rng::with_seed(seed.wrapping_mul(1009).wrapping_add(self.shard))
    }

    /// The shard's rate, of that of all.
    pub fn of_rate(&self, rate_per_s: f64) -> f64 {
        rate_per_s * (self.connections as f64 / self.all_connections as f64)
    }
}

/// How many of the numbers below `total` leave the remainder `shard`.
fn count_of(total: u64, shard: u64, shards: u64) -> u64 {
    total / shards + u64::from(shard < total % shards)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(shards: u64, connections: u64) -> Vec<Partition> {
        (0..shards).map(|shard| Partition::new(shard, shards, connections)).collect()
    }

    #[test]
    fn every_number_belongs_to_one_shard() {
        for shards in 1..6 {
            for connections in shards..14 {
                let all = shares(shards, connections);
                let of = |number: &dyn Fn(&Partition, u64) -> u64, count: &dyn Fn(&Partition) -> u64| {
                    let mut numbers: Vec<u64> = all
                        .iter()
                        .flat_map(|share| (0..count(share)).map(move |index| number(share, index)))
                        .collect();
                    numbers.sort_unstable();
                    numbers
                };
                let connections_of = of(&Partition::connection, &Partition::connections);
                assert!(connections_of.into_iter().eq(0..connections));
                for total in [0, 1, 5, 13, 100, 101] {
                    let requests_of = of(&Partition::request, &|share| share.requests(total));
                    assert!(requests_of.into_iter().eq(0..total), "{shards} {connections}");
                }
            }
        }
    }

    #[test]
    fn shards_are_balanced_by_their_connections() {
        for (shards, connections) in [(2, 3), (3, 7), (4, 64), (5, 5)] {
            let rounds = 100;
            for share in shares(shards, connections) {
                let even = connections / shards;
                assert!((even..=even + 1).contains(&share.connections()));
                // Each connection has the same part.
                assert_eq!(share.requests(rounds * connections), rounds * share.connections());
                let rate = share.of_rate(rounds as f64 * connections as f64);
                assert_eq!(rate, (rounds * share.connections()) as f64);
            }
        }
        let thirds = shares(2, 3);
        let first: Vec<u64> = (0..6).map(|index| thirds[0].request(index)).collect();
        assert_eq!(first, [0, 2, 3, 5, 6, 8]);
        assert_eq!(Partition::new(0, 1, 1).request(7), 7);
        assert_eq!(Partition::new(0, 1, 1).requests(7), 7);
    }

    #[test]
    fn requests_are_in_order() {
        for share in shares(3, 7) {
            let numbers: Vec<u64> = (0..50).map(|index| share.request(index)).collect();
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
