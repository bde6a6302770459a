//! `lab prove`.

use super::args::ProveArgs;
use super::{default_out, failed, jobs, options};
use crate::document;
use crate::exit;
use crate::terminal;
use punctual_lab::{LabError, LabObserver, LabRun, Proven, prove_boots};
use punctual_report as report;
use punctual_units::Nanos;
use punctual_vm::Cache;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `punctual lab prove`.
pub fn run(args: &ProveArgs) -> ExitCode {
    match proven(args) {
        Ok((proven, out)) => {
            let code = exit::of_outcome(proven.outcome());
            show(args, &proven, &out, code);
            ExitCode::from(code)
        }
        Err(e) => failed("lab prove", args.proof.output.json, &e),
    }
}

fn proven(args: &ProveArgs) -> Result<(Proven, PathBuf), LabError> {
    let cache = Cache::usual()?;
    let options = options(&args.kernel, &args.proof, &cache)?;
    let out = args.out.clone().unwrap_or_else(|| default_out(&args.kernel.to_string()));
    let observer: &dyn LabObserver = if args.proof.output.quiet { &() } else { &Progress };
    let proven = prove_boots(&options, args.proof.seed, args.boots, jobs(&args.proof), &out, &cache, observer)?;
    Ok((proven, out))
}

fn show(args: &ProveArgs, proven: &Proven, out: &Path, code: u8) {
    if args.proof.output.json {
        terminal::print(&(documented(proven, out, code) + "\n"));
        return;
    }
    if args.proof.output.quiet {
        return;
    }
    // One boot is shown whole; of several the worst.
    let worst = proven.runs.iter().max_by_key(|r| (r.verdict.outcome, r.verdict.worst.as_ref().map(|w| w.max_ns)));
    let Some(worst) = worst else { return };
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
    terminal::print(&text);
}

/// The document with `--json`: of every boot; `out` is the folder of the run directories.
pub fn documented(proven: &Proven, out: &Path, code: u8) -> String {
    let runs: Vec<Value> = proven.runs.iter().map(of_run).collect();
    document::document("lab prove", code, &json!({"clock": "virtual", "out": out, "boots": runs}))
}

fn of_run(run: &LabRun) -> Value {
    let mut value = report::json(&run.recording, &run.verdict);
    if let Some(map) = value.as_object_mut() {
        map.insert("seed".into(), run.seed.into());
        map.insert("run_directory".into(), run.root.display().to_string().into());
    }
    value
}

/// One line a boot on standard error.
pub struct Progress;

impl LabObserver for Progress {
    fn booted(&self, kernel: &str, number: usize, of: usize, run: &Result<LabRun, LabError>) {
        match run {
            Ok(run) => {
                let worst = run.verdict.worst.as_ref().map_or("nothing".into(), |w| Nanos(w.max_ns).to_string());
                let word = report::words::word(run.verdict.outcome);
                let seconds = run.lasted.as_secs_f64();
                eprintln!("[{number}/{of}] {kernel}, seed {}: worst {worst}, {word} ({seconds:.0} s)", run.seed);
            }
            Err(e) => eprintln!("[{number}/{of}] {kernel}: {e}"),
        }
    }
}
