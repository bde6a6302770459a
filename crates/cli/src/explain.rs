//! `explain`: the causes of the latest wakeups in a trace.

mod export;

use crate::args::ExplainArgs;
use crate::document;
use crate::exit;
use crate::terminal;
use punctual_explain::{Explanation, Options, Timeline, Victim, Victims};
use punctual_trace::{self as trace, Source};
use punctual_units::Nanos;
use serde_json::json;
use std::fs::File;
use std::process::ExitCode;

/// `punctual explain FILE`: 0 where a late wakeup was explained, 3 where the trace shows none.
pub fn explain(args: &ExplainArgs) -> ExitCode {
    let Found { explanation, timelines, format } = match read(args) {
        Ok(found) => found,
        Err(what) => return refuse(args, exit::USAGE, &what),
    };
    if let Err(what) = export::files(args, &explanation, &timelines) {
        return refuse(args, exit::ENVIRONMENT, &what);
    }
    let code = if explanation.victims.is_empty() { exit::INCONCLUSIVE } else { 0 };
    if args.output.json {
        let mut result = json!(explanation);
        result["trace_format"] = format.into();
        if args.timeline {
            result["timelines"] = json!(timelines);
        }
        terminal::print(&(document::document("explain", code, &result) + "\n"));
    } else if !args.output.quiet {
        terminal::print(&terminal::harmless(&text(&explanation, args)));
        if args.timeline {
            terminal::print(&export::picture(&explanation, &timelines));
        }
    }
    ExitCode::from(code)
}

fn refuse(args: &ExplainArgs, code: u8, what: &str) -> ExitCode {
    eprintln!("punctual: {what}");
    if args.output.json {
        terminal::print(&(document::document("explain", code, &document::error(what)) + "\n"));
    }
    ExitCode::from(code)
}

/// What a trace told.
struct Found {
    explanation: Explanation,
    /// Of the victims, in their order; empty where none is wanted.
    timelines: Vec<Option<Timeline>>,
    format: String,
}

fn read(args: &ExplainArgs) -> Result<Found, String> {
    let stdin = args.file.as_os_str() == "-";
    if stdin && (args.timeline || args.html.is_some() || args.perfetto.is_some()) {
        return Err("a timeline takes a second look at the trace: name a file instead of -".to_owned());
    }
    let victims = match (&args.task, args.all_rt) {
        (Some(task), _) => task.parse().map_or_else(|_| Victims::Comm(task.clone()), Victims::Tid),
        (None, true) => Victims::AllRealTime,
        (None, false) => Victims::Measuring,
    };
    let options = Options {
        victims,
        most: args.most.into(),
        threshold_ns: args.threshold.map(|t| t.0),
        cycles: args.cycle,
        ..Options::default()
    };
    let mut source = match stdin {
        true => trace::open_text(std::io::stdin(), trace::Options::default()).map_err(|e| format!("-: {e}"))?,
        false => open(args)?,
    };
    let facts = options.facts.clone();
    let explanation = punctual_explain::explain(source.as_mut(), options);
    let format = source.info().format.name().to_owned();
    let timelines = match args.timeline || args.html.is_some() {
        true => punctual_explain::timelines(open(args)?.as_mut(), &explanation.victims, facts),
        false => Vec::new(),
    };
    Ok(Found { explanation, timelines, format })
}

/// The trace from its start.
fn open(args: &ExplainArgs) -> Result<Box<dyn Source>, String> {
    let shown = args.file.display();
    let file = File::open(&args.file).map_err(|e| format!("cannot read {shown}: {e}"))?;
    trace::open(file, trace::Options::default()).map_err(|e| format!("{shown}: {e}"))
}

/// The verdicts first, then what each is made of.
fn text(explanation: &Explanation, args: &ExplainArgs) -> String {
    let mut out = String::new();
    if explanation.victims.is_empty() {
        out.push_str("No late wakeup can be explained from this trace.\n");
    }
    for victim in &explanation.victims {
        out.push_str(&format!("{}\n", victim.verdict));
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
