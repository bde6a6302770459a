//! `explain`: the causes of the latest wakeups in a trace.

use crate::args::ExplainArgs;
use crate::document;
use crate::exit;
use crate::terminal;
use punctual_explain::{Explanation, Options, Victim, Victims};
use punctual_trace::{self as trace, TraceError};
use punctual_units::Nanos;
use serde_json::json;
use std::fs::File;
use std::process::ExitCode;

/// `punctual explain FILE`: 0 where a late wakeup was explained, 3 where the trace shows none.
pub fn explain(args: &ExplainArgs) -> ExitCode {
    let (explanation, format) = match read(args) {
        Ok(found) => found,
        Err(what) => {
            eprintln!("punctual: {what}");
            if args.output.json {
                terminal::print(&(document::document("explain", exit::USAGE, &document::error(&what)) + "\n"));
            }
            return ExitCode::from(exit::USAGE);
        }
    };
    let code = if explanation.victims.is_empty() { exit::INCONCLUSIVE } else { 0 };
    if args.output.json {
        let mut result = json!(explanation);
        result["trace_format"] = format.into();
        terminal::print(&(document::document("explain", code, &result) + "\n"));
    } else if !args.output.quiet {
        terminal::print(&terminal::harmless(&text(&explanation, args)));
    }
    ExitCode::from(code)
}

fn read(args: &ExplainArgs) -> Result<(Explanation, String), String> {
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
    let shown = args.file.display();
    let failed = |e: TraceError| format!("{shown}: {e}");
    let mut source = match args.file.as_os_str() == "-" {
        true => trace::open_text(std::io::stdin(), trace::Options::default()).map_err(failed)?,
        false => {
            let file = File::open(&args.file).map_err(|e| format!("cannot read {shown}: {e}"))?;
            trace::open(file, trace::Options::default()).map_err(failed)?
        }
    };
    let explanation = punctual_explain::explain(source.as_mut(), options);
    Ok((explanation, source.info().format.name().to_owned()))
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
        let class = json!(cause.class).as_str().unwrap_or_default().replace('_', " ");
        let sure = json!(cause.confidence).as_str().unwrap_or_default().to_owned();
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
