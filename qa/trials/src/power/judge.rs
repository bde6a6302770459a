//! Judges the state of a disk after a power cut.

use super::Path;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;

/// What a guest was doing, according to its last mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Fixing,
    /// The guest was idle, with the fixes applied.
    Fixed,
    Measuring,
    Measured,
    Undoing,
    Undone,
}

/// State of a guest when the power was cut.
pub struct State {
    doing: Doing,
    /// Number of the round of the guest's work.
    round: u32,
}

impl State {
    pub fn of(marks: &[(usize, String)], at: usize) -> State {
        let last = marks.iter().rfind(|(mark, _)| *mark <= at).map_or("", |(_, text)| text.as_str());
        let mut words = last.split(' ');
        let doing = match words.next() {
            Some("fixed") => Doing::Fixed,
            Some("measure") => Doing::Measuring,
            Some("measured") => Doing::Measured,
            Some("undo") => Doing::Undoing,
            Some("undone") => Doing::Undone,
            _ => Doing::Fixing,
        };
        State { doing, round: words.next().and_then(|round| round.parse().ok()).unwrap_or(0) }
    }

    pub fn phase(&self) -> &'static str {
        match self.doing {
            Doing::Fixing => "within fix",
            Doing::Fixed => "behind fix",
            Doing::Measuring => "within prove",
            Doing::Measured => "behind prove",
            Doing::Undoing => "within undo",
            Doing::Undone => "behind undo",
        }
    }

    fn has_fixes(&self) -> bool {
        matches!(self.doing, Doing::Fixed | Doing::Measuring | Doing::Measured)
    }

    /// Returns true if the run of this round must be on the disk.
    fn has_run(&self) -> bool {
        matches!(self.doing, Doing::Measured | Doing::Undoing | Doing::Undone)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, round {}", self.phase(), self.round)
    }
}

/// Result of reading a run directory: exit code, checksum of the document, last line of standard error.
#[derive(Debug, PartialEq, Eq)]
pub struct Reads {
    code: i32,
    sum: String,
    said: String,
}

/// What a guest found on a disk, or had written to it.
#[derive(Debug, Default)]
pub struct Facts {
    codes: BTreeMap<String, i32>,
    sums: BTreeMap<String, String>,
    pub runs: BTreeMap<u32, Reads>,
    open: Option<usize>,
    left: Option<usize>,
    said: String,
}

impl Facts {
    /// Reads what a guest had written, from the files in its folder.
    ///
    /// # Errors
    /// The guest did nothing, or a run could not be read even before a cut.
    pub fn of_work(folder: &Path) -> Result<Facts, String> {
        let read = |name: &str| fs::read_to_string(folder.join(name)).map_err(|e| format!("{name}: {e}"));
        let facts = Facts::parse(&format!("etc {}{}", read("etc")?, read("runs")?));
        match facts.runs.iter().find(|(_, reads)| reads.code != 0) {
            None => Ok(facts),
            Some((run, reads)) => Err(format!("run {run} before any cut, in {}: {reads:?}", folder.display())),
        }
    }

    /// Reads what a guest found on the disk with this name.
    ///
    /// # Errors
    /// The guest did not examine this disk.
    pub fn of_disk(folder: &Path, name: &str) -> Result<Facts, String> {
        let read = |name: String| fs::read_to_string(folder.join(&name)).map_err(|e| format!("{name}: {e}"));
        let open = |name: String| {
            let document: Value = serde_json::from_str(&read(name).ok()?).ok()?;
            Some(document["result"]["changes"].as_array()?.len())
        };
        Ok(Facts {
            open: open(format!("{name}.list")),
            left: open(format!("{name}.left")),
            said: read(format!("{name}.said")).unwrap_or_default(),
            ..Facts::parse(&read(name.to_owned())?)
        })
    }

