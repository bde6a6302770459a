//! Implements `report`, which shows a stored run.

pub mod args;
#[cfg(feature = "history")]
mod fleet;
mod foreign;
mod written;

use crate::args::common::OutputArgs;
use crate::finish::{Answer, finish};
use crate::refusal::Refusal;
use crate::{import, terminal};
use args::ReportArgs;
use punctual_formats::{Cases, Subject, Writer};
use punctual_model::{Bench, Experiment, Kind, Recording, Suite, Verdict};
use punctual_report as report;
use std::path::Path;
use std::process::ExitCode;
use written::{format, writer, written};

/// Runs `punctual report`. Exits 0 if the report was written, whatever the verdict.
pub fn report(args: &ReportArgs) -> ExitCode {
    finish("report", OutputArgs::default(), reported(args))
}

fn reported(args: &ReportArgs) -> Result<Answer, Refusal> {
    if let [only] = args.run.as_slice()
        && punctual_watch::is_watch(only)
    {
        check(args, Subject::Watch)?;
        return watched(args, only);
    }
    #[cfg(feature = "history")]
    if fleet::is_fleet(args) {
        check(args, Subject::Fleet)?;
        return fleet::report(args);
    }
    let mut recording = read(args)?;
    check(args, Subject::of(&recording))?;
    let made = match (recording.suite.take(), recording.experiment.take(), recording.bench.take()) {
        (Some(suite), _, _) => suite_text(args, &recording, &suite),
        (_, Some(experiment), _) => experiment_text(args, &experiment),
        (_, _, Some(bench)) => bench_text(args, &recording, &bench),
        _ if matches!(recording.run.kind, Kind::Events | Kind::Sched | Kind::Bench) => Err(lost(args, &recording)),
        _ => latency(args, &mut recording),
    };
    written(args, made.map_err(Refusal::usage)?)
}

/// Returns an error for a format that cannot contain this kind of run, and for options that have no effect on it.
fn check(args: &ReportArgs, subject: Subject) -> Result<(), Refusal> {
    format(args).check(subject).map_err(Refusal::usage)?;
    let of_latencies = [("--claim", !args.claims.is_empty()), ("--linuxcnc", args.linuxcnc)];
    match of_latencies.iter().find(|(_, given)| *given && subject != Subject::Latency) {
        Some((option, _)) => Err(Refusal::usage(format!(
            "{option} is for wakeup latencies, and this is {}: leave it out",
            subject.name()
        ))),
        None if args.load.is_some() && !matches!(format(args).writer, Writer::Cyclictest(_)) => {
            Err(Refusal::usage("--load is for --format cyclictest and cyclictest-json: leave it out"))
        }
        None => Ok(()),
    }
}

/// Returns the error for a run whose result file is missing or damaged.
fn lost(args: &ReportArgs, recording: &Recording) -> String {
    let run = args.run.first().map(|path| path.display().to_string()).unwrap_or_default();
    let (name, why) = (Subject::of(recording).name(), recording.damage.join("; "));
    match recording.run.complete {
        true => format!("{run}: the results of {name} cannot be read: {why}; run it again"),
        false => format!("{run}: {name} that ended before its first result or is damaged ({why}): run it again"),
    }
}

/// Reads a run directory, or other tools' files as one run.
fn read(args: &ReportArgs) -> Result<Recording, Refusal> {
    let [only] = args.run.as_slice() else { return import::recording(&args.run, None, &args.given) };
    if !only.is_dir() {
        return import::recording(&args.run, None, &args.given);
    }
    let recording = punctual_rundir::read(only).map_err(Refusal::usage)?;
    for damage in &recording.damage {
        message!("{}: {damage}", only.display());
    }
    Ok(recording)
}

/// Reports on the series in the directory of a watch.
fn watched(args: &ReportArgs, folder: &Path) -> Result<Answer, Refusal> {
    let watched = punctual_watch::read(folder).map_err(Refusal::usage)?;
    watched.damage.iter().for_each(|what| message!("{what}"));
    let text = match writer(args) {
        Writer::Html => report::watch_html(&watched),
        Writer::Text => report::watch_text(&watched),
        Writer::Json => report::Document::new("watch", 0, &watched).text(),
        _ => return Err(Refusal::usage(foreign::not_built(args.format))),
    };
    written(args, text.into_bytes())
}

