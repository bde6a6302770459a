//! `report`: a run directory shown again.

use crate::args::{Format, ReportArgs};
use crate::document;
use crate::exit;
use crate::import;
use crate::terminal;
use punctual_model::{Bench, Claim, Experiment, Recording, Suite};
use punctual_report as report;
use std::io::Write;
use std::process::ExitCode;

/// A run directory, or a run of other tools' files. What is wrong is said.
fn read(args: &ReportArgs) -> Result<Recording, u8> {
    let [only] = args.run.as_slice() else { return import::recording(&args.run, None, args.told) };
    if !only.is_dir() {
        return import::recording(&args.run, None, args.told);
    }
    let recording = punctual_rundir::read(only).map_err(|e| {
        eprintln!("punctual: {e}");
        exit::USAGE
    })?;
    for damage in &recording.damage {
        eprintln!("punctual: {}: {damage}", only.display());
    }
    Ok(recording)
}

/// `punctual report`: exits 0 if it wrote, whatever the verdict.
pub fn report(args: &ReportArgs) -> ExitCode {
    let mut recording = match read(args) {
        Ok(recording) => recording,
        Err(code) => return ExitCode::from(code),
    };
    if let Some(suite) = recording.suite.take() {
        return written(args, &suite_text(args, &suite));
    }
    if let Some(experiment) = recording.experiment.take() {
        return written(args, &experiment_text(args, &experiment));
    }
    if let Some(bench) = recording.bench.take() {
        return written(args, &bench_text(args, &bench));
    }
    punctual_explain::suspect(&mut recording);
    let claims = match (&args.claims[..], &recording.run.settings.claims[..]) {
        // Of another tool's file nothing is claimed but what is asked.
        ([], []) if recording.run.import.is_some() => Vec::new(),
        ([], []) => vec![Claim::none_missed()],
        ([], own) => own.to_vec(),
        (given, _) => given.to_vec(),
    };
    let verdict = punctual_judge::judge_with_tails(&recording, &claims);
    let format = if args.json { Format::Json } else { args.format };
    let text = match format {
        Format::Html => report::html(&recording, &verdict),
        Format::Csv => report::csv(&recording),
        Format::Json => document::document("report", 0, &report::json(&recording, &verdict)) + "\n",
        Format::Text => {
            let to_file = args.out.is_some();
            let width = if to_file { 80 } else { terminal::width() };
            let style = report::TextStyle { color: !to_file && terminal::colour(), width };
            let write = if args.linuxcnc { report::linuxcnc } else { report::text };
            write(&recording, &verdict, style)
        }
    };
    written(args, &text)
}

/// A run of the event suite has no wakeups to judge: its own table.
fn suite_text(args: &ReportArgs, suite: &Suite) -> String {
    let format = if args.json { Format::Json } else { args.format };
    match format {
        Format::Html => report::suite_html(suite),
        Format::Csv => report::suite_csv(suite),
        Format::Json => document::document_of("events", 0, suite) + "\n",
        Format::Text => report::suite_text(suite),
    }
}

/// Nor has a scheduling experiment.
fn experiment_text(args: &ReportArgs, experiment: &Experiment) -> String {
    let format = if args.json { Format::Json } else { args.format };
    match format {
        Format::Html => report::experiment_html(experiment),
        Format::Csv => report::experiment_csv(experiment),
        Format::Json => document::document_of("sched", 0, experiment) + "\n",
        Format::Text => report::experiment_text(experiment),
    }
}

/// Nor has a benchmark. Of the published search the CSV is the published one.
fn bench_text(args: &ReportArgs, bench: &Bench) -> String {
    let format = if args.json { Format::Json } else { args.format };
    match format {
        Format::Html => report::bench_html(bench),
        Format::Csv => punctual_bench::published_csv(bench).unwrap_or_else(|| report::bench_csv(bench)),
        Format::Json => document::document_of("bench", 0, bench) + "\n",
        Format::Text => report::bench_text(bench),
    }
}

/// Prints it, or makes the file.
fn written(args: &ReportArgs, text: &str) -> ExitCode {
    match &args.out {
        None => match terminal::print(text) {
            true => ExitCode::SUCCESS,
            false => ExitCode::from(exit::ENVIRONMENT),
        },
        Some(path) => {
            let file = std::fs::File::options().write(true).create_new(true).open(path);
            match file.and_then(|mut f| f.write_all(text.as_bytes())) {
                Ok(()) => ExitCode::SUCCESS,
                Err(e) => {
                    eprintln!("punctual: cannot write {}: {e}; name a new file with --out", path.display());
                    ExitCode::from(exit::ENVIRONMENT)
                }
            }
        }
    }
}
