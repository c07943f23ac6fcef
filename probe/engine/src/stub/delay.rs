//! Delays of upstreams: distributions by name.

use serde::Deserialize;

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Delay {
    Constant {
        s: f64,
    },
    /// The logarithm is normal with standard deviation `sigma`.
    Lognormal {
        median_s: f64,
        sigma: f64,
    },
    /// Lognormal, but `tail_s` with a probability of `tail_share`.
    Tailed {
        median_s: f64,
        sigma: f64,
        tail_s: f64,
        tail_share: f64,
    },
}

/// One hour.
const MAX_S: f64 = 3600.0;

impl Delay {
    pub fn check(&self) -> Result<(), String> {
        let (times, shares, sigma): (Vec<f64>, f64, f64) = match *self {
            Delay::Constant { s } => (vec![s], 0.0, 0.0),
            Delay::Lognormal { median_s, sigma } => (vec![median_s], 0.0, sigma),
            Delay::Tailed { median_s, sigma, tail_s, tail_share } => {
                (vec![median_s, tail_s], tail_share, sigma)
            }
        };
        if !times.iter().all(|s| (0.0..=MAX_S).contains(s)) {
            return Err(format!("stub: delay: times are 0 to {MAX_S} s"));
        }
        if !(0.0..=1.0).contains(&shares) {
            return Err("stub: delay: shares are 0 to 1".into());
        }
        if !(0.0..=5.0).contains(&sigma) {
            return Err("stub: delay: sigma is 0 to 5".into());
        }
        Ok(())
    }

    pub fn draw_ns(&self, random: &mut fastrand::Rng) -> u64 {
        let lognormal =
            |median_s: f64, sigma: f64, random: &mut fastrand::Rng| median_s * (sigma * normal(random)).exp();
        let seconds = match *self {
            Delay::Constant { s } => s,
            Delay::Lognormal { median_s, sigma } => lognormal(median_s, sigma, random),
            Delay::Tailed { median_s, sigma, tail_s, tail_share } => match random.f64() < tail_share {
                true => tail_s,
                false => lognormal(median_s, sigma, random),
            },
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

    fn drawn(delay: &Delay) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(3);
        let mut drawn: Vec<f64> = (0..100_000).map(|_| delay.draw_ns(&mut random) as f64 / 1e9).collect();
        drawn.sort_by(f64::total_cmp);
        drawn
    }

    #[test]
    fn distributions_have_their_quantiles() {
        assert!(drawn(&Delay::Constant { s: 0.1 }).iter().all(|&s| (s - 0.1).abs() < 1e-8));
        let lognormal = drawn(&Delay::Lognormal { median_s: 0.1, sigma: 0.5 });
        assert!((lognormal[50_000] - 0.1).abs() < 0.002);
        // One standard deviation up: 84.13 %.
        assert!((lognormal[84_134] - 0.1 * 0.5f64.exp()).abs() < 0.003);
        let tailed = drawn(&Delay::Tailed { median_s: 0.1, sigma: 0.1, tail_s: 1.0, tail_share: 0.01 });
        let tail = tailed.iter().filter(|&&s| s > 0.9).count() as f64 / 1e5;
        assert!((tail - 0.01).abs() < 0.002);
    }

    #[test]
    fn invalid_parameters_are_refused() {
        for delay in [
            Delay::Constant { s: -1.0 },
            Delay::Constant { s: f64::NAN },
            Delay::Lognormal { median_s: 0.1, sigma: 9.0 },
            Delay::Tailed { median_s: 0.1, sigma: 0.1, tail_s: 1e9, tail_share: 0.1 },
            Delay::Tailed { median_s: 0.1, sigma: 0.1, tail_s: 1.0, tail_share: 1.1 },
        ] {
            assert!(delay.check().is_err(), "{delay:?}");
        }
    }
}
