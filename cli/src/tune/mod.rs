//! Implements `tune`: tries fixes on this machine, keeps those that help, and proves the result with a last run.

pub mod args;
mod trials;
mod work;

use crate::audit::unknown_rule;
use crate::finish::{Answer, finish};
use crate::prove;
use crate::refusal::Refusal;
use crate::run_directory::{command_line, default_out};
use crate::terminal;
use crate::{exit, fix, progress, subject};
use args::TuneArgs;
use punctual_audit::{Context, Offers, Rules};
use punctual_fix::Real;
use punctual_machine::{Live, Machine};
use punctual_model::{Alignment, Claim, Ended, Finding, State, Tuned};
use punctual_proof::{self as proof, Done, ProofError, Trace, When};
use punctual_report as report;
use punctual_report::tune::TuneResult;
use punctual_tune::search::Update;
use punctual_tune::{Chosen, Objective, Options, Place, Sought, Wanted, conclude, seek};
use punctual_units::{Nanos, Policy, Priority, Scheduling};
use std::process::ExitCode;

/// Runs `punctual tune`. Exits as `prove` does.
pub fn tune(args: &TuneArgs, started: Nanos) -> ExitCode {
    finish("tune", args.output, run(args, started))
}

fn run(args: &TuneArgs, started: Nanos) -> Result<Answer, Refusal> {
    let options = options(args, started);
    check(&options)?;
    let mut rules = Rules::load();
    let (profile, notes) = subject::profile(&args.profile, &mut rules, &Live::new())?;
    notes.iter().for_each(|note| message!("not checked: {note}"));
    let machine = Live::new();
    let cpus = args.cpus.clone().unwrap_or_else(|| subject::cpus(&machine));
    let context = Context { scheduling: scheduling(args)?, cpus, profile };
    let findings = findings(args, &rules, &machine, &context);
    let sys = Real::new();
    let wanted = Wanted {
        rules: &rules,
        machine: &machine,
        sys: &sys,
        context: &context,
        ids: &args.ids,
        disruptive: args.disruptive,
        persist: args.persist,
        i_know: &args.known.i_know,
    };
    let chosen = wanted.choose(&findings).map_err(|unknown| unknown_rule(&unknown.0, &rules))?;
    proof::check_loads_of(&options.last)?;
    if args.dry_run {
        let plan = trials::plan(&chosen, &options);
        return Ok(Answer::new(args.output, 0, || report::tune::plan_json(&plan), || report::tune::plan(&plan)));
    }
    let _changing = crate::at_work::changing(false)?;
    punctual_uapi::block(&proof::signals())?;
    let judge = |id: &str| judge(&rules, &machine, &context, id);
    let work = work::Work::default();
    let place = Place { sys: &sys, folder: &fix::folder(), judge: &judge, work: &|out| work.rate(out) };
    let sought = search(args, &options, &chosen, &place)?;
    answer(args, &options, &sought)
}

/// Audits every rule, or only the named ones.
fn findings(args: &TuneArgs, rules: &Rules, machine: &dyn Machine, context: &Context) -> Vec<Finding> {
    match args.ids.is_empty() {
        true => rules.audit_with(machine, context, Offers::default()),
        false => {
            let named = rules.iter().filter(|rule| args.ids.contains(&rule.id));
            named.filter_map(|rule| rules.audit_one(&rule.id, machine, context, Offers::default())).collect()
        }
    }
}

fn judge(rules: &Rules, machine: &dyn Machine, context: &Context, id: &str) -> Option<(State, String)> {
    let finding = rules.audit_one(id, machine, context, Offers::default())?;
    Some((finding.state, finding.summary))
}

/// Returns an error for options that cannot work, before hours are spent on the search.
fn check(options: &Options) -> Result<(), Refusal> {
    let loads = options.block_loads.len().max(1) as u64;
    if options.block.0 / loads < options.last.period.0.saturating_mul(MIN_PERIODS) {
        return Err(Refusal::usage(format!(
            "--block {} leaves too little time for each of {loads} loads: each needs at least {MIN_PERIODS} periods of {}",
            options.block, options.last.period
        )));
    }
    if options.last.out.symlink_metadata().is_ok() {
        return Err(Refusal::usage(format!(
            "{} already exists; name another directory (--out)",
            options.last.out.display()
        )));
    }
    Ok(())
}

/// Minimum number of periods per load in a block for a meaningful result.
const MIN_PERIODS: u64 = 50;

