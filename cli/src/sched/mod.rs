//! `sched`: scheduling experiments.

pub mod args;

use crate::{document, exit, new_file, prove, terminal};
use args::SchedArgs;
use punctual_machine::{KernelConfig, Live, Setting};
use punctual_model::{Experiment, Outcome};
use punctual_report as report;
use punctual_sched::{EXPERIMENTS, Options, Spec};
use punctual_uapi::{self as uapi, Sig, SignalSet, Waited};
use punctual_units::{CpuId, Nanos};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// `punctual sched`: 0 every end explained and all time accounted for, 1 not, 3 it could not be told, 4 it could not be run.
pub fn sched(args: &SchedArgs) -> ExitCode {
    let Some(named) = args.experiment.as_deref().filter(|_| !args.list) else { return list() };
    match measure(args, named) {
        Ok((experiment, signal)) => {
            let outcome = punctual_sched::outcome(&experiment);
            let code = signal.map_or(exit::of_outcome(outcome), exit::of_signal);
            tell(args, &experiment, outcome, code);
            ExitCode::from(code)
        }
        Err((code, why)) => {
            eprintln!("punctual: {why}");
            if args.output.json && !args.output.quiet {
                terminal::print(&(document::document("sched", code, &document::error(&why)) + "\n"));
            }
            ExitCode::from(code)
        }
    }
}

fn list() -> ExitCode {
    let mut out = String::new();
    for (name, _) in EXPERIMENTS {
        // What is built in is read by a test.
        if let Some(Ok(spec)) = punctual_sched::builtin(name) {
            out += &format!("{name:<12} {}\n", spec.about);
        }
    }
    match terminal::print(&out) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(exit::ENVIRONMENT),
    }
}

fn spec(named: &str) -> Result<Spec, (u8, String)> {
    let usage = |e: punctual_sched::SpecError| (exit::USAGE, e.to_string());
    let is_file = named.contains('/') || Path::new(named).extension().is_some();
    match punctual_sched::builtin(named).filter(|_| !is_file) {
        Some(spec) => spec.map_err(usage),
        None => Spec::read(Path::new(named)).map_err(usage),
    }
}

/// Runs it, with a thread that hears signals.
fn measure(args: &SchedArgs, named: &str) -> Result<(Experiment, Option<Sig>), (u8, String)> {
    let spec = spec(named)?;
    let taken = |path: &&std::path::PathBuf| path.symlink_metadata().is_ok();
    if let Some(image) = args.image.as_ref().filter(taken) {
        return Err((exit::USAGE, format!("{} exists; name a new file with --image", image.display())));
    }
    let signals = SignalSet::new(&[Sig::Hup, Sig::Int, Sig::Quit, Sig::Term]);
    uapi::block(&signals).map_err(|e| (exit::ENVIRONMENT, e.to_string()))?;
    let out = args.out.clone().unwrap_or_else(|| prove::numbered(&format!("sched-{}", spec.name)));
    let (stop, done, caught) = (AtomicBool::new(false), AtomicBool::new(false), OnceLock::new());
    let options = Options {
        spec: &spec,
        scale: args.scale,
        cpu: args.cpu.map(CpuId),
        repeat: args.repeat,
        out: &out,
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        rt_group_sched: rt_group_sched(),
        stop: &stop,
        signal: &caught,
    };
    let (measured, signal) = std::thread::scope(|s| {
        let listener = s.spawn(|| listen(&signals, &stop, &caught, &done));
        let measured = punctual_sched::run(&options, &mut |experiment| progress(args, experiment));
        done.store(true, Relaxed);
        (measured, listener.join().ok().flatten())
    });
    let (experiment, edges) =
        measured.map_err(|e| (if e.is_usage() { exit::USAGE } else { exit::ENVIRONMENT }, e.to_string()))?;
    write_image(args, edges.as_ref().map(|edges| edges.pgm()))?;
    Ok((experiment, signal))
}

/// By the kernel's configuration, and the parameter that switches it (Documentation/admin-guide/kernel-parameters.txt, since 6.15).
fn rt_group_sched() -> Option<bool> {
    let config = KernelConfig::read(&Live::default()).ok()?;
    let asked = std::fs::read_to_string("/proc/cmdline").ok().and_then(|line| {
        let value = line.split_ascii_whitespace().rev().find_map(|word| word.strip_prefix("rt_group_sched="))?;
        matches!(value, "0" | "1").then_some(value == "1")
    });
    match config.get("RT_GROUP_SCHED") {
        Setting::Is(_) => Some(asked.unwrap_or(!config.is_on("RT_GROUP_SCHED_DEFAULT_DISABLED"))),
        Setting::Off => Some(false),
        Setting::Unknown => None,
    }
}

/// The edges, where somebody wants them: after all that is timed.
fn write_image(args: &SchedArgs, pgm: Option<Vec<u8>>) -> Result<(), (u8, String)> {
    let Some(path) = &args.image else { return Ok(()) };
    let pgm =
        pgm.ok_or((exit::USAGE, "--image: no thread of this experiment finds edges (canny, canny+io)".to_owned()))?;
    new_file::write(path, |out| out.write_all(&pgm)).map_err(|why| (exit::ENVIRONMENT, why))
}

/// Until it is done: a signal ends the threads after the step they are at.
fn listen(signals: &SignalSet, stop: &AtomicBool, caught: &OnceLock<Sig>, done: &AtomicBool) -> Option<Sig> {
    while !done.load(Relaxed) {
        if let Waited::Signal(signal) = uapi::wait(signals, Some(Nanos::from_millis(50))) {
            // It takes one signal only.
            let _ = caught.set(signal);
            stop.store(true, Relaxed);
            return Some(signal);
        }
    }
    None
}

/// Each repetition as it ends.
fn progress(args: &SchedArgs, experiment: &Experiment) {
    if !args.output.quiet {
        eprintln!("repetition {} has ended", experiment.repetitions.len());
    }
}

fn tell(args: &SchedArgs, experiment: &Experiment, outcome: Outcome, code: u8) {
    if args.output.quiet {
        return;
    }
    if args.output.json {
        terminal::print(&(document::document_of("sched", code, experiment) + "\n"));
        return;
    }
    let verdict = match outcome {
        Outcome::Pass => "PASS: all time is accounted for, and every end is explained\n",
        Outcome::Fail => "FAIL: the prediction does not explain an end, or time is missing\n",
        Outcome::Inconclusive => "INCONCLUSIVE: not all that is needed could be measured here\n",
    };
    terminal::print(&format!("{}\n{verdict}", report::experiment_text(experiment)));
}
