//! Implements `audit --fix`, `audit --dry-run` and `undo`.

pub mod args;
mod boot;
mod guard;
mod journal;

pub use guard::{GUARD_ARG, guard_main, recover};
pub use journal::folder;

use crate::at_work::changing;
use crate::audit::unknown_rule;
use crate::exit;
use crate::finish::{Answer, finish};
use crate::refusal::Refusal;
use crate::subject::args::SubjectArgs;
use crate::subject::{self, Subject};
use crate::suggest::similar;
use args::{FixArgs, UndoArgs};
use journal::refuse_waiting;
use punctual_audit::{Context, Offers, Rules};
use punctual_fix::{
    Asked, BOOT_RULE, FixOptions, FixResult, Fixed, Journal, Outcome, Parameters, Plan, Real, Request, System,
    TRIAL_RULE, UndoResult, Undone,
};
use punctual_machine::Machine;
use punctual_model::State;
use punctual_report::{Document, fix as report};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

/// Runs `audit --dry-run` and `audit --fix`. Returns the exit code (0 if everything was done, 1 if a change
/// was refused, rolled back or reverted by another program) and the output, as text or, with `json`, as a document.
pub fn fix(subject: &SubjectArgs, args: &FixArgs, json: bool) -> Result<(u8, String), Refusal> {
    let mut rules = Rules::load();
    let Subject { machine, name, context, .. } = subject::look(subject, &mut rules)?;
    let sys = subject.root.as_ref().map_or_else(Real::new, Real::under);
    let stage = boot::stage(&sys, args.persist, args.trial)?;
    let mut _changing = None;
    if args.fix.is_some() {
        refuse_in_vain(args, &rules, &sys)?;
        _changing = changing(args.while_measuring)?;
        stage.clear(&sys)?;
    }
    let offers = Offers { pid: subject.pid, ..Offers::default() };
    let findings = rules.audit_with(machine.as_ref(), &context, offers);
    let ids = args.ids();
    let parameters = Parameters::new(machine.as_ref(), stage.how());
    let request = Request {
        rules: &rules,
        machine: machine.as_ref(),
        sys: &sys,
        context: &context,
        pid: subject.pid,
        ids: &ids,
        persist: args.persist,
        i_know: &args.known.i_know,
        boot: Some(&|request| parameters.steps(request)),
    };
    let mut plan = request.plan(&findings).map_err(Refusal::usage)?;
    stage.complete(&parameters, &sys, &mut plan);
    let notes = parameters.boot_notes();
    if args.dry_run.is_some() {
        let shown = match json {
            true => Document::new("fix", 0, FixResult::planned(&plan, &sys, &name, &notes)).text(),
            false => report::plan(&plan, &sys, &name, stage.first(), &notes),
        };
        return Ok((0, shown));
    }
    let options = args.options();
    let fixed = carry_out(&options, &sys, &plan, &|id| judge(&rules, machine.as_ref(), &context, offers, id))?;
    let code = code(&fixed, &plan);
    match json {
        true => Ok((code, Document::new("fix", code, FixResult::done(&fixed, &plan, &notes)).text())),
        false => Ok((code, report::fixed(&fixed, &plan, options.confirm_within_s, &notes))),
    }
}

/// Returns an error if the fix would be refused later. Called before the entry of a trial boot is removed.
fn refuse_in_vain(args: &FixArgs, rules: &Rules, sys: &Real) -> Result<(), Refusal> {
    if let Some(unknown) = args.ids().into_iter().find(|id| rules.get(id).is_none()) {
        return Err(unknown_rule(&unknown, rules));
    }
    let journal = Journal::existing(sys, &folder())?;
    journal.as_ref().map_or(Ok(()), refuse_waiting)
}

fn judge(rules: &Rules, machine: &dyn Machine, context: &Context, offers: Offers, id: &str) -> Option<(State, String)> {
    rules.audit_one(id, machine, context, offers).map(|finding| (finding.state, finding.summary))
}

