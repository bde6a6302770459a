//! Test Anything Protocol (testanything.org), restricted to the common features of version 13, version 14 and KTAP
//! (Documentation/dev-tools/ktap.rst of the kernel): a plan, test points, comments, and the directive SKIP, without
//! YAML blocks. It declares version 13, because Perl's TAP::Parser before 3.48 rejects 14, while readers of 14 and KTAP
//! accept 13.

use crate::cases::{Case, CaseOutcome, Cases, Figure, FigureUnit};
use punctual_clean as clean;
use std::fmt::Write;

/// Writes the cases. Inconclusive becomes `not ok`, because a TODO would count as passed.
///
/// A description is a name of `[a-zA-Z0-9_.-]`, so that untrusted text cannot become a directive. Sentences and figures
/// are comments, each introduced by a fixed word.
pub fn tap(cases: &Cases) -> String {
    let all: Vec<&Case> = cases.cases().collect();
    let mut out = format!("TAP version 13\n1..{}\n", all.len());
    let clock = if cases.about.is_virtual { "virtual" } else { "real" };
    let _ = writeln!(out, "# clock: {clock}");
    for (n, case) in all.iter().enumerate() {
        point(&mut out, n + 1, case);
    }
    cases.figures().for_each(|figure| comment(&mut out, figure));
    for sentence in &cases.not_known {
        let _ = writeln!(out, "# not known: {}", clean::line(sentence));
    }
    out
}

fn point(out: &mut String, number: usize, case: &Case) {
    let name = case.path.join(".");
    let said = format!("{}: {}: {}", case.outcome.word(), clean::line(&case.title), clean::line(&case.sentence));
    let _ = match case.outcome {
        CaseOutcome::Pass | CaseOutcome::Held => writeln!(out, "ok {number} - {name}"),
        CaseOutcome::Skip => writeln!(out, "ok {number} - {name} # SKIP"),
        CaseOutcome::Inconclusive | CaseOutcome::Fail => writeln!(out, "not ok {number} - {name}"),
    };
    let _ = writeln!(out, "# {said}");
}

fn comment(out: &mut String, figure: &Figure) {
    let unit = match &figure.unit {
        FigureUnit::Nanoseconds => " ns".to_owned(),
        FigureUnit::Count => String::new(),
        FigureUnit::Other(unit) => format!(" {}", clean::line(unit)),
    };
    let _ = writeln!(out, "# figure: {} {}{unit}", figure.path.join("."), figure.value);
}
