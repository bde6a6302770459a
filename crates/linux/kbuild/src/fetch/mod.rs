//! Fetches a source into a separate folder: it is verified before it is unpacked, unpacked under a temporary name, and
//! renamed last.
//!
//! ```text
//! OUT/download/   packed files; *.part is resumed
//! OUT/tree/       the source, complete or absent
//! OUT/manifest.json   what it is and who vouches for it; written last
//! ```

mod download;
mod git;
mod origin;
mod patched;
mod tarball;

pub use origin::{Origin, Proof, Request, SourceManifest, Taken};
pub use patched::Patch;

use crate::KbuildError;
use crate::files::{aside, lock, make_folder, read_json, remove_folder, write_json};
use punctual_kernel::patch::makefile_release;
use punctual_kernel::programs::{last_lines, run};
use punctual_vm::{Cache, KernelSource};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

/// Name of the manifest. The existence of this file means that the fetch has finished.
pub const MANIFEST: &str = "manifest.json";
const TREE: &str = "tree";

/// Fetches a source, unless it already exists. `report` receives a line for each step.
///
/// # Errors
/// There is no network or space; a signature or checksum is missing or invalid; the folder contains another source; a
/// patch does not fit exactly or is not signed. The same request resumes interrupted downloads; a tree is never
/// incomplete.
pub fn fetch(request: &Request, cache: &Cache, report: &mut dyn FnMut(&str)) -> Result<SourceManifest, KbuildError> {
    let out = std::path::absolute(&request.out).map_err(KbuildError::file("find", &request.out))?;
    make_folder(&out)?;
    let _lock = lock(&out.join(".lock"), report)?;
    if let Some(there) = read_manifest(&out)? {
        let had = there.patch.as_ref().map(|patch| patch.from.as_str());
        return match (&there.origin, had) == (&request.origin, request.patch.as_deref()) {
            true => Ok(there),
            false => Err(KbuildError::Taken {
                found: named(&there.origin, had),
                wanted: named(&request.origin, request.patch.as_deref()),
                path: out,
            }),
        };
    }
    let wanted = patched::Wanted::open(request, &out, report)?;
    let taken = taken(request, wanted.as_ref(), &out, cache, report)?;
    // The date is determined before patching, which may change the Makefile.
    let mut manifest = manifest(request, taken)?;
    manifest.patch = wanted.map(|wanted| wanted.apply(&manifest.tree, report)).transpose()?;
    write_json(&out.join(MANIFEST), &manifest)?;
    Ok(manifest)
}

fn named(origin: &Origin, patch: Option<&str>) -> String {
    patch.map_or_else(|| origin.to_string(), |patch| format!("{origin} with the patch of {patch}"))
}

/// Reads the result of an earlier fetch; `None` if it did not finish.
pub fn read_manifest(out: &Path) -> Result<Option<SourceManifest>, KbuildError> {
    let manifest: Option<SourceManifest> = read_json(&out.join(MANIFEST))?;
    Ok(manifest.filter(|manifest| manifest.tree.join("Makefile").is_file()))
}

fn taken(
    request: &Request,
    patch: Option<&patched::Wanted>,
    out: &Path,
    cache: &Cache,
    report: &mut dyn FnMut(&str),
) -> Result<Taken, KbuildError> {
    match &request.origin {
        Origin::Tarball { url } => tarball::fetch(url, request, out, report),
        Origin::Git { .. } => git::fetch(request, patch, out, report),
        Origin::Debian { series } => debian(series.map(|s| s.to_string()).as_deref(), out, cache, report),
        Origin::Tree { path } => own(path),
    }
}

/// Fetches the source package with apt, which verifies the chain from the distribution's key to the package's checksum
/// (apt-secure(8)).
fn debian(series: Option<&str>, out: &Path, cache: &Cache, report: &mut dyn FnMut(&str)) -> Result<Taken, KbuildError> {
    let source = KernelSource::newest(series, cache)?;
    report(&format!("fetching {} {} with apt, 150 MB unless it is cached", source.package, source.version));
    let archive = source.archive(cache)?;
    let sha256 = crate::sha256(&archive)?;
    let tree = unpack(&archive, out, report)?;
    let proof = Proof::Apt { package: source.package, version: source.version };
    Ok(Taken { tree, proof, sha256: Some(sha256), commit: None, epoch: None })
}

fn own(path: &Path) -> Result<Taken, KbuildError> {
    let tree = std::path::absolute(path).map_err(KbuildError::file("find", path))?;
    let commit = tree.join(".git").exists().then(|| git::head(&tree)).transpose()?;
    let proof = Proof::None { why: "a tree provided by the user".to_owned() };
    Ok(Taken { tree, proof, sha256: None, commit, epoch: None })
}

/// Unpacks under a temporary name, so that the tree is complete or absent.
fn unpack(archive: &Path, out: &Path, report: &mut dyn FnMut(&str)) -> Result<PathBuf, KbuildError> {
    let tree = out.join(TREE);
    let making = aside(&tree);
    remove_folder(&making)?;
    // Without a manifest, a tree from an earlier attempt is incomplete.
    remove_folder(&tree)?;
    make_folder(&making)?;
    report(&format!("unpacking {}: 1.7 GB for a whole kernel", archive.display()));
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(archive).arg("-C").arg(&making).args(["--strip-components=1", "--no-same-owner"]);
    let ran = run(&mut tar, b"", "apt-get install tar xz-utils")?;
    if !ran.status.success() {
        remove_folder(&making)?;
        return Err(KbuildError::Failed {
            what: format!("unpacking {}", archive.display()),
            status: ran.status.to_string(),
            said: last_lines(&ran.said(), 3),
            next: "free some space (df -h) and run the same command again".to_owned(),
        });
    }
    fs::rename(&making, &tree).map_err(KbuildError::file("rename", &making))?;
    Ok(tree)
}

fn manifest(request: &Request, taken: Taken) -> Result<SourceManifest, KbuildError> {
    let path = taken.tree.join("Makefile");
    let text = fs::read_to_string(&path).map_err(KbuildError::file("read", &path))?;
    let none =
        || KbuildError::bad(&path, "it does not start with VERSION, PATCHLEVEL and SUBLEVEL: this is not a kernel");
    let release = makefile_release(&text).ok_or_else(none)?;
    if let Some(wanted) = request.release().filter(|wanted| *wanted != release) {
        return Err(KbuildError::bad(&path, format!("it is {release}, but {wanted} was requested (--release)")));
    }
    let changed = path.metadata().and_then(|m| m.modified()).map_err(KbuildError::file("read", &path))?;
    let seconds = changed.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Ok(SourceManifest {
        format: 1,
        origin: request.origin.clone(),
        release,
        proof: taken.proof,
        patch: None,
        sha256: taken.sha256,
        commit: taken.commit,
        tree: taken.tree,
        epoch: taken.epoch.unwrap_or(seconds),
    })
}
