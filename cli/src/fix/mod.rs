//! `audit --fix`, `audit --dry-run` and `undo`.

pub mod args;
mod boot;
mod guard;
mod text;

pub use guard::{GUARD_ARG, guard_main, recover};

use crate::audit::args::AuditArgs;
use crate::audit::{self, Refused};
use crate::{document, exit, terminal};
use args::UndoArgs;
use punctual_audit::{Context, Offers, Rules};
use punctual_fix::{
    Asked, FOLDER, FixOptions, Fixed, Journal, Parameters, Plan, Real, System, Undone, UnknownRule, Wish,
};
use punctual_machine::Machine;
use punctual_model::State;
use punctual_units::Nanos;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// The journal's folder; another one for tests.
pub fn folder() -> PathBuf {
    std::env::var_os("PUNCTUAL_CHANGES").map_or_else(|| PathBuf::from(FOLDER), PathBuf::from)
}

/// `audit --dry-run` and `audit --fix`: 0 where all was done, 1 where something was refused, rolled back or changed back by another program.
pub fn fix(args: &AuditArgs) -> Result<(u8, String), Refused> {
    let mut rules = Rules::embedded().clone();
    let (machine, name, context) = audit::look(args, &mut rules, None)?;
    let sys = args.root.as_ref().map_or_else(Real::new, Real::under);
    let stage = boot::stage(&sys, args.fix.persist, args.fix.trial)?;
    if args.fix.fix.is_some() {
        refuse_in_vain(args, &rules, &sys)?;
        stage.clear(&sys)?;
    }
    let offers = Offers { pid: args.pid, ..Offers::default() };
    let findings = rules.audit_with(machine.as_ref(), &context, offers);
    let ids = args.fix.ids();
    let parameters = Parameters::new(machine.as_ref(), stage.how());
    let wish = Wish {
        rules: &rules,
        machine: machine.as_ref(),
        sys: &sys,
        context: &context,
        pid: args.pid,
        ids: &ids,
        persist: args.fix.persist,
        boot: Some(&|wish| parameters.steps(wish)),
    };
    let mut plan = wish.plan(&findings).map_err(|e| (exit::USAGE, e.to_string()))?;
    stage.complete(&parameters, &sys, &mut plan);
    let told = parameters.told();
    if args.fix.dry_run.is_some() {
        let shown = match args.output.json {
            true => document::document("fix", 0, &text::plan_json(&plan, &sys, &name, &told)) + "\n",
            false => text::plan(&plan, &sys, &name, &(stage.first(), &told)),
        };
        return Ok((0, shown));
    }
    let fixed = carry_out(args, &sys, &plan, &|id| judge(&rules, machine.as_ref(), &context, offers, id))?;
    let code = code(&fixed, &plan);
    match args.output.json {
        true => Ok((code, document::document("fix", code, &text::fixed_json(&fixed, &plan, &told)) + "\n")),
        false => Ok((code, text::fixed(&fixed, &plan, args.fix.confirm, &told))),
    }
}

/// What would be refused later is refused before the trial boot's entry is taken away.
fn refuse_in_vain(args: &AuditArgs, rules: &Rules, sys: &Real) -> Result<(), Refused> {
    if let Some(unknown) = args.fix.ids().into_iter().find(|id| rules.get(id).is_none()) {
        return Err((exit::USAGE, UnknownRule(unknown).to_string()));
    }
    let journal = Journal::existing(sys, &folder()).map_err(|e| (exit::ENVIRONMENT, advised(&e)))?;
    journal.as_ref().map_or(Ok(()), refuse_waiting)
}

fn refuse_waiting(journal: &Journal) -> Result<(), Refused> {
    if journal.sets().iter().all(|set| set.confirm_by_s.is_none()) {
        return Ok(());
    }
    let why = "an earlier fix waits to be confirmed: `punctual undo --keep` keeps it, `punctual undo` takes it back";
    Err((exit::ENVIRONMENT, why.to_owned()))
}

fn judge(rules: &Rules, machine: &dyn Machine, context: &Context, offers: Offers, id: &str) -> Option<(State, String)> {
    rules.audit_one(id, machine, context, offers).map(|finding| (finding.state, finding.summary))
}

