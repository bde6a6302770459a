//! Formats scheduling experiments, predicted and measured, as text, HTML and CSV.

mod gantt;
mod html;
mod sentences;
mod text;

use punctual_model::{Experiment, Prediction, RanThread};
use punctual_units::Nanos;
use std::fmt::Write;

pub use html::experiment_html;
pub use sentences::experiment_verdict;
pub use text::experiment_text;

/// Formats one row per thread and repetition; unknown values are empty.
pub fn experiment_csv(experiment: &Experiment) -> String {
    let mut out = String::from(
        "repetition,thread,whole,alone_ns,predicted_ns,as_charged_ns,elapsed_ns,workload_ns,run_ns,wait_ns,blocked_ns,steal_ns,taken_steal_ns,\
         taken_others_ns,rest_ns\n",
    );
    for (number, repetition) in experiment.repetitions.iter().enumerate() {
        for (planned, ran) in experiment.threads.iter().zip(&repetition.threads) {
            let cell = |n: Option<Nanos>| n.map_or(String::new(), |n| n.0.to_string());
            let account = &ran.account;
            let cells = [
                planned.alone_ns,
                planned.predicted.ends_ns,
                ran.as_charged.ends_ns,
                Some(ran.elapsed_ns),
                Some(ran.workload_ns),
                Some(account.run_ns),
                account.wait_ns,
                account.blocked_ns,
                account.steal_ns,
                ran.taken.map(|taken| taken.steal_ns),
                ran.taken.map(|taken| taken.others_ns),
            ];
            let cells: Vec<String> = cells.into_iter().map(cell).collect();
            let signed = |ns: Option<i64>| ns.map_or(String::new(), |ns| ns.to_string());
            let rest = signed(ran.rest_ns());
            let name = crate::csv::field(&planned.name);
            let _ = writeln!(out, "{},{name},{},{},{rest}", number + 1, ran.whole, cells.join(","));
        }
    }
    out
}

/// Formats seconds with three digits, as the original program does.
fn seconds(ns: Option<Nanos>) -> String {
    ns.map_or_else(|| "–".into(), |ns| format!("{:.3}", ns.as_secs_f64()))
}

fn difference(ns: Option<i64>) -> String {
    ns.map_or_else(|| "–".into(), |ns| format!("{:+.3}", ns as f64 / 1e9))
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "–".into(), |share| format!("{:+.1} %", share * 100.0))
}

/// Returns the measured minus the predicted time, as a share of the predicted time, which follows from the work
/// calibrated with each thread running alone; 0 if the thread ended between the earliest and the latest predicted end.
fn alone_misses(predicted: Prediction, ran: &RanThread) -> Option<f64> {
    let nearest = predicted.nearest(ran.elapsed_ns)?;
    Some((ran.elapsed_ns.0 as f64 - nearest.0 as f64) / nearest.0.max(1) as f64)
}
