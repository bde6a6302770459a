use crate::number;
use punctual_model::{ComparisonRow, Ratio};

pub fn shown(value: f64, unit: &str) -> String {
    match unit {
        "ns" => nanos(value, false),
        "share" => share(value),
        "1/s" => format!("{}/s", number::rate(value)),
        _ => format!("{} {unit}", four(value)),
    }
}

pub fn cell(value: Option<f64>, row: &ComparisonRow) -> String {
    value.map_or_else(|| "–".into(), |v| of_row(v, row))
}

/// Formats a value of this row, in whole microseconds if all its values are whole microseconds.
pub fn of_row(value: f64, row: &ComparisonRow) -> String {
    let is_whole = |value: &f64| value % 1_000.0 == 0.0;
    let values = || row.groups.iter().flat_map(|group| group.values.iter().chain(&group.median));
    match row.unit.as_str() {
        "ns" => nanos(value, values().all(is_whole) && values().next().is_some()),
        unit => shown(value, unit),
    }
}

fn nanos(ns: f64, whole_micros: bool) -> String {
    number::latency(Some(ns.round().max(0.0) as u64), whole_micros)
}

fn share(value: f64) -> String {
    match value {
        v if v <= 0.0 => "0".into(),
        v if v < 1e-3 => number::round_probability(v),
        v => format!("{:.2} %", v * 100.0),
    }
}

/// Formats a ratio with its interval, for example `1.02 [0.97, 1.08 at 97 %]`.
pub fn ratio(ratio: &Ratio) -> String {
    oriented(ratio, false)
}

/// Formats a ratio without its confidence, for narrow tables: `1.02 [0.97, 1.08]`.
pub fn brief(ratio: &Ratio) -> String {
    match ratio.interval {
        Some((low, high)) => format!("{} [{}, {}]", three(ratio.value), three(low), three(high)),
        None => three(ratio.value),
    }
}

/// Formats as [`ratio`] does; inverts the ratio if `inverse`.
pub fn oriented(ratio: &Ratio, inverse: bool) -> String {
    let flip = |x: f64| if inverse { 1.0 / x } else { x };
    let Some((low, high)) = ratio.interval else { return three(flip(ratio.value)) };
    let (low, high) = if inverse { (flip(high), flip(low)) } else { (low, high) };
    format!("{} [{}, {} at {}]", three(flip(ratio.value)), three(low), three(high), sure(ratio.confidence))
}

/// Formats how a value with this ratio compares to the first value, with the interval: `25 % lower`,
/// `3.2 times as long`.
pub fn changed(ratio: &Ratio, times: &str) -> Changed {
    let ends = ratio.interval.map(|(low, high)| (low, high, sure(ratio.confidence)));
    if ratio.value >= 2.0 {
        let within = ends.map(|(low, high, sure)| format!(" [{}, {} at {sure}]", three(low), three(high)));
        let text = format!("{} times as {times}{}", three(ratio.value), within.unwrap_or_default());
        return Changed { text, than: "as" };
    }
    let (word, part): (_, fn(f64) -> f64) = match ratio.value >= 1.0 {
        true => ("higher", |r| r - 1.0),
        false => ("lower", |r| 1.0 - r),
    };
    // The interval has the same direction, and its smaller end comes first.
    let within = ends.map(|(low, high, sure)| {
        let (a, b) = (part(low) * 100.0, part(high) * 100.0);
        format!(" [{}, {} at {sure}]", hundredths(a.min(b)), hundredths(a.max(b)))
    });
    let text = format!("{} {word}{}", hundredths(part(ratio.value) * 100.0), within.unwrap_or_default());
    Changed { text, than: "than" }
}

/// A change such as `25 % lower`, and the word before the value it is compared with.
pub struct Changed {
    pub text: String,
    pub than: &'static str,
}

/// Formats a percentage, with decimals if it is small.
fn hundredths(percent: f64) -> String {
    match percent.abs() {
        p if (99.5..100.0).contains(&p) => format!("{percent:.2} %"),
        p if p >= 9.95 => format!("{percent:.0} %"),
        p if p >= 0.95 => format!("{percent:.1} %"),
        _ => format!("{percent:.2} %"),
    }
}

/// Formats a confidence in percent, rounded down so that it is not overstated.
fn sure(confidence: f64) -> String {
    format!("{:.0} %", (confidence * 100.0 + 1e-9).floor())
}

/// Rounds to three significant digits; near 1, to three decimals.
pub fn three(x: f64) -> String {
    match x.abs() {
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if (0.9..1.1).contains(&a) => format!("{x:.3}"),
        _ => format!("{x:.2}"),
    }
}

fn four(x: f64) -> String {
    match x.abs() {
        a if a >= 1000.0 => number::count_f(x),
        a if a >= 100.0 => format!("{x:.1}"),
        a if a >= 10.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}
