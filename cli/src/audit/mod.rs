//! `audit` and `snapshot`: every rule on this machine, a tree of files or a snapshot.

pub mod args;
pub mod config;
mod formats;
mod plan;
pub mod profile;
mod text;

use crate::{document, exit, terminal};
use args::{AuditArgs, AuditFormat, SnapshotArgs};
use punctual_audit::{Calls, Context, Offers, PlanError, PlanWish, Rules};
use punctual_machine::{Given, Live, Machine, Overlay, Recorded, Snapshot};
use punctual_model::{Finding, Severity, State};
use punctual_proof::{CallsError, try_out, watch_calls};
use punctual_units::{CpuList, Nanos, Scheduling};
use serde_json::json;
use std::process::ExitCode;

/// Why there is no audit: the exit code and a sentence.
pub type Refused = (u8, String);

/// A finished audit.
pub struct Audited {
    /// One a rule.
    pub findings: Vec<Finding>,
    /// What it was judged for.
    pub context: Context,
    /// Where.
    pub machine: String,
}

/// `punctual audit`: 0 where nothing fails, 1 where a rule fails, 3 where something could not be read.
pub fn audit(args: &AuditArgs) -> ExitCode {
    let done = match &args.explain {
        Some(id) => explain(id).map(|text| (0, text)),
        None if args.fix.is_wanted() => crate::fix::fix(args),
        None if args.plan_cpus.is_some() => plan_cpus(args).map(|text| (0, text)),
        None => run(args).map(|audited| (code(&audited.findings), show(args, &audited))),
    };
    match done {
        Ok((code, text)) => {
            if !args.output.quiet {
                terminal::print(&text);
            }
            ExitCode::from(code)
        }
        Err((code, what)) => {
            eprintln!("punctual: {what}");
            if args.output.json {
                terminal::print(&(document::document("audit", code, &document::error(&what)) + "\n"));
            }
            ExitCode::from(code)
        }
    }
}

fn explain(id: &str) -> Result<String, Refused> {
    Rules::embedded().explain(id).ok_or_else(|| (exit::USAGE, format!("there is no rule `{id}`")))
}

/// What is looked at, its name, and what for.
pub fn look(
    args: &AuditArgs,
    rules: &mut Rules,
    given: Option<&Given>,
) -> Result<(Box<dyn Machine>, String, Context), Refused> {
    let (profile, notes) = profile::profile(&args.profile, rules)?;
    notes.iter().for_each(|note| eprintln!("punctual: not checked: {}", terminal::harmless(note)));
    let (machine, name): (Box<dyn Machine>, String) = match (&args.root, &args.snapshot) {
        _ if let Some(given) = given => (Box::new(given.clone()), config::names(given)),
        (Some(root), _) if root.is_dir() => (Box::new(Live::under(root)), root.display().to_string()),
        (Some(root), _) => return Err((exit::USAGE, format!("{} is no folder", root.display()))),
        (_, Some(file)) => (Box::new(open(file)?), file.display().to_string()),
        _ => (Box::new(Live::new()), "this machine".to_owned()),
    };
    let context = Context {
        scheduling: Scheduling::Fifo { priority: args.priority },
        cpus: args.cpus.clone().unwrap_or_else(|| cpus(machine.as_ref())),
        profile,
    };
    Ok((machine, name, context))
}

fn plan_cpus(args: &AuditArgs) -> Result<String, Refused> {
    let mut rules = Rules::embedded().clone();
    let (machine, name, context) = look(args, &mut rules, None)?;
    let wish = PlanWish { count: args.plan_cpus.unwrap_or(1), near: args.near.clone() };
    let plan = rules.plan_cpus(machine.as_ref(), &context, &wish).map_err(|error| match error {
        PlanError::NoDevice { .. } => (exit::USAGE, error.to_string()),
        _ => (exit::ENVIRONMENT, error.to_string()),
    })?;
    if args.output.json {
        return Ok(document::document("audit", 0, &json!({ "machine": name, "plan": plan })) + "\n");
    }
    Ok(plan::text(&plan, &name))
}

