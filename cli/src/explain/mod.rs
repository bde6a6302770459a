//! `explain`: the causes of the latest wakeups, of a trace, of a run, or of this machine now; and what takes
//! its CPUs from threads that never sleep.

pub mod args;
mod export;
mod hardware;
mod live;
mod run;

use crate::document;
use crate::exit;
use crate::terminal;
use args::ExplainArgs;
pub use export::perfetto_of_run;
use punctual_explain::{Explanation, Facts, Options, Timeline, Victim, Victims};
use punctual_model::Capture;
use punctual_trace::{self as trace, Source};
use punctual_units::Nanos;
use serde_json::json;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `punctual explain RUN|FILE`, `punctual explain --live`: 0 where a late wakeup was explained, 3 where there is none.
pub fn explain(args: &ExplainArgs, started: Nanos) -> ExitCode {
    if args.hardware {
        return hardware::explain(args);
    }
    let found = match &args.file {
        None => live::found(args, started),
        Some(path) if path.is_dir() => run::found(path).map_err(|e| (exit::USAGE, e)),
        Some(path) => read(args, path).map_err(|e| (exit::USAGE, e)),
    };
    match found {
        Ok(found) => show(args, &found),
        Err((code, what)) => refuse(args, code, &what),
    }
}

fn show(args: &ExplainArgs, found: &Found) -> ExitCode {
    let Found { explanation, timelines, .. } = found;
    if let Err(what) = export::files(args, found) {
        return refuse(args, exit::ENVIRONMENT, &what);
    }
    let none = if explanation.victims.is_empty() { exit::INCONCLUSIVE } else { 0 };
    let code = found.code.unwrap_or(none);
    if args.output.json {
        let mut result = json!(explanation);
        result["trace_format"] = found.format.clone().into();
        if args.timeline {
            result["timelines"] = json!(timelines);
        }
        terminal::print(&(document::document("explain", code, &result) + "\n"));
    } else if !args.output.quiet {
        terminal::print(&terminal::harmless(&text(found, args)));
        if args.timeline {
            terminal::print(&export::picture(explanation, timelines));
        }
    }
    ExitCode::from(code)
}

fn refuse(args: &ExplainArgs, code: u8, what: &str) -> ExitCode {
    eprintln!("punctual: {what}");
    if args.output.json {
        let command = if args.hardware { hardware::DOCUMENT } else { "explain" };
        terminal::print(&(document::document(command, code, &document::error(what)) + "\n"));
    }
    ExitCode::from(code)
}

/// What was found out.
struct Found {
    explanation: Explanation,
    /// Of the victims, in their order; empty where none is wanted.
    timelines: Vec<Option<Timeline>>,
    /// In front of each victim's sentence: the load it was measured under.
    places: Vec<String>,
    format: String,
    /// What it is of, for headings.
    name: String,
    /// The trace with the latest wakeup, where there is a file of it.
    trace: Option<PathBuf>,
    /// The exit code, where it says more than whether something was found.
    code: Option<u8>,
}

/// Whose wakeups.
fn victims(args: &ExplainArgs) -> Victims {
    match (&args.task, args.all_rt) {
        (Some(task), _) => task.parse().map_or_else(|_| Victims::Comm(task.clone()), Victims::Tid),
        (None, true) => Victims::AllRealTime,
        (None, false) => Victims::Measuring,
    }
}

fn options(args: &ExplainArgs) -> Options {
    Options {
        victims: victims(args),
        most: args.most.into(),
        threshold_ns: args.threshold.map(|t| t.0),
        cycles: args.cycle,
        ..Options::default()
    }
}

fn read(args: &ExplainArgs, path: &Path) -> Result<Found, String> {
    let stdin = path.as_os_str() == "-";
    if stdin && (args.timeline || args.html.is_some() || args.perfetto.is_some() || args.bundle.is_some()) {
        return Err("a timeline takes a second look at the trace: name a file instead of -".to_owned());
    }
    let options = Options { facts: facts(path), ..options(args) };
    let mut source = match stdin {
        true => trace::open_text(std::io::stdin(), trace::Options::default()).map_err(|e| format!("-: {e}"))?,
        false => open(path)?,
    };
    let facts = options.facts.clone();
    let explanation = punctual_explain::explain(source.as_mut(), options);
    let format = source.info().format.name().to_owned();
    let timelines = match args.timeline || args.html.is_some() {
        true => punctual_explain::timelines(open(path)?.as_mut(), &explanation.victims, facts),
        false => Vec::new(),
    };
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let trace = (!stdin).then(|| path.to_owned());
    Ok(Found { explanation, timelines, places: Vec::new(), format, name, trace, code: None })
}

