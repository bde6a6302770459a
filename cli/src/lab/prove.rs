//! Implements `lab prove`, which measures and judges a kernel in virtual time.

use super::args::ProveArgs;
use super::guests::{default_out, jobs, options};
use super::progress::Progress;
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::{exit, terminal};
use punctual_lab::{LabError, LabObserver, LabProveResult, Proven, prove_boots};
use punctual_report as report;
use punctual_vm::Cache;
use std::path::PathBuf;

pub fn run(args: &ProveArgs) -> Result<Answer, Refusal> {
    let (proven, out) = proven(args)?;
    let code = exit::of_outcome(proven.outcome());
    Ok(Answer::new(args.proof.output, code, || LabProveResult::new(&proven, &out), || text(args, &proven)))
}

fn proven(args: &ProveArgs) -> Result<(Proven, PathBuf), LabError> {
    let cache = Cache::usual()?;
    let options = options(&args.kernel, &args.proof, &cache)?;
    let out = args.out.clone().unwrap_or_else(|| default_out(&args.kernel.to_string()));
    let observer: &dyn LabObserver = if args.proof.output.quiet { &() } else { &Progress };
    let proven = prove_boots(&options, args.proof.seed, args.boots, jobs(&args.proof), &out, &cache, observer)?;
    Ok((proven, out))
}

fn text(args: &ProveArgs, proven: &Proven) -> String {
    // A single boot is shown completely; of several, the worst is shown.
    let worst = proven.runs.iter().max_by_key(|r| (r.verdict.outcome, r.verdict.worst.as_ref().map(|w| w.max_ns)));
    let Some(worst) = worst else { return String::new() };
    let style = report::TextStyle { color: terminal::colour(), width: terminal::width() };
    let mut text = String::new();
    if proven.runs.len() > 1 {
        text.push_str(&format!(
            "{} boots, seeds {} to {}; the worst of them, seed {}:\n\n",
            proven.runs.len(),
            args.proof.seed,
            args.proof.seed + proven.runs.len() as u64 - 1,
            worst.seed
        ));
    }
    text.push_str(&report::text(&worst.recording, &worst.verdict, style));
    text.push_str(&format!("\nRun directory: {}\n", worst.root.display()));
    text.push_str(&format!("Report:        {}\n", worst.root.join("report.html").display()));
    text
}
