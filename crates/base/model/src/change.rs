//! Changes to a system, as plain data: what is to become of a file, a command and how it is taken back. Made by what knows
//! the system (rules, boot chains), carried out, written down and undone elsewhere.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One file as it is to be. Carried out by writing it aside in the same folder and renaming; the original is kept byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Absolute path of the file itself: its last part is never followed if it is a symbolic link.
    pub path: PathBuf,
    /// Its whole content; `None` removes it.
    pub new: Option<Vec<u8>>,
    /// Permission bits; `None`: those it has, 0644 for a new file. File systems without modes (vfat) keep what they have.
    pub mode: Option<u32>,
    /// User and group id; `None`: those it has, the process's own for a new file.
    pub owner: Option<(u32, u32)>,
}

impl Edit {
    /// This content; mode and owner as they are.
    pub fn write(path: impl Into<PathBuf>, new: impl Into<Vec<u8>>) -> Edit {
        Edit { path: path.into(), new: Some(new.into()), mode: None, owner: None }
    }

    /// The file is taken away.
    pub fn remove(path: impl Into<PathBuf>) -> Edit {
        Edit { path: path.into(), new: None, mode: None, owner: None }
    }
}

/// A program and its arguments. Never goes through a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Argv(
    /// The program, looked up in the system's folders when it has no slash, and its arguments.
    pub Vec<String>,
);

impl Argv {
    /// From words.
    pub fn new<S: Into<String>>(words: impl IntoIterator<Item = S>) -> Argv {
        Argv(words.into_iter().map(Into::into).collect())
    }

    /// As one would type it: words with anything but plain characters stand in single quotes.
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

/// How a command is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Back {
    /// By this command, in its turn (from the last step to the first).
    By(Argv),
    /// By the same command once more, after every edit of the change is undone: update-grub, `systemctl daemon-reload`.
    Again,
    /// There is nothing to take back.
    Nothing,
    /// Not by the tool; how a person does it.
    Manual(String),
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What is run, as root.
    pub argv: Argv,
    /// How it is taken back.
    pub back: Back,
    /// Files it writes (`/boot/grub/grub.cfg`, entries of a boot loader): kept beforehand, and byte for byte as before after an
    /// undo, whatever `back` left.
    pub rewrites: Vec<PathBuf>,
    /// A file among them that the command makes under another name.
    pub draft: Option<Draft>,
}

/// A file that a command makes anew under another name beside it. Once it is whole it is checked, written and synced as an edit
/// is, and takes the old one's place: a power cut leaves the old one or the new one. grub-mkconfig(8) itself ends with
/// `cat grub.cfg.new > grub.cfg`, without fsync, and a cut in there leaves half a menu (GRUB 2.06, util/grub-mkconfig.in).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Draft {
    /// Where the file belongs.
    pub path: PathBuf,
    /// Where the command makes it. Whatever stands there is removed before and afterwards.
    pub draft: PathBuf,
    /// Other files that the command leaves when it is cut off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<PathBuf>,
    /// Text that has to be in it where it is in the file it replaces.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub needs: String,
    /// Has to end with 0 before the file takes the other's place; a program that is not installed is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Argv>,
}

/// One step of a change; carried out in order, undone from the last to the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A file.
    Edit(Edit),
    /// A command.
    Run(Command),
    /// Only a person can do it: what, and why.
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
