//! What a comparison says, and what it does not.

use crate::clean;
use crate::number::plural;
use punctual_model::{Comparison, ComparisonRow, Ratio};
use punctual_units::Nanos;

/// The first row in one sentence.
pub fn headline(comparison: &Comparison) -> String {
    let clock = if comparison.virtual_time.is_some() { "In virtual time, " } else { "" };
    match comparison.rows.first() {
        Some(row) => format!("{clock}{}", sentence(comparison, row)),
        None => "Nothing was compared.".into(),
    }
}

/// One sentence a row, but for the first.
pub fn findings(comparison: &Comparison) -> Vec<String> {
    comparison.rows.iter().skip(1).map(|row| capital(&sentence(comparison, row))).collect()
}

/// What it cannot say.
pub fn cannot_say(comparison: &Comparison) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(model) = &comparison.virtual_time {
        all.push(format!(
            "How late either kernel is on a board: in {}'s model of `{}` every instruction takes {}, and there are no caches, \
             buses, idle states, firmware or real devices. It compares what the kernels do.",
            model.emulator,
            model.machine,
            Nanos(u64::from(model.instruction_ns))
        ));
    }
    let runs = comparison.a.runs.len().min(comparison.b.runs.len()) as u64;
    all.push(format!(
        "How late a wakeup can be at worst: the figures are the latest of {} each, and the next may be later.",
        plural(runs, &comparison.sample, &format!("{}s", comparison.sample))
    ));
    if let Some(least) =
        comparison.rows.iter().filter_map(|r| r.ratio).find(|r| r.interval.is_none()).map(|r| r.least_n)
    {
        all.push(format!(
            "How sure the ratios are: an interval needs {least} {}s of each; measure more.",
            comparison.sample
        ));
    }
    all
}

fn sentence(comparison: &Comparison, row: &ComparisonRow) -> String {
    let what = match (row.load.as_str(), row.figure.as_str()) {
        ("all loads", "max") => "the worst wakeup under all loads".to_owned(),
        ("all loads", figure) => format!("the {} over all loads", figure_name(figure)),
        ("idle", _) => "the worst wakeup while idle".into(),
        (load, _) => format!("the worst wakeup under `{}`", clean::clip(load, 48)),
    };
    let (Some(a), Some(b), Some(ratio)) = (row.median_a_ns, row.median_b_ns, row.ratio) else {
        return format!("{what} was not measured in both.");
    };
    let beside = format!("median {} instead of {}", nanos(b), nanos(a));
    let (a, b) = (clean::clip(&comparison.a.name, 60), clean::clip(&comparison.b.name, 60));
    match verdict(&ratio) {
        Said::Later => format!("{what} is {} later with {b} than with {a}: {beside}.", times(&ratio, false)),
        Said::Earlier => format!("{what} is {} earlier with {b} than with {a}: {beside}.", times(&ratio, true)),
        Said::Nothing => format!("{what} does not tell {b} from {a}: {beside}, ratio {}.", shown(&ratio)),
        Said::TooFew => {
            format!("{what}: {beside}, ratio {:.2}; too few {}s for an interval.", ratio.value, comparison.sample)
        }
    }
}

enum Said {
    Later,
    Earlier,
    Nothing,
    TooFew,
}

fn verdict(ratio: &Ratio) -> Said {
    match ratio.interval {
        Some((low, _)) if low > 1.0 => Said::Later,
        Some((_, high)) if high < 1.0 => Said::Earlier,
        Some(_) => Said::Nothing,
        None => Said::TooFew,
    }
}

/// `12.3 times [8.10, 15.2 at 97 %]`.
fn times(ratio: &Ratio, inverse: bool) -> String {
    let flip = |x: f64| if inverse { 1.0 / x } else { x };
    let (low, high) = ratio.interval.unwrap_or((ratio.value, ratio.value));
    let (low, high) = if inverse { (flip(high), flip(low)) } else { (low, high) };
    format!("{} times [{}, {} at {}]", three(flip(ratio.value)), three(low), three(high), sure(ratio.confidence))
}

/// The ratio with its interval: `1.02 [0.97, 1.08 at 97 %]`.
pub fn shown(ratio: &Ratio) -> String {
    match ratio.interval {
        Some((low, high)) => {
            format!("{} [{}, {} at {}]", three(ratio.value), three(low), three(high), sure(ratio.confidence))
        }
        None => three(ratio.value),
    }
}

/// In percent, rounded down: never surer than it is.
fn sure(confidence: f64) -> String {
    format!("{:.0} %", (confidence * 100.0).floor())
}

/// Three significant digits.
fn three(x: f64) -> String {
    match x.abs() {
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

/// A latency that is no whole number of nanoseconds.
pub fn nanos(ns: f64) -> String {
    Nanos(ns.round().max(0.0) as u64).to_string()
}

/// The name of a figure in a sentence.
pub fn figure_name(figure: &str) -> &str {
    match figure {
        "max" => "worst wakeup",
        "p50" => "median wakeup",
        other => other,
    }
}

fn capital(sentence: &str) -> String {
    crate::words::capital(sentence)
}
