//! Does a patch fit a tree without guessing? patch(1) with fuzz 0, as a dry run.

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
    let mut command = Command::new("patch");
    command.args(["-p1", "--dry-run", "--fuzz=0", "--forward", "--batch", "--reject-file=-", "-d"]).arg(tree);
    let ran = run(command.env_remove("POSIXLY_CORRECT"), patch, "apt-get install patch")?;
    let said = ran.said();
    let bad = |line: &&str| {
        ["FAILED", "fuzz", "Reversed", "can't find", "malformed", "dangerous", "garbage"]
            .iter()
            .any(|w| line.contains(w))
    };
    let refused: Vec<&str> = said.lines().filter(bad).take(8).collect();
    let files = said.lines().filter(|line| line.starts_with("checking file ")).count();
    if !ran.status.success() || !refused.is_empty() || files == 0 {
        let why = if refused.is_empty() { last_lines(&said, 4) } else { refused.join("\n") };
        return Err(PatchError::Rejected(why));
    }
    let moved = said.lines().filter(|line| line.contains("(offset ")).count();
    Ok(Fits { files, moved })
}
