//! Implements `lab bisect`, which finds the commit that broke a claim.

use super::args::BisectArgs;
use super::guests::{jobs, with_kernel};
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::{exit, terminal};
use punctual_lab::{
    self as lab, Bisect, BisectReport, Build, LabBisectResult, LabError, LabOptions, Step, StepOutcome,
};
use punctual_model::Outcome;
use punctual_report::words;
use punctual_units::Nanos;
use punctual_vm::{Arch, Cache, Kernel, KernelSpec, Machine, VmError};
use std::path::Path;

/// Loads that need a disk. The guest has none without modules, so the default omits these.
const NEEDS_DISK: [&str; 2] = ["io", "all"];

/// Runs `punctual lab bisect`. Exits 0 if a single commit is found, 3 if several remain.
pub fn run(args: &BisectArgs) -> Result<Answer, Refusal> {
    let report = bisected(args)?;
    let code = if report.suspects.len() == 1 { 0 } else { exit::INCONCLUSIVE };
    Ok(Answer::new(args.proof.output, code, || LabBisectResult::new(&report, &args.out), || text(args, &report)))
}

fn bisected(args: &BisectArgs) -> Result<BisectReport, LabError> {
    let cache = Cache::usual()?;
    let arch = args.proof.guest.machine.map(Machine::arch).or(Arch::host()).unwrap_or(Arch::Amd64);
    let jobs = jobs(&args.proof);
    let build = Build { config: Some(args.config.clone()), arch, make: args.make.clone(), jobs };
    let (good, bad) = (args.good.clone(), args.bad.clone());
    let plan = Bisect { tree: args.tree.clone(), good, bad, build, out: args.out.clone() };
    let mut show = |step: &Step| {
        if !args.proof.output.quiet {
            progress!("{}\n", line(step));
        }
    };
    lab::bisect(&plan, &mut |build, run| prove(args, build, run, &cache), &mut show)
}

/// Boots the built kernel and judges it. A kernel that does not boot is skipped: it is neither good nor bad.
fn prove(args: &BisectArgs, build: &Path, run: &Path, cache: &Cache) -> Result<(StepOutcome, String), LabError> {
    let options = options(args, build, cache)?;
    if let Some(parent) = run.parent() {
        super::boot::make(parent)?;
    }
    let proven = match lab::prove(&options, args.proof.seed, run, cache) {
        Ok(proven) => proven,
        Err(LabError::Vm(e @ (VmError::Panicked { .. } | VmError::TimedOut { .. } | VmError::Stopped { .. }))) => {
            let first = e.to_string().lines().next().unwrap_or_default().to_owned();
            return Ok((StepOutcome::Inconclusive, first));
        }
        Err(e) => return Err(e),
    };
    let worst = proven.verdict.worst.as_ref().map_or("none".into(), |w| Nanos(w.max_ns).to_string());
    let outcome = match proven.verdict.outcome {
        Outcome::Pass | Outcome::Held => StepOutcome::Good,
        Outcome::Fail => StepOutcome::Bad,
        Outcome::Inconclusive => {
            let why = words::headline(&proven.recording, &proven.verdict).sentence;
            return Ok((StepOutcome::Inconclusive, why));
        }
    };
    Ok((outcome, format!("worst {worst}")))
}

fn options(args: &BisectArgs, build: &Path, cache: &Cache) -> Result<LabOptions, LabError> {
    let spec = KernelSpec::BuildFolder(build.into());
    let kernel = Kernel::resolve(&spec, Arch::host().unwrap_or(Arch::Amd64), cache)?;
    let machine = args.proof.guest.machine.unwrap_or(Machine::usual(kernel.arch));
    let mut options = with_kernel(kernel, machine, &args.proof)?;
    if args.proof.loads.is_empty() {
        options.loads.retain(|load| !NEEDS_DISK.contains(&load.as_str()));
    }
    Ok(options)
}

fn line(step: &Step) -> String {
    let word = match step.outcome {
        StepOutcome::Good => "good",
        StepOutcome::Bad => "bad ",
        StepOutcome::NotBuilt | StepOutcome::Inconclusive => "skip",
    };
    let subject = terminal::harmless(&step.subject);
    format!("{word}  {}  {subject}: {}", step.commit.get(..12).unwrap_or(&step.commit), step.why)
}

fn text(args: &BisectArgs, report: &BisectReport) -> String {
    let mut text = String::new();
    match &report.shown {
        Some(shown) => {
            text.push_str(&format!("The first bad commit, in virtual time:\n\n{}\n", terminal::harmless(shown)))
        }
        None => {
            text.push_str(
                "The first bad commit, in virtual time, is one of these; the others could not be judged:\n\n",
            );
            report.suspects.iter().for_each(|commit| text.push_str(&format!("  {commit}\n")));
            text.push('\n');
        }
    }
    text.push_str("Tried:\n");
    report.steps.iter().for_each(|step| text.push_str(&format!("  {}\n", line(step))));
    text.push_str(&format!("\nRuns: {}\n", args.out.join("runs").display()));
    text
}
