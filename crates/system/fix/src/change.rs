//! One change with what was before, as the journal keeps it.

use crate::form::Form;
use crate::system::Attributes;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use punctual_model::{Argv, Back, Draft};
use punctual_units::{CpuList, Scheduling};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A file as it was or is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its content: base64.
    content: String,
    /// Owner, permissions, time.
    pub attributes: Attributes,
}

impl Kept {
    /// From its content.
    pub fn new(content: &[u8], attributes: Attributes) -> Kept {
        Kept { content: STANDARD.encode(content), attributes }
    }

    /// Its content; nothing where the journal's checksum was right and its content nonsense.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.content).ok()
    }

    /// Byte for byte the same, whoever owns it?
    pub fn is_same_as(&self, other: &Kept) -> bool {
        self.content == other.content
    }
}

/// A thread beyond doubt: numbers are used again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its process.
    pub pid: u32,
    /// Itself.
    pub tid: u32,
    /// When it started, clock ticks since boot: field 22 of /proc/PID/task/TID/stat.
    pub start_ticks: u64,
    /// Its name then.
    pub name: String,
}

/// What is changed, and what was before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Change {
    /// A value of the running kernel.
    Value {
        /// Its file.
        path: PathBuf,
        /// As it read before.
        old: String,
        /// As it is written.
        new: String,
        /// What both are compared by.
        form: Form,
        /// Values that the kernel changes together with it, as they read before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        beside: Vec<(PathBuf, String)>,
    },
    /// A file.
    File {
        /// Where.
        path: PathBuf,
        /// `None`: there was none.
        old: Option<Kept>,
        /// `None`: it is removed.
        new: Option<Kept>,
    },
    /// A folder that is made.
    Folder {
        /// Where.
        path: PathBuf,
    },
    /// Policy and priority of a thread.
    Scheduling {
        /// Which.
        thread: Thread,
        /// Before.
        old: Scheduling,
        /// SCHED_FLAG_RESET_ON_FORK, before and after.
        reset_on_fork: bool,
        /// After.
        new: Scheduling,
    },
    /// The CPUs of a thread.
    Affinity {
        /// Which.
        thread: Thread,
        /// Before.
        old: CpuList,
        /// After.
        new: CpuList,
    },
    /// A command.
    Command {
        /// What is run.
        argv: Argv,
        /// How it is taken back.
        back: Back,
        /// Files that it writes, as they were.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<(PathBuf, Option<Kept>)>,
        /// One of them that it makes under another name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        draft: Option<Draft>,
        /// Does it outlast a reboot?
        lasting: bool,
    },
}

impl Change {
    /// Is it gone by itself after a reboot?
    pub fn is_of_one_boot(&self) -> bool {
        match self {
            Change::Value { .. } | Change::Scheduling { .. } | Change::Affinity { .. } => true,
            Change::Folder { path } => path.starts_with("/sys") || path.starts_with("/run"),
            Change::File { path, .. } => path.starts_with("/run"),
            Change::Command { lasting, .. } => !lasting,
        }
    }

    /// What it is about: a path, a thread, a command.
    pub fn subject(&self) -> String {
        match self {
            Change::Value { path, .. } | Change::File { path, .. } | Change::Folder { path } => {
                path.display().to_string()
            }
            Change::Scheduling { thread, .. } | Change::Affinity { thread, .. } => {
                format!("{} (thread {})", thread.name, thread.tid)
            }
            Change::Command { argv, .. } => argv.line(),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.subject();
        match self {
            Change::Value { old, new, form, .. } => {
                write!(f, "{subject}: {} -> {}", shown(&form.value(old, new)), shown(&form.value(new, new)))
            }
            Change::File { old: None, .. } => write!(f, "{subject}: new file"),
            Change::File { new: None, .. } => write!(f, "{subject}: removed"),
            Change::File { .. } => write!(f, "{subject}: changed"),
            Change::Folder { .. } => write!(f, "{subject}: new folder"),
            Change::Scheduling { old, new, .. } => write!(f, "{subject}: {old} -> {new}"),
            Change::Affinity { old, new, .. } => write!(f, "{subject}: CPU {old} -> {new}"),
            Change::Command { draft: Some(draft), .. } => {
                write!(f, "{subject}, which becomes {}", draft.path.display())
            }
            Change::Command { draft: None, .. } => write!(f, "{subject}"),
        }
    }
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "(empty)" } else { value }
}
