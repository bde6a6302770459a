//! Results of `kernel build` and `kernel package`. The result of `kernel fetch` is a
//! [`SourceManifest`](crate::fetch::SourceManifest).

use crate::build::Built;
use crate::check::Check;
use crate::package::Packaged;
use punctual_kernel::Arch;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The result of `kernel build`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BuildResult<'a> {
    /// Output of `uname -r` for the built kernel.
    release: &'a str,
    image: &'a Path,
    /// File with the output of make.
    log: &'a Path,
    /// Number of objects to compile; null if unknown.
    objects: Option<usize>,
    /// Value of `ARCH` for the kernel's make.
    arch: Arch,
    /// Duration of the build in seconds, including pauses.
    lasted_s: f64,
    /// Time in seconds for which the build was paused because the temperature was too high.
    paused_s: f64,
}

/// The result of `kernel package`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackageResult<'a> {
    /// Output of `uname -r`.
    release: &'a str,
    /// Output of `uname -v`; null if the image does not contain it.
    version: &'a Option<String>,
    checks: &'a [Check],
    /// Files that were written; none if a check failed.
    files: &'a [PathBuf],
    /// Directory of the unpacked package.
    stage: &'a Path,
    notes: &'a [String],
}

impl<'a> BuildResult<'a> {
    pub fn new(built: &'a Built, arch: Arch) -> BuildResult<'a> {
        BuildResult {
            release: &built.release,
            image: &built.image,
            log: &built.log,
            objects: built.objects,
            arch,
            lasted_s: built.lasted.as_secs_f64(),
            paused_s: built.paused.as_secs_f64(),
        }
    }
}

impl<'a> PackageResult<'a> {
    pub fn new(packaged: &'a Packaged, notes: &'a [String]) -> PackageResult<'a> {
        PackageResult {
            release: &packaged.manifest.release,
            version: &packaged.manifest.version,
            checks: &packaged.checks,
            files: &packaged.files,
            stage: &packaged.stage,
            notes,
        }
    }
}
