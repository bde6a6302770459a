use super::{Job, Stage};
use crate::KbuildError;
use crate::build::State;
use crate::check::{Check, banner, expected_vermagic};
use crate::fetch::SourceManifest;
use crate::files::{below, sha256};
use punctual_kernel::config::{Options, fragment, of_config};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    pub path: String,
    pub bytes: u64,
    /// SHA-256 checksum of the file; `None` for a link.
    pub sha256: Option<String>,
}

/// `manifest.json` of a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this format: 1.
    pub format: u32,
    /// Output of `uname -r`.
    pub release: String,
    /// Output of `uname -v`, from the image; `None` if it was not found there.
    pub version: Option<String>,
    /// Value of make's `ARCH=`.
    pub arch: String,
    /// The start of the modules' vermagic.
    pub vermagic: String,
    pub board: Option<String>,
    /// Origin of the kernel source; `None` if unknown.
    pub source: Option<SourceManifest>,
    /// Date of all files, seconds since 1970.
    pub epoch: u64,
    /// Requested options as a fragment; `None` if unknown.
    pub requested: Option<String>,
    pub config_sha256: String,
    /// Files that a board boots: image, configuration, and the device trees listed in the board's entry.
    pub boot: Vec<String>,
    pub checks: Vec<Check>,
    pub files: Vec<File>,
}

impl Manifest {
    pub(super) fn of(
        stage: &Stage,
        state: &State,
        job: &Job,
        requested: Option<&Options>,
        checks: &[Check],
    ) -> Result<Manifest, KbuildError> {
        let release = stage.release.clone();
        let (image, config) = (format!("boot/vmlinuz-{release}"), format!("boot/config-{release}"));
        let path = stage.root.join(&config);
        let text = fs::read_to_string(&path).map_err(KbuildError::file("read", &path))?;
        let bytes = fs::read(stage.root.join(&image)).map_err(KbuildError::file("read", &stage.root))?;
        let mut boot = vec![image, config.clone()];
        for tree in stage.device_trees()? {
            if job.board.is_none_or(|board| is_of_board(&tree, board)) {
                boot.push(format!("usr/lib/linux-image-{release}/{}", tree.display()));
            }
        }
        let files = files(&stage.root)?;
        Ok(Manifest {
            format: 1,
            version: banner(&bytes).map(|banner| banner.version),
            arch: state.arch.name().to_owned(),
            vermagic: expected_vermagic(&release, &of_config(&text)),
            release,
            board: job.board.map(|board| board.key.clone()),
            source: job.source.clone(),
            epoch: state.epoch,
            requested: requested.map(fragment),
            config_sha256: sha256(&path)?,
            boot,
            checks: checks.to_vec(),
            files,
        })
    }

    pub(super) fn text(&self) -> Result<String, KbuildError> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|e| KbuildError::bad(Path::new("manifest.json"), e.to_string()))
    }
}

/// Returns true if the board's entry lists this device tree, for either source tree.
pub(crate) fn is_of_board(tree: &Path, board: &punctual_kernel::Board) -> bool {
    let names = board.mainline.iter().flat_map(|m| &m.dtbs).chain(board.pi.iter().flat_map(|pi| &pi.dtbs));
    let file = tree.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut names = names.map(|name| name.rsplit('/').next().unwrap_or(name).to_owned());
    names.any(|name| match name.split_once('*') {
        Some((start, end)) => file.len() >= start.len() + end.len() && file.starts_with(start) && file.ends_with(end),
        None => file == name,
    })
}

fn files(root: &Path) -> Result<Vec<File>, KbuildError> {
    let mut all = Vec::new();
    for path in below(root)? {
        let whole = root.join(&path);
        let meta = whole.symlink_metadata().map_err(KbuildError::file("read", &whole))?;
        let sha256 = if meta.is_symlink() { None } else { Some(sha256(&whole)?) };
        all.push(File { path: path.display().to_string(), bytes: meta.len(), sha256 });
    }
    Ok(all)
}
