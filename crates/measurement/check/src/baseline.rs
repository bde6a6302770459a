//! Findings that are known already and do not fail a check.

use crate::observe::outcome;
use punctual_model::{Check, CheckFinding};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, thiserror::Error)]
#[error("it is no document of `punctual check --json`: {0}")]
pub struct BaselineError(#[from] serde_json::Error);

/// The findings of an earlier check: the lines of each. Lines move, so in a function as many are known as there were, those of a known
/// line first.
#[derive(Clone, Debug, Default)]
pub struct Baseline(BTreeMap<Identity, Vec<Option<u32>>>);

/// Rule, thread, file, function, and whether it was in a cycle.
type Identity = (String, String, Option<String>, Option<String>, bool);

#[derive(Deserialize)]
struct Document {
    result: Kept,
}

#[derive(Deserialize)]
struct Kept {
    findings: Vec<CheckFinding>,
}

impl Baseline {
    /// Reads what `punctual check --json` wrote.
    ///
    /// # Errors
    /// It is something else.
    pub fn parse(text: &[u8]) -> Result<Baseline, BaselineError> {
        let document: Document = serde_json::from_slice(text)?;
        let mut known: BTreeMap<Identity, Vec<Option<u32>>> = BTreeMap::new();
        document.result.findings.iter().for_each(|one| known.entry(identity(one)).or_default().push(line(one)));
        Ok(Baseline(known))
    }

    /// Marks those that are known; only new ones fail the check.
    pub fn mark(&self, check: &mut Check) {
        let mut left = self.0.clone();
        let mut take = |finding: &mut CheckFinding, same_line: bool| {
            let Some(lines) = left.get_mut(&identity(finding)).filter(|_| !finding.is_known) else { return };
            let at = lines.iter().position(|known| !same_line || *known == line(finding));
            finding.is_known = at.map(|at| lines.swap_remove(at)).is_some();
        };
        check.findings.iter_mut().for_each(|finding| take(finding, true));
        check.findings.iter_mut().for_each(|finding| take(finding, false));
        check.outcome = outcome(check);
    }
}

fn identity(finding: &CheckFinding) -> Identity {
    let place = finding.place.as_ref();
    let name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
    let file = place.and_then(|place| place.file.as_ref()).map(name);
    let function = place.and_then(|place| place.function.clone());
    (finding.finding.id.clone(), finding.thread.clone(), file, function, finding.is_in_cycle)
}

fn line(finding: &CheckFinding) -> Option<u32> {
    finding.place.as_ref().and_then(|place| place.line)
}