fn carry_out(
    options: &FixOptions,
    sys: &Real,
    plan: &Plan,
    judge: &dyn Fn(&str) -> Option<(State, String)>,
) -> Result<Fixed, Refusal> {
    let folder = folder();
    let mut journal = Journal::open(sys, &folder)?;
    refuse_waiting(&journal)?;
    if let Some(note) = boot::refuse_waiting(plan, options) {
        message!("{note}");
    }
    let guard = |set: u64| guard::start(&folder, set);
    Ok(punctual_fix::fix(&mut journal, plan, options, &Asked { judge, guard: &guard })?)
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

/// Runs `punctual undo`. Exits 0 if everything is restored, 1 if another program has changed something since, 4 if
/// something could not be restored or part of the journal is lost.
pub fn undo(args: &UndoArgs) -> ExitCode {
    finish("undo", args.output, undone(args, &Real::new()))
}

fn undone(args: &UndoArgs, sys: &dyn System) -> Result<Answer, Refusal> {
    let folder = folder();
    refuse_unknown(&args.ids, sys, &folder)?;
    if args.confirm {
        let kept = Journal::existing(sys, &folder)?.map_or(Ok(0), |mut journal| journal.keep())?;
        let text =
            if kept == 0 { "nothing waits for confirmation\n" } else { "kept; `punctual undo` still reverts it\n" };
        return Ok(Answer::new(args.output, 0, || UndoResult::Kept { kept }, || text.to_owned()));
    }
    if args.accept_loss {
        let lost = Journal::existing(sys, &folder)?.map_or(Ok(Vec::new()), |mut journal| journal.accept_loss())?;
        let result = || UndoResult::Accepted { accepted: &lost };
        return Ok(Answer::new(args.output, 0, result, || report::accepted(&lost)));
    }
    if args.list {
        let journal = Journal::peek(sys, &folder)?;
        let journal = journal.as_ref();
        let (entries, sets) = journal.map_or((&[][..], &[][..]), |journal| (journal.entries(), journal.sets()));
        let (lost, covered) = journal.map_or((&[][..], &[][..]), |journal| (journal.lost(), journal.covered()));
        let code = if lost.is_empty() { 0 } else { exit::ENVIRONMENT };
        let result = || UndoResult::listed(entries, lost, covered);
        return Ok(Answer::new(args.output, code, result, || report::list(entries, sets, lost, covered)));
    }
    let _changing = changing(args.while_measuring)?;
    let undone = punctual_fix::undo(sys, &folder, &args.ids)?;
    let text = || report::undone(&undone, args.ids.is_empty());
    Ok(Answer::new(args.output, undo_code(&undone), || UndoResult::undone(&undone), text))
}

/// Returns an error for an ID that is neither that of a rule nor in the journal, which also contains rules from profile
/// files.
fn refuse_unknown(ids: &[String], sys: &dyn System, folder: &Path) -> Result<(), Refusal> {
    let rules = Rules::load();
    let mut known: BTreeSet<&str> = rules.iter().map(|rule| rule.id.as_str()).chain([BOOT_RULE, TRIAL_RULE]).collect();
    if ids.iter().all(|id| known.contains(id.as_str())) {
        return Ok(());
    }
    let journal = Journal::peek(sys, folder)?;
    known.extend(journal.iter().flat_map(|journal| journal.entries()).map(|entry| entry.rule.as_str()));
    match ids.iter().find(|id| !known.contains(id.as_str())) {
        None => Ok(()),
        Some(id) => Err(Refusal::usage(format!(
            "no rule or change is named {id}{}; nothing was undone: `punctual undo --list` lists the changes",
            similar(id, known.iter().copied())
        ))),
    }
}

fn undo_code(undone: &Undone) -> u8 {
    let is = |wanted: fn(&Outcome) -> bool| undone.changes.iter().any(|taken| wanted(&taken.outcome));
    if !undone.lost.is_empty() || is(|outcome| matches!(outcome, Outcome::Failed(_))) {
        exit::ENVIRONMENT
    } else if is(|outcome| matches!(outcome, Outcome::Refused { .. })) {
        exit::FAILED
    } else {
        0
    }
}
