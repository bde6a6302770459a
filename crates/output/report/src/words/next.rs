use punctual_model::{Finding, Outcome, Recording, Severity, State, Verdict};

/// A command to type next, and what it shows.
pub(crate) type Step = (String, &'static str);

/// Returns the next steps for a run, in order. `shown` are steps that show more of this run; they precede the steps
/// that measure again. `run` is the run as its user names it.
pub(crate) fn next(recording: &Recording, verdict: &Verdict, run: &str, shown: Vec<Step>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let passed = verdict.outcome == Outcome::Pass;
    let is_of_wakeups = recording.run.import.is_none() && recording.application.is_none();
    let grave = |finding: &Finding| finding.state == State::Fail && finding.severity >= Severity::High;
    if !recording.explained.is_empty() && !passed {
        steps.push((format!("punctual explain {run}"), "every explained wakeup"));
    } else if verdict.outcome == Outcome::Fail && is_of_wakeups {
        steps.push(("sudo punctual explain --live".to_owned(), "what delays wakeups at the moment"));
    }
    if recording.findings.iter().any(grave) && !passed {
        steps.push(("sudo punctual audit --dry-run".to_owned(), "shows the fixes without applying any"));
    }
    steps.extend(shown);
    if passed && is_of_wakeups {
        steps.push(("punctual watch".to_owned(), "measures for weeks"));
    }
    steps
}
