//! Packs image, modules, device trees and configuration of a build as a tarball with a manifest and as Debian packages.
//!
//! The same build gives the same bytes: files are sorted, owned by root, and carry the date of the source
//! (reproducible-builds.org).

mod archive;
mod deb;
mod headers;
mod manifest;
mod stage;

pub use archive::tarball;
pub(crate) use manifest::is_of_board;
pub use manifest::{File, Manifest};
pub use stage::Stage;

use crate::build::State;
use crate::check::{self, Check, Outcome, Wanted};
use crate::fetch::SourceManifest;
use crate::files::{aside, lock, make_folder, remove_folder, replace};
use crate::{KbuildError, sha256};
use punctual_kernel::Board;
use punctual_kernel::config::make::REQUESTED;
use punctual_kernel::config::{Options, requested};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Job<'j> {
    /// The folder of a finished build.
    pub build: PathBuf,
    /// The board whose needs are checked and whose device trees are listed.
    pub board: Option<&'j Board>,
    pub source: Option<SourceManifest>,
    pub into: PathBuf,
    pub deb: bool,
    pub headers: bool,
}

#[derive(Clone, Debug)]
pub struct Packaged {
    pub manifest: Manifest,
    pub checks: Vec<Check>,
    /// The written files; empty if a check failed.
    pub files: Vec<PathBuf>,
    /// Folder of the unpacked files, from which an image can be written.
    pub stage: PathBuf,
}

/// Packs a build. If a check fails, only the stage is written, for inspection.
///
/// # Errors
/// The build is not finished, a program is missing, make fails, or the disk is full.
pub fn package(job: &Job, report: &mut dyn FnMut(&str)) -> Result<Packaged, KbuildError> {
    let (build, into) = (absolute(&job.build)?, absolute(&job.into)?);
    let state = State::read(&build)?.filter(|state| state.done);
    let (Some(state), true) = (state, build.join(".config").is_file()) else {
        let said = format!("{} contains no finished build: run punctual kernel build --out {0} …", build.display());
        return Err(KbuildError::Usage(said));
    };
    let release = state.named(&build)?.to_owned();
    make_folder(&into)?;
    let _lock = lock(&into.join(".lock"), report)?;
    report(&format!("collecting the files of {release}"));
    let stage = Stage::make(&state, &release, &build, &into, report)?;
    let asked = asked(&build)?;
    let wanted = Wanted { release: &release, requested: asked.as_ref(), board: job.board };
    let checks = check::package(&stage.root, &wanted)?;
    let manifest = Manifest::of(&stage, &state, job, asked.as_ref(), &checks)?;
    let mut files = Vec::new();
    if checks.iter().all(|check| check.outcome != Outcome::Fail) {
        files = written(job, &state, &build, &into, &stage, &manifest, report)?;
    }
    Ok(Packaged { manifest, checks, files, stage: stage.root })
}

fn written(
    job: &Job,
    state: &State,
    build: &Path,
    into: &Path,
    stage: &Stage,
    manifest: &Manifest,
    report: &mut dyn FnMut(&str),
) -> Result<Vec<PathBuf>, KbuildError> {
    let text = manifest.text()?;
    let path = into.join("manifest.json");
    replace(&path, text.as_bytes())?;
    let tar = into.join(format!("linux-{}-{}.tar.gz", stage.release, state.arch.name()));
    report(&format!("writing {}", tar.display()));
    replace(&tar, &archive::tarball(&stage.root, &[("manifest.json", text.as_bytes())], state.epoch)?)?;
    let mut files = vec![path, tar];
    if job.deb {
        files.push(deb::image(stage, state, into)?);
    }
    if job.headers {
        report("collecting the headers");
        let root = headers::stage(state, build, into, &stage.release)?;
        files.push(match job.deb {
            true => deb::headers(stage, state, &root, into)?,
            false => {
                let path = into.join(format!("linux-headers-{}-{}.tar.gz", stage.release, state.arch.name()));
                replace(&path, &archive::tarball(&root, &[], state.epoch)?)?;
                path
            }
        });
        remove_folder(&root)?;
    }
    let sums = sums(into, &files)?;
    files.push(sums);
    Ok(files)
}

/// Writes the checksums for sha256sum(1).
fn sums(into: &Path, files: &[PathBuf]) -> Result<PathBuf, KbuildError> {
    let mut sums = String::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        sums += &format!("{}  {name}\n", sha256(file)?);
    }
    let path = into.join("sha256sums");
    replace(&path, sums.as_bytes())?;
    Ok(path)
}

/// Returns the requested options, saved when the build was configured.
fn asked(build: &Path) -> Result<Option<Options>, KbuildError> {
    let path = build.join(REQUESTED);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(KbuildError::file("read", &path))?,
    };
    let options = requested(&text).map_err(|e| KbuildError::bad(&path, format!("{e}; configure again")))?;
    Ok(Some(options))
}

fn absolute(path: &Path) -> Result<PathBuf, KbuildError> {
    std::path::absolute(path).map_err(KbuildError::file("find", path))
}

fn empty(path: &Path) -> Result<PathBuf, KbuildError> {
    let making = aside(path);
    remove_folder(&making)?;
    make_folder(&making)?;
    Ok(making)
}
