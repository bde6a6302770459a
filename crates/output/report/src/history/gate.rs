use super::short;
use super::words::{nanos, p};
use crate::clean::clip;
use crate::number::plural;
use crate::text::TextStyle;
use crate::text::page::{Page, Tint};
use crate::words::{and, capital};
use punctual_model::history::{Gate, GateMethod, GateOutcome, GateTest};
use punctual_units::Nanos;

/// Formats the verdict in sentences, and the figures. The text ends in a newline.
pub fn gate_text(gate: &Gate, style: TextStyle) -> String {
    let mut page = Page::new(style);
    let (word, tint) = match gate.outcome {
        GateOutcome::NotWorse => ("NOT WORSE", Tint::Good),
        GateOutcome::Worse => ("WORSE", Tint::Bad),
        GateOutcome::Inconclusive => ("INCONCLUSIVE", Tint::Warn),
        GateOutcome::NotComparable => ("NOT COMPARABLE", Tint::Warn),
    };
    for (n, sentence) in sentences(gate).iter().enumerate() {
        match n {
            0 => page.tagged(&format!("{word}  "), tint, sentence),
            _ => page.tagged("", Tint::Plain, sentence),
        }
    }
    if gate.tests.is_empty() || gate.baseline_runs.is_empty() {
        return page.finish();
    }
    page.heading("load        figure         run  baseline   largest     limit   p");
    for test in &gate.tests {
        let row = format!(
            "{:<12}{:<8}{:>10}{:>10}{:>10}{:>10}   {}",
            clip(&test.load, 11),
            test.figure,
            Nanos(test.ns).to_string(),
            nanos(test.baseline_ns),
            Nanos(test.baseline_max_ns).to_string(),
            test.limit_ns.map_or("-".into(), nanos),
            test.p.map_or("-".into(), p)
        );
        page.row(if test.worse { Tint::Bad } else { Tint::Plain }, &row);
    }
    page.finish()
}

pub fn sentences(gate: &Gate) -> Vec<String> {
    let mut all = match gate.outcome {
        GateOutcome::NotWorse => vec![not_worse(gate)],
        GateOutcome::Worse => gate.tests.iter().filter(|t| t.worse).map(|t| worse(gate, t)).collect(),
        GateOutcome::Inconclusive => vec![capital(&inconclusive(gate))],
        GateOutcome::NotComparable => vec![not_comparable(gate)],
    };
    if !gate.left_out.is_empty() && gate.outcome != GateOutcome::Inconclusive {
        all.push(format!("Not judged: {}.", gate.left_out.join("; ")));
    }
    match gate.method {
        Some(GateMethod::LogNormal) => all.push(format!(
            "Judged by a log-normal distribution, because {} are too few to judge by rank alone ({} more would be enough); \
             if the tails are heavier, a false alarm can be as likely as 1 in {}.",
            plural(gate.baseline_runs.len() as u64, "run", "runs"),
            gate.runs_needed,
            gate.baseline_runs.len() + 1
        )),
        Some(GateMethod::Rank) => all.push(
            "Judged by the rank of the run within its baseline, all figures together; no distribution is assumed.".into(),
        ),
        None => {}
    }
    all
}

fn baseline(gate: &Gate) -> String {
    format!("{} of the baseline `{}`", plural(gate.baseline_runs.len() as u64, "run", "runs"), gate.baseline)
}

fn run(gate: &Gate) -> String {
    match &gate.kernel {
        Some(kernel) => format!("Run {} (kernel {kernel})", short(&gate.run)),
        None => format!("Run {}", short(&gate.run)),
    }
}

fn allowed(gate: &Gate) -> String {
    if gate.tolerance > 0.0 { format!("{:.0} %", 100.0 * gate.tolerance) } else { "any amount".into() }
}

fn not_worse(gate: &Gate) -> String {
    let widest = gate.tests.iter().filter_map(|t| Some(t.limit_ns? / t.baseline_ns.max(1.0)));
    let seen = widest.max_by(f64::total_cmp).filter(|w| w.is_finite());
    let seen = seen
        .map(|w| format!(" A rise to about {w:.2} times the baseline would have been detected in all figures."))
        .unwrap_or_default();
    format!(
        "{} is not shown to be worse by more than {} than the {}, in {}; false alarms at most {:.0} % over all of them.{seen}",
        run(gate),
        allowed(gate),
        baseline(gate),
        plural(gate.tests.len() as u64, "figure", "figures"),
        100.0 * gate.alpha
    )
}

fn worse(gate: &Gate, test: &GateTest) -> String {
    format!(
        "{}: {} under `{}` is {}, {:.2} times the median {} of the {} (largest {}) and worse by more than {}: p = {}.",
        run(gate),
        test.figure,
        test.load,
        Nanos(test.ns),
        test.ns as f64 / test.baseline_ns.max(1.0),
        nanos(test.baseline_ns),
        baseline(gate),
        Nanos(test.baseline_max_ns),
        allowed(gate),
        test.p.map_or("unknown".into(), p)
    )
}

fn inconclusive(gate: &Gate) -> String {
    let why = gate.left_out.join("; ");
    if gate.method.is_some() {
        return format!(
            "{} is not shown to be worse than the {}, but not everything could be judged: {why}.",
            run(gate),
            baseline(gate)
        );
    }
    if gate.tests.is_empty() {
        return format!("{} cannot be judged: {why}.", run(gate));
    }
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    format!(
        "only {} can be compared{why}: {} more baseline {} needed.",
        baseline(gate),
        gate.runs_needed,
        if gate.runs_needed == 1 { "run is" } else { "runs are" }
    )
}

fn not_comparable(gate: &Gate) -> String {
    let all: Vec<String> =
        gate.differs.iter().map(|d| format!("{} is {} instead of {}", d.what, d.now, d.before)).collect();
    format!(
        "{}: no run of the baseline `{}` was measured under the same conditions; the most similar differs: {}.",
        run(gate),
        gate.baseline,
        and(&all)
    )
}