/// Returns the scheduling of the measuring threads, for which the audit judges the machine.
fn scheduling(args: &TuneArgs) -> Result<Scheduling, Refusal> {
    let usual = || Priority::try_from(90).map_err(Refusal::environment);
    let priority = args.priority.map_or_else(usual, Ok)?;
    match args.policy {
        None | Some(Policy::Fifo) => Ok(Scheduling::Fifo { priority }),
        Some(Policy::Rr) => Ok(Scheduling::Rr { priority }),
        Some(other) => Err(Refusal::usage(format!("tune measures with fifo or rr, not {other}"))),
    }
}

fn options(args: &TuneArgs, started: Nanos) -> Options {
    let mut claims = args.claims.clone();
    if let Some(deadline) = args.deadline {
        claims.extend([Claim::max(deadline), Claim::none_missed()]);
    }
    let out = args.out.clone().unwrap_or_else(default_out);
    let last = proof::Options {
        command: command_line(),
        policy: args.policy,
        priority: args.priority,
        via: Default::default(),
        period: args.period,
        cpus: args.cpus.clone(),
        alignment: Alignment::Staggered,
        duration: args.duration,
        until: None,
        changes: Some(fix::folder()),
        maxima_block: proof::MAXIMA_BLOCK,
        warmup: Nanos::from_millis(200),
        loads: prove::loads(&args.loads, &punctual_loads::defaults(false)),
        context: true,
        cpu_dma_latency_us: None,
        worst_kept: 64,
        deadline: args.deadline,
        claims,
        peer: None,
        secret_file: None,
        scratch: args.scratch.clone().or_else(|| Some(punctual_loads::folder_at(out.parent()?))),
        write_cap: args.write_cap.saturating_mul(1 << 20),
        trace: Trace { when: When::Auto, full: false, stacks: false, buffer_kb: None },
        sync: true,
        virtual_time: None,
        started_mono: started,
        out,
    };
    Options {
        objective: args.objective.unwrap_or_else(|| Objective::of_claims(&last.claims)),
        last,
        block: args.block,
        block_loads: prove::loads(&args.loads, &["idle", "all"]),
        max: args.time_limit,
        i_know: args.known.is_without_watchdog(),
    }
}

fn search(args: &TuneArgs, options: &Options, chosen: &Chosen, place: &Place) -> Result<Sought, Refusal> {
    let mut tried = trials::Progress::new(options.max);
    let mut show = |update: Update| {
        if !args.output.quiet {
            tried.show(update);
        }
    };
    seek(options, chosen, place, &mut show).map_err(Refusal::environment)
}

/// Makes the last run and returns its answer. If the search was stopped, returns the result of the search without a
/// last run.
fn answer(args: &TuneArgs, options: &Options, sought: &Sought) -> Result<Answer, Refusal> {
    let stopped = matches!(sought.tuned.ended, Ended::Stopped { .. });
    if stopped || sought.signal.is_some() {
        let code = sought.signal.map_or(exit::ENVIRONMENT, exit::of_signal);
        let text = report::words::tuned(&sought.tuned).join("\n") + "\n" + &report::tune::stays(&sought.tuned);
        let note = (args.output.json || args.output.quiet).then(|| text.trim_end().to_owned());
        let result = || TuneResult::Found { tuned: &sought.tuned };
        return Ok(Answer::new(args.output, code, result, || text).with_notes(note));
    }
    let mut options = options.clone();
    if options.last.claims.is_empty() {
        options.last.claims.push(Claim::none_missed());
    }
    match prove(args, &options, &sought.tuned) {
        Ok(done) => Ok(proved(args, &done, &sought.tuned)),
        Err(e) => {
            terminal::progress_lines(&report::tune::stays(&sought.tuned));
            Err(e.into())
        }
    }
}

fn prove(args: &TuneArgs, options: &Options, tuned: &Tuned) -> Result<Done, ProofError> {
    progress::shown(&options.last, args.output.quiet, |observer| conclude(options, tuned, observer))
}

fn proved(args: &TuneArgs, done: &Done, tuned: &Tuned) -> Answer {
    let text = || prove::summary(done, false) + &report::tune::stays(tuned);
    let result = || TuneResult::Proved(Box::new(prove::json(done)));
    Answer::new(args.output, exit::of_done(done, false), result, text).with_notes(done.error.clone())
}
