//! Implements `import`: converts other tools' files, or a packed run directory, into a run directory.

mod archive;
pub mod args;

use crate::args::common::{GivenArgs, ImportFormat, UnitArg};
use crate::finish::{Answer, finish};
use crate::refusal::Refusal;
use crate::terminal::harmless;
use args::ImportArgs;
use punctual_directory::{Dir, Staging, Whose};
use punctual_import::{Format, Options, Unit};
use punctual_model::{Claim, Recording};
use punctual_report::{import_json, words};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

impl From<ImportFormat> for Format {
    fn from(format: ImportFormat) -> Format {
        match format {
            ImportFormat::Cyclictest => Format::Cyclictest,
            ImportFormat::Json => Format::Json,
            ImportFormat::Csv => Format::Csv,
            ImportFormat::Rtla => Format::Rtla,
            ImportFormat::JitterdebuggerRaw => Format::JitterdebuggerRaw,
            ImportFormat::Nqueens => Format::NQueens,
            ImportFormat::Text => Format::Text,
        }
    }
}

/// Runs `punctual import`. Exits 0 if the run directory was written.
pub fn import(args: &ImportArgs) -> ExitCode {
    let imported = imported(args);
    let why = "nothing was imported; see standard error";
    finish("import", args.output, imported.map_err(|refusal| refusal.documented(why)))
}

fn imported(args: &ImportArgs) -> Result<Answer, Refusal> {
    let archive = if args.format.is_none() { archive::opened(&args.files) } else { None };
    let recording = match archive {
        Some(archive) => archive::import(archive, &args.out)?,
        None => {
            let recording = recording(&args.files, args.format, &args.given)?;
            write(&args.out, &recording)?;
            recording
        }
    };
    let none: &[Claim] = &[];
    let verdict = punctual_judge::judge(&recording, none);
    let result = || import_json(&args.out, &recording, &verdict);
    Ok(Answer::new(args.output, 0, result, || harmless(&said(&args.out, &recording))).needed())
}

/// Reads files into one run.
pub fn recording(files: &[PathBuf], format: Option<ImportFormat>, given: &GivenArgs) -> Result<Recording, Refusal> {
    let unit = given.unit.map(|unit| match unit {
        UnitArg::Us => Unit::Micros,
        UnitArg::Ns => Unit::Nanos,
    });
    let format = format.or(given.input_format).map(Format::from);
    let options = Options { format, unit, period: given.period, columns: given.columns.clone() };
    let read = files.iter().map(|path| one(path, &options)).collect::<Result<Vec<_>, _>>()?;
    let mut recording = punctual_import::recording(read);
    let board = &mut recording.run.machine.board;
    *board = board.take().or_else(|| given.board.map(|board| board.name.clone()));
    Ok(recording)
}

fn one(path: &Path, options: &Options) -> Result<punctual_import::Imported, Refusal> {
    let failed = |e: io::Error| Refusal::usage(format!("cannot read {}: {e}{}", path.display(), advice(&e)));
    if path.is_dir() {
        let advice = "it is a directory; name files, or use `punctual report` for a run directory";
        return Err(Refusal::usage(format!("cannot import {}: {advice}", path.display())));
    }
    let input: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(path).map_err(failed)?),
    };
    let name = if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() };
    punctual_import::read(&name, input, options).map_err(|e| Refusal::either(!e.is_environment(), e))
}

fn advice(e: &io::Error) -> &'static str {
    match e.kind() {
        io::ErrorKind::NotFound => {
            "\n  name a file (for `report` a run directory or a file) that exists; - reads standard input"
        }
        io::ErrorKind::PermissionDenied => "\n  name a file that you may read",
        _ => "",
    }
}

/// Writes to a directory next to the target and renames it, so that the target either is complete or does not exist.
fn write(out: &Path, recording: &Recording) -> Result<(), Refusal> {
    let staging = staged(out)?;
    fill(staging.dir().clone(), recording)?;
    publish(staging, "", out)
}

/// Creates a temporary directory next to the target.
fn staged(out: &Path) -> Result<Staging, Refusal> {
    if fs::read_dir(out).map(|mut entries| entries.next().is_some()).unwrap_or_else(|_| out.exists()) {
        return Err(taken(out));
    }
    Staging::create(out, Whose::Results).map_err(|e| not_written(out, e))
}

/// Renames the directory `inner` in the temporary directory to the target.
fn publish(staging: Staging, inner: impl AsRef<Path>, out: &Path) -> Result<(), Refusal> {
    staging.publish(inner).map_err(|e| match e.kind() {
        Some(ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory) => taken(out),
        _ => not_written(out, e),
    })
}

fn taken(out: &Path) -> Refusal {
    Refusal::usage(format!("{} exists and is not empty; name a new directory with --out", out.display()))
}

fn not_written(out: &Path, e: punctual_directory::Error) -> Refusal {
    Refusal::environment(format!("cannot write {}: {}; name another with --out", out.display(), e.cause()))
}

fn fill(dir: Dir, recording: &Recording) -> Result<(), Refusal> {
    let failed = |e: punctual_rundir::Error| Refusal::either(!e.is_environment(), e);
    let mut run = recording.run.clone();
    let phases = std::mem::take(&mut run.phases);
    let mut writer =
        punctual_rundir::Writer::create_in(dir, run, true, punctual_rundir::DiskUse::default()).map_err(failed)?;
    for phase in phases {
        let of_phase = recording.distributions.iter().filter(|((id, _), _)| *id == phase.id);
        let distributions: Vec<_> = of_phase.map(|((_, cpu), d)| (*cpu, d.clone())).collect();
        writer.phase_done(phase, &distributions, Vec::new()).map_err(failed)?;
    }
    writer.finish().map_err(failed)
}

/// Returns a summary for a terminal: what was read and what was lost.
fn said(out: &Path, recording: &Recording) -> String {
    let run = &recording.run;
    let mut text = String::new();
    let files = run.import.as_ref().map(|i| i.files.as_slice()).unwrap_or_default();
    for file in files {
        text += &format!("{}: {}, {} bytes\n", file.name, file.format, file.bytes);
    }
    for phase in &run.phases {
        let samples = phase.cpus.iter().fold(0u64, |sum, c| sum.saturating_add(c.ran));
        let max = phase.cpus.iter().filter_map(|c| c.max_ns).max();
        let max = max.map_or_else(|| "not known".into(), |ns| punctual_units::Nanos(ns).to_string());
        text += &format!("  {}: {} threads, {samples} samples, max {max}\n", phase.id, phase.cpus.len());
    }
    if let Some(import) = run.import.as_ref().filter(|i| !i.series.is_empty()) {
        text += &format!("  {} series of other values\n", import.series.len());
    }
    words::lost(recording).iter().for_each(|lost| text += &format!("  - {lost}\n"));
    text + &format!("Written to {}; `punctual report {}` shows it.\n", out.display(), out.display())
}
