//! Implements `lab compare`, which boots two kernels several times and compares their latencies.

use super::args::CompareArgs;
use super::guests::{default_out, jobs, options};
use super::progress::Progress;
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::{exit, terminal};
use punctual_directory::Dir;
use punctual_lab::{Compared, LabCompareResult, LabError, LabObserver, compare};
use punctual_model::Comparison;
use punctual_report as report;
use punctual_vm::Cache;
use std::path::{Path, PathBuf};

/// Runs `punctual lab compare`. Exits 0 if the comparison is conclusive, 3 otherwise.
pub fn run(args: &CompareArgs) -> Result<Answer, Refusal> {
    let (Compared { comparison, .. }, out) = compared(args)?;
    let code = if punctual_compare::is_inconclusive(&comparison) { exit::INCONCLUSIVE } else { 0 };
    Ok(Answer::new(args.proof.output, code, || LabCompareResult::new(&comparison, &out), || text(&comparison, &out)))
}

fn compared(args: &CompareArgs) -> Result<(Compared, PathBuf), LabError> {
    let cache = Cache::usual()?;
    let (a, b) = (options(&args.a, &args.proof, &cache)?, options(&args.b, &args.proof, &cache)?);
    let out = args.out.clone().unwrap_or_else(|| default_out(&format!("{}-{}", args.a, args.b)));
    let observer: &dyn LabObserver = if args.proof.output.quiet { &() } else { &Progress };
    let compared = compare([&a, &b], args.proof.seed, args.boots, jobs(&args.proof), &out, &cache, observer)?;
    let page = out.join("comparison.html");
    let html = report::comparison_html(&compared.comparison, &compared.drawings);
    let written = Dir::of_file(&page).and_then(|(dir, name)| dir.replace(name, html.as_bytes(), false));
    written.map_err(|e| LabError::File { what: "write", path: page, source: e.cause() })?;
    Ok((compared, out))
}

fn text(comparison: &Comparison, out: &Path) -> String {
    let style = report::TextStyle { color: terminal::colour(), width: terminal::width() };
    let text = report::comparison_text(comparison, style);
    format!("{text}\nRuns:   {}\nReport: {}\n", out.display(), out.join("comparison.html").display())
}
