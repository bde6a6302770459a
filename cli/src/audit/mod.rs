//! `audit` and `snapshot`: apply every rule to this machine, a tree of files or a snapshot.

pub mod args;
mod audited;
mod contribute;
mod formats;
mod plan;
mod text;

use crate::args::common::OutputArgs;
use crate::exit;
use crate::finish::{Answer, finish};
use crate::fix;
use crate::refusal::Refusal;
use crate::subject::{self, Subject};
use args::{AuditArgs, AuditFormat, SnapshotArgs};
use audited::Audited;
use punctual_audit::{AuditResult, Calls, Offers, PlanError, PlanWish, Rules, SnapshotResult};
use punctual_directory::Dir;
use punctual_fix::UnknownRule;
use punctual_machine::{Live, Machine, Overlay, Snapshot};
use punctual_model::{Finding, Severity, State};
use punctual_proof::{CallsError, try_out, watch_calls};
use punctual_report::Document;
use punctual_units::Nanos;
use std::process::ExitCode;

/// Runs `punctual audit`. Exits 0 if no rule fails, 1 if one fails, 3 if something could not be read.
pub fn audit(args: &AuditArgs) -> ExitCode {
    finish("audit", args.output, answer(args))
}

fn answer(args: &AuditArgs) -> Result<Answer, Refusal> {
    let (code, text) = match &args.explain {
        Some(id) => (0, explain(id)?),
        None if args.fix.is_wanted() => fix::fix(&args.subject, &args.fix, args.output.json)?,
        None if args.plan_cpus.is_some() => (0, plan_cpus(args)?),
        None => {
            let audited = run(args)?;
            let text = if args.output.quiet { String::new() } else { show(args, &audited) };
            (code(&audited.findings), text)
        }
    };
    Ok(Answer::text(code, if args.output.quiet { String::new() } else { text }))
}

fn explain(id: &str) -> Result<String, Refusal> {
    let rules = Rules::embedded();
    rules.explain(id).ok_or_else(|| unknown_rule(id, rules))
}

/// Returns the error for a rule that does not exist.
pub fn unknown_rule(id: &str, rules: &Rules) -> Refusal {
    let similar = crate::suggest::similar(id, rules.iter().map(|rule| rule.id.as_str()));
    Refusal::usage(format!("{}{similar}", UnknownRule(id.to_owned())))
}

fn plan_cpus(args: &AuditArgs) -> Result<String, Refusal> {
    let mut rules = Rules::load();
    let Subject { machine, name, context, .. } = subject::look(&args.subject, &mut rules)?;
    let request = PlanWish { count: args.plan_cpus.unwrap_or(1), near: args.near.clone() };
    let plan = rules
        .plan_cpus(machine.as_ref(), &context, &request)
        .map_err(|error| Refusal::either(matches!(error, PlanError::NoDevice { .. }), error))?;
    if args.output.json {
        return Ok(Document::new("audit", 0, AuditResult::Plan { machine: &name, plan: &plan }).text());
    }
    Ok(plan::text(&plan, &name))
}

fn run(args: &AuditArgs) -> Result<Audited, Refusal> {
    let mut rules = Rules::load();
    let Subject { machine, name, context, given } = subject::look(&args.subject, &mut rules)?;
    let before = args.window.map(|_| Snapshot::take(machine.as_ref(), &rules.window_paths()));
    let calls = args.window.map_or(Ok(None), |window| pass(window, args.subject.pid))?;
    let is_tried = args.probe || args.user.is_some();
    let tried = is_tried.then(|| try_out(args.user.as_deref(), context.scheduling, &context.cpus)).transpose();
    let tried = tried.map_err(Refusal::environment)?;
    let (trial, overlay) = tried.map_or((None, Overlay::default()), |(trial, overlay)| (Some(trial), overlay));
    if let Some(Err(why)) = trial.as_ref().map(|trial| &trial.idle_exit_ns) {
        message!("the cost of leaving idle could not be measured: {why}");
    }
    let before = before.as_ref().map(|before| before as &dyn Machine);
    let offers = Offers { before, pid: args.subject.pid, calls: calls.as_ref(), trial: trial.as_ref() };
    let mut findings = rules.audit_with(&overlay.over(machine.as_ref()), &context, offers);
    if let Some(given) = &given {
        subject::name_sources(&mut findings, given);
    }
    // Looking a board up parses the files of all.
    let board = || punctual_machine::facts(machine.as_ref()).board.as_deref().and_then(punctual_references::board);
    let board = (!args.output.quiet).then(board).flatten();
    Ok(Audited { findings, context, machine: name, board })
}

