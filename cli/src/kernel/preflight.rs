//! Implements `kernel preflight`, which checks what could make a build or the first boot fail.

use super::args::PreflightArgs;
use super::inputs::{config_file, machine};
use crate::exit;
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::terminal::harmless;
use punctual_kernel::config::{Options, of_config};
use punctual_kernel::host::{self, Host};
use punctual_kernel::{Check, Given, Outcome, PreflightResult, Release, Situation, patch, preflight};
use punctual_machine::Machine;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const LARGEST_CONFIG: usize = 4 << 20;

pub fn run(args: &PreflightArgs) -> Result<Answer, Refusal> {
    let live = machine(args.root.as_deref())?;
    let situation = Situation::of(&live, args.board.as_deref()).map_err(Refusal::usage)?;
    let board = situation.board;
    // A mounted card belongs to the named board; otherwise this machine is examined only if it is that board.
    let is_board = args.root.is_some() || situation.release.is_some();
    let is_native = host_machine().is_some_and(|machine| board.machines.contains(&machine));
    let cross = args.cross.clone().unwrap_or_else(|| if is_native { String::new() } else { board.cross.clone() });
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("."));
    let host = Host::look(&format!("{cross}gcc"), &out);
    let config = configuration(args)?;
    let boot = boot_folder(args.root.as_deref(), situation.boot_folder);
    let given = Given {
        board,
        series: args.series,
        host: &host,
        out: args.out.as_deref(),
        tree: tree(args)?,
        patch: args.patch,
        config: config.as_ref(),
        target: is_board.then_some(&live as &dyn Machine),
        boot_free_bytes: if is_board { host::free(&boot) } else { None },
    };
    let checks = preflight(&given);
    let result = || PreflightResult { board: &board.key, checks: &checks };
    Ok(Answer::new(args.output, code(&checks), result, || harmless(&text(&board.key, &checks))))
}

fn host_machine() -> Option<String> {
    rustix::system::uname().machine().to_str().ok().map(str::to_owned)
}

fn boot_folder(root: Option<&Path>, found: Option<&str>) -> PathBuf {
    let folder = found.unwrap_or("/boot");
    root.map_or_else(|| PathBuf::from(folder), |root| root.join(folder.trim_start_matches('/')))
}

fn configuration(args: &PreflightArgs) -> Result<Option<Options>, Refusal> {
    let Some(path) = &args.config else { return Ok(None) };
    let options = of_config(&config_file(path, LARGEST_CONFIG)?);
    match options.is_empty() {
        true => Err(Refusal::usage(format!(
            "{} has no line such as CONFIG_HZ=250: give a kernel's .config (--config)",
            path.display()
        ))),
        false => Ok(Some(options)),
    }
}

fn tree(args: &PreflightArgs) -> Result<Option<Release>, Refusal> {
    args.tree.as_deref().map(patch::tree_release).transpose().map_err(Refusal::usage)
}

/// Returns the exit code for the checks: a failed check takes precedence over one that could not be made.
fn code(checks: &[Check]) -> u8 {
    let any = |outcome| checks.iter().any(|check| check.outcome == outcome);
    if any(Outcome::Fail) {
        exit::FAILED
    } else if any(Outcome::Unknown) {
        exit::INCONCLUSIVE
    } else {
        0
    }
}

fn text(board: &str, checks: &[Check]) -> String {
    let mut out = format!("preflight for {board}\n");
    for check in checks {
        let word = match check.outcome {
            Outcome::Pass => "ok",
            Outcome::Fail => "FAIL",
            Outcome::Warn => "warn",
            Outcome::Unknown => "unknown",
            Outcome::Skip => "skip",
        };
        let _ = writeln!(out, "{word:<8}{:<15} {}", check.id, check.found);
        if !matches!(check.outcome, Outcome::Pass | Outcome::Skip) {
            let _ = writeln!(out, "        why: {}", check.why);
        }
        if let Some(fix) = check.fix.as_ref().filter(|_| check.outcome != Outcome::Skip) {
            let _ = writeln!(out, "        fix: {fix}");
        }
    }
    out
}
