//! manifest.json in a tarball's root: its content and checksums.

use crate::error::{DeployError, file};
use crate::hash;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Larger than needed for a kernel's ten thousand files, bytes.
const LARGEST: u64 = 16 << 20;

/// Unknown fields are ignored.
#[derive(Clone, Debug, Deserialize)]
pub struct Manifest {
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    #[serde(default)]
    pub version: Option<String>,
    /// Every file except the manifest.
    #[serde(default)]
    pub files: Vec<Listed>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Listed {
    /// Below the root.
    pub path: String,
    /// 64 hexadecimal digits.
    pub sha256: String,
    #[serde(default)]
    pub size: Option<u64>,
}

/// `None` if there is none.
pub fn read(root: &Path) -> Result<Option<Manifest>, DeployError> {
    let path = root.join("manifest.json");
    let bad = |what: String| DeployError::Package { path: path.clone(), what };
    match fs::symlink_metadata(&path) {
        Err(_) => return Ok(None),
        Ok(meta) if !meta.is_file() || meta.len() > LARGEST => return Err(bad("this is no manifest".to_owned())),
        Ok(_) => {}
    }
    let bytes = fs::read(&path).map_err(file("read", &path))?;
    serde_json::from_slice(&bytes).map(Some).map_err(|error| bad(error.to_string()))
}

impl Manifest {
    /// Compares every file with the list; used files that are not listed are errors.
    pub fn check(self, root: &Path, all: &[PathBuf], source: &Path) -> Result<Manifest, DeployError> {
        let bad = |what: String| {
            let what = format!("{what}: the package is damaged, copy or build it again");
            DeployError::Package { path: source.to_owned(), what }
        };
        let wanted: BTreeMap<PathBuf, &Listed> =
            self.files.iter().map(|one| (root.join(one.path.trim_start_matches("./")), one)).collect();
        if let Some(missing) = wanted.keys().find(|path| all.binary_search(path).is_err()) {
            return Err(bad(format!(
                "{} is listed and not there",
                missing.strip_prefix(root).unwrap_or(missing).display()
            )));
        }
        for path in all.iter().filter(|path| path.as_path() != root.join("manifest.json")) {
            let name = path.strip_prefix(root).unwrap_or(path).display();
            match wanted.get(path) {
                Some(one) if hash::of_file(path)? == one.sha256.to_ascii_lowercase() => {}
                Some(_) => return Err(bad(format!("{name} differs from its sum"))),
                None => return Err(bad(format!("{name} is not listed"))),
            }
        }
        Ok(self)
    }
}
