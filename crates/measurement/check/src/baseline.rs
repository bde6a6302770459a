//! Findings that are known already and do not fail a check.

use crate::observe::outcome;
use punctual_model::{Check, CheckFinding};
use serde::Deserialize;
use std::collections::BTreeSet;

#[derive(Debug, thiserror::Error)]
#[error("it is no document of `punctual check --json`: {0}")]
pub struct BaselineError(#[from] serde_json::Error);

/// The findings of an earlier check. A finding is the same if rule, thread, file and function are: lines move.
#[derive(Clone, Debug, Default)]
pub struct Baseline(BTreeSet<Identity>);

type Identity = (String, String, Option<String>, Option<String>);

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
        Ok(Baseline(document.result.findings.iter().map(identity).collect()))
    }

    /// Marks those that are known; only new ones fail the check.
    pub fn mark(&self, check: &mut Check) {
        check.findings.iter_mut().for_each(|finding| finding.is_known = self.0.contains(&identity(finding)));
        check.outcome = outcome(check);
    }
}

fn identity(finding: &CheckFinding) -> Identity {
    let place = finding.place.as_ref();
    let name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
    let file = place.and_then(|place| place.file.as_ref()).map(name);
    (finding.finding.id.clone(), finding.thread.clone(), file, place.and_then(|place| place.function.clone()))
}
