//! Applies a patch without guessing: patch(1) with fuzz 0, after a dry run.

use super::PatchError;
use crate::programs::{last_lines, run};
use std::path::Path;
use std::process::Command;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fits {
    pub files: usize,
    /// Number of hunks that apply at lines other than those stated in the patch: their context matches exactly, but the
    /// patch was made for another tree.
    pub moved: usize,
}

/// Tests a patch without changing anything.
///
/// # Errors
/// A hunk does not fit with its whole context, or is already applied.
pub fn dry_run(tree: &Path, patch: &[u8]) -> Result<Fits, PatchError> {
    let (is_good, said) = ran(tree, patch, &["--dry-run"])?;
    let bad = |line: &&str| {
        ["FAILED", "fuzz", "Reversed", "can't find", "malformed", "dangerous", "garbage"]
            .iter()
            .any(|w| line.contains(w))
    };
    let refused: Vec<&str> = said.lines().filter(bad).take(8).collect();
    let files = said.lines().filter(|line| line.starts_with("checking file ")).count();
    if !is_good || !refused.is_empty() || files == 0 {
        let why = if refused.is_empty() { last_lines(&said, 4) } else { refused.join("\n") };
        return Err(PatchError::Rejected(why));
    }
    let moved = said.lines().filter(|line| line.contains("(offset ")).count();
    Ok(Fits { files, moved })
}

/// Applies a patch to a tree after a dry run.
///
/// # Errors
/// Any patch that [`dry_run`] refuses leaves the tree unchanged. If writing fails (disk full), the tree is inconsistent
/// and has to be unpacked again.
pub fn apply(tree: &Path, patch: &[u8]) -> Result<Fits, PatchError> {
    let fits = dry_run(tree, patch)?;
    match ran(tree, patch, &["--no-backup-if-mismatch"])? {
        (true, _) => Ok(fits),
        (false, said) => Err(PatchError::Broken { tree: tree.display().to_string(), why: last_lines(&said, 4) }),
    }
}

fn ran(tree: &Path, patch: &[u8], words: &[&str]) -> Result<(bool, String), PatchError> {
    let mut command = Command::new("patch");
    command.args(["-p1", "--fuzz=0", "--forward", "--batch", "--reject-file=-"]).args(words).arg("-d").arg(tree);
    let ran = run(command.env_remove("POSIXLY_CORRECT"), patch, "apt-get install patch")?;
    Ok((ran.status.success(), ran.said()))
}