fn run(args: &AuditArgs) -> Result<Audited, Refused> {
    let mut rules = Rules::embedded().clone();
    let given = config::given(&args.config)?;
    let (machine, name, context) = look(args, &mut rules, given.as_ref())?;
    let before = args.window.map(|_| Snapshot::take(machine.as_ref(), &rules.window_paths()));
    let calls = args.window.map_or(Ok(None), |window| pass(window, args.pid))?;
    let is_tried = args.probe || args.user.is_some();
    let tried = is_tried.then(|| try_out(args.user.as_deref(), context.scheduling, &context.cpus)).transpose();
    let tried = tried.map_err(|what| (exit::ENVIRONMENT, what))?;
    let (trial, overlay) = tried.map_or((None, Overlay::default()), |(trial, overlay)| (Some(trial), overlay));
    if let Some(Err(why)) = trial.as_ref().map(|trial| &trial.idle_exit_ns) {
        eprintln!("punctual: what leaving idle costs could not be tried: {why}");
    }
    let before = before.as_ref().map(|before| before as &dyn Machine);
    let offers = Offers { before, pid: args.pid, calls: calls.as_ref(), trial: trial.as_ref() };
    let mut findings = rules.audit_with(&overlay.over(machine.as_ref()), &context, offers);
    if let Some(given) = &given {
        config::name_sources(&mut findings, given);
    }
    Ok(Audited { findings, context, machine: name })
}

/// Lets the window pass, and records meanwhile what the application asks the kernel for, where that can be traced.
fn pass(window: Nanos, pid: Option<u32>) -> Result<Option<Calls>, Refused> {
    let until = punctual_rt::monotonic() + window;
    let calls = match pid {
        Some(pid) => {
            punctual_uapi::block(&punctual_proof::signals()).map_err(|e| (exit::ENVIRONMENT, e.to_string()))?;
            match watch_calls(pid, window) {
                Ok(calls) => Some(calls),
                Err(CallsError::Signal(signal)) => {
                    return Err((exit::of_signal(signal), CallsError::Signal(signal).to_string()));
                }
                Err(CallsError::Refused(why)) => {
                    eprintln!("punctual: its system calls are not traced: {why}");
                    None
                }
            }
        }
        None => None,
    };
    while punctual_rt::sleep_until(until).is_err() {}
    Ok(calls)
}

fn open(file: &std::path::Path) -> Result<Recorded, Refused> {
    let shown = file.display();
    let opened = std::fs::File::open(file).map_err(|e| (exit::USAGE, format!("cannot read {shown}: {e}")))?;
    Snapshot::read(opened).map_err(|e| (exit::USAGE, format!("{shown}: {e}")))
}

/// The isolated CPUs, else all that are online.
pub fn cpus(machine: &dyn Machine) -> CpuList {
    let list = |path: &str| machine.read(path).text().and_then(|text| text.parse::<CpuList>().ok()).unwrap_or_default();
    let isolated = list("/sys/devices/system/cpu/isolated");
    if isolated.is_empty() { list("/sys/devices/system/cpu/online") } else { isolated }
}

/// Fail wins over inconclusive; what is only informative decides nothing.
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
        AuditFormat::Text => text::text(audited, args.all),
        AuditFormat::Json => {
            let result = json!({
                "machine": audited.machine,
                "profile": audited.context.profile.to_string(),
                "cpus": audited.context.cpus.to_string(),
                "scheduling": audited.context.scheduling.to_string(),
                "findings": audited.findings,
            });
            document::document("audit", code(&audited.findings), &result) + "\n"
        }
        AuditFormat::Sarif => formats::sarif(audited),
        AuditFormat::Junit => punctual_formats::junit(&formats::cases(audited)),
        AuditFormat::Tap => punctual_formats::tap(&formats::cases(audited)),
        AuditFormat::Lava => punctual_formats::lava(&formats::cases(audited)),
        AuditFormat::Markdown => formats::markdown(audited, args.all),
    }
}

/// `punctual snapshot FILE`.
pub fn snapshot(args: &SnapshotArgs) -> ExitCode {
    match write(args) {
        Ok(count) => {
            if args.output.json {
                let result = json!({ "file": args.file.display().to_string(), "files": count });
                terminal::print(&(document::document("snapshot", 0, &result) + "\n"));
            } else if !args.output.quiet {
                terminal::print(&format!("{count} files in {}\n", args.file.display()));
            }
            ExitCode::SUCCESS
        }
        Err((code, what)) => {
            eprintln!("punctual: {what}");
            ExitCode::from(code)
        }
    }
}

fn write(args: &SnapshotArgs) -> Result<usize, Refused> {
    let shown = args.file.display();
    let rules = Rules::embedded();
    let paths: Vec<String> = rules.iter().flat_map(|rule| rules.paths(rule)).collect();
    let machine = Live::new();
    let taken = Snapshot::take(&machine, &paths);
    let scrubbed = Snapshot::scrubbed(taken, &machine, &rules.log_texts());
    let file = std::fs::File::create_new(&args.file).map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => (exit::USAGE, format!("{shown} is already there")),
        _ => (exit::ENVIRONMENT, format!("cannot make {shown}: {e}")),
    })?;
    Snapshot::write(&scrubbed, &paths, file).map_err(|e| (exit::ENVIRONMENT, format!("cannot write {shown}: {e}")))
}
