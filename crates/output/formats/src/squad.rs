//! SQUAD (Software Quality Dashboard of Linaro): the JSON files `tests` and `metrics` of its submission API.
//!
//! Source: doc/api.rst of Linaro/squad. Tests map `suite/test` to `pass`, `fail`, `skip` or `xfail`; metrics map
//! `suite/metric` to a number or to `{value, unit}`.

use crate::cases::{CaseOutcome, Cases, FigureUnit};
use punctual_report::json_text;
use serde_json::{Map, Value, json};

/// Writes the tests. SQUAD has no inconclusive outcome, so `skip` is used, which does not count as passed.
pub fn squad_tests(cases: &Cases) -> String {
    let word = |outcome: CaseOutcome| match outcome {
        CaseOutcome::Pass | CaseOutcome::Held => "pass",
        CaseOutcome::Fail => "fail",
        CaseOutcome::Skip | CaseOutcome::Inconclusive => "skip",
    };
    let all: Map<String, Value> =
        cases.cases().map(|case| (full_name(&case.path), Value::from(word(case.outcome)))).collect();
    json_text(&Value::Object(all))
}

pub fn squad_metrics(cases: &Cases) -> String {
    let metric = |figure: &crate::Figure| {
        let unit = match &figure.unit {
            FigureUnit::Nanoseconds => "ns",
            FigureUnit::Count => "",
            FigureUnit::Other(unit) => unit.as_str(),
        };
        (full_name(&figure.path), json!({"value": figure.value, "unit": punctual_clean::line(unit)}))
    };
    let all: Map<String, Value> = cases.figures().map(metric).collect();
    json_text(&Value::Object(all))
}

fn full_name(path: &[String]) -> String {
    format!("punctual/{}", path.join("/"))
}
