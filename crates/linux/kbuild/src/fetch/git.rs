//! Fetches from a git repository: a single commit if that is enough. For a release of a branch (a patch fits one
//! sublevel) it deepens the history as far as needed, without the files of other commits. Fetched data is kept.

use super::patched::Wanted as Patch;
use super::{Origin, Proof, Request, TREE, Taken};
use crate::KbuildError;
use crate::files::{aside, make_folder, remove_folder};
use punctual_kernel::Release;
use punctual_kernel::patch::{makefile_release, signature};
use punctual_kernel::programs::{last_lines, run};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Additional commits of history per step; a stable release has a few hundred.
const DEEPER: u32 = 3000;
/// Maximum number of steps; a branch of the Raspberry Pi tree adds fewer commits than these steps fetch.
const STEPS: u32 = 20;
const SIGNATURE: &str = "-----BEGIN PGP SIGNATURE-----";

struct Wanted<'r> {
    url: &'r str,
    reference: &'r str,
    commit: Option<&'r str>,
    release: Option<Release>,
    /// If set, only a release to which this patch can be applied is accepted.
    patch: Option<&'r Patch<'r>>,
}

impl Wanted<'_> {
    fn is(&self, release: Release) -> bool {
        self.release.is_none_or(|wanted| wanted == release) && self.patch.is_none_or(|patch| patch.has(release))
    }

    fn named(&self) -> String {
        let release = self.release.map_or("a release with a signed patch".to_owned(), |release| release.to_string());
        format!("{release} of {}", self.reference)
    }
}

pub fn fetch(
    request: &Request,
    patch: Option<&Patch>,
    out: &Path,
    report: &mut dyn FnMut(&str),
) -> Result<Taken, KbuildError> {
    let Origin::Git { url, reference, commit, release } = &request.origin else {
        return Err(KbuildError::Usage("no repository is given (--git)".to_owned()));
    };
    let wanted = Wanted { url, reference, commit: commit.as_deref(), release: *release, patch };
    sane(&wanted)?;
    let tree = out.join(TREE);
    let making = aside(&tree);
    if tree.join(".git").is_dir() && !making.exists() {
        // The tree is complete, but a later step failed, so a patch may be half applied.
        fs::rename(&tree, &making).map_err(KbuildError::file("rename", &tree))?;
        let swept = git(&making, &["reset", "--quiet", "--hard"]).and_then(|_| git(&making, &["clean", "-ffdxq"]));
        if swept.is_err() {
            remove_folder(&making)?;
        }
    }
    remove_folder(&tree)?;
    if !making.join(".git").is_dir() {
        make_folder(&making)?;
        git(&making, &["init", "--quiet"])?;
    }
    report(&format!("fetching {reference} of {url}"));
    let chosen = chosen(&wanted, &making, report)?;
    let proof = proof(request, &wanted, &making)?;
    git(&making, &["-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", "--detach", &chosen])?;
    let date = git(&making, &["show", "-s", "--format=%ct", &chosen])?;
    let epoch = date.trim().parse().ok();
    fs::rename(&making, &tree).map_err(KbuildError::file("rename", &making))?;
    Ok(Taken { tree, proof, sha256: None, commit: Some(chosen), epoch })
}

/// Returns the commit that is checked out.
pub fn head(tree: &Path) -> Result<String, KbuildError> {
    git(tree, &["rev-parse", "HEAD"]).map(|said| said.trim().to_owned())
}

/// Refuses values that git would interpret as options.
fn sane(wanted: &Wanted) -> Result<(), KbuildError> {
    let is_hash = |text: &str| text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit());
    if wanted.url.starts_with('-') || wanted.reference.starts_with('-') || wanted.reference.is_empty() {
        let said =
            format!("`{}` of `{}` is not a branch of a repository (--branch, --git)", wanted.reference, wanted.url);
        return Err(KbuildError::Usage(said));
    }
    match wanted.commit {
        Some(commit) if !is_hash(commit) => {
            Err(KbuildError::Usage(format!("`{commit}` is not a full commit hash: give all 40 digits (--commit)")))
        }
        _ => Ok(()),
    }
}

