//! Published real-time patches: which one fits a tree exactly ([`index`]), who signed it ([`signature`]), and how it is
//! applied without fuzz ([`apply`]).

pub mod apply;
pub mod index;
pub mod signature;
mod unpack;

pub use crate::programs::ProgramError;
pub use unpack::unpack;

use crate::{Patched, Release};
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error("no published patch fits {release} exactly{near}: unpack a release that has a patch; never force a patch")]
    NoMatch { release: Release, near: String },
    #[error("the index has no patch for {0}: it may be in older/, save that page too (--older)")]
    LookInOlder(Release),
    #[error("{0} has no .sign next to it in the index: it is not used")]
    Unsigned(String),
    #[error("{0}: a real-time patch is named patch-A.B.C-rtN.patch, .xz or .gz: keep the published name")]
    Name(String),
    #[error("{patch} fits {wanted} exactly, but the tree is {tree}: fetch the patch of {tree}, or unpack {wanted}")]
    OtherRelease { patch: Patched, wanted: Release, tree: Release },
    #[error("{0} has a file localversion-rt, so it is already patched: unpack it again")]
    AlreadyPatched(String),
    #[error(
        "{0}: its Makefile does not start with VERSION, PATCHLEVEL and SUBLEVEL: give an unpacked kernel source with --tree"
    )]
    NoTree(String),
    #[error("{name}: {why}: fetch it again")]
    Damaged { name: String, why: String },
    #[error("{name}: {why}; the file is not used")]
    Signature { name: String, why: String },
    #[error("the patch does not fit the tree exactly (fuzz 0), nothing was changed:\n{0}")]
    Rejected(String),
    #[error(
        "{tree}: applying the patch failed halfway: {why}; the tree is unusable: free some space (df -h) and fetch it again"
    )]
    Broken { tree: String, why: String },
}

/// Returns the release of a kernel source, from its Makefile.
///
/// # Errors
/// It cannot be read, is not a kernel source, or it already has a real-time patch.
pub fn tree_release(tree: &Path) -> Result<Release, PatchError> {
    let path = tree.join("Makefile");
    let text = std::fs::read_to_string(&path).map_err(ProgramError::file("read", &path))?;
    if tree.join("localversion-rt").exists() {
        return Err(PatchError::AlreadyPatched(tree.display().to_string()));
    }
    makefile_release(&text).ok_or_else(|| PatchError::NoTree(tree.display().to_string()))
}

/// Reads VERSION, PATCHLEVEL and SUBLEVEL from the text of a kernel Makefile.
pub fn makefile_release(makefile: &str) -> Option<Release> {
    let value = |name: &str| {
        let mut lines = makefile.lines().take(10);
        lines.find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('=').map(str::trim))
    };
    format!("{}.{}.{}", value("VERSION")?, value("PATCHLEVEL")?, value("SUBLEVEL")?).parse().ok()
}

/// Returns the release of a patch, from its published name.
///
/// # Errors
/// The name has another form.
pub fn patch_of_name(name: &str) -> Result<Patched, PatchError> {
    let stem = name.strip_suffix(".xz").or_else(|| name.strip_suffix(".gz")).unwrap_or(name);
    let version = stem.strip_prefix("patch-").and_then(|s| s.strip_suffix(".patch"));
    version.and_then(|v| v.parse().ok()).ok_or_else(|| PatchError::Name(name.to_owned()))
}

/// Checks that a patch is for the release of the tree.
///
/// # Errors
/// The patch is for another release.
pub fn fits(patch: Patched, tree: Release) -> Result<(), PatchError> {
    match patch.release == tree {
        true => Ok(()),
        false => Err(PatchError::OtherRelease { patch, wanted: patch.release, tree }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_makefile_has_the_release() {
        let text = "# SPDX-License-Identifier: GPL-2.0\nVERSION = 6\nPATCHLEVEL = 6\nSUBLEVEL = 147\nEXTRAVERSION =\n";
        assert_eq!(makefile_release(text).unwrap().to_string(), "6.6.147");
        assert_eq!(makefile_release("all:\n\tcc x.c\n"), None);
        assert_eq!(makefile_release(&text.replace("147", "$(X)")), None);
    }

    #[test]
    fn a_patch_of_another_sublevel_is_refused() {
        let patch = patch_of_name("patch-6.6.147-rt77.patch.xz").unwrap();
        assert!(fits(patch, "6.6.147".parse().unwrap()).is_ok());
        let error = fits(patch, "6.6.148".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("fits 6.6.147 exactly, but the tree is 6.6.148"), "{error}");
        for name in
            ["patches-6.6.147-rt77.tar.xz", "patch-6.6.147.xz", "6.6.147-rt77.patch", "patch-6.6.147-rt77.patch.sign"]
        {
            assert!(matches!(patch_of_name(name), Err(PatchError::Name(_))), "{name}");
        }
        assert_eq!(patch_of_name("patch-6.6-rt15.patch.gz").unwrap().to_string(), "6.6-rt15");
    }
}
