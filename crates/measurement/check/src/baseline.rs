//! Findings that are already known and do not fail a check.

use crate::observe::outcome;
use punctual_model::{Check, CheckFinding};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, thiserror::Error)]
#[error("not a document of `punctual check --json`: {0}")]
pub struct BaselineError(#[from] serde_json::Error);

/// The findings of an earlier check, each with its line and its count. Line numbers change, so for each function as
/// many findings are known as the earlier check had, starting with those on the same line. An event near the first
/// cycle may be found before or within that cycle, so a finding is also known if the earlier check had it in the other
/// position at least as often.
#[derive(Clone, Debug, Default)]
pub struct Baseline(BTreeMap<Identity, Vec<(Option<u32>, u64)>>);

/// Rule, thread, file and function of a finding, and true if it occurred within a cycle.
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
    /// Reads the output of `punctual check --json`.
    ///
    /// # Errors
    ///
    /// Fails if the text is anything else.
    pub fn parse(text: &[u8]) -> Result<Baseline, BaselineError> {
        let document: Document = serde_json::from_slice(text)?;
        let mut known: BTreeMap<Identity, Vec<(Option<u32>, u64)>> = BTreeMap::new();
        document
            .result
            .findings
            .iter()
            .for_each(|one| known.entry(identity(one, one.is_in_cycle)).or_default().push((line(one), one.count)));
        Ok(Baseline(known))
    }

    /// Marks known findings; only new findings fail the check.
    pub fn mark(&self, check: &mut Check) {
        let mut left = self.0.clone();
        let mut take = |finding: &mut CheckFinding, is_in_cycle: bool, same_line: bool| {
            let Some(lines) = left.get_mut(&identity(finding, is_in_cycle)).filter(|_| !finding.is_known) else {
                return;
            };
            let is_it = |(known, count): &(Option<u32>, u64)| {
                (!same_line || *known == line(finding))
                    && (is_in_cycle == finding.is_in_cycle || finding.count <= *count)
            };
            let at = lines.iter().position(is_it);
            finding.is_known = at.map(|at| lines.swap_remove(at)).is_some();
        };
        for is_other in [false, true] {
            for same_line in [true, false] {
                check.findings.iter_mut().for_each(|finding| take(finding, finding.is_in_cycle != is_other, same_line));
            }
        }
        check.outcome = outcome(check);
    }
}

fn identity(finding: &CheckFinding, is_in_cycle: bool) -> Identity {
    let place = finding.place.as_ref();
    let name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
    let file = place.and_then(|place| place.file.as_ref()).map(name);
    let function = place.and_then(|place| place.function.clone());
    (finding.finding.id.clone(), finding.thread.clone(), file, function, is_in_cycle)
}

fn line(finding: &CheckFinding) -> Option<u32> {
    finding.place.as_ref().and_then(|place| place.line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rule;
    use punctual_model::{Finding, Outcome, State};
    use punctual_units::Nanos;

    fn check(found: &[(u64, bool)]) -> Check {
        let rule = rule("output").unwrap();
        let finding = |is_in_cycle: bool| Finding {
            id: rule.id.clone(),
            group: String::new(),
            severity: rule.severity,
            state: if is_in_cycle { State::Fail } else { State::Warn },
            summary: String::new(),
            evidence: Vec::new(),
            why: String::new(),
            fix: None,
        };
        let one = |(count, is_in_cycle): &(u64, bool)| CheckFinding {
            finding: finding(*is_in_cycle),
            thread: "control".into(),
            tids: vec![8],
            count: *count,
            is_at_least: false,
            per_cycle: None,
            worst_ns: None,
            is_in_cycle: *is_in_cycle,
            place: None,
            stack: Vec::new(),
            is_stack_cut: false,
            is_known: false,
        };
        Check {
            outcome: Outcome::Fail,
            program: "app".into(),
            duration_ns: Nanos(1),
            ended: String::new(),
            real_time_from: String::new(),
            findings: found.iter().map(one).collect(),
            threads: Vec::new(),
            sources: Vec::new(),
            lost: 0,
            events: 0,
            own_cpu_ns: Nanos(0),
            own_cpu_observing_ns: Nanos(0),
            notes: Vec::new(),
        }
    }

    fn outcome_after(known: &[(u64, bool)], found: &[(u64, bool)]) -> Outcome {
        let known = serde_json::json!({ "result": check(known) }).to_string();
        let mut found = check(found);
        Baseline::parse(known.as_bytes()).unwrap().mark(&mut found);
        found.outcome
    }

    #[test]
    fn what_happens_around_the_first_cycle_is_known_on_either_side_of_it() {
        assert_eq!(outcome_after(&[(1, true)], &[(300, true)]), Outcome::Pass);
        assert_eq!(outcome_after(&[(1, false)], &[(1, true)]), Outcome::Pass);
        assert_eq!(outcome_after(&[(1, false)], &[(300, true)]), Outcome::Fail);
        assert_eq!(outcome_after(&[(1, false)], &[(1, true), (1, true)]), Outcome::Fail);
        assert_eq!(outcome_after(&[], &[(1, true)]), Outcome::Fail);
    }
}
