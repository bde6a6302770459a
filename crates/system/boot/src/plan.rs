//! What a change comes to, as data: nothing here is carried out.

use crate::Change;
use crate::read::BootError;
use crate::words::Unchangeable;
use punctual_model::{Argv, Back, Command, Draft, Edit, Step};

/// A command and why it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// What it does, in words.
    pub what: String,
    /// The command, how it is taken back, and what it writes.
    pub command: Command,
}

impl Run {
    pub(crate) fn new(what: impl Into<String>, argv: Argv, back: Back, rewrites: &[&str]) -> Run {
        let rewrites = rewrites.iter().map(|path| path.into()).collect();
        Run { what: what.into(), command: Command { argv, back, rewrites, draft: None } }
    }

    /// The same, with the file it writes made under another name first.
    pub(crate) fn drafted(mut self, draft: Draft) -> Run {
        self.command.draft = Some(draft);
        self
    }
}

/// Why something asked for is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub why: String,
    /// What a person can do instead, where that is known: a file and the line to change in it, or a command.
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

/// The new parameters booted once; nothing of what boots by default is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The new command line of that boot, words, as far as the files tell it.
    pub words: Vec<String>,
    /// Files to write beforehand. Taken away or put back afterwards, also when the parameters are kept.
    pub edits: Vec<Edit>,
    /// Selects the entry for the next boot only; `None` where a person selects it in the loader's menu.
    pub arm: Option<Run>,
    /// Boots it.
    pub reboot: Argv,
    /// Is nobody needed at the machine: does a boot that fails return to the old parameters by itself?
    pub unattended: bool,
    /// What brings the old parameters back, and what does not.
    pub fallback: String,
    /// How the running trial is told from an ordinary boot.
    pub visible: String,
}

/// How a change is made for good.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The words configured now.
    pub before: Vec<String>,
    /// The words configured afterwards.
    pub after: Vec<String>,
    /// Files, first.
    pub edits: Vec<Edit>,
    /// Commands that make the change, after the files.
    pub commands: Vec<Run>,
    /// Commands that carry the change to what the loader reads, last.
    pub refresh: Vec<Run>,
    /// One boot with it, or why there is none.
    pub trial: Option<Trial>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// Why it is not done; then nothing else is planned.
    pub refused: Vec<Refusal>,
    /// The change that takes the parameters back to those before, by meaning; bytes are put back from the originals.
    pub back: Change,
}

impl Plan {
    /// Is the change already there?
    pub fn is_done(&self) -> bool {
        self.refused.is_empty() && self.edits.is_empty() && self.commands.is_empty()
    }

    /// All of it in the order in which it is carried out.
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

/// What leads from the words after back to those before. Of several values of which one counts, the last.
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

/// Why there is no plan.
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
                format!("`{word}` is there already, and the order of page sizes and counts matters"),
                "remove the parameters hugepagesz, hugepages and default_hugepagesz first",
            ),
            Unchangeable::Quote(word) => Refusal::by_hand(
                format!("a quote is not closed: `{word}`"),
                "close it: what is added behind it would be part of that word",
            ),
        })
    }
}
