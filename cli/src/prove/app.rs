//! `prove --app`: the cycles of an application.

use super::args::{AppArgs, ProveArgs};
use super::{MeasureArgs, measured_options, run};
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::{check, terminal};
use punctual_check::Subject;
use punctual_proof::{self as proof, App, AppOptions};
use punctual_report::{self as report, TextStyle};
use punctual_units::Nanos;
use std::ffi::OsString;

/// The application whose cycles are measured; `None` if wakeups are measured.
pub(super) fn asked(args: &AppArgs) -> Result<Option<AppOptions>, Refusal> {
    let (name, subject) = match (&args.command, args.pid, &args.unit) {
        (Some(command), ..) => {
            if command.trim().is_empty() {
                return Err(Refusal::usage("--app: the command is empty"));
            }
            (command.clone(), Subject::Command(["/bin/sh", "-c", command].map(OsString::from).to_vec()))
        }
        (_, Some(pid), _) => (Subject::Pid(pid).name(), Subject::Pid(pid)),
        (.., Some(unit)) => (unit.clone(), Subject::Cgroup(check::group_of(unit)?)),
        _ => return Ok(None),
    };
    let after = args.after.unwrap_or(Nanos::ZERO);
    Ok(Some(AppOptions { name, subject, threads: args.threads.clone(), after }))
}

pub(super) fn proved(args: &ProveArgs, asked: &AppOptions, started: Nanos) -> Result<Answer, Refusal> {
    let MeasureArgs { run: options, output, .. } = &args.measure;
    if options.deadline.is_some() {
        return Err(Refusal::usage(
            "--deadline is of wakeups: claim 'response(THREAD) < TIME', with the name of a thread",
        ));
    }
    punctual_uapi::block(&proof::signals())?;
    let app = App::start(asked)?;
    let application = app.application();
    if args.app.show_cycles {
        let style = TextStyle { color: terminal::colour(), width: terminal::width() };
        let text = || report::application_text(&application, &style);
        return Ok(Answer::new(*output, 0, || &application, text).needed());
    }
    let mut options = measured_options(&args.measure, started);
    if options.claims.is_empty() {
        options.claims = app.proposed();
        if !output.quiet {
            let claims: Vec<String> = options.claims.iter().map(|claim| format!("'{claim}'")).collect();
            match claims.as_slice() {
                [] => message!("no claim was given and no thread has a period: nothing is judged"),
                claims => message!("no claim was given: {} is judged, from the periods found", claims.join(", ")),
            }
        }
    }
    run("prove", &args.measure, &options, &|options, observer| app.prove(options, observer))
}
