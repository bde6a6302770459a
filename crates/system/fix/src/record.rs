//! Records of the journal.

use crate::change::{Change, Kept};
use crate::journal::State;
use punctual_journal::Owner;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub(crate) enum Record {
    /// A set of related changes begins.
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
    /// Contents of the files that a command wrote.
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
    /// Records are missing from both copies.
    Lost {
        what: Vec<String>,
        /// First and last number of each range of lost records, as far as known.
        gaps: Vec<(u64, u64)>,
    },
    /// The user accepted the loss of records.
    Accepted,
}

impl Record {
    /// Returns true if this record already states that these records are lost.
    pub(crate) fn explains(&self, gap: (u64, u64)) -> bool {
        matches!(self, Record::Lost { gaps, .. } if gaps.contains(&gap))
    }
}
