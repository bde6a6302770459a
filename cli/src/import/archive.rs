//! A run directory of this program, packed by tar(1), which a board sent.

use crate::refusal::Refusal;
use punctual_archive::{Limits, is_archive, unpack};
use punctual_directory::{Dir, Kind, Staging, Whose};
use punctual_model::Recording;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

/// Opens the file where it is an archive, by its content.
pub fn opened(files: &[PathBuf]) -> Option<(&Path, File)> {
    let [path] = files else { return None };
    // A FIFO could be read only once.
    let mut file = path.is_file().then(|| File::open(path).ok()).flatten()?;
    let mut head = Vec::new();
    file.by_ref().take(512).read_to_end(&mut head).ok()?;
    file.rewind().ok()?;
    is_archive(&head).then_some((path.as_path(), file))
}

/// Unpacks the run in it as `out`: whole, or nothing is there.
pub fn import((name, archive): (&Path, File), out: &Path) -> Result<Recording, Refusal> {
    let here = |e: punctual_directory::Error| Refusal::environment(format!("{e}; name another with --out"));
    let staging = Staging::create(out, Whose::Results).map_err(here)?;
    unpack(archive, staging.dir(), Limits::RUN)
        .map_err(|e| Refusal::either(!e.is_environment(), format!("{}: {e}", name.display())))?;
    let folder = run_in(staging.dir()).map_err(here)?.ok_or_else(|| {
        Refusal::usage(format!("{}: it holds no run directory: pack one with tar -czf FILE RUN", name.display()))
    })?;
    let run = staging.dir().dir(&folder).map_err(here)?;
    let recording = punctual_rundir::read_dir(&run)
        .map_err(|e| Refusal::either(!e.is_environment(), format!("{}: {e}", name.display())))?;
    staging.publish(folder).map_err(|e| match e.kind() {
        Some(ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory) => {
            Refusal::usage(format!("{} exists and is not empty; name a new folder with --out", out.display()))
        }
        _ => here(e),
    })?;
    Ok(recording)
}

/// Where the run lies: its folder was packed, or what is in it.
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
