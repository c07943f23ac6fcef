//! The plan of the upstreams: the key `stub` of a request.

use super::delay::Delay;
use serde::Deserialize;
use wire::refuse;

const MAX_UPSTREAMS: usize = 64;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StubPlan {
    pub upstreams: Vec<Delay>,
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub cpus: Vec<usize>,
}

impl StubPlan {
    pub fn check(&self) -> Result<(), String> {
        let is_possible = (1..=MAX_UPSTREAMS).contains(&self.upstreams.len());
        refuse!(!is_possible, "stub: upstreams: 1 to {MAX_UPSTREAMS}");
        self.upstreams.iter().try_for_each(Delay::check)
    }
}
