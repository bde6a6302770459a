//! `lab compare`.

use super::args::CompareArgs;
use super::prove::Progress;
use super::{default_out, failed, jobs, options};
use crate::document;
use crate::terminal;
use punctual_lab::{Compared, LabError, LabObserver, compare};
use punctual_model::Comparison;
use punctual_report as report;
use punctual_vm::Cache;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `punctual lab compare`: 0 where the comparison was made and nothing stands against it, 3 otherwise.
pub fn run(args: &CompareArgs) -> ExitCode {
    match compared(args) {
        Ok((compared, out)) => {
            let code = if compared.comparison.problems.is_empty() { 0 } else { 3 };
            show(args, &compared, &out, code);
            ExitCode::from(code)
        }
        Err(e) => failed("lab compare", args.proof.output.json, &e),
    }
}

fn compared(args: &CompareArgs) -> Result<(Compared, PathBuf), LabError> {
    let cache = Cache::usual()?;
    let (a, b) = (options(&args.a, &args.proof, &cache)?, options(&args.b, &args.proof, &cache)?);
    let out = args.out.clone().unwrap_or_else(|| default_out(&format!("{}-{}", args.a, args.b)));
    let observer: &dyn LabObserver = if args.proof.output.quiet { &() } else { &Progress };
    let compared = compare([&a, &b], args.proof.seed, args.boots, jobs(&args.proof), &out, &cache, observer)?;
    let page = out.join("comparison.html");
    let written = fs::write(&page, report::comparison_html(&compared.comparison, &compared.drawings));
    written.map_err(|source| LabError::File { what: "write", path: page, source })?;
    Ok((compared, out))
}

fn show(args: &CompareArgs, compared: &Compared, out: &Path, code: u8) {
    if args.proof.output.json {
        terminal::print(&(documented(&compared.comparison, out, code) + "\n"));
    } else if !args.proof.output.quiet {
        let style = report::TextStyle { color: terminal::colour(), width: terminal::width() };
        let text = report::comparison_text(&compared.comparison, style);
        terminal::print(&format!(
            "{text}\nRuns:   {}\nReport: {}\n",
            out.display(),
            out.join("comparison.html").display()
        ));
    }
}

/// The document with `--json`: of two kernels; `out` is the folder of the run directories and the page.
pub fn documented(comparison: &Comparison, out: &Path, code: u8) -> String {
    let mut result = report::comparison_json(comparison);
    result["out"] = out.display().to_string().into();
    document::document("lab compare", code, &result)
}
