//! A change with the old state, as stored in the journal.

use crate::form::Form;
use crate::system::Attributes;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use punctual_model::{Argv, Back, Draft};
use punctual_units::{CpuList, Scheduling};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Content, encoded in base64.
    content: String,
    pub attributes: Attributes,
}

impl Kept {
    pub fn new(content: &[u8], attributes: Attributes) -> Kept {
        Kept { content: STANDARD.encode(content), attributes }
    }

    /// Returns the decoded content; `None` if it is not valid base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.content).ok()
    }

    /// Returns true if the contents are equal. Attributes are not compared.
    pub fn is_same_as(&self, other: &Kept) -> bool {
        self.content == other.content
    }
}

/// Identifies a thread, even if the kernel uses its ID again for another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    pub pid: u32,
    pub tid: u32,
    /// Start time of the thread in clock ticks since boot (field 22 of /proc/PID/task/TID/stat).
    pub start_ticks: u64,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Change {
    Value {
        path: PathBuf,
        /// Value read before the change.
        old: String,
        /// Value to write.
        new: String,
        /// How `old` and `new` are compared.
        form: Form,
        /// Values that the kernel changes together with this one, with their contents before the change.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        beside: Vec<(PathBuf, String)>,
    },
    File {
        path: PathBuf,
        /// The file before the change; `None` if it did not exist.
        old: Option<Kept>,
        /// The file to write; `None` to remove it.
        new: Option<Kept>,
    },
    Folder {
        path: PathBuf,
    },
    Scheduling {
        thread: Thread,
        old: Scheduling,
        /// Value of SCHED_FLAG_RESET_ON_FORK, which the change keeps.
        reset_on_fork: bool,
        new: Scheduling,
    },
    Affinity {
        thread: Thread,
        old: CpuList,
        new: CpuList,
    },
    Command {
        argv: Argv,
        back: Back,
        /// Files that the command writes, with their contents before the command runs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<(PathBuf, Option<Kept>)>,
        /// The file that the command first writes under another name; `None` if it writes directly.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        draft: Option<Draft>,
        /// True if the effect continues after a reboot.
        lasting: bool,
    },
}

impl Change {
    /// Returns true if a reboot undoes the change.
    pub fn is_of_one_boot(&self) -> bool {
        match self {
            Change::Value { .. } | Change::Scheduling { .. } | Change::Affinity { .. } => true,
            Change::Folder { path } => path.starts_with("/sys") || path.starts_with("/run"),
            Change::File { path, .. } => path.starts_with("/run"),
            Change::Command { lasting, .. } => !lasting,
        }
    }

    /// Returns the path, thread or command that the change is about.
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
