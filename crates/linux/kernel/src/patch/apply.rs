//! Does a patch fit a tree without guessing, and what does it change? patch(1) with fuzz 0, first as a dry run.

use super::PatchError;
use crate::programs::{last_lines, run};
use std::path::Path;
use std::process::Command;

/// What a dry run found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fits {
    /// Files it changes.
    pub files: usize,
    /// Hunks that fit at other lines than those told: the context is exact, but the tree is not the one it was made for.
    pub moved: usize,
}

/// Tries a patch on a tree and changes nothing.
///
/// # Errors
/// A hunk does not fit with its whole context, or is in the tree already.
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

/// Applies a patch to a tree, after a dry run.
///
/// # Errors
/// What [`dry_run`] refuses leaves the tree as it was; where writing fails (no room) the tree is neither, and has to be unpacked anew.
pub fn apply(tree: &Path, patch: &[u8]) -> Result<Fits, PatchError> {
    let fits = dry_run(tree, patch)?;
    match ran(tree, patch, &["--no-backup-if-mismatch"])? {
        (true, _) => Ok(fits),
        (false, said) => Err(PatchError::Broken { tree: tree.display().to_string(), why: last_lines(&said, 4) }),
    }
}

/// Did it end well, and what did it say?
fn ran(tree: &Path, patch: &[u8], words: &[&str]) -> Result<(bool, String), PatchError> {
    let mut command = Command::new("patch");
    command.args(["-p1", "--fuzz=0", "--forward", "--batch", "--reject-file=-"]).args(words).arg("-d").arg(tree);
    let ran = run(command.env_remove("POSIXLY_CORRECT"), patch, "apt-get install patch")?;
    Ok((ran.status.success(), ran.said()))
}
