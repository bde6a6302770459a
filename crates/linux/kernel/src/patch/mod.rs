//! Published real-time patches: which fits a tree exactly ([`index`]), who signed it ([`signature`]), whether it applies without
//! guessing, and applying it ([`apply`]).

pub mod apply;
pub mod index;
pub mod signature;
mod unpack;

pub use crate::programs::ProgramError;
pub use unpack::unpack;

use crate::{Patched, Release};
use std::path::Path;

/// Why a patch is not used.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// A program or file.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// No published patch is for this release.
    #[error("no published patch fits {release} exactly{near}: unpack the release of a patch; never force one")]
    NoMatch {
        /// The tree's.
        release: Release,
        /// The nearest there are.
        near: String,
    },
    /// The patch may be among the older ones, which were not given.
    #[error("the index has no patch for {0}: it may lie in older/, save that page too (--older)")]
    LookInOlder(Release),
    /// It has no signature.
    #[error("{0} has no .sign beside it in the index: it is not used")]
    Unsigned(String),
    /// The file's name does not tell what it is for.
    #[error("{0}: a real-time patch is called patch-A.B.C-rtN.patch, .xz or .gz: keep the published name")]
    Name(String),
    /// It is for another release.
    #[error("{patch} fits {wanted} exactly, and the tree is {tree}: fetch the patch of {tree}, or unpack {wanted}")]
    OtherRelease {
        /// The patch.
        patch: Patched,
        /// Its release.
        wanted: Release,
        /// The tree's.
        tree: Release,
    },
    /// The tree has one already.
    #[error("{0} has a file localversion-rt: it is patched already; unpack it anew")]
    AlreadyPatched(String),
    /// It is no kernel tree.
    #[error(
        "{0}: its Makefile does not begin with VERSION, PATCHLEVEL and SUBLEVEL: name an unpacked kernel source (--tree)"
    )]
    NoTree(String),
    /// The packed file is damaged or too large.
    #[error("{name}: {why}: fetch it again")]
    Damaged {
        /// The file.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// The signature does not hold.
    #[error("{name}: {why}; the file is not used")]
    Signature {
        /// The file.
        name: String,
        /// What gpgv says.
        why: String,
    },
    /// Hunks do not fit.
    #[error("the patch does not fit the tree exactly (fuzz 0), nothing was changed:\n{0}")]
    Rejected(String),
    /// It broke off while it was applied.
    #[error(
        "{tree}: the patch broke off while it was applied: {why}; the tree is of no use: look for room (df -h) and fetch it anew"
    )]
    Broken {
        /// The tree.
        tree: String,
        /// What patch(1) says.
        why: String,
    },
}

/// The release of an unpacked kernel source, by the first lines of its Makefile.
///
/// # Errors
/// It cannot be read, is no kernel source, or has a real-time patch already.
pub fn tree_release(tree: &Path) -> Result<Release, PatchError> {
    let path = tree.join("Makefile");
    let text = std::fs::read_to_string(&path).map_err(ProgramError::file("read", &path))?;
    if tree.join("localversion-rt").exists() {
        return Err(PatchError::AlreadyPatched(tree.display().to_string()));
    }
    makefile_release(&text).ok_or_else(|| PatchError::NoTree(tree.display().to_string()))
}

/// VERSION, PATCHLEVEL and SUBLEVEL.
pub fn makefile_release(makefile: &str) -> Option<Release> {
    let value = |name: &str| {
        let mut lines = makefile.lines().take(10);
        lines.find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('=').map(str::trim))
    };
    format!("{}.{}.{}", value("VERSION")?, value("PATCHLEVEL")?, value("SUBLEVEL")?).parse().ok()
}

/// For which release a patch is, by its published name.
///
/// # Errors
/// It has another name.
pub fn patch_of_name(name: &str) -> Result<Patched, PatchError> {
    let stem = name.strip_suffix(".xz").or_else(|| name.strip_suffix(".gz")).unwrap_or(name);
    let version = stem.strip_prefix("patch-").and_then(|s| s.strip_suffix(".patch"));
    version.and_then(|v| v.parse().ok()).ok_or_else(|| PatchError::Name(name.to_owned()))
}

/// Is the patch for exactly this release?
///
/// # Errors
/// It is for another sublevel.
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
    fn the_makefile_tells_the_release() {
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
        assert!(error.contains("fits 6.6.147 exactly, and the tree is 6.6.148"), "{error}");
        for name in
            ["patches-6.6.147-rt77.tar.xz", "patch-6.6.147.xz", "6.6.147-rt77.patch", "patch-6.6.147-rt77.patch.sign"]
        {
            assert!(matches!(patch_of_name(name), Err(PatchError::Name(_))), "{name}");
        }
        assert_eq!(patch_of_name("patch-6.6-rt15.patch.gz").unwrap().to_string(), "6.6-rt15");
    }
}
