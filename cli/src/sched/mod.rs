//! Implements `sched`, which runs scheduling experiments.

pub mod args;

use crate::args::common::OutputArgs;
use crate::finish::{Answer, finish};
use crate::refusal::Refusal;
use crate::run_directory::{command_line, numbered};
use crate::{exit, new_file, signals};
use args::SchedArgs;
use punctual_journal::register::{Does, Other, at_work};
use punctual_machine::Live;
use punctual_model::{Experiment, Listed, Listing, Outcome};
use punctual_report as report;
use punctual_sched::{EXAMPLE, EXPERIMENTS, Options, Spec};
use punctual_uapi::Sig;
use punctual_units::CpuId;
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// Runs `punctual sched`. Exits 0 if the end of every thread is explained and all CPU time is accounted for, 1 if not,
/// 3 if that cannot be determined, 4 if the experiment cannot run.
pub fn sched(args: &SchedArgs) -> ExitCode {
    let result = match args.experiment.as_deref().filter(|_| !args.list) {
        _ if args.example => Ok(Answer::text(0, EXAMPLE)),
        Some(named) => answer(args, named),
        None => Ok(list(args.output)),
    };
    finish("sched", args.output.quiet_first(), result)
}

fn answer(args: &SchedArgs, named: &str) -> Result<Answer, Refusal> {
    let (experiment, signal) = measure(args, named)?;
    let outcome = punctual_sched::outcome(&experiment);
    let code = signal.map_or(exit::of_outcome(outcome), exit::of_signal);
    let done = experiment.repetitions.len();
    let ended = signal.map(|signal| format!("ended early by {}; repetitions that began: {done}", signal.name()));
    Ok(Answer::new(args.output.quiet_first(), code, || &experiment, || text(&experiment, outcome)).with_notes(ended))
}

fn list(output: OutputArgs) -> Answer {
    // A test parses all built-in experiments, so none is skipped here.
    let specs = EXPERIMENTS.iter().filter_map(|(name, _)| Some((name, punctual_sched::builtin(name)?.ok()?)));
    let list: Vec<Listed> =
        specs.map(|(name, spec)| Listed { name: (*name).into(), about: spec.about, promise: None }).collect();
    let text = || list.iter().map(|one| format!("{:<12} {}\n", one.name, one.about)).collect();
    Answer::new(output.quiet_first(), 0, || Listing { list: list.clone() }, text).needed()
}

fn spec(named: &str) -> Result<Spec, Refusal> {
    let is_file = named.contains('/') || Path::new(named).extension().is_some();
    match punctual_sched::builtin(named).filter(|_| !is_file) {
        Some(spec) => spec.map_err(Refusal::usage),
        None => Spec::read(Path::new(named)).map_err(Refusal::usage),
    }
}

fn measure(args: &SchedArgs, named: &str) -> Result<(Experiment, Option<Sig>), Refusal> {
    let mut spec = spec(named)?;
    spec.notes.extend(measuring_too());
    let taken = |path: &&std::path::PathBuf| path.symlink_metadata().is_ok();
    if let Some(image) = args.image.as_ref().filter(taken) {
        return Err(Refusal::usage(format!("{} exists; name a new file with --image", image.display())));
    }
    let out = args.out.clone().unwrap_or_else(|| numbered(&format!("sched-{}", spec.name)));
    let (stop, caught) = (AtomicBool::new(false), OnceLock::new());
    let options = Options {
        spec: &spec,
        scale: args.scale,
        cpu: args.cpu.map(CpuId),
        repeat: args.repeat,
        out: &out,
        command: command_line(),
        rt_group_sched: punctual_machine::rt_group_sched(&Live::default()),
        stop: &stop,
        signal: &caught,
    };
    let measured = signals::catching(&stop, &caught, || {
        punctual_sched::run(&options, &mut |experiment| progress(args, experiment))
    })?;
    let (experiment, edges) = measured.map_err(|e| Refusal::either(e.is_usage(), e))?;
    write_image(args, edges.as_ref().map(|edges| edges.pgm()))?;
    Ok((experiment, caught.get().copied()))
}

/// Returns a note for each other process that measures on this machine, since the threads share its CPUs.
fn measuring_too() -> Vec<String> {
    let others = at_work().into_iter().filter(|other| other.pid != std::process::id());
    let note = |other: Other| match &other.does {
        Does::Measures(cpus) => {
            Some(format!("{other} also measured on CPU {cpus}, which delays threads on these CPUs"))
        }
        Does::Changes | Does::WouldChange => None,
    };
    others.filter_map(note).collect()
}

/// Writes the edge image after all timed work.
fn write_image(args: &SchedArgs, pgm: Option<Vec<u8>>) -> Result<(), Refusal> {
    let Some(path) = &args.image else { return Ok(()) };
    let none = || Refusal::usage("--image: no thread of this experiment finds edges (canny, canny+io)");
    let pgm = pgm.ok_or_else(none)?;
    new_file::write(path, |out| out.write_all(&pgm)).map_err(Refusal::environment)
}

/// Prints a repetition when it has ended.
fn progress(args: &SchedArgs, experiment: &Experiment) {
    if !args.output.quiet {
        progress!("repetition {} has ended\n", experiment.repetitions.len());
    }
}

fn text(experiment: &Experiment, outcome: Outcome) -> String {
    format!("{}\n{}\n", report::experiment_text(experiment), report::experiment_verdict(experiment, outcome))
}