fn latency(args: &ReportArgs, recording: &mut Recording) -> Result<Vec<u8>, String> {
    // Traces are not read again, because a missing one would count as a problem of the run.
    punctual_analyse::causes(None, recording);
    let claims = punctual_analyse::claims(&args.claims, recording);
    let verdict = match writer(args) {
        Writer::Html | Writer::Json | Writer::Text => punctual_judge::judge_with_tails(recording, &claims),
        _ => punctual_judge::judge(recording, &claims),
    };
    shown(args, recording, &verdict)
}

/// Returns the run's directory, unless the run was imported.
#[cfg(feature = "history")]
fn folder(args: &ReportArgs) -> Option<std::path::PathBuf> {
    args.run.first().filter(|path| path.is_dir()).map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()))
}

/// Prints what a machine-readable format does not contain because it is not in the file that was read.
fn say_not_known(writer: Writer, recording: &Recording) {
    if matches!(writer, Writer::Html | Writer::Text | Writer::Json | Writer::Sarif | Writer::Perfetto) {
        return;
    }
    let was_said = |sentence: &String| recording.damage.iter().any(|damage| sentence.contains(damage.as_str()));
    for sentence in report::words::not_known(recording).iter().filter(|sentence| !was_said(sentence)) {
        message!("unknown: {sentence}");
    }
}

fn shown(args: &ReportArgs, recording: &Recording, verdict: &Verdict) -> Result<Vec<u8>, String> {
    say_not_known(writer(args), recording);
    let run = args.run.first().map(|run| run.display().to_string()).unwrap_or_default();
    let text = match writer(args) {
        Writer::Html => report::html(recording, verdict, &run),
        Writer::Csv => report::csv(recording),
        #[cfg(feature = "history")]
        Writer::Jsonl => fleet::lines(&[punctual_history::summary(recording, verdict, folder(args).as_deref())]),
        Writer::Json => report::Document::new("report", 0, report::json(recording, verdict)).text(),
        Writer::Text => {
            let to_file = args.out.is_some();
            let width = if to_file { 80 } else { terminal::width() };
            let style = report::TextStyle { color: !to_file && terminal::colour(), width };
            match (args.linuxcnc, args.full || to_file) {
                (true, _) => report::linuxcnc(recording, verdict, style),
                (false, true) => report::text(recording, verdict, style),
                (false, false) => report::summary(recording, verdict, report::Place { run: &run, page: None }, style),
            }
        }
        _ => return foreign::of_run(args, recording, verdict),
    };
    Ok(text.into_bytes())
}

/// Returns the text of an event suite, which has no wakeups to judge and is shown in a table of its own.
fn suite_text(args: &ReportArgs, recording: &Recording, suite: &Suite) -> Result<Vec<u8>, String> {
    let text = match writer(args) {
        Writer::Html => report::suite_html(suite),
        Writer::Csv => report::suite_csv(suite),
        Writer::Json => report::Document::new("events", 0, suite).text(),
        Writer::Text => report::suite_text(suite),
        _ => return foreign::of_cases(args, &Cases::of_suite(recording, suite)),
    };
    Ok(text.into_bytes())
}

/// Returns the text of a scheduling experiment, which has no wakeups to judge.
fn experiment_text(args: &ReportArgs, experiment: &Experiment) -> Result<Vec<u8>, String> {
    let text = match writer(args) {
        Writer::Html => report::experiment_html(experiment),
        Writer::Csv => report::experiment_csv(experiment),
        Writer::Json => report::Document::new("sched", 0, experiment).text(),
        Writer::Text => report::experiment_text(experiment),
        _ => return Err(foreign::not_built(args.format)),
    };
    Ok(text.into_bytes())
}

/// Returns the text or CSV of a benchmark, which has no wakeups to judge. The CSV of the N-queens benchmark has the
/// published format.
fn bench_text(args: &ReportArgs, recording: &Recording, bench: &Bench) -> Result<Vec<u8>, String> {
    let text = match writer(args) {
        Writer::Html => report::bench_html(bench),
        Writer::Csv => punctual_bench::published_csv(bench).unwrap_or_else(|| report::bench_csv(bench)),
        Writer::Json => report::Document::new("bench", 0, bench).text(),
        Writer::Text => report::bench_text(bench),
        _ => return foreign::of_cases(args, &Cases::of_bench(recording, bench)),
    };
    Ok(text.into_bytes())
}
