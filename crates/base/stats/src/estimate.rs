//! An estimate with its uncertainty.

/// An interval that contains the true value with at least the requested confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    /// Actual confidence, 0–1. It may exceed the requested confidence, because intervals by rank are discrete.
    pub confidence: f64,
}

impl Interval {
    /// Returns true if the value is inside the interval or at one of its ends.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Applies an increasing function to both ends.
    pub(crate) fn map(self, rising: impl Fn(f64) -> f64) -> Interval {
        Interval { low: rising(self.low), high: rising(self.high), ..self }
    }
}

/// An estimate, and its confidence interval if the sample is large enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    /// Confidence interval; `None` if the sample is too small for a bounded interval at the requested confidence.
    pub interval: Option<Interval>,
    /// Minimum number of samples (boots) in each of two groups, or of pairs, for an interval.
    pub least_n: u64,
}

impl Estimate {
    pub(crate) fn map(self, rising: impl Fn(f64) -> f64) -> Estimate {
        Estimate { value: rising(self.value), interval: self.interval.map(|i| i.map(&rising)), ..self }
    }
}

/// Returns the natural logarithms of the values; `None` if a value is not positive or not finite.
pub(crate) fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|&v| (v > 0.0 && v.is_finite()).then(|| v.ln())).collect()
}

pub(crate) fn possible_confidence(confidence: f64) -> bool {
    confidence > 0.0 && confidence < 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_belong_to_it() {
        let interval = Interval { low: 1.0, high: 2.0, confidence: 0.95 };
        assert!(interval.holds(1.0) && interval.holds(2.0) && !interval.holds(2.1) && !interval.holds(f64::NAN));
        assert_eq!(logarithms(&[1.0, 0.0]), None);
        assert_eq!(logarithms(&[1.0, f64::INFINITY]), None);
        assert_eq!(logarithms(&[1.0]), Some(vec![0.0]));
    }
}
