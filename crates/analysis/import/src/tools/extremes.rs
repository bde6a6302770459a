//! Threads for which only number, extremes and mean are known, and numbers in JSON and in text with units.

use crate::block::{Beyond, Loss, Samples, Skips, Thread};
use crate::number::{LARGEST_NS, MOST_SAMPLES};
use punctual_model::LostKind;
use serde_json::Value;

/// Number, extremes and mean as stated by the tool; `None` if not stated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Stated {
    pub count: Option<u64>,
    pub min_ns: Option<u64>,
    pub max_ns: Option<u64>,
    pub mean_ns: Option<f64>,
}

impl Stated {
    /// Creates a thread without periods. `width_ns` is the resolution of the values.
    ///
    /// A missing maximum, and contradictory extremes and mean, are problems. If the number of samples is 0, extremes
    /// and mean are omitted.
    pub fn thread(self, number: u32, width_ns: u64) -> Thread {
        let mut thread = Thread::new(number, Samples::Summary, width_ns);
        thread.skips = Skips::NoPeriods;
        thread.count = self.count;
        thread.beyond = match self.count {
            Some(count) => Beyond::Counted { count, from_ns: 0 },
            None => Beyond::Unknown { from_ns: 0 },
        };
        if self.count == Some(0) {
            return thread;
        }
        (thread.min_ns, thread.max_ns, thread.mean_ns) = (self.min_ns, self.max_ns, self.mean_ns);
        let mut problem = |kind, text: &str| thread.lost.push(Loss::problem(kind, None, text));
        if self.max_ns.is_none() {
            problem(LostKind::Unreadable, "the largest latency is missing or cannot be read");
        }
        if self.min_ns.zip(self.max_ns).is_some_and(|(min, max)| min > max) {
            problem(LostKind::Disagreement, "the smallest latency is stated as larger than the largest");
        }
        // The mean is rounded, and the extremes may be truncated.
        let slack = width_ns as f64;
        let below = self.mean_ns.zip(self.min_ns).is_some_and(|(mean, min)| mean + slack < min as f64);
        let above = self.mean_ns.zip(self.max_ns).is_some_and(|(mean, max)| mean > max as f64 + slack);
        if below || above {
            problem(LostKind::Disagreement, "the mean latency is not between the smallest and the largest value");
        }
        thread
    }
}

/// Parses `2134`, `2134.0` and `2134.5` to ns; `None` if negative, too large or not a number.
pub(crate) fn ns_of(value: Option<&Value>, unit_ns: f64) -> Option<u64> {
    value.and_then(Value::as_f64).and_then(|v| ns(v, unit_ns))
}

pub(crate) fn ns(value: f64, unit_ns: f64) -> Option<u64> {
    let ns = (value * unit_ns).round();
    (value >= 0.0 && ns.is_finite() && ns <= LARGEST_NS as f64).then_some(ns as u64)
}

/// Parses an integer number of samples, which may be written as `964.0`.
pub(crate) fn count_of(value: Option<&Value>) -> Option<u64> {
    let value = value?;
    let whole = |v: f64| (v >= 0.0 && v.fract() == 0.0 && v < 9e15).then_some(v as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(whole)).filter(|&n| n <= MOST_SAMPLES)
}

pub(crate) fn cpu_of(value: Option<&Value>) -> Option<u32> {
    value.and_then(Value::as_u64).and_then(|cpu| u32::try_from(cpu).ok()).filter(|&cpu| cpu < 8_192)
}

/// Returns the text for display, of limited length.
pub(crate) fn clean(text: &str, most: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(most).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_of_json() {
        for (value, want) in [
            (json!(2134.0), Some(2_134_000)),
            (json!(2134), Some(2_134_000)),
            (json!(0.5), Some(500)),
            (json!(-1), None),
            (json!("7"), None),
            (json!(1e300), None),
            (json!(null), None),
        ] {
            assert_eq!(ns_of(Some(&value), 1_000.0), want, "{value}");
        }
        assert_eq!((count_of(Some(&json!(964.0))), count_of(Some(&json!(1.5)))), (Some(964), None));
        assert_eq!((count_of(Some(&json!(-3))), count_of(Some(&json!(u64::MAX)))), (None, None));
    }

    #[test]
    fn contradictions_are_problems() {
        let stated = |min, max, mean| Stated { count: Some(9), min_ns: min, max_ns: max, mean_ns: mean };
        let problems = |stated: Stated| stated.thread(0, 1_000).lost.iter().filter(|l| l.problem).count();
        assert_eq!(problems(stated(Some(3_000), Some(67_000), Some(4_520.0))), 0);
        assert_eq!(problems(stated(Some(3_000), Some(3_000), Some(3_900.0))), 0);
        assert_eq!(problems(stated(Some(3_000), None, None)), 1);
        assert_eq!(problems(stated(Some(68_000), Some(67_000), None)), 1);
        assert_eq!(problems(stated(Some(3_000), Some(67_000), Some(90_000.0))), 1);
        assert_eq!(problems(stated(Some(3_000), Some(67_000), Some(1_000.0))), 1);
        assert_eq!(problems(Stated { count: Some(0), ..Stated::default() }), 0);
    }
}
