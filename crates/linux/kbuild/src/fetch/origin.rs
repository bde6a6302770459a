//! Where a source comes from, and what vouches for it.

use punctual_kernel::{Release, Series};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// Where a source comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Origin {
    /// A packed tree with a signature and a signed list of sums beside it, as kernel.org publishes them.
    Tarball {
        /// Its address, or the path of a file.
        url: String,
    },
    /// A git repository.
    Git {
        /// Its address, or path.
        url: String,
        /// Branch or tag.
        reference: String,
        /// The commit that is meant, all its digits.
        commit: Option<String>,
        /// The newest commit of the branch with this release in its Makefile: a patch fits only one.
        release: Option<Release>,
    },
    /// The distribution's package linux-source-X.Y.
    Debian {
        /// Its series; the newest where none is named.
        series: Option<Series>,
    },
    /// A tree that is there.
    Tree {
        /// Where.
        path: PathBuf,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Tarball { url } => f.write_str(url),
            Origin::Git { url, reference, .. } => write!(f, "{reference} of {url}"),
            Origin::Debian { series: Some(series) } => write!(f, "linux-source-{series}"),
            Origin::Debian { series: None } => f.write_str("the newest linux-source"),
            Origin::Tree { path } => write!(f, "the tree {}", path.display()),
        }
    }
}

/// What to fetch.
#[derive(Clone, Debug)]
pub struct Request {
    /// From where.
    pub origin: Origin,
    /// Keys that may have signed it, as `gpg --export KEY > FILE` writes them.
    pub keyring: Option<PathBuf>,
    /// Where the signature is, if not beside the tarball: address or path.
    pub sign: Option<String>,
    /// Where `sha256sums.asc` is, if not beside the tarball.
    pub sums: Option<String>,
    /// Take a branch that nobody signed; it is noted.
    pub unsigned: bool,
    /// A published real-time patch to apply: its file's address or path (`patch-A.B.C-rtN.patch.xz`), or with a slash at its end
    /// the folder that has those of the series: then the one for exactly the source's release.
    pub patch: Option<String>,
    /// Where the patch's signature is, if not beside it.
    pub patch_sign: Option<String>,
    /// The folder.
    pub out: PathBuf,
}

impl Request {
    /// The release that was asked for, where one was.
    pub(super) fn release(&self) -> Option<Release> {
        match &self.origin {
            Origin::Git { release, .. } => *release,
            _ => None,
        }
    }
}

/// What vouches for a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Proof {
    /// gpgv(1): the tree's signature and the list with its sum.
    Signed {
        /// Fingerprint of the key that signed the tree.
        tree_key: String,
        /// Fingerprint of the key that signed the list.
        sums_key: String,
    },
    /// A signed tag.
    SignedTag {
        /// Fingerprint of its key.
        key: String,
    },
    /// The user named the commit: its name is a sum of its content.
    NamedCommit,
    /// apt-secure(8).
    Apt {
        /// The package.
        package: String,
        /// Its version.
        version: String,
    },
    /// Nothing.
    None {
        /// Why it was taken.
        why: String,
    },
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Proof::Signed { tree_key, sums_key } => write!(f, "signed by {tree_key}, its sum by {sums_key}"),
            Proof::SignedTag { key } => write!(f, "the tag is signed by {key}"),
            Proof::NamedCommit => f.write_str("the commit was named by the user"),
            Proof::Apt { package, version } => write!(f, "{package} {version}, checked by apt"),
            Proof::None { why } => write!(f, "not signed: {why}"),
        }
    }
}

/// What a way of fetching brought.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The tree.
    pub tree: PathBuf,
    /// What vouches for it.
    pub proof: Proof,
    /// Of the packed tree.
    pub sha256: Option<String>,
    /// Of a repository.
    pub commit: Option<String>,
    /// Its date, seconds since 1970; `None`: that of its Makefile.
    pub epoch: Option<u64>,
}

/// A fetched source: `manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceManifest {
    /// Of this file; 1.
    pub format: u32,
    /// From where.
    pub origin: Origin,
    /// VERSION, PATCHLEVEL, SUBLEVEL of its Makefile.
    pub release: Release,
    /// What vouches for it.
    pub proof: Proof,
    /// The patch that was applied; `None`: none was.
    #[serde(default)]
    pub patch: Option<super::Patch>,
    /// SHA-256 of the packed tree.
    pub sha256: Option<String>,
    /// The commit.
    pub commit: Option<String>,
    /// The folder of the source.
    pub tree: PathBuf,
    /// Its date, seconds since 1970: the date of what is built from it (reproducible-builds.org, SOURCE_DATE_EPOCH).
    pub epoch: u64,
}
