//! Bencher Metric Format (bencher.dev/docs/reference/bencher-metric-format): benchmark results that are tracked across
//! commits.

use crate::cases::{Cases, FigureUnit};
use crate::slug;
use punctual_report::json_text;
use serde_json::{Map, Value};

/// Writes `{"io/cpu1/p99": {"latency": {"value", "lower_value", "upper_value"}}}`. `latency` is Bencher's built-in
/// measure in nanoseconds; counts have the measure `count`, other units a measure named after the unit.
pub fn bencher(cases: &Cases) -> String {
    let mut all = Map::new();
    for figure in cases.figures() {
        let mut metric = Map::new();
        metric.insert("value".into(), figure.value.into());
        for (key, bound) in [("lower_value", figure.bounds.0), ("upper_value", figure.bounds.1)] {
            if let Some(bound) = bound {
                metric.insert(key.into(), bound.into());
            }
        }
        let measure = match &figure.unit {
            FigureUnit::Nanoseconds => "latency".to_owned(),
            FigureUnit::Count => "count".to_owned(),
            FigureUnit::Other(unit) => slug(&unit.replace('/', " per ")).to_lowercase(),
        };
        let of_measure = Value::Object(Map::from_iter([(measure, Value::Object(metric))]));
        all.insert(figure.path.join("/"), of_measure);
    }
    json_text(&Value::Object(all))
}
