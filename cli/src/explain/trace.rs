//! Explains late wakeups in a trace file of any format, or in pasted text.

use super::args::ExplainArgs;
use super::found::Found;
use crate::exit;
use punctual_explain::{ExplainOptions, Explanation, Facts, Victims};
use punctual_model::Capture;
use punctual_report as report;
use punctual_trace::{self as trace, Source, TraceError};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Explains the trace in this file; `-` reads standard input.
pub fn found(args: &ExplainArgs, path: &Path) -> Result<Found, String> {
    let stdin = path.as_os_str() == "-";
    if stdin && (args.timeline || args.html.is_some() || args.perfetto.is_some() || args.bundle.is_some()) {
        return Err("a timeline reads the trace twice: name a file instead of -".to_owned());
    }
    let window = (!stdin).then(|| punctual_analyse::capture_beside(path)).flatten();
    let (moments, late) = (window.as_ref().map(report::moments).unwrap_or_default(), window.as_ref().and_then(late));
    let mut options = ExplainOptions { facts: facts(path), ..args.options() };
    if let (Victims::Measuring, Some(tid)) = (&options.victims, late) {
        options.victims = Victims::Tid(tid);
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let mut source = match opened(path, stdin) {
        Ok(source) => source,
        Err(Unopened::Other(error)) => return Err(error),
        Err(Unopened::Stated(answer)) => return Ok(stated(answer, name)),
    };
    let facts = options.facts.clone();
    let mut explanation = Explanation { moments, ..punctual_explain::explain(source.as_mut(), options) };
    if let Some(window) = window.and_then(|capture| capture.application).filter(|_| args.cycle) {
        // These were accounted for from all events, of which a window has only the last ones.
        explanation.cycles = window.cycles.into_iter().flatten().collect();
    }
    let format = source.info().format.name().to_owned();
    let timelines = match args.timeline || args.html.is_some() {
        true => punctual_explain::timelines(open(path)?.as_mut(), &explanation.victims, facts),
        false => Vec::new(),
    };
    let trace = (!stdin).then(|| path.to_owned());
    let places =
        explanation.victims.iter().map(|victim| victim.moments.map_or_else(String::new, |m| at(m.t0_ns))).collect();
    Ok(Found { explanation, timelines, places, format, name, trace, code: None })
}

/// Why a text is not read as a trace.
enum Unopened {
    Other(String),
    /// It is not a trace, but its content is known and makes this statement.
    Stated(String),
}

fn opened(path: &Path, stdin: bool) -> Result<Box<dyn Source>, Unopened> {
    let shown = if stdin { "-".to_owned() } else { path.display().to_string() };
    let source = match stdin {
        true => trace::open_text(std::io::stdin(), trace::Options::default()),
        false => {
            let file = File::open(path).map_err(|e| Unopened::Other(format!("cannot read {shown}: {e}")))?;
            trace::open(file, trace::Options::default())
        }
    };
    source.map_err(|error| match error {
        TraceError::Summary { .. } | TraceError::Figures { .. } | TraceError::Log { .. } => {
            Unopened::Stated(error.to_string())
        }
        error => Unopened::Other(format!("{shown}: {error}")),
    })
}

/// Returns what a summary or a log states, without a cause of any wakeup.
fn stated(answer: String, name: String) -> Found {
    let chosen = "none (the text has no events)".to_owned();
    let explanation = Explanation { answer: Some(answer), chosen, ..Explanation::default() };
    let format = trace::Format::Unknown.name().to_owned();
    let (timelines, places) = (Vec::new(), Vec::new());
    Found { explanation, timelines, places, format, name, trace: None, code: Some(exit::INCONCLUSIVE) }
}

/// Returns the thread whose lateness is the reason why a window of an application's events was kept.
fn late(capture: &Capture) -> Option<i32> {
    let window = capture.application.as_ref()?;
    let of_cycle = || window.cycles.iter().flatten().map(|cycle| cycle.tid).next();
    window.late.iter().find_map(|late| late.tid).or_else(of_cycle)
}

/// Formats a time in seconds, with as many digits as traces have.
fn at(t_ns: u64) -> String {
    format!("{}.{:06}", t_ns / 1_000_000_000, t_ns % 1_000_000_000 / 1000)
}

/// Returns facts stored in addition to the events: in the comments of an excerpt, or in the file next to a run's trace.
pub fn facts(path: &Path) -> Facts {
    let mut head = Vec::new();
    if let Ok(file) = File::open(path)
        && file.take(64 << 10).read_to_end(&mut head).is_ok()
        && let Some(head) = punctual_formats::bundle_head(&String::from_utf8_lossy(&head))
    {
        return Facts { policies: head.policies.into_iter().collect(), kernel: head.kernel, ..Facts::default() };
    }
    punctual_analyse::facts_beside(path).unwrap_or_default()
}

/// Opens a trace at its start.
pub fn open(path: &Path) -> Result<Box<dyn Source>, String> {
    let shown = path.display();
    let file = File::open(path).map_err(|e| format!("cannot read {shown}: {e}"))?;
    trace::open(file, trace::Options::default()).map_err(|e| format!("{shown}: {e}"))
}
