//! Lines that the dispatcher of LAVA (Linaro's automated validation) reads as test results from a console.
//!
//! The dispatcher matches `<LAVA_SIGNAL_(\S+) ([^>]+)>` (lava_dispatcher/actions/test/shell.py), and splits the rest at
//! spaces and each part at `=`. A line therefore contains only slugs, numbers and fixed words.

use crate::cases::{CaseOutcome, Cases, Figure, FigureUnit};
use crate::slug;
use std::fmt::Write;

/// Writes one signal per case, then one per figure. Inconclusive becomes `unknown`, which LAVA does not count as
/// passed. A figure has the worst result of the claims on its CPU, or `unknown` if there are no claims.
pub fn lava(cases: &Cases) -> String {
    let mut out = String::new();
    for case in cases.cases() {
        let _ = writeln!(
            out,
            "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={} RESULT={}>",
            case.path.join("-"),
            result(Some(case.outcome))
        );
    }
    for figure in cases.figures() {
        let (value, unit) = measured(figure);
        let _ = writeln!(
            out,
            "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={} RESULT={} UNITS={unit} MEASUREMENT={value}>",
            figure.path.join("-"),
            result(cases.outcome_beside(figure))
        );
    }
    out
}

fn result(outcome: Option<CaseOutcome>) -> &'static str {
    match outcome {
        Some(CaseOutcome::Pass | CaseOutcome::Held) => "pass",
        Some(CaseOutcome::Fail) => "fail",
        Some(CaseOutcome::Skip) => "skip",
        Some(CaseOutcome::Inconclusive) | None => "unknown",
    }
}

/// Returns value and unit: latencies in microseconds with three decimals, as labs do for cyclictest; counts unchanged.
fn measured(figure: &Figure) -> (String, String) {
    match &figure.unit {
        FigureUnit::Nanoseconds => (format!("{:.3}", figure.value / 1000.0), "us".into()),
        FigureUnit::Count => (figure.value.to_string(), "count".into()),
        FigureUnit::Other(unit) => (figure.value.to_string(), unit_name(unit)),
    }
}

fn unit_name(unit: &str) -> String {
    match unit {
        "µs" => "us".into(),
        "%" => "percent".into(),
        other => slug(&other.replace('/', " per ")),
    }
}
