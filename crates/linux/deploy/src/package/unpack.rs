//! Unpacks archives into a private folder, using the system's programs.

use crate::error::{DeployError, file};
use crate::programs;
use punctual_model::Argv;
use std::fs;
use std::io::Read;
use std::path::Path;
use tempfile::TempDir;

/// Unpacks a .deb or a tarball; the folder is removed on drop.
pub fn unpack(source: &Path, staging: &Path) -> Result<TempDir, DeployError> {
    fs::create_dir_all(staging).map_err(file("make", staging))?;
    let folder =
        tempfile::Builder::new().prefix("unpacked-").tempdir_in(staging).map_err(file("make a folder in", staging))?;
    let (from, to) = (source.display().to_string(), folder.path().display().to_string());
    let argv = match is_deb(source)? {
        true => Argv::new(["dpkg-deb", "-x", &from, &to]),
        // tar itself refuses names that lead outside the folder.
        false => Argv::new(["tar", "--no-same-owner", "--no-same-permissions", "-xf", &from, "-C", &to]),
    };
    programs::run(&argv).map_err(|error| DeployError::Package { path: source.to_owned(), what: error.to_string() })?;
    Ok(folder)
}

/// Returns true for a deb(5): an ar archive whose first member is `debian-binary`.
fn is_deb(source: &Path) -> Result<bool, DeployError> {
    let mut head = Vec::new();
    let opened = fs::File::open(source).map_err(file("open", source))?;
    opened.take(21).read_to_end(&mut head).map_err(file("read", source))?;
    Ok(head.starts_with(b"!<arch>\ndebian-binary"))
}
