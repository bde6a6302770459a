//! Implements the commands `prove` and `measure`.

pub(crate) mod app;
pub mod args;
mod live;
mod options;

pub use options::{loads, options};

use crate::finish::{Answer, finish};
use crate::refusal::Refusal;
use crate::run_directory::numbered;
use crate::{exit, progress, remote, terminal};
use args::{MeasureArgs, ProveArgs};
use live::Live;
use punctual_model::Claim;
use punctual_proof::{self as proof, Done, Observer, Options, ProofError, Via, When};
use punctual_remote::Target;
use punctual_report as report;
use punctual_units::Nanos;
use std::process::ExitCode;

pub fn prove(args: &ProveArgs, started: Nanos) -> ExitCode {
    let document = if args.show_cycles { "prove show-cycles" } else { "prove" };
    finish(document, args.measure.output, proved(args, started))
}

pub fn measure(args: &MeasureArgs, started: Nanos) -> ExitCode {
    finish("measure", args.output, measured(args, started))
}

fn proved(args: &ProveArgs, started: Nanos) -> Result<Answer, Refusal> {
    let all = args;
    let args = &args.measure;
    if let Some(target) = &args.on.target {
        return elsewhere("prove", target, args);
    }
    if let Via::Method(method) = args.run.via {
        return Err(Refusal::usage(format!("prove measures wakeups: use `punctual measure --via {method}`")));
    }
    if let Some(asked) = app::asked(&all.app)? {
        return app::proved(all, &asked, started);
    }
    let mut options = measured_options(args, started);
    if options.claims.is_empty() {
        options.claims.push(Claim::none_missed());
    }
    run("prove", args, &options, &proof::prove)
}

/// Returns the options of the measurement, with the defaults of `prove`.
fn measured_options(args: &MeasureArgs, started: Nanos) -> Options {
    let mut options = options(&args.run, started);
    if args.run.warmup.is_none() {
        options.warmup = Nanos::from_millis(200);
    }
    options.loads = loads(&args.run.loads, &punctual_loads::defaults(options.peer.is_some()));
    if args.run.trace.is_none() {
        options.trace.when = When::Auto;
    }
    options
}

fn measured(args: &MeasureArgs, started: Nanos) -> Result<Answer, Refusal> {
    if let Some(target) = &args.on.target {
        return elsewhere("measure", target, args);
    }
    let options = options(&args.run, started);
    match args.run.via {
        Via::Method(method) if args.tui => {
            Err(Refusal::usage(format!("--tui shows wakeups: omit it with --via {method}")))
        }
        Via::Method(method) => {
            run("measure", args, &options, &|options, observer| proof::measure_by(method, options, observer))
        }
        Via::Wakeup(_) => run("measure", args, &options, &proof::measure),
    }
}

/// Measures on another machine, and copies the run to this one.
fn elsewhere(command: &str, target: &Target, args: &MeasureArgs) -> Result<Answer, Refusal> {
    let out = args.run.out.clone().unwrap_or_else(|| numbered(&target.host));
    remote::measure(command, target, &args.on, &out, args.output)
}

type Job<'a> = &'a dyn Fn(&Options, &mut dyn Observer) -> Result<Done, ProofError>;

fn run(command: &str, args: &MeasureArgs, options: &Options, job: Job) -> Result<Answer, Refusal> {
    punctual_uapi::block(&proof::signals())?;
    if !args.output.quiet {
        earliest(options).iter().for_each(|line| message!("{line}"));
    }
    let done = match args.tui {
        // Restores the terminal before the answer is printed.
        true => {
            let mut live = Live::new(command, options).map_err(Refusal::usage)?;
            job(options, &mut live)
        }
        false => progress::shown(options, args.output.quiet, |observer| job(options, observer)),
    }?;
    let answer = Answer::new(
        args.output,
        exit::of_done(&done, args.run.require_proof),
        || json(&done),
        || summary(&done, args.full),
    );
    let answer = answer.with_notes(done.error.clone());
    #[cfg(feature = "history")]
    let answer = answer.with_notes(args.history.as_ref().and_then(|file| crate::history::after(file.clone(), &done)));
    Ok(answer)
}

/// Returns, for each claim about a rate, the shortest measurement time in which it can pass, and whether the run is
/// that long.
fn earliest(options: &Options) -> Vec<String> {
    let loads = options.loads.len().max(1) as u64;
    let planned = options.until.unwrap_or(options.duration);
    let line = |claim: &Claim| {
        let shortest = punctual_judge::shortest(claim, options.period)?;
        let all = Nanos(shortest.0.saturating_mul(loads));
        let under = if loads == 1 { String::new() } else { format!(" under each of {loads} loads, {all} in all") };
        let enough = match (all <= planned, options.until) {
            (true, _) => String::new(),
            (false, None) => {
                format!("; in {planned} it cannot pass, only fail: --duration {}, or --until-decided", typed(all))
            }
            (false, Some(_)) => {
                format!("; --time-limit {planned} is less, so it cannot pass, only fail: --time-limit {}", typed(all))
            }
        };
        Some(format!("`{claim}` can pass after {shortest}{under} at the earliest{enough}"))
    };
    options.claims.iter().filter_map(line).collect()
}

/// Formats a time, rounded up to whole minutes, in a form that options accept.
fn typed(time: Nanos) -> String {
    format!("{}m", time.0.div_ceil(60_000_000_000))
}

pub fn json(done: &Done) -> report::RunResult<'_> {
    let mut result = report::json(&done.recording, &done.verdict);
    result.run_directory = Some(done.root().display().to_string());
    result.report = Some(done.report.as_ref().map(|page| page.display().to_string()));
    result
}

/// Returns the text of a finished run; a summary for an 80×24 terminal unless `full` is true.
pub fn summary(done: &Done, full: bool) -> String {
    let style = report::TextStyle { color: terminal::colour(), width: terminal::width() };
    let root = done.root().display().to_string();
    if !full {
        let page = done.report.as_ref().map(|page| page.display().to_string());
        let place = report::Place { run: &root, page: page.as_deref() };
        return report::summary(&done.recording, &done.verdict, place, style);
    }
    let mut text = report::text(&done.recording, &done.verdict, style);
    text.push_str(&format!("\nRun directory: {root}\n"));
    if let Some(path) = &done.report {
        text.push_str(&format!("Report:        {}\n", path.display()));
    }
    text
}
