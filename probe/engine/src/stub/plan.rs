//! The plan of the upstreams: the key `stub` of a request.

use super::delay::Delay;
use serde::Deserialize;

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
        if self.upstreams.is_empty() || self.upstreams.len() > MAX_UPSTREAMS {
            return Err(format!("stub: upstreams: 1 to {MAX_UPSTREAMS}"));
        }
        self.upstreams.iter().try_for_each(Delay::check)
    }
}
