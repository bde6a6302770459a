mod html;
mod text;
mod words;

pub use html::bench_html;
pub use text::{bench_line, bench_text};

use punctual_model::{Bench, BenchRepetition};
use std::fmt::Write;

/// Formats one line per figure: `repetition,ended_real_ns,resumed,cpu_celsius,gpu_celsius,of,figure,unit,value`.
/// Unknown values are empty.
pub fn bench_csv(bench: &Bench) -> String {
    let mut out = String::from("repetition,ended_real_ns,resumed,cpu_celsius,gpu_celsius,of,figure,unit,value\n");
    for one in &bench.repetitions {
        for figure in &one.figures {
            let text = crate::csv::field;
            let _ = writeln!(
                out,
                "{},{},{},{},{},{},{}",
                head(one),
                one.resumed,
                celsius(one.conditions.cpu_celsius()),
                celsius(one.conditions.gpu_celsius()),
                text(&figure.of),
                text(&figure.name),
                format_args!("{},{}", text(&figure.unit), figure.value)
            );
        }
    }
    out
}

fn head(one: &BenchRepetition) -> String {
    format!("{},{}", one.number, one.ended_real_ns)
}

fn celsius(degrees: Option<f64>) -> String {
    degrees.map(|d| format!("{d:.2}")).unwrap_or_default()
}
