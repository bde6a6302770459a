//! Explains late wakeups of this machine as they happen.

use super::args::ExplainArgs;
use super::found::Found;
use super::{run, threads};
use crate::args::common::WhenArg;
use crate::refusal::Refusal;
use crate::{exit, progress, prove, terminal};
use punctual_explain::Victims;
use punctual_proof::{self as proof, LiveOptions, Trace, When};
use punctual_units::Nanos;

/// Default of `--duration`.
const DURATION: Nanos = Nanos::from_secs(10);

/// Measures with a trace, or traces the threads that the options name.
pub fn found(args: &ExplainArgs, started: Nanos) -> Result<Found, Refusal> {
    punctual_uapi::block(&proof::signals())?;
    match args.victims() {
        Victims::Measuring if args.tracer.is_none() => measured(args, started),
        _ => watched(args),
    }
}

fn measured(args: &ExplainArgs, started: Nanos) -> Result<Found, Refusal> {
    if args.run.trace == Some(WhenArg::Never) {
        return Err(Refusal::usage("nothing can be explained live without a trace: leave out --trace never"));
    }
    let mut options = prove::options(&args.run, started);
    options.trace.when = When::Always;
    options.trace.stacks = true;
    options.duration = args.run.duration.unwrap_or(DURATION);
    let done = progress::shown(&options, args.output.quiet, |observer| proof::measure(&options, observer))?;
    if let Some(what) = &done.error {
        message!("{what}");
    }
    let name = done.root().display().to_string();
    if !args.output.quiet && !args.output.json {
        terminal::print(format!("Run directory: {name}\n"));
    }
    let code = done.signal.map(exit::of_signal);
    punctual_watchdog::concluding("the explanation");
    Ok(Found { code, ..run::of_recording(done.recording, done.dir.path(), name, args.shown()) })
}

fn watched(args: &ExplainArgs) -> Result<Found, Refusal> {
    if args.timeline || args.html.is_some() || args.perfetto.is_some() {
        let what = "--timeline, --html and --perfetto need a stored trace, and none is kept with --task or --all-rt: leave these out, or \
                    record with trace-cmd and explain that file";
        return Err(Refusal::usage(what));
    }
    let trace = Trace { stacks: true, ..prove::options(&args.run, Nanos::ZERO).trace };
    let options = LiveOptions {
        what: args.options(),
        duration: args.run.duration.unwrap_or(DURATION),
        stop_at: args.threshold.filter(|_| args.stop),
        tracer: args.tracer.clone(),
        trace,
    };
    if let Some(text) = threads::missing(&options.what.victims).filter(|_| !args.output.quiet) {
        message!("{text}");
    }
    let seen = proof::live(&options)?;
    let mut explanation = seen.explanation;
    explanation.notes.push(format!("{} events of this machine in {}", seen.events, seen.took));
    Ok(Found {
        explanation,
        timelines: Vec::new(),
        places: Vec::new(),
        format: "ring-buffer pages".into(),
        name: "this machine".into(),
        trace: None,
        code: seen.signal.map(exit::of_signal),
    })
}