    /// Parses lines `NAME CODE`, `etc SUM`, `after SUM` and `run ROUND CODE SUM WORDS`.
    fn parse(text: &str) -> Facts {
        let mut facts = Facts::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["run", round, code, sum, ..] => {
                    let said = words[4..].join(" ");
                    let reads = Reads { code: code.parse().unwrap_or(-1), sum: sum.to_owned(), said };
                    facts.runs.insert(round.parse().unwrap_or(0), reads);
                }
                [name @ ("etc" | "after"), sum] => drop(facts.sums.insert(name.to_owned(), sum.to_owned())),
                [name, code] => drop(facts.codes.insert(name.to_owned(), code.parse().unwrap_or(-1))),
                _ => {}
            }
        }
        facts
    }
}

/// Returns everything that is wrong on a disk; `before` is what was written to it.
pub fn judge(state: &State, facts: &Facts, before: &Facts) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut expect = |holds: bool, what: String| wrong.extend((!holds).then_some(what));
    if let Some(code) = facts.codes.get("mount") {
        return vec![format!("the file system cannot be mounted ({code})")];
    }
    for name in ["list", "undo", "left"] {
        let code = facts.codes.get(name);
        expect(code == Some(&0), format!("{name} ended with {code:?}: {}", facts.said.trim()));
    }
    let original = before.sums.get("etc");
    let is_original = |name: &str| original.is_some() && facts.sums.get(name) == original;
    expect(is_original("after"), "`undo` did not restore /etc".into());
    expect(facts.left == Some(0), format!("{:?} changes are left after undo", facts.left));
    match state.doing {
        _ if state.has_fixes() => {
            expect(facts.open.is_some_and(|open| open > 0), "the fixes are not in the journal".into());
            expect(!is_original("etc"), "the fixes are not in /etc".into());
        }
        Doing::Undone => {
            expect(facts.open == Some(0), format!("{:?} undone changes are still open", facts.open));
            expect(is_original("etc"), "/etc does not have the undone state".into());
        }
        _ => {}
    }
    let last = if state.has_run() { state.round } else { state.round.saturating_sub(1) };
    for round in 1..=last {
        let (found, wanted) = (facts.runs.get(&round), before.runs.get(&round));
        let is_same = found.zip(wanted).is_some_and(|(found, wanted)| (found.code, &found.sum) == (0, &wanted.sum));
        expect(is_same, format!("run {round} reads {found:?} instead of {wanted:?}"));
    }
    // A run that was being written is readable, or refused with a reason.
    for (round, reads) in facts.runs.range(last + 1..) {
        let is_said = reads.code == 0 || ((1..=4).contains(&reads.code) && !reads.said.is_empty());
        expect(is_said, format!("truncated run {round} is {reads:?}"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "etc aa\nrun 1 0 11\nrun 2 0 22";
    const FINE: &str = "list 0\netc bb\nrun 1 0 11 \nrun 2 4 00 incomplete\nundo 0\nafter aa\nleft 0";

    fn facts(text: &str) -> Facts {
        Facts { open: Some(3), left: Some(0), ..Facts::parse(text) }
    }

    fn judged(mark: &str, text: &str) -> Vec<String> {
        let marks = [(0, "fix 1".to_owned()), (5, mark.to_owned()), (9, "later".to_owned())];
        judge(&State::of(&marks, 7), &facts(text), &Facts::parse(BEFORE))
    }

    #[test]
    fn what_was_done_has_to_be_there_and_what_was_begun_may_be_cut() {
        assert_eq!(judged("measure 2", FINE), [""; 0]);
        assert_eq!(judged("measured 2 0", FINE).len(), 1, "the run is cut off");
        assert_eq!(judged("undone 1 0", FINE).len(), 2, "it is fixed again");
        for (from, to) in [
            ("list 0", "list 4"),
            ("etc bb", "etc aa"),
            ("run 1 0 11", "run 1 0 12"),
            ("run 1 0 11 \n", ""),
            ("run 2 4 00 incomplete", "run 2 134 00 "),
            ("undo 0\n", ""),
            ("after aa", "after bb"),
        ] {
            assert_eq!(judged("measure 2", &FINE.replace(from, to)).len(), 1, "{from}: {to}");
        }
        assert_eq!(judged("measure 2", "mount 32").len(), 1);
    }
}
