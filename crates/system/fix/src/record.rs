//! Records of the journal.

use crate::change::{Change, Kept};
use crate::journal::State;
use punctual_journal::Owner;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub(crate) enum Record {
    /// A set of changes that belong together begins.
    Begun {
        set: u64,
        boot: String,
        owner: Option<Owner>,
        confirm_by_s: Option<u64>,
    },
    Deadline {
        set: u64,
        confirm_by_s: u64,
    },
    /// All changes of a set were made.
    Ended {
        set: u64,
    },
    Confirmed {
        set: u64,
    },
    Planned {
        entry: u64,
        set: u64,
        rule: String,
        boot: String,
        change: Change,
    },
    /// Contents that a command left in its files.
    After {
        entry: u64,
        files: Vec<(PathBuf, Option<Kept>)>,
    },
    State {
        entry: u64,
        state: State,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// Records missing from both copies.
    Lost {
        what: Vec<String>,
        /// Numbers of the lost records, as far as known.
        gaps: Vec<(u64, u64)>,
    },
    /// The loss of records was accepted.
    Accepted,
}

impl Record {
    /// Returns true if these records are known to be lost.
    pub(crate) fn explains(&self, gap: (u64, u64)) -> bool {
        matches!(self, Record::Lost { gaps, .. } if gaps.contains(&gap))
    }
}
