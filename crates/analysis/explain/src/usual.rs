use punctual_units::Arrange;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usual {
    /// Median rate, per second.
    pub median: f64,
    /// Median absolute deviation scaled to a normal distribution's standard deviation (× 1.4826), per second.
    pub spread: f64,
}

/// Minimum number of intervals; with fewer, an outlier could be the usual value.
const FEWEST: usize = 5;

impl Usual {
    /// Computes the usual value from rates per second; `None` if there are too few.
    pub fn of(mut rates: Vec<f64>) -> Option<Usual> {
        if rates.len() < FEWEST {
            return None;
        }
        let median = median(&mut rates);
        let mut off: Vec<f64> = rates.iter().map(|r| (r - median).abs()).collect();
        Some(Usual { median, spread: 1.4826 * self::median(&mut off) })
    }

    pub fn over(self, length_ns: u64) -> f64 {
        self.median * length_ns as f64 / 1e9
    }

    /// Returns the increase beyond the usual over `length_ns` for which chance is an unlikely reason.
    pub fn noise_over(self, length_ns: u64) -> f64 {
        4.0 * self.spread * (length_ns as f64 / 1e9).max(1.0)
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.arrange_by(f64::total_cmp);
    let mid = values.len() / 2;
    if values.len() % 2 == 1 { values[mid] } else { (values[mid - 1] + values[mid]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_odd_second_is_not_usual() {
        let usual = Usual::of(vec![10.0, 11.0, 9.0, 5000.0, 10.0]).unwrap();
        assert_eq!(usual.median, 10.0);
        assert!((usual.spread - 1.4826).abs() < 1e-9);
        assert_eq!(usual.over(2_000_000_000), 20.0);
    }

    #[test]
    fn four_intervals_are_too_few() {
        assert_eq!(Usual::of(vec![1.0; 4]), None);
    }
}
