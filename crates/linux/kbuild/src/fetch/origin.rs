use punctual_kernel::{Release, Series};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Origin {
    /// A tarball, its signature, and a signed list of checksums, as published by kernel.org.
    Tarball {
        /// URL or path of the tarball.
        url: String,
    },
    Git {
        /// URL or path of the repository.
        url: String,
        reference: String,
        /// Full hash of the commit to fetch.
        commit: Option<String>,
        /// If set, take the newest commit of the branch with this release in its Makefile, because a patch fits only
        /// one release.
        release: Option<Release>,
    },
    /// The distribution's package linux-source-X.Y; the newest one unless a series is given.
    Debian {
        series: Option<Series>,
    },
    Tree {
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

#[derive(Clone, Debug)]
pub struct Request {
    pub origin: Origin,
    /// Accepted keys, as written by `gpg --export KEY > FILE`.
    pub keyring: Option<PathBuf>,
    /// URL or path of the signature, if it is not next to the tarball.
    pub sign: Option<String>,
    /// URL or path of `sha256sums.asc`, if it is not next to the tarball.
    pub sums: Option<String>,
    /// True to accept an unsigned branch; the manifest records this.
    pub unsigned: bool,
    /// A published real-time patch to apply: the address or path of its file (`patch-A.B.C-rtN.patch.xz`), or with a
    /// trailing slash the folder of the series' patches, of which the one for exactly the source's release is taken.
    pub patch: Option<String>,
    /// URL or path of the patch's signature, if it is not next to the patch.
    pub patch_sign: Option<String>,
    pub out: PathBuf,
}

impl Request {
    pub(super) fn release(&self) -> Option<Release> {
        match &self.origin {
            Origin::Git { release, .. } => *release,
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Proof {
    /// Verified with gpgv(1): the signatures of the tarball and of the list that contains its checksum.
    Signed {
        tree_key: String,
        sums_key: String,
    },
    SignedTag {
        key: String,
    },
    /// The user gave the commit, whose hash covers the content.
    NamedCommit,
    /// Verified by apt (apt-secure(8)).
    Apt {
        package: String,
        version: String,
    },
    None {
        why: String,
    },
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Proof::Signed { tree_key, sums_key } => write!(f, "signed by {tree_key}, its checksum by {sums_key}"),
            Proof::SignedTag { key } => write!(f, "the tag is signed by {key}"),
            Proof::NamedCommit => f.write_str("the commit was given by the user"),
            Proof::Apt { package, version } => write!(f, "{package} {version}, verified by apt"),
            Proof::None { why } => write!(f, "not signed: {why}"),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Taken {
    pub tree: PathBuf,
    pub proof: Proof,
    /// Checksum of the tarball.
    pub sha256: Option<String>,
    /// Commit of the repository.
    pub commit: Option<String>,
    /// Date in seconds since 1970; `None` to use the date of the Makefile.
    pub epoch: Option<u64>,
}

/// A fetched source: `manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceManifest {
    /// Version of this format: 1.
    pub format: u32,
    pub origin: Origin,
    pub release: Release,
    pub proof: Proof,
    #[serde(default)]
    pub patch: Option<super::Patch>,
    /// Checksum of the tarball.
    pub sha256: Option<String>,
    pub commit: Option<String>,
    pub tree: PathBuf,
    /// Date of the source and of everything built from it, in seconds since 1970 (reproducible-builds.org,
    /// SOURCE_DATE_EPOCH).
    pub epoch: u64,
}
