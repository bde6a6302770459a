use super::sentences::{remarks, residuals};
use super::{difference, seconds, share};
use crate::clean::line;
use punctual_model::{Experiment, PlannedThread, RanThread, Repetition};
use punctual_units::Arrange;
use std::fmt::Write;

/// Formats an experiment for a terminal: the plan, then for each repetition the original program's lines, the table and
/// explanations.
pub fn experiment_text(experiment: &Experiment) -> String {
    let mut out = format!("{}: {}\n", line(&experiment.name), line(&experiment.about));
    let _ = writeln!(out, "{}", settings(experiment));
    for thread in &experiment.threads {
        let _ = writeln!(
            out,
            "  {}: {}, {}, CPU {}, released after {}, {} s alone",
            line(&thread.name),
            thread.scheduling,
            line(&thread.workload),
            thread.cpus,
            thread.offset_ns,
            seconds(thread.alone_ns)
        );
    }
    for (number, repetition) in experiment.repetitions.iter().enumerate() {
        let _ = writeln!(out, "\nrepetition {}", number + 1);
        out.push_str(&seed_lines(experiment, repetition));
        out.push_str(&table(experiment, repetition));
        for sentence in residuals(experiment, repetition) {
            let _ = writeln!(out, "  {sentence}");
        }
    }
    for remark in remarks(experiment) {
        let _ = writeln!(out, "{remark}");
    }
    out
}

pub(super) fn settings(experiment: &Experiment) -> String {
    let system = &experiment.system;
    let quantum = system.rr_quantum_ns.map_or_else(|| "not readable".into(), |quantum| quantum.to_string());
    let limit = system.limit.as_ref().map_or_else(
        || "no limit on real-time threads".into(),
        |limit| {
            format!("real-time threads limited to {} in {} by {}", limit.runtime_ns, limit.period_ns, line(&limit.by))
        },
    );
    format!("scale {}, RR quantum {quantum}, {limit}", experiment.scale_ns)
}

/// Formats two lines per thread as the original program does, in the order in which the threads ended.
fn seed_lines(experiment: &Experiment, repetition: &Repetition) -> String {
    let mut pairs: Vec<(&PlannedThread, &RanThread)> = experiment.threads.iter().zip(&repetition.threads).collect();
    pairs.arrange_by_key(|(_, ran)| ran.released_ns.0.saturating_add(ran.elapsed_ns.0));
    let mut out = String::new();
    for (planned, ran) in pairs {
        let kind = if planned.scheduling.policy().is_real_time() { "RT" } else { "NRT" };
        let head = format!("[{kind} thread #{}] {}", ran.tid, line(&planned.name));
        let _ = writeln!(out, "{head} Workload time: {} seconds", seconds(Some(ran.workload_ns)));
        let _ = writeln!(out, "{head} Ends (Elapsed: {} seconds)", seconds(Some(ran.elapsed_ns)));
    }
    out
}

fn table(experiment: &Experiment, repetition: &Repetition) -> String {
    let mut out = format!(
        "  {:<12} {:>9} {:>10} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}  of it\n",
        "seconds", "predicted", "as charged", "measured", "run", "wait", "sleep", "steal", "others", "rest"
    );
    for (planned, ran) in experiment.threads.iter().zip(&repetition.threads) {
        let account = &ran.account;
        let _ = writeln!(
            out,
            "  {:<12} {:>9} {:>10} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}  {}",
            line(&planned.name),
            seconds(planned.predicted.ends_ns),
            seconds(ran.as_charged.ends_ns),
            seconds(Some(ran.elapsed_ns)),
            seconds(Some(account.run_ns)),
            seconds(account.wait_ns),
            seconds(account.blocked_ns),
            seconds(account.steal_ns),
            seconds(ran.taken.map(|taken| taken.others_ns)),
            difference(ran.rest_ns()),
            share(ran.rest())
        );
    }
    out
}
