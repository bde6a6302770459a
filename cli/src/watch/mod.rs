//! Implements `watch`, which observes a machine for weeks.

pub mod args;
mod attach;

use crate::args::common::EventsArg;
use crate::exit;
use crate::finish::{Answer, finish};
use crate::prove;
use crate::refusal::Refusal;
use crate::run_directory::command_line;
use args::WatchArgs;
use punctual_model::{Watch, Watched};
use punctual_proof::Trace;
use punctual_report as report;
use punctual_units::Nanos;
use punctual_watch::{AppWatch, Options, WatchError};
use std::process::ExitCode;
use std::sync::Arc;

pub fn watch(args: &WatchArgs, started: Nanos) -> ExitCode {
    if let Some(folder) = &args.attach {
        return finish("watch", args.output, attach::attach(folder).map(|code| Answer::text(code, "")));
    }
    let watched = match &args.status {
        Some(folder) => punctual_watch::read(folder).map(|watched| shown(args, &watched, 0)).map_err(Refusal::from),
        None => run(args, started),
    };
    finish("watch", args.output, watched)
}

fn run(args: &WatchArgs, started: Nanos) -> Result<Answer, Refusal> {
    punctual_uapi::block(&punctual_watch::watch_signals())?;
    let message = Arc::new(|text: &str| message!("{text}"));
    let on_start = |watch: &Watch| {
        if !args.output.quiet {
            message!("{}", report::watch_started(watch, &args.out.display().to_string(), args.duration));
        }
    };
    let done = punctual_watch::watch(&options(args, started)?, &on_start, message)?;
    // A signal takes precedence over a write error.
    let code = match (&done.signal, &done.error) {
        (Some(signal), _) => exit::of_signal(*signal),
        (None, Some(_)) => exit::ENVIRONMENT,
        (None, None) => 0,
    };
    if let Some(what) = &done.error {
        message!("{what}");
    }
    Ok(shown(args, &done.watched, code))
}

fn shown(args: &WatchArgs, watched: &Watched, code: u8) -> Answer {
    Answer::new(args.output, code, || watched, || report::watch_text(watched)).with_notes(watched.damage.clone())
}

impl From<WatchError> for Refusal {
    fn from(error: WatchError) -> Refusal {
        Refusal::either(error.is_usage(), &error).documented(error)
    }
}

fn options(args: &WatchArgs, started: Nanos) -> Result<Options, Refusal> {
    Ok(Options {
        out: args.out.clone(),
        command: command_line(),
        policy: args.policy,
        priority: args.priority,
        period: args.period,
        cpus: args.cpus.clone(),
        alignment: args.phase.into(),
        segment: args.segment,
        block: args.block,
        keep: args.kept_runs(),
        trace: Trace {
            when: args.trace.into(),
            full: args.trace_events != EventsArg::Minimal,
            stacks: args.trace_events == EventsArg::Stacks,
            buffer_kb: args.trace_buffer,
        },
        trace_above: args.trace_above,
        textfile: args.textfile.clone(),
        textfile_every: args.textfile_every,
        duration: args.duration,
        bytes_a_cpu_and_day: args.disk_per_day,
        sync: !args.no_sync,
        app: app(args)?,
        notify_socket: std::env::var_os("NOTIFY_SOCKET"),
        started_mono: started,
    })
}

/// Returns the application that is watched; `None` if there is none.
fn app(args: &WatchArgs) -> Result<Option<AppWatch>, Refusal> {
    let Some(app) = prove::app::asked(&args.app)? else {
        return match args.kept_events() {
            Some(time) => Err(Refusal::usage(format!(
                "--keep {time}: events are kept only for an application: name it with --app"
            ))),
            None => Ok(None),
        };
    };
    let window = args.kept_events().unwrap_or(Nanos::from_millis(20));
    Ok(Some(AppWatch { app, claims: args.claims.clone(), window }))
}
