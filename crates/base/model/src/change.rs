//! Changes to a system as plain data: file edits, and commands with the way to revert them. Audit rules and boot loader
//! code create them. Another crate applies them, records them in the journal and undoes them.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The new state of one file. It is applied by writing a temporary file in the same directory and renaming it. The
/// original is kept byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Absolute path; if the last component is a symbolic link, it is not followed.
    pub path: PathBuf,
    /// The whole new content; `None` removes the file.
    pub new: Option<Vec<u8>>,
    /// Permission bits; `None` keeps the current bits, or uses 0644 for a new file. Ignored by file systems without
    /// permission bits (vfat).
    pub mode: Option<u32>,
    /// User and group ID; `None` keeps the current IDs, or uses the IDs of the process for a new file.
    pub owner: Option<(u32, u32)>,
}

impl Edit {
    /// Replaces the content and keeps mode and owner.
    pub fn write(path: impl Into<PathBuf>, new: impl Into<Vec<u8>>) -> Edit {
        Edit { path: path.into(), new: Some(new.into()), mode: None, owner: None }
    }

    pub fn remove(path: impl Into<PathBuf>) -> Edit {
        Edit { path: path.into(), new: None, mode: None, owner: None }
    }
}

/// A program and its arguments. It is never passed to a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Argv(
    /// The program, looked up in the system's program directories if its name has no slash, followed by its arguments.
    pub Vec<String>,
);

impl Argv {
    pub fn new<S: Into<String>>(words: impl IntoIterator<Item = S>) -> Argv {
        Argv(words.into_iter().map(Into::into).collect())
    }

    /// Returns the command as typed in a shell; words with special characters are quoted.
    pub fn line(&self) -> String {
        self.0.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Back {
    /// Run this command when the step is undone (steps are undone from last to first).
    By(Argv),
    /// Run the same command again after all edits of the change are undone, for example update-grub or
    /// `systemctl daemon-reload`.
    Again,
    Nothing,
    /// This program cannot revert the step. The text describes how the user can.
    Manual(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The command, run as root.
    pub argv: Argv,
    pub back: Back,
    /// Files that the command writes (`/boot/grub/grub.cfg`, boot loader entries). They are saved before the command
    /// runs; an undo runs `back` and then restores them byte for byte.
    pub rewrites: Vec<PathBuf>,
    /// How the command generates one of these files under another name; `None` if it cannot.
    pub draft: Option<Draft>,
}

/// A file that a command generates under another name next to the old one. When the file is complete, it is checked,
/// synced and renamed over the old file, so that a power failure leaves either the old file or the new one.
/// grub-mkconfig(8) itself ends with `cat grub.cfg.new > grub.cfg` without fsync, and a power failure during that copy
/// leaves an incomplete menu (GRUB 2.06, util/grub-mkconfig.in).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Draft {
    pub path: PathBuf,
    /// Path to which the command writes. Any file at this path is removed before the command runs, and again at the
    /// end.
    pub draft: PathBuf,
    /// Other files that the command leaves behind if it is interrupted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<PathBuf>,
    /// Text that the new file must contain if the old file contains it; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub needs: String,
    /// A command that must exit with 0 before the file is replaced; skipped if its program is not installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Argv>,
}

/// One step of a change. Steps are applied in order and undone from last to first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Edit(Edit),
    Run(Command),
    /// A step that only the user can take. The text gives instructions and the reason.
    Manual(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_them_otherwise() {
        assert_eq!(Argv::new(["grubby", "--args=isolcpus=2-3"]).line(), "grubby --args=isolcpus=2-3");
        assert_eq!(Argv::new(["reboot", "0 tryboot", "it's", ""]).line(), r"reboot '0 tryboot' 'it'\''s' ''");
    }
}
