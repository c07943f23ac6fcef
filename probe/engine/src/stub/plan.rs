//! The plan of the upstreams: the key `stub` of a request.

use super::delay::Delay;
use serde::Deserialize;

const MAX_UPSTREAMS: usize = 64;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StubPlan {
    pub upstreams: Vec<Upstream>,
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub cpus: Vec<usize>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    pub delay: Delay,
    #[serde(default = "two_hundred")]
    pub status: u16,
    #[serde(default)]
    pub body: String,
}

fn two_hundred() -> u16 {
    200
}

impl StubPlan {
    pub fn check(&self) -> Result<(), String> {
        if self.upstreams.is_empty() || self.upstreams.len() > MAX_UPSTREAMS {
            return Err(format!("stub: upstreams: 1 to {MAX_UPSTREAMS}"));
        }
        for upstream in &self.upstreams {
            upstream.delay.check()?;
            if !(200..=599).contains(&upstream.status) {
                return Err("stub: status: 200 to 599".into());
            }
        }
        Ok(())
    }
}
