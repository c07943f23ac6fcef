//! Delays of upstreams.

use serde::Deserialize;
use wire::refuse;

/// How long an upstream takes to answer: the logarithm is normal with standard deviation `sigma`; but it takes `tail_s`
/// with a probability of `tail_share`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delay {
    pub median_s: f64,
    pub sigma: f64,
    #[serde(default)]
    pub tail_s: f64,
    #[serde(default)]
    pub tail_share: f64,
}

/// One hour.
const MAX_S: f64 = 3600.0;

impl Delay {
    pub fn check(&self) -> Result<(), String> {
        for (key, value, most) in [
            ("median_s", self.median_s, MAX_S),
            ("sigma", self.sigma, 5.0),
            ("tail_s", self.tail_s, MAX_S),
            ("tail_share", self.tail_share, 1.0),
        ] {
            let is_possible = (0.0..=most).contains(&value);
            refuse!(!is_possible, "stub: upstreams: {key}: 0 to {most}, not {value}");
        }
        Ok(())
    }

    pub fn draw_ns(&self, random: &mut fastrand::Rng) -> u64 {
        let seconds = match random.f64() < self.tail_share {
            true => self.tail_s,
            false => self.median_s * (self.sigma * normal(random)).exp(),
        };
        (seconds.min(MAX_S) * 1e9) as u64
    }
}

/// A standard normal number, by Box and Muller.
fn normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(median_s: f64, sigma: f64, tail_share: f64) -> Vec<f64> {
        let delay = Delay { median_s, sigma, tail_s: 1.0, tail_share };
        let mut random = fastrand::Rng::with_seed(3);
        let mut drawn: Vec<f64> = (0..100_000).map(|_| delay.draw_ns(&mut random) as f64 / 1e9).collect();
        drawn.sort_by(f64::total_cmp);
        drawn
    }

    #[test]
    fn distributions_have_their_quantiles() {
        assert!(drawn(0.1, 0.0, 0.0).iter().all(|&s| (s - 0.1).abs() < 1e-8));
        let lognormal = drawn(0.1, 0.5, 0.0);
        assert!((lognormal[50_000] - 0.1).abs() < 0.002);
        // One standard deviation up: 84.13 %.
        assert!((lognormal[84_134] - 0.1 * 0.5f64.exp()).abs() < 0.003);
        let tailed = drawn(0.1, 0.1, 0.01);
        let tail = tailed.iter().filter(|&&s| s > 0.9).count() as f64 / 1e5;
        assert!((tail - 0.01).abs() < 0.002);
    }
}
