use crate::number;
use punctual_model::{ComparisonRow, Ratio};
use punctual_units::Nanos;

pub fn shown(value: f64, unit: &str) -> String {
    match unit {
        "ns" => nanos(value),
        "share" => share(value),
        "1/s" => format!("{}/s", number::rate(value)),
        _ => format!("{} {unit}", four(value)),
    }
}

pub fn cell(value: Option<f64>, row: &ComparisonRow) -> String {
    value.map_or_else(|| "–".into(), |v| shown(v, &row.unit))
}

fn nanos(ns: f64) -> String {
    Nanos(ns.round().max(0.0) as u64).to_string()
}

fn share(value: f64) -> String {
    match value {
        v if v <= 0.0 => "0".into(),
        v if v < 1e-3 => number::round_probability(v),
        v => format!("{:.2} %", v * 100.0),
    }
}

/// A ratio with its interval: `1.02 [0.97, 1.08 at 97 %]`.
pub fn ratio(ratio: &Ratio) -> String {
    oriented(ratio, false)
}

/// Without confidence, for narrow tables: `1.02 [0.97, 1.08]`.
pub fn brief(ratio: &Ratio) -> String {
    match ratio.interval {
        Some((low, high)) => format!("{} [{}, {}]", three(ratio.value), three(low), three(high)),
        None => three(ratio.value),
    }
}

/// As [`ratio`], inverted if `inverse`.
pub fn oriented(ratio: &Ratio, inverse: bool) -> String {
    let flip = |x: f64| if inverse { 1.0 / x } else { x };
    let Some((low, high)) = ratio.interval else { return three(flip(ratio.value)) };
    let (low, high) = if inverse { (flip(high), flip(low)) } else { (low, high) };
    format!("{} [{}, {} at {}]", three(flip(ratio.value)), three(low), three(high), sure(ratio.confidence))
}

/// In percent, rounded down to avoid overstating it.
fn sure(confidence: f64) -> String {
    format!("{:.0} %", (confidence * 100.0 + 1e-9).floor())
}

/// Three significant digits; near 1, three decimals.
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
