//! Implements `kernel package`, which packages a built kernel.

use super::args::building::PackageArgs;
use super::inputs::progress_lines;
use crate::exit;
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::terminal::harmless;
use punctual_kbuild::build::State;
use punctual_kbuild::check::{Check, Outcome};
use punctual_kbuild::fetch::{SourceManifest, read_manifest};
use punctual_kbuild::image;
use punctual_kbuild::package::{Job, Packaged, Stage};
use punctual_kbuild::{KbuildError, PackageResult};
use punctual_kernel::{Arch, Board};
use punctual_vm::Cache;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

pub fn run(args: &PackageArgs) -> Result<Answer, Refusal> {
    let board = punctual_kernel::board(&args.board).map_err(Refusal::usage)?;
    let (build, into) = (args.build.clone(), args.out.clone());
    let job = Job { source: origin(&build)?, build, board: Some(board), into, deb: args.deb, headers: args.headers };
    let progress = &mut progress_lines(args.output);
    let mut done = punctual_kbuild::package(&job, progress)?;
    let mut notes = Vec::new();
    if let (Some(path), false) = (&args.image, done.files.is_empty()) {
        notes = card(args, board, &done, path, progress)?;
        done.files.push(path.clone());
    }
    let any = |outcome| done.checks.iter().any(|check| check.outcome == outcome);
    let code = match (any(Outcome::Fail), any(Outcome::Unknown)) {
        (true, _) => exit::FAILED,
        (_, true) => exit::INCONCLUSIVE,
        _ => 0,
    };
    Ok(Answer::new(args.output, code, || PackageResult::new(&done, &notes), || harmless(&text(&done, &notes))))
}

/// Returns the manifest of the built source, if `kernel fetch` fetched it.
fn origin(build: &Path) -> Result<Option<SourceManifest>, Refusal> {
    let Some(tree) = State::read(build)?.map(|state| state.tree) else { return Ok(None) };
    let Some(folder) = tree.parent() else { return Ok(None) };
    let manifest = read_manifest(folder)?;
    Ok(manifest.filter(|manifest| manifest.tree == tree))
}

fn card(
    args: &PackageArgs,
    board: &Board,
    done: &Packaged,
    path: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<String>, Refusal> {
    let stage = Stage { root: done.stage.clone(), release: done.manifest.release.clone() };
    let job = image::Job {
        stage: &stage,
        board,
        busybox: busybox(args, board)?,
        firmware: args.firmware.clone(),
        script: args.boot_script.clone(),
        epoch: done.manifest.epoch,
        path: path.to_owned(),
    };
    Ok(image::write(&job, progress)?)
}

fn busybox(args: &PackageArgs, board: &Board) -> Result<PathBuf, Refusal> {
    if let Some(path) = &args.busybox {
        return Ok(path.clone());
    }
    let arch = match board.arch {
        Arch::Arm64 => punctual_vm::Arch::Arm64,
        Arch::X86 => punctual_vm::Arch::Amd64,
        Arch::Arm | Arch::I386 | Arch::Riscv => {
            return Err(Refusal::usage(
                "for this architecture name a static BusyBox: --busybox FILE (Debian: busybox-static)",
            ));
        }
    };
    let cache = Cache::usual().map_err(Refusal::usage)?;
    Ok(punctual_vm::busybox(arch, &cache).map_err(KbuildError::Packages)?)
}

fn text(done: &Packaged, notes: &[String]) -> String {
    let manifest = &done.manifest;
    let mut out = format!("{}\n", manifest.release);
    let _ = writeln!(out, "{}", manifest.version.as_deref().unwrap_or("uname -v is unknown"));
    for check in &done.checks {
        line(&mut out, check);
    }
    for note in notes {
        let _ = writeln!(out, "note: {note}");
    }
    if done.files.is_empty() {
        let _ = writeln!(out, "nothing was packaged; the files are in {}", done.stage.display());
    }
    for file in &done.files {
        let _ = writeln!(out, "{}", file.display());
    }
    out
}

fn line(out: &mut String, check: &Check) {
    let word = match check.outcome {
        Outcome::Pass => "ok",
        Outcome::Fail => "FAIL",
        Outcome::Unknown => "unknown",
        Outcome::Skip => "skip",
    };
    let _ = writeln!(out, "{word:<8}{:<11} {}", check.id, check.found);
    if !check.fix.is_empty() {
        let _ = writeln!(out, "        fix: {}", check.fix);
    }
}
