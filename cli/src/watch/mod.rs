//! `watch`: a machine watched for weeks.

pub mod args;

use crate::args::common::EventsArg;
use crate::{document, exit, terminal};
use args::WatchArgs;
use punctual_model::{WatchLine, Watched};
use punctual_proof::{Trace, signals};
use punctual_report as report;
use punctual_units::Nanos;
use punctual_watch::{Done, Options, WatchError};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// `punctual watch`.
pub fn watch(args: &WatchArgs, started: Nanos) -> ExitCode {
    if let Some(folder) = &args.status {
        return status(args, folder);
    }
    if let Err(e) = punctual_uapi::block(&signals()) {
        eprintln!("punctual: {e}");
        return ExitCode::from(exit::ENVIRONMENT);
    }
    let tell = Arc::new(|text: &str| eprintln!("punctual: {}", terminal::harmless(text)));
    match punctual_watch::watch(&options(args, started), tell) {
        Ok(done) => ended(args, &done),
        Err(e) => failed(args, &e),
    }
}

fn options(args: &WatchArgs, started: Nanos) -> Options {
    Options {
        out: args.out.clone(),
        command: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
        policy: args.policy,
        priority: args.priority,
        period: args.period,
        cpus: args.cpus.clone(),
        alignment: args.phase.into(),
        segment: args.segment,
        block: args.block,
        keep: args.keep,
        trace: Trace {
            when: args.trace.into(),
            full: args.trace_events == EventsArg::Full,
            buffer_kb: args.trace_buffer,
        },
        trace_above: args.trace_above,
        textfile: args.textfile.clone(),
        textfile_every: args.textfile_every,
        duration: args.duration,
        bytes_a_cpu_and_day: args.disk_per_day,
        sync: !args.no_sync,
        notify_socket: std::env::var_os("NOTIFY_SOCKET"),
        started_mono: started,
    }
}

/// The code of an ended watch: a signal first, then what could not be written.
fn ended(args: &WatchArgs, done: &Done) -> ExitCode {
    let code = match (&done.signal, &done.error) {
        (Some(signal), _) => exit::of_signal(*signal),
        (None, Some(_)) => exit::ENVIRONMENT,
        (None, None) => 0,
    };
    if let Some(what) = &done.error {
        eprintln!("punctual: {}", terminal::harmless(what));
    }
    match punctual_watch::read(&args.out) {
        Ok(watched) => show(args, &watched, code),
        Err(e) => eprintln!("punctual: {e}"),
    }
    ExitCode::from(code)
}

fn status(args: &WatchArgs, folder: &Path) -> ExitCode {
    match punctual_watch::read(folder) {
        Ok(watched) => {
            show(args, &watched, 0);
            ExitCode::SUCCESS
        }
        Err(e) => failed(args, &e),
    }
}

fn show(args: &WatchArgs, watched: &Watched, code: u8) {
    watched.damage.iter().for_each(|what| eprintln!("punctual: {}", terminal::harmless(what)));
    if args.output.json {
        terminal::print(&(document::document("watch", code, &json(watched)) + "\n"));
    } else if !args.output.quiet {
        terminal::print(&report::watch_text(watched));
    }
}

/// The series as the result of a document.
pub fn json(watched: &Watched) -> serde_json::Value {
    let maxima: Vec<&WatchLine> = watched.lines.iter().filter(|line| !matches!(line, WatchLine::Block(_))).collect();
    serde_json::json!({
        "watch": watched.watch,
        "running": watched.running,
        "bytes": watched.bytes,
        "segments": watched.segments,
        "lines": maxima,
        "damage": watched.damage,
    })
}

fn failed(args: &WatchArgs, error: &WatchError) -> ExitCode {
    eprintln!("punctual: {}", terminal::harmless(&error.to_string()));
    let code = if error.is_usage() { exit::USAGE } else { exit::ENVIRONMENT };
    if args.output.json {
        terminal::print(&(document::document("watch", code, &document::error(&error.to_string())) + "\n"));
    }
    ExitCode::from(code)
}