/// What is known besides the events of a trace: in the comments of a bundle, or of a run's trace in the file beside it.
fn facts(path: &Path) -> Facts {
    let mut head = Vec::new();
    if let Ok(file) = File::open(path)
        && file.take(64 << 10).read_to_end(&mut head).is_ok()
        && let Some(head) = punctual_formats::bundle_head(&String::from_utf8_lossy(&head))
    {
        return Facts { policies: head.policies.into_iter().collect(), kernel: head.kernel, ..Facts::default() };
    }
    let beside = std::fs::read(path.with_extension("json")).ok();
    let capture = beside.and_then(|text| serde_json::from_slice::<Capture>(&text).ok());
    let named = |capture: &Capture| Path::new(&capture.file).file_name() == path.file_name();
    capture.filter(named).map_or_else(Facts::default, |capture| Facts {
        policies: capture.policies.into_iter().collect(),
        fair_server: capture.fair_server,
        throttled: capture.throttled,
        tracer: capture.tracer,
        ..Facts::default()
    })
}

/// A trace from its start.
fn open(path: &Path) -> Result<Box<dyn Source>, String> {
    let shown = path.display();
    let file = File::open(path).map_err(|e| format!("cannot read {shown}: {e}"))?;
    trace::open(file, trace::Options::default()).map_err(|e| format!("{shown}: {e}"))
}

/// The verdicts first, then what each is made of.
fn text(found: &Found, args: &ExplainArgs) -> String {
    let explanation = &found.explanation;
    let mut out = String::new();
    if explanation.victims.is_empty() {
        out.push_str("No late wakeup can be explained from this trace.\n");
    }
    for (n, victim) in explanation.victims.iter().enumerate() {
        let place = found.places.get(n).map(|place| format!("{place}: ")).unwrap_or_default();
        out.push_str(&format!("{place}{}\n", victim.verdict));
    }
    if let Some(worst) = explanation.victims.first() {
        out.push_str(&format!("\nThe worst, {} of which:\n{}", Nanos(worst.latency_ns), causes(worst)));
        worst.doubts.iter().for_each(|doubt| out.push_str(&format!("  doubt: {doubt}\n")));
    }
    let grouped: Vec<&str> = explanation.groups.iter().map(|g| g.sentence.as_str()).collect();
    list(&mut out, "By culprit", &grouped);
    if args.cycle {
        let cycles: Vec<&str> = explanation.cycles.iter().map(|c| c.verdict.as_str()).collect();
        list(&mut out, "Longest cycles", &cycles);
    }
    let tracers: Vec<&str> = explanation.tracers.iter().map(String::as_str).collect();
    list(&mut out, "What the tracer says", &tracers);
    let notes: Vec<&str> = explanation.notes.iter().map(String::as_str).collect();
    list(&mut out, "Notes", &notes);
    out.push_str(&format!("\n{} wakeups; followed: {}\n", explanation.wakeups, explanation.chosen));
    out
}

/// What each cause took.
fn causes(victim: &Victim) -> String {
    let line = |cause: &punctual_explain::Cause| {
        let who = match (&cause.comm, cause.tid, &cause.what) {
            (Some(comm), Some(tid), _) => format!("{comm} ({tid})"),
            (_, _, Some(what)) => what.clone(),
            _ => String::new(),
        };
        let class = cause.class.name().replace('_', " ");
        let sure = cause.confidence.name();
        let (ns, share) = (Nanos(cause.ns).to_string(), cause.share * 100.0);
        format!("  {ns:>9} {share:5.1} %  {class:<20} {who:<24} {sure}: {}\n", cause.evidence)
    };
    victim.causes.iter().map(line).collect()
}

fn list(out: &mut String, title: &str, lines: &[&str]) {
    if !lines.is_empty() {
        out.push_str(&format!("\n{title}\n"));
        lines.iter().for_each(|line| out.push_str(&format!("  - {line}\n")));
    }
}
