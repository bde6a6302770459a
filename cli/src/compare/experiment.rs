//! Implements `compare --experiment`: measures two kernels in alternating boots, and compares them at the end.

use super::args::CompareArgs;
use super::runs;
use crate::args::common::OutputArgs;
use crate::args::{Arguments, Command as Asked};
use crate::finish::finish;
use crate::refusal::Refusal;
use crate::{exit, lab, terminal};
use clap::Parser;
use punctual_compare::experiment::{Experiment, Next, SCHEMA};
use punctual_directory::{Dir, Whose};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Time limit for measuring one boot.
const EXPERIMENT: std::time::Duration = std::time::Duration::from_secs(7 * 24 * 3600);
const PLAN: &str = "experiment.json";

/// Plans the experiment, measures this boot if its turn has come, and prints which kernel to boot next. Compares the
/// kernels once all boots are measured.
pub fn run(args: &CompareArgs, folder: &Path) -> ExitCode {
    step(args, folder).unwrap_or_else(|refusal| finish("compare", OutputArgs::default(), Err(refusal)))
}

fn step(args: &CompareArgs, folder: &Path) -> Result<ExitCode, Refusal> {
    let kernels = kernels(args)?;
    if args.lab {
        return in_lab(args, folder, kernels);
    }
    let mut experiment = plan(args, folder, kernels)?;
    let boot_id = fact("/proc/sys/kernel/random/boot_id")?;
    let next = experiment.next(&fact("/proc/sys/kernel/osrelease")?, &boot_id);
    if let Next::Measure(step) = next {
        measure(folder, &experiment, step)?;
        experiment.measured(step, &boot_id);
        save(folder, &experiment)?;
    }
    let release = fact("/proc/sys/kernel/osrelease")?;
    match experiment.next(&release, &boot_id) {
        Next::Done => compare(args, folder, &experiment),
        Next::Measure(_) => Ok(ExitCode::SUCCESS),
        Next::Boot(kernel) | Next::BootAgain(kernel) => {
            print_next(args, folder, &experiment, &kernel);
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Returns the two kernels of a new plan; `None` if no kernels are given, in which case an existing plan is continued.
fn kernels(args: &CompareArgs) -> Result<Option<[String; 2]>, Refusal> {
    let names: Vec<String> = args.groups.iter().map(|g| g.to_string_lossy().into_owned()).collect();
    match <[String; 2]>::try_from(names) {
        Ok(both) if both[0] != both[1] => Ok(Some(both)),
        Ok(_) => Err(Refusal::usage("an experiment needs two different kernels: name two releases (`uname -r`)")),
        Err(names) if names.is_empty() => Ok(None),
        Err(_) => {
            Err(Refusal::usage("an experiment needs two kernels: `punctual compare --experiment DIR RELEASE RELEASE`"))
        }
    }
}

/// Creates a plan, or reads the existing one.
fn plan(args: &CompareArgs, folder: &Path, kernels: Option<[String; 2]>) -> Result<Experiment, Refusal> {
    let path = folder.join(PLAN);
    let place = path.display();
    match (fs::read(&path), kernels) {
        (Ok(_), Some(_)) => Err(Refusal::usage(format!(
            "{place} exists: continue with `punctual compare --experiment {}`",
            folder.display()
        ))),
        (Ok(content), None) => {
            let read: Experiment =
                serde_json::from_slice(&content).map_err(|e| Refusal::usage(format!("{place}: {e}")))?;
            if read.schema == SCHEMA {
                Ok(read)
            } else {
                Err(Refusal::usage(format!("{place}: the schema is {} instead of {SCHEMA}", read.schema)))
            }
        }
        (Err(e), None) => {
            let advice = "name two kernels to plan an experiment: `punctual compare --experiment DIR RELEASE RELEASE -- MEASURE OPTIONS`";
            Err(Refusal::usage(format!("cannot read {place}: {e}; {advice}")))
        }
        (Err(_), Some(kernels)) => {
            let experiment = Experiment::plan(kernels, args.pairs, args.measure.clone());
            save(folder, &experiment)?;
            Ok(experiment)
        }
    }
}

fn save(folder: &Path, experiment: &Experiment) -> Result<(), Refusal> {
    let text = serde_json::to_string_pretty(experiment).map_err(Refusal::environment)?;
    let dir = Dir::create(folder, Whose::Results).map_err(Refusal::environment)?;
    dir.replace(PLAN, (text + "\n").as_bytes(), true).map_err(Refusal::environment)
}

fn fact(path: &str) -> Result<String, Refusal> {
    let text = fs::read_to_string(path).map_err(|e| Refusal::environment(format!("cannot read {path}: {e}")))?;
    Ok(text.trim().to_owned())
}

/// Runs `punctual measure` in this boot. A partial run of an earlier attempt is renamed.
fn measure(folder: &Path, experiment: &Experiment, step: usize) -> Result<(), Refusal> {
    let out = folder.join(experiment.folder(step));
    if out.exists() {
        let (name, pid) = (experiment.folder(step), std::process::id());
        let dir = Dir::open_to_write(folder, Whose::Results).map_err(Refusal::environment)?;
        dir.rename(&name, format!("{name}-broken-off-{pid}")).map_err(Refusal::environment)?;
    }
    let own = std::env::current_exe().map_err(|e| Refusal::environment(format!("cannot find this program: {e}")))?;
    let mut command = Command::new(own);
    command.arg("measure").args(&experiment.measure).arg("--out").arg(&out).arg("--quiet");
    // A measurement ends on its own; the limit catches one that is stopped.
    let status = punctual_watchdog::status(&mut command, EXPERIMENT);
    let status = status.map_err(|e| Refusal::environment(format!("cannot start `punctual measure`: {e}")))?;
    let complete = punctual_rundir::read_brief(&out).is_ok_and(|r| r.run.complete);
    match complete {
        true => Ok(()),
        false => Err(Refusal::environment(format!(
            "`punctual measure` did not complete its run ({status}); the boot can be measured again"
        ))),
    }
}

fn print_next(args: &CompareArgs, folder: &Path, experiment: &Experiment, kernel: &str) {
    let done = experiment.steps.iter().filter(|s| s.run.is_some()).count();
    if args.output.quiet {
        return;
    }
    terminal::print(format!(
        "{done} of {} boots measured. Boot {kernel}, then: punctual compare --experiment {}\n",
        experiment.steps.len(),
        folder.display()
    ));
}

/// Prints the comparison and writes comparison.html next to the runs. Called once all boots are measured.
fn compare(args: &CompareArgs, folder: &Path, experiment: &Experiment) -> Result<ExitCode, Refusal> {
    let list = |kernel: usize| experiment.runs(kernel).map(|run| folder.join(run)).collect::<Vec<_>>();
    let again = CompareArgs { groups: list(0), vs: list(1), experiment: None, ..args.clone() };
    let page = folder.join("comparison.html");
    if !page.exists() {
        runs::page(&again, &page)?;
    }
    Ok(runs::run(&again))
}

/// Boots both kernels in QEMU with `punctual lab compare`; each boot has its own seed.
fn in_lab(args: &CompareArgs, folder: &Path, kernels: Option<[String; 2]>) -> Result<ExitCode, Refusal> {
    let [a, b] = kernels.ok_or_else(|| Refusal::usage("name the two kernels, as for `punctual lab compare`"))?;
    let boots = args.pairs.to_string();
    let out = folder.display().to_string();
    let words = ["punctual", "lab", "compare", &a, &b, "--boots", &boots, "--out", &out].map(str::to_owned);
    let json = args.output.json.then(|| "--json".to_owned());
    let all = words.into_iter().chain(json).chain(args.measure.iter().cloned());
    match Arguments::try_parse_from(all) {
        Ok(Arguments { command: Asked::Lab(command), .. }) => Ok(lab::run(&command)),
        Ok(_) => Err(Refusal::usage("this is not a `lab` command")),
        Err(e) => Ok(exit::of_clap(&e)),
    }
}
