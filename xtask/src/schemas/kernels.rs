//! The documents of `kernel …` but `plan`. As in `documents.rs`, nothing is written from these types. Real documents are held against the
//! schemas in cli: tests/it/kernel.rs, tests/it/kbuild.rs, and src/kernel/deploy_documents.rs.

#![allow(dead_code, reason = "only their schemas are used")]

use super::plans::Arch;
use punctual_model as model;
use schemars::JsonSchema;
use serde::Serialize;

/// Of `kernel fetch`.
#[derive(JsonSchema, Serialize)]
pub struct FetchResult {
    /// Of `manifest.json`; 1.
    pub format: u32,
    /// From where.
    pub origin: Origin,
    /// Of the source: `6.12.9`.
    pub release: String,
    /// What vouches for it.
    pub proof: Proof,
    /// The patch that was applied; null: none was.
    pub patch: Option<AppliedPatch>,
    /// SHA-256 of the packed tree, where there was one.
    pub sha256: Option<String>,
    /// The commit, of a repository.
    pub commit: Option<String>,
    /// The folder of the source.
    pub tree: String,
    /// Its date, seconds since 1970.
    pub epoch: u64,
}

/// Where a source was fetched from.
#[derive(JsonSchema, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Origin {
    /// A packed tree.
    Tarball {
        /// Its address or path.
        url: String,
    },
    /// A git repository.
    Git {
        /// Its address or path.
        url: String,
        /// Branch or tag.
        reference: String,
        /// The commit that was named.
        commit: Option<String>,
        /// The release that was asked for.
        release: Option<String>,
    },
    /// The distribution's package.
    Debian {
        /// Its series; null: the newest.
        series: Option<String>,
    },
    /// A tree that was there.
    Tree {
        /// Where.
        path: String,
    },
}

/// What vouches for a source.
#[derive(JsonSchema, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Proof {
    /// The tree's signature and that of the list with its sum.
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
    /// The user named the commit.
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

/// The patch that a source got.
#[derive(JsonSchema, Serialize)]
pub struct AppliedPatch {
    /// What was asked for.
    pub from: String,
    /// Its release and revision.
    pub patched: String,
    /// Fingerprint of the key that signed it.
    pub key: String,
    /// SHA-256 of the packed patch.
    pub sha256: String,
    /// Files it changed.
    pub files: usize,
    /// Hunks that fit at other lines than told.
    pub moved: usize,
}

/// One check of a kernel, a board or a machine.
#[derive(JsonSchema, Serialize)]
pub struct Check {
    /// Its name.
    pub id: String,
    /// How it came out; only `pass` is a pass.
    #[schemars(regex(pattern = r"^(pass|fail|warn|unknown|skip)$"))]
    pub outcome: String,
    /// What was found.
    pub found: String,
    /// What goes wrong otherwise (`preflight`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What to type; null, empty or left out where nothing is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// Of `kernel preflight`.
#[derive(JsonSchema, Serialize)]
pub struct PreflightResult {
    /// The board's key.
    pub board: String,
    /// In the order they were made.
    pub checks: Vec<Check>,
}

/// Of `kernel patch`: a patch that fits a release, or a file that was checked.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub enum PatchResult {
    /// One of an index fits.
    Found {
        /// For which release.
        release: String,
        /// Which, and where.
        found: FoundPatch,
        /// The folder's address.
        base: String,
    },
    /// A file was held against its signature and a tree.
    Checked {
        /// Its release and revision.
        patch: String,
        /// The tree's release.
        release: String,
        /// Fingerprint of the key.
        signed_by: String,
        /// Fingerprint of the key of the list of sums, where there is one.
        sums_signed_by: Option<String>,
        /// Files it changes.
        files: usize,
        /// Hunks that fit at other lines than told.
        hunks_moved: usize,
    },
}

/// A patch of an index.
#[derive(JsonSchema, Serialize)]
pub struct FoundPatch {
    /// Its release and revision.
    pub patched: String,
    /// Its file, below the series' folder.
    pub path: String,
    /// Its signature.
    pub sign: String,
    /// Does it lie in older/?
    pub is_older: bool,
}

