//! Implements `prove --app`, which measures the cycles of an application.

use super::args::{AppArgs, ProveArgs, RunArgs};
use super::{MeasureArgs, measured_options, run};
use crate::args::common::AlignmentArg;
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::{check, terminal};
use punctual_check::Subject;
use punctual_model::Claim;
use punctual_proof::{self as proof, App, AppOptions, Via};
use punctual_report::{self as report, TextStyle};
use punctual_units::{Nanos, WakeupSource};
use std::ffi::OsString;

/// Returns the applications whose cycles are measured; `None` if wakeups are measured.
pub(crate) fn asked(args: &AppArgs) -> Result<Option<AppOptions>, Refusal> {
    let mut programs = Vec::new();
    for command in &args.commands {
        if command.trim().is_empty() {
            return Err(Refusal::usage("--app: the command is empty"));
        }
        let words = ["/bin/sh", "-c", command].map(OsString::from).to_vec();
        programs.push((command.clone(), Subject::Command(words)));
    }
    programs.extend(args.pids.iter().map(|pid| (Subject::Pid(*pid).name(), Subject::Pid(*pid))));
    for unit in &args.units {
        programs.push((unit.clone(), Subject::Cgroup(check::group_of(unit)?)));
    }
    let after = args.after.unwrap_or(Nanos::ZERO);
    Ok((!programs.is_empty()).then(|| AppOptions { programs, threads: args.threads.clone(), after }))
}

/// Returns an error if an option is given that applies only to wakeups, not to an application's cycles.
fn refuse_options_of_wakeups(options: &RunArgs) -> Result<(), Refusal> {
    let usual = WakeupSource::default();
    let given = [
        ("--deadline", options.deadline.is_some()),
        ("--via", !matches!(&options.via, Via::Wakeup(way) if *way == usual)),
        ("--policy", options.policy.is_some()),
        ("--priority", options.priority.is_some()),
        ("--cpus", options.cpus.is_some()),
        ("--interval", options.period != Nanos::from_millis(1)),
        ("--phase", options.phase != AlignmentArg::Staggered),
        ("--until-decided", options.until_decided),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(Refusal::usage(format!(
            "{name} is for wakeups; an application runs as it is, and a limit is a claim: --claim 'response(THREAD) < TIME'"
        ))),
        None => Ok(()),
    }
}

pub(super) fn proved(args: &ProveArgs, asked: &AppOptions, started: Nanos) -> Result<Answer, Refusal> {
    let MeasureArgs { run: options, output, .. } = &args.measure;
    refuse_options_of_wakeups(options)?;
    punctual_uapi::block(&proof::signals())?;
    let mut options = measured_options(&args.measure, started);
    App::refuse(&options.claims)?;
    let app = App::start(asked)?;
    if args.show_cycles {
        app.list_probes();
        let application = app.application();
        let style = TextStyle { color: terminal::colour(), width: terminal::width() };
        let text = || report::application_text(&application, &style);
        return Ok(Answer::new(*output, 0, || &application, text).needed());
    }
    if options.claims.is_empty() {
        options.claims = app.proposed();
        if !output.quiet {
            message!("{}", proposal(&options.claims));
        }
    }
    run("prove", &args.measure, &options, &|options, observer| app.prove(options, observer))
}

/// Says which claims are judged although none was given.
pub(crate) fn proposal(claims: &[Claim]) -> String {
    const MOST: usize = 3;
    if claims.is_empty() {
        return "no claim was given and no thread has a period: nothing is judged".into();
    }
    let shown: Vec<String> = claims.iter().take(MOST).map(|claim| format!("'{claim}'")).collect();
    let (more, are) = match claims.len() {
        n if n > MOST => (format!(" and {} more", n - MOST), "are"),
        1 => (String::new(), "is"),
        _ => (String::new(), "are"),
    };
    format!("no claim was given: {}{more} {are} judged, derived from the periods found", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposal_fits_a_line() {
        let claims = |n: usize| (0..n).map(|n| format!("late(t{n}) = 0").parse().unwrap()).collect::<Vec<Claim>>();
        assert_eq!(
            proposal(&claims(1)),
            "no claim was given: 'late(t0) = 0' is judged, derived from the periods found"
        );
        assert!(proposal(&claims(150)).contains("'late(t2) = 0' and 147 more are judged"));
        assert!(proposal(&[]).contains("nothing is judged"));
    }
}
