//! Lines that the dispatcher of LAVA (Linaro's automated validation) takes from a console as results of test cases.
//!
//! It looks for `<LAVA_SIGNAL_(\S+) ([^>]+)>` (lava_dispatcher/actions/test/shell.py), splits the rest at blanks and each part at
//! `=`; so a line of ours has nothing in it but slugs, numbers and words of ours.

use crate::cases::{CaseOutcome, Cases, Figure, FigureUnit};
use crate::slug;
use std::fmt::Write;

/// One signal a case, then one a figure. What cannot be concluded is `unknown`, which LAVA does not count as passed; a figure has the
/// worst result of the claims on its CPU, or `unknown` where nothing was claimed of it.
pub fn lava(cases: &Cases) -> String {
    let mut out = String::new();
    for case in cases.cases() {
        // Writing to a String cannot fail.
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

/// The four results that LAVA knows.
fn result(outcome: Option<CaseOutcome>) -> &'static str {
    match outcome {
        Some(CaseOutcome::Pass) => "pass",
        Some(CaseOutcome::Fail) => "fail",
        Some(CaseOutcome::Skip) => "skip",
        Some(CaseOutcome::Inconclusive) | None => "unknown",
    }
}

/// Microseconds with three digits, as labs have them of cyclictest; counts as they are.
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
