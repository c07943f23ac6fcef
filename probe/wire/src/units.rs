//! Conversion of units.

/// Seconds as whole nanoseconds, rounded to the nearest.
pub fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_to_the_nearest_nanosecond() {
        // 0.29 * 1e9 is 289999999.99999994 in floating point.
        assert_eq!(nanoseconds(0.29), 290_000_000);
        assert_eq!(nanoseconds(0.0), 0);
        assert_eq!(nanoseconds(1e300), u64::MAX);
    }
}