/// Waits until the window has passed. Meanwhile records the application's system calls, if they can be traced.
fn pass(window: Nanos, pid: Option<u32>) -> Result<Option<Calls>, Refusal> {
    let until = punctual_rt::monotonic() + window;
    let calls = match pid {
        Some(pid) => {
            punctual_uapi::block(&punctual_proof::signals())?;
            match watch_calls(pid, window) {
                Ok(calls) => Some(calls),
                Err(CallsError::Signal(signal)) => {
                    return Err(Refusal::new(exit::of_signal(signal), CallsError::Signal(signal)));
                }
                Err(CallsError::Refused(why)) => {
                    message!("the application's system calls are not traced: {why}");
                    None
                }
            }
        }
        None => None,
    };
    while punctual_rt::sleep_until(until).is_err() {}
    Ok(calls)
}

/// Returns the exit code. A failed rule takes precedence over an unknown result; informative findings do not count.
fn code(findings: &[Finding]) -> u8 {
    let counts = |finding: &&Finding| finding.severity > Severity::Info;
    let has = |states: &[State]| findings.iter().filter(counts).any(|finding| states.contains(&finding.state));
    if has(&[State::Fail]) {
        exit::FAILED
    } else if has(&[State::Blocked, State::Unknown]) {
        exit::INCONCLUSIVE
    } else {
        0
    }
}

fn show(args: &AuditArgs, audited: &Audited) -> String {
    let format = if args.output.json { AuditFormat::Json } else { args.format };
    match format {
        AuditFormat::Text => text::text(audited, args),
        AuditFormat::Json => {
            let result = AuditResult::findings(&audited.machine, &audited.context, &audited.findings);
            Document::new("audit", code(&audited.findings), result).text()
        }
        AuditFormat::Sarif => formats::sarif(audited),
        AuditFormat::Junit => punctual_formats::junit(&formats::cases(audited)),
        AuditFormat::Tap => punctual_formats::tap(&formats::cases(audited)),
        AuditFormat::Lava => punctual_formats::lava(&formats::cases(audited)),
        AuditFormat::Markdown => formats::markdown(audited, args.all),
    }
}

pub fn snapshot(args: &SnapshotArgs) -> ExitCode {
    // This command prints no JSON document, not even for an error.
    finish("snapshot", OutputArgs::default(), taken(args))
}

fn taken(args: &SnapshotArgs) -> Result<Answer, Refusal> {
    if let Some(run) = &args.contribute {
        return contribute::contribute(args, run);
    }
    let (count, file) = (write(args)?, args.file.display());
    let result = || SnapshotResult::Machine { file: file.to_string(), files: count };
    Ok(Answer::new(args.output, 0, result, || format!("{count} files in {file}\n")))
}

fn write(args: &SnapshotArgs) -> Result<usize, Refusal> {
    let shown = args.file.display();
    let rules = Rules::embedded();
    let paths: Vec<String> = rules.iter().flat_map(|rule| rules.paths(rule)).collect();
    let machine = Live::new();
    let taken = Snapshot::take(&machine, &paths);
    let scrubbed = Snapshot::scrubbed(taken, &machine, &rules.log_texts());
    let created = Dir::of_file(&args.file).and_then(|(dir, name)| dir.create_new(name));
    let file = created.map_err(|e| match e.kind() {
        Some(std::io::ErrorKind::AlreadyExists) => Refusal::usage(format!("{shown} already exists; name a new file")),
        _ => Refusal::environment(e),
    })?;
    Snapshot::write(&scrubbed, &paths, file).map_err(|e| Refusal::environment(format!("cannot write {shown}: {e}")))
}
