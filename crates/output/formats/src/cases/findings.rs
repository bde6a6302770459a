use super::{About, Case, CaseOutcome, Cases, Group, Names, slug};
use punctual_model::{Finding, Severity, State};

impl Cases {
    /// Creates one case per rule. Unreadable data is inconclusive. Rules that do not apply, and doubtful or informative
    /// results, are skipped, with their sentence.
    pub fn of_findings(about: About, findings: &[Finding]) -> Cases {
        let mut names = Names::default();
        let mut groups: Vec<Group> = Vec::new();
        for finding in findings {
            let at = groups.iter().position(|g| g.title == finding.group).unwrap_or_else(|| {
                let name = names.name(slug(&format!("audit {}", finding.group)));
                groups.push(Group {
                    name,
                    title: finding.group.clone(),
                    seconds: None,
                    places: vec![],
                    cases: vec![],
                    figures: vec![],
                });
                groups.len() - 1
            });
            let group = &mut groups[at];
            let path = names.path(vec![group.name.clone(), slug(&finding.id)]);
            group.cases.push(case(path, finding));
        }
        Cases { about, groups, not_known: Vec::new() }
    }
}

fn case(path: Vec<String>, finding: &Finding) -> Case {
    let outcome = match (finding.state, finding.severity) {
        (State::Pass, _) => CaseOutcome::Pass,
        // Informative findings have no effect, as in the exit code of `audit`.
        (_, Severity::Off | Severity::Info) => CaseOutcome::Skip,
        (State::Fail, _) => CaseOutcome::Fail,
        (State::Warn | State::Info | State::Skip, _) => CaseOutcome::Skip,
        (State::Blocked | State::Unknown, _) => CaseOutcome::Inconclusive,
    };
    let state = format!("{:?}", finding.state).to_uppercase();
    let fix = finding.fix.as_ref().map(|fix| format!(". Fix: {fix}")).unwrap_or_default();
    Case { path, title: finding.id.clone(), outcome, sentence: format!("{state}: {}{fix}", finding.summary) }
}
