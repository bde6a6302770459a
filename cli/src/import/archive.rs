//! Imports run directories that were packed by tar(1) on a board.

use super::{not_written, publish, staged};
use crate::refusal::Refusal;
use punctual_archive::{Limits, is_archive, unpack};
use punctual_directory::{Dir, Kind};
use punctual_model::Recording;
use std::fmt::Display;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

/// Returns the name and the opened file if there is only one file and it is an archive.
pub fn opened(files: &[PathBuf]) -> Option<(&Path, File)> {
    let [path] = files else { return None };
    // A FIFO can be read only once, so only a regular file is examined.
    let mut file = path.is_file().then(|| File::open(path).ok()).flatten()?;
    let mut head = Vec::new();
    file.by_ref().take(512).read_to_end(&mut head).ok()?;
    file.rewind().ok()?;
    is_archive(&head).then_some((path.as_path(), file))
}

/// Unpacks the run in the archive as `out`. If that fails, nothing is left.
pub fn import((name, archive): (&Path, File), out: &Path) -> Result<Recording, Refusal> {
    let here = |e: punctual_directory::Error| not_written(out, e);
    let of_archive =
        |is_environment: bool, e: &dyn Display| Refusal::either(!is_environment, format!("{}: {e}", name.display()));
    let staging = staged(out)?;
    unpack(archive, staging.dir(), Limits::RUN).map_err(|e| of_archive(e.is_environment(), &e))?;
    let run = run_in(staging.dir()).map_err(here)?;
    let run = run.ok_or_else(|| of_archive(false, &"it contains no run directory: pack one with tar -czf FILE RUN"))?;
    let recording = punctual_rundir::read_dir(&staging.dir().dir(&run).map_err(here)?);
    let recording = recording.map_err(|e| of_archive(e.is_environment(), &e))?;
    publish(staging, run, out)?;
    Ok(recording)
}

/// Returns the path of the run in the archive, which may contain the run directory or only its contents.
fn run_in(dir: &Dir) -> Result<Option<PathBuf>, punctual_directory::Error> {
    let is_run = |folder: &Path| Ok(dir.kind(folder.join("run.json"))? == Some(Kind::File));
    if is_run(Path::new("."))? {
        return Ok(Some(".".into()));
    }
    match dir.entries()?.as_slice() {
        [(folder, Kind::Directory)] => Ok(is_run(folder)?.then(|| folder.clone())),
        _ => Ok(None),
    }
}