fn seconds(time: Nanos) -> u64 {
    time.0.div_ceil(1_000_000_000)
}

fn carry_out(
    args: &AuditArgs,
    sys: &Real,
    plan: &Plan,
    judge: &dyn Fn(&str) -> Option<(State, String)>,
) -> Result<Fixed, Refused> {
    let refused = |e: punctual_fix::JournalError| (exit::ENVIRONMENT, advised(&e));
    let folder = folder();
    let mut journal = Journal::open(sys, &folder).map_err(refused)?;
    refuse_waiting(&journal)?;
    let options = FixOptions {
        confirm_within_s: args.fix.confirm.map(seconds),
        look_again_s: seconds(args.fix.look_again),
        i_know: args.fix.i_know,
    };
    if let Some(note) = boot::refuse_waiting(plan, &options) {
        eprintln!("punctual: {note}");
    }
    let guard = |set: u64| guard::start(&folder, set);
    punctual_fix::fix(&mut journal, plan, &options, &Asked { judge, guard: &guard }).map_err(refused)
}

/// The error, and what to type next.
fn advised(error: &punctual_fix::JournalError) -> String {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
    let next = match error.source.kind() {
        PermissionDenied if !rustix::process::geteuid().is_root() => {
            "; changing the machine takes root: sudo punctual …"
        }
        PermissionDenied | ReadOnlyFilesystem => {
            "; nothing was changed: make that folder writable for root, then again"
        }
        StorageFull => "; make room there (`df`), then again",
        _ => "; `punctual undo --list` shows what it knows",
    };
    format!("{error}{next}")
}

fn code(fixed: &Fixed, plan: &Plan) -> u8 {
    let is_short = fixed.rules.iter().any(|rule| !rule.refused.is_empty() || !rule.rolled_back.is_empty());
    let is_left = fixed.set.is_none() && plan.rules.iter().any(|rule| !rule.manual.is_empty());
    match &fixed.failed {
        Some(_) => exit::ENVIRONMENT,
        None if is_short || is_left || !fixed.reverted.is_empty() => exit::FAILED,
        None => 0,
    }
}

/// `punctual undo`: 0 where everything is as before, 1 where somebody else changed it since, 4 where it could not be put back.
pub fn undo(args: &UndoArgs) -> ExitCode {
    let sys = Real::new();
    let (code, value, text) = match run_undo(args, &sys) {
        Ok(done) => done,
        Err(e) => {
            eprintln!("punctual: {}", advised(&e));
            (exit::ENVIRONMENT, document::error(&advised(&e)), String::new())
        }
    };
    if args.output.json {
        terminal::print(&(document::document("undo", code, &value) + "\n"));
    } else if !args.output.quiet {
        terminal::print(&text);
    }
    ExitCode::from(code)
}

fn run_undo(args: &UndoArgs, sys: &dyn System) -> Result<(u8, serde_json::Value, String), punctual_fix::JournalError> {
    let folder = folder();
    if args.keep {
        let kept = Journal::existing(sys, &folder)?.map_or(Ok(0), |mut journal| journal.keep())?;
        let text =
            if kept == 0 { "nothing waits to be confirmed\n" } else { "kept; `punctual undo` still takes it back\n" };
        return Ok((0, json!({ "kept": kept }), text.to_owned()));
    }
    if args.list {
        let journal = Journal::existing(sys, &folder)?;
        let journal = journal.as_ref();
        return Ok((0, text::list_json(journal), text::list(journal)));
    }
    let undone = punctual_fix::undo(sys, &folder, &args.ids)?;
    let code = undo_code(&undone);
    Ok((code, text::undone_json(&undone), text::undone(&undone, args.ids.is_empty())))
}

fn undo_code(undone: &Undone) -> u8 {
    let is = |wanted: fn(&punctual_fix::Outcome) -> bool| undone.changes.iter().any(|taken| wanted(&taken.outcome));
    if is(|outcome| matches!(outcome, punctual_fix::Outcome::Failed(_))) {
        exit::ENVIRONMENT
    } else if is(|outcome| matches!(outcome, punctual_fix::Outcome::Refused { .. })) {
        exit::FAILED
    } else {
        0
    }
}
