//! A figure with what is known of its uncertainty.

/// An interval that holds the true value with at least the confidence asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The confidence (0–1) it really has; rank intervals have steps, so it may be more than was asked for.
    pub confidence: f64,
}

impl Interval {
    /// Whether the value is inside, ends included.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Both ends through a rising function.
    pub(crate) fn map(self, rising: impl Fn(f64) -> f64) -> Interval {
        Interval { low: rising(self.low), high: rising(self.high), ..self }
    }
}

/// An estimate with its interval, where the sample is large enough to have one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate itself.
    pub value: f64,
    /// `None` where so few samples cannot have an interval at this confidence: it is unbounded.
    pub interval: Option<Interval>,
    /// The fewest samples (boots) in each of two groups, or the fewest pairs, with which there is one.
    pub least_n: u64,
}

impl Estimate {
    pub(crate) fn map(self, rising: impl Fn(f64) -> f64) -> Estimate {
        Estimate { value: rising(self.value), interval: self.interval.map(|i| i.map(&rising)), ..self }
    }
}

/// Natural logarithms; `None` where a value is not above 0 or not finite.
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