fn chosen(wanted: &Wanted, making: &Path, report: &mut dyn FnMut(&str)) -> Result<String, KbuildError> {
    if wanted.commit.is_some() || (wanted.release.is_none() && wanted.patch.is_none()) {
        let what = wanted.commit.unwrap_or(wanted.reference);
        git(making, &["fetch", "--quiet", "--depth=1", wanted.url, what])?;
        let chosen = git(making, &["rev-parse", "FETCH_HEAD^{commit}"])?.trim().to_owned();
        return match wanted.commit {
            Some(commit) if commit != chosen => {
                Err(KbuildError::Usage(format!("{} gave {chosen} for commit {commit}", wanted.url)))
            }
            _ => Ok(chosen),
        };
    }
    // git fetches files of old commits on access (gitglossary(7), promisor remote).
    for (name, value) in [("url", wanted.url), ("promisor", "true"), ("partialclonefilter", "blob:none")] {
        git(making, &["config", &format!("remote.origin.{name}"), value])?;
    }
    for step in 0..STEPS {
        let depth = format!("--depth={}", 1 + step * DEEPER);
        git(making, &["fetch", "--quiet", "--filter=blob:none", &depth, "origin", wanted.reference])?;
        if let Some(commit) = of_release(making, wanted)? {
            return Ok(commit);
        }
        report(&format!("{} is not among the newest {} commits", wanted.named(), 1 + step * DEEPER));
        if !making.join(".git/shallow").exists() {
            break;
        }
    }
    let said = match (wanted.release, wanted.patch) {
        (Some(release), _) => {
            format!("{} was never at {release}: use the patch of a release it was at (older/)", wanted.reference)
        }
        _ => format!(
            "{} was never at a release for which this folder has a signed patch: give another branch or folder (--patch)",
            wanted.reference
        ),
    };
    Err(KbuildError::Usage(said))
}

/// Returns the newest commit of the branch with this release in its Makefile; commits after the merge of the release
/// are included.
fn of_release(making: &Path, wanted: &Wanted) -> Result<Option<String>, KbuildError> {
    let is_release = |commit: &str| -> Result<bool, KbuildError> {
        let text = git(making, &["show", &format!("{commit}:Makefile")])?;
        Ok(makefile_release(&text).is_some_and(|release| wanted.is(release)))
    };
    let tip = git(making, &["rev-parse", "FETCH_HEAD^{commit}"])?.trim().to_owned();
    if is_release(&tip)? {
        return Ok(Some(tip));
    }
    let changes = git(making, &["log", "--first-parent", "--format=%H %P", "FETCH_HEAD", "--", "Makefile"])?;
    for line in changes.lines() {
        // The parent of a change still has the previous release.
        let Some(before) = line.split(' ').nth(1).filter(|parent| !parent.is_empty()) else { continue };
        if git(making, &["cat-file", "-e", before]).is_ok() && is_release(before)? {
            return Ok(Some(before.to_owned()));
        }
    }
    Ok(None)
}

fn proof(request: &Request, wanted: &Wanted, making: &Path) -> Result<Proof, KbuildError> {
    if wanted.commit.is_some() {
        return Ok(Proof::NamedCommit);
    }
    if request.unsigned {
        return Ok(Proof::None { why: "--unsigned: only the connection is trusted".to_owned() });
    }
    let refused = |why: &str| {
        KbuildError::Usage(format!(
            "{} of {} {why}: give a signed tag and --keyring, or a commit hash (--commit), or --unsigned",
            wanted.reference, wanted.url
        ))
    };
    let Some(keyring) = request.keyring.as_deref() else { return Err(refused("was not checked")) };
    // A branch is a commit, a signed tag is a separate object (git-mktag(1)).
    let object = match git(making, &["cat-file", "tag", "FETCH_HEAD"]) {
        Ok(object) => object,
        Err(_) => return Err(refused("is not a signed tag")),
    };
    let Some(at) = object.find(SIGNATURE) else { return Err(refused("has no signature")) };
    let sign = making.join(".git/punctual-tag.sign");
    fs::write(&sign, &object[at..]).map_err(KbuildError::file("write", &sign))?;
    let key = signature::detached(wanted.reference, &object.as_bytes()[..at], &sign, keyring)?;
    Ok(Proof::SignedTag { key })
}

fn git(folder: &Path, words: &[&str]) -> Result<String, KbuildError> {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(words).env("GIT_TERMINAL_PROMPT", "0");
    let ran = run(&mut git, b"", "apt-get install git")?;
    match ran.status.success() {
        true => Ok(String::from_utf8_lossy(&ran.stdout).into_owned()),
        false => Err(KbuildError::Failed {
            what: format!("git {}", words.join(" ")),
            status: ran.status.to_string(),
            said: last_lines(&ran.stderr, 3),
            next: "run the same command again: fetched data is kept".to_owned(),
        }),
    }
}
