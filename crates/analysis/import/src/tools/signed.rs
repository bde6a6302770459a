//! Latencies that may be negative, because a tool that overcompensates its timer wakes early.

use crate::block::{Loss, Thread};
use crate::number;
use punctual_model::LostKind;

/// Parses µs such as `-1.234` or, without a fraction, multiples of `unit_ns`, to exact ns.
pub(super) fn latency(text: &str, unit_ns: u64) -> Option<i64> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let ns = match digits.split_once('.') {
        Some((whole, part)) if part.len() == 3 => {
            number::whole(whole)?.checked_mul(1_000)?.checked_add(number::whole(part)?)?
        }
        Some(_) => return None,
        None => number::latency(digits, unit_ns)?,
    };
    let ns = i64::try_from(number::scaled(ns, 1)?).ok()?;
    Some(if negative { ns.checked_neg()? } else { ns })
}

/// Converts a latency. Negative values become 0.
pub(super) fn ns(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// Sets extremes and mean of a thread. A negative minimum is omitted and reported.
pub(super) fn extremes(thread: &mut Thread, min: Option<i64>, mean: Option<i64>, max: Option<i64>) {
    thread.min_ns = min.and_then(|v| u64::try_from(v).ok());
    thread.max_ns = max.map(ns);
    // The mean includes the negative values.
    thread.mean_ns = mean.filter(|&v| v >= 0).map(|v| v as f64);
    if let Some(min) = min.filter(|&v| v < 0) {
        let text = format!(
            "the smallest latency is stated as {} ns: negative latencies are placed at 0, and their number is unknown",
            min
        );
        thread.lost.push(Loss::reported(LostKind::Other, None, text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_exact() {
        assert_eq!(latency("   -12.345", 1), Some(-12_345));
        assert_eq!((latency("0.007", 1), latency("-0.001", 1)), (Some(7), Some(-1)));
        assert_eq!((latency("-29837", 1), latency("12", 1_000)), (Some(-29_837), Some(12_000)));
        for text in ["", "-", "1.2", "1.2345", "--1.000", "1e3", "1.-23", "99999999999999999999", "+1.000"] {
            assert_eq!(latency(text, 1), None, "{text}");
        }
    }
}