/// Of `kernel configure`.
#[derive(JsonSchema, Serialize)]
pub struct ConfigureResult {
    /// The `.config`.
    pub config: String,
    /// Options that were asked for.
    pub requested: usize,
    /// Those that did not come out so.
    pub dropped: Vec<Dropped>,
    /// The audit's rules on configurations.
    pub findings: Vec<model::Finding>,
}

/// An option that did not come out as it was asked for.
#[derive(JsonSchema, Serialize)]
pub struct Dropped {
    /// Without `CONFIG_`.
    pub symbol: String,
    /// What was asked for.
    pub wanted: String,
    /// What it is.
    pub got: String,
    /// Why.
    pub why: String,
}

/// Of `kernel build`.
#[derive(JsonSchema, Serialize)]
pub struct BuildResult {
    /// `uname -r`.
    pub release: String,
    /// The image.
    pub image: String,
    /// What make said.
    pub log: String,
    /// Objects that were to be compiled; null: make could not tell.
    pub objects: Option<usize>,
    /// ARCH of the kernel's make.
    pub arch: Arch,
    /// Seconds, pauses included.
    pub lasted_s: f64,
    /// Seconds paused because of heat.
    pub paused_s: f64,
}

/// Of `kernel package`.
#[derive(JsonSchema, Serialize)]
pub struct PackageResult {
    /// `uname -r`.
    pub release: String,
    /// Of the package.
    pub version: String,
    /// What was checked.
    pub checks: Vec<Check>,
    /// Files that were written; none where a check failed.
    pub files: Vec<String>,
    /// The files of the package, unpacked.
    pub stage: String,
    /// What else to know.
    pub notes: Vec<String>,
}

/// Of `kernel deploy`.
#[derive(JsonSchema, Serialize)]
pub struct DeployResult {
    /// What was checked before anything was changed.
    pub checks: Vec<Check>,
    /// What else to know.
    pub notes: Vec<String>,
    /// `uname -r` of what is in place; null: nothing was changed.
    pub release: Option<String>,
    /// Of the deployment.
    pub id: Option<String>,
}

/// Of `kernel verify`.
#[derive(JsonSchema, Serialize)]
pub struct VerifyResult {
    /// In the order they were made.
    pub checks: Vec<Check>,
}

/// Of `kernel commit`.
#[derive(JsonSchema, Serialize)]
pub struct CommitResult {
    /// What boots from now on.
    pub release: String,
}

/// Of `kernel rollback`.
#[derive(JsonSchema, Serialize)]
pub struct RollbackResult {
    /// `nothing` was deployed; it is `gone`; it is `running`, so its files stay.
    #[schemars(regex(pattern = r"^(nothing|gone|running)$"))]
    pub state: String,
    /// Which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
}

/// Of `kernel status`.
#[derive(JsonSchema, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum StatusResult {
    /// Nothing is deployed.
    Nothing,
    /// A deployment was cut off; nothing boots what is there.
    CutOff {
        /// Which.
        release: String,
    },
    /// The next boot tries it.
    Deployed {
        /// Which.
        release: String,
        /// What boots the trial.
        reboot: Vec<String>,
    },
    /// This boot tries it.
    OnTrial {
        /// Which.
        release: String,
        /// Seconds until it is returned from.
        left_s: u64,
        /// Did its last verification pass? null: there was none.
        is_verified: Option<bool>,
    },
    /// It was tried, and the old one runs.
    Returned {
        /// Which.
        release: String,
        /// Why.
        why: String,
    },
    /// It boots by default.
    Committed {
        /// Which.
        release: String,
        /// Does it run now?
        is_running: bool,
    },
    /// It is being taken away.
    Removing {
        /// Which.
        release: String,
    },
    /// Whether this boot is the trial cannot be told.
    Unknown {
        /// Why.
        why: String,
    },
}
