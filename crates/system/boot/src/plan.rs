//! Data types for a planned change. Nothing here executes it.

use crate::Change;
use crate::read::BootError;
use crate::words::Unchangeable;
use punctual_model::{Argv, Back, Command, Draft, Edit, Step};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub what: String,
    /// The command, the files it writes, and how to undo it.
    pub command: Command,
}

impl Run {
    pub(crate) fn new(what: impl Into<String>, argv: Argv, back: Back, rewrites: &[&str]) -> Run {
        let rewrites = rewrites.iter().map(|path| path.into()).collect();
        Run { what: what.into(), command: Command { argv, back, rewrites, draft: None } }
    }

    /// Makes the command write its file under another name first.
    pub(crate) fn drafted(mut self, draft: Draft) -> Run {
        self.command.draft = Some(draft);
        self
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub why: String,
    /// How to make the change manually, if known: a file and the line to change in it, or a command.
    pub by_hand: Option<String>,
}

impl Refusal {
    pub(crate) fn new(why: impl Into<String>) -> Refusal {
        Refusal { why: why.into(), by_hand: None }
    }

    pub(crate) fn by_hand(why: impl Into<String>, by_hand: impl Into<String>) -> Refusal {
        Refusal { why: why.into(), by_hand: Some(by_hand.into()) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The command line of the trial boot, as far as the files show.
    pub words: Vec<String>,
    /// Files to write before the trial boot. They are removed or restored after it, even if the parameters are kept.
    pub edits: Vec<Edit>,
    /// Command that selects the entry for the next boot only; `None` if the user has to choose it in the boot loader's
    /// menu.
    pub arm: Option<Run>,
    pub reboot: Argv,
    /// True if the boot after a failed one uses the old parameters without user action.
    pub unattended: bool,
    pub fallback: String,
    /// How to recognise that the trial is running.
    pub visible: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub before: Vec<String>,
    pub after: Vec<String>,
    /// Files to write first.
    pub edits: Vec<Edit>,
    /// Commands to run after the edits, which make the change.
    pub commands: Vec<Run>,
    /// Commands to run last, which regenerate the files that the boot loader reads.
    pub refresh: Vec<Run>,
    pub trial: Option<Trial>,
    pub notes: Vec<String>,
    /// Why the change is refused; if not empty, nothing else is planned.
    pub refused: Vec<Refusal>,
    /// The change that restores the previous parameters. It does not necessarily restore every byte of the files, for
    /// which the original files are needed.
    pub back: Change,
}

impl Plan {
    pub fn is_done(&self) -> bool {
        self.refused.is_empty() && self.edits.is_empty() && self.commands.is_empty()
    }

    pub fn steps(&self) -> Vec<Step> {
        let edits = self.edits.iter().cloned().map(Step::Edit);
        let commands = self.commands.iter().chain(&self.refresh).map(|run| Step::Run(run.command.clone()));
        edits.chain(commands).collect()
    }

    pub(crate) fn refuse(refusal: Refusal) -> Plan {
        Plan { refused: vec![refusal], ..Plan::default() }
    }

    pub(crate) fn words(before: Vec<String>, after: Vec<String>) -> Plan {
        let back = back(&before, &after);
        Plan { before, after, back, ..Plan::default() }
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Plan {
        self.notes.push(note.into());
        self
    }
}

/// Returns the change that turns `after` into `before`. For a parameter with a single value, only its last word in
/// `before` is restored.
fn back(before: &[String], after: &[String]) -> Change {
    use crate::words::{is_cumulative, is_pages, is_same, key};
    let missing = |from: &[String], of: &[String]| -> Vec<String> {
        of.iter().filter(|word| !from.iter().any(|other| is_same(other, word))).cloned().collect()
    };
    let gone = missing(after, before);
    let counts = |n: &usize, word: &String| {
        is_cumulative(word) || is_pages(word) || !gone.iter().skip(n + 1).any(|later| key(later) == key(word))
    };
    let add = gone.iter().enumerate().filter(|(n, word)| counts(n, word)).map(|(_, word)| word.clone()).collect();
    Change { add, remove: missing(before, after) }
}

#[derive(Debug)]
pub(crate) struct Stop(pub Refusal);

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop(refusal)
    }
}

impl From<BootError> for Stop {
    fn from(error: BootError) -> Stop {
        Stop(Refusal::new(error.to_string()))
    }
}

impl From<Unchangeable> for Stop {
    fn from(why: Unchangeable) -> Stop {
        Stop(match why {
            Unchangeable::Order(word) => Refusal::by_hand(
                format!("`{word}` already exists, and the order of page sizes and counts matters"),
                "remove the parameters hugepagesz, hugepages and default_hugepagesz first",
            ),
            Unchangeable::Quote(word) => Refusal::by_hand(
                format!("a quote is not closed: `{word}`"),
                "close it: text added after it would become part of that word",
            ),
        })
    }
}
