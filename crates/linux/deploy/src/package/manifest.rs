//! manifest.json in a tarball's root: its content and checksums.

use crate::error::{DeployError, file};
use crate::hash;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum size in bytes; a kernel's ten thousand files need less.
const LARGEST: u64 = 16 << 20;

/// Content of manifest.json; unknown fields are ignored.
#[derive(Clone, Debug, Deserialize)]
pub struct Manifest {
    /// Output of `uname -r`.
    pub release: String,
    /// Output of `uname -v`.
    #[serde(default)]
    pub version: Option<String>,
    /// Every file except the manifest.
    #[serde(default)]
    pub files: Vec<Listed>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Listed {
    /// Path relative to the root of the package.
    pub path: String,
    /// SHA-256 checksum of the file in 64 hexadecimal digits.
    pub sha256: String,
    #[serde(default)]
    pub size: Option<u64>,
}

/// Reads the manifest; `None` if there is none.
pub fn read(root: &Path) -> Result<Option<Manifest>, DeployError> {
    let path = root.join("manifest.json");
    let bad = |what: String| DeployError::Package { path: path.clone(), what };
    match fs::symlink_metadata(&path) {
        Err(_) => return Ok(None),
        Ok(meta) if !meta.is_file() || meta.len() > LARGEST => return Err(bad("it is not a manifest".to_owned())),
        Ok(_) => {}
    }
    let bytes = fs::read(&path).map_err(file("read", &path))?;
    serde_json::from_slice(&bytes).map(Some).map_err(|error| bad(error.to_string()))
}

impl Manifest {
    /// Compares every file with the list; unlisted files that would be used are errors.
    pub fn check(self, root: &Path, all: &[PathBuf], source: &Path) -> Result<Manifest, DeployError> {
        let bad = |what: String| {
            let what = format!("{what}: the package is damaged, copy or build it again");
            DeployError::Package { path: source.to_owned(), what }
        };
        let wanted: BTreeMap<PathBuf, &Listed> =
            self.files.iter().map(|one| (root.join(one.path.trim_start_matches("./")), one)).collect();
        if let Some(missing) = wanted.keys().find(|path| all.binary_search(path).is_err()) {
            return Err(bad(format!(
                "{} is listed but missing",
                missing.strip_prefix(root).unwrap_or(missing).display()
            )));
        }
        for path in all.iter().filter(|path| path.as_path() != root.join("manifest.json")) {
            let name = path.strip_prefix(root).unwrap_or(path).display();
            match wanted.get(path) {
                Some(one) if hash::of_file(path)? == one.sha256.to_ascii_lowercase() => {}
                Some(_) => return Err(bad(format!("{name} does not match its checksum"))),
                None => return Err(bad(format!("{name} is not listed"))),
            }
        }
        Ok(self)
    }
}
