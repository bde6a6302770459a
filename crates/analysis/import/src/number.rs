/// Largest plausible latency: two years, so that the sum of 2⁶³ latencies fits into 128 bits.
pub(crate) const LARGEST_NS: u64 = 1 << 56;
pub(crate) const MOST_SAMPLES: u64 = 1 << 62;

pub(crate) fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = !text.is_empty() && text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

pub(crate) fn samples(text: &str) -> Option<u64> {
    whole(text).filter(|&n| n <= MOST_SAMPLES)
}

/// Parses a latency in integer multiples of `unit_ns`.
pub(crate) fn latency(text: &str, unit_ns: u64) -> Option<u64> {
    scaled(whole(text)?, unit_ns)
}

pub(crate) fn scaled(n: u64, unit_ns: u64) -> Option<u64> {
    n.checked_mul(unit_ns).filter(|&ns| ns <= LARGEST_NS)
}

/// Parses a finite, non-negative number with or without a fraction.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = !text.is_empty() && text.len() <= 40 && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    plain.then(|| text.parse::<f64>().ok()).flatten().filter(|v| v.is_finite())
}

/// Like [`decimal`], but also allows negative numbers, as for temperatures.
pub(crate) fn signed(text: &str) -> Option<f64> {
    match text.trim().strip_prefix('-') {
        Some(rest) => decimal(rest).map(|v| -v),
        None => decimal(text),
    }
}

/// Parses an integer in JSON, which may be written as `2134.0`.
pub(crate) fn json(value: &serde_json::Value) -> Option<u64> {
    let exact = |v: &f64| v.fract() == 0.0 && (0.0..=9e15).contains(v);
    value.as_u64().or_else(|| value.as_f64().filter(exact).map(|v| v as u64))
}

/// Parses an integer, possibly negative.
pub(crate) fn integer(text: &str) -> Option<i64> {
    let text = text.trim();
    match text.strip_prefix('-') {
        Some(rest) => whole(rest).and_then(|n| i64::try_from(n).ok()).map(|n| -n),
        None => whole(text).and_then(|n| i64::try_from(n).ok()),
    }
}
