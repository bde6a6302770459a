use super::{About, Case, CaseOutcome, Cases, Group, Names, slug};
use punctual_model::{Check, CheckFinding, State};

impl Cases {
    /// Creates a case for each finding and for each source of events. Findings that do not fail, or are in the
    /// baseline, are skipped, and a missing source is inconclusive. If no finding fails, one case states that.
    pub fn of_check(about: About, check: &Check) -> Cases {
        let mut names = Names::default();
        let seconds = Some(check.duration_ns.0 as f64 / 1e9);
        let findings = names.name(slug("check findings"));
        let mut cases: Vec<Case> = check.findings.iter().map(|one| case(&mut names, &findings, one)).collect();
        if !cases.iter().any(|case| case.outcome == CaseOutcome::Fail) {
            let path = names.path(vec![findings.clone(), "nothing-fails".into()]);
            let sentence = format!("no failures found in {}", check.program);
            cases.push(Case { path, title: "no failures".into(), outcome: check.outcome.into(), sentence });
        }
        let sources = names.name(slug("check sources"));
        let source = |source: &punctual_model::CheckSource| Case {
            path: names.path(vec![sources.clone(), slug(&source.name)]),
            title: source.name.clone(),
            outcome: if source.missing.is_some() { CaseOutcome::Inconclusive } else { CaseOutcome::Pass },
            sentence: source.missing.clone().unwrap_or_else(|| "observed".into()),
        };
        let observed = check.sources.iter().map(source).collect();
        let group = |name: String, title: &str, cases: Vec<Case>| Group {
            name,
            title: title.to_owned(),
            seconds,
            places: Vec::new(),
            cases,
            figures: Vec::new(),
        };
        let groups = vec![group(findings, &check.program, cases), group(sources.clone(), "Event sources", observed)];
        Cases { about, groups, not_known: Vec::new() }
    }
}

fn case(names: &mut Names, group: &str, one: &CheckFinding) -> Case {
    let outcome = match one.finding.state {
        State::Fail if !one.is_known => CaseOutcome::Fail,
        _ => CaseOutcome::Skip,
    };
    let rate = one.per_cycle.map(|rate| format!(", {rate:.2} per cycle")).unwrap_or_default();
    let worst = one.worst_ns.map(|worst| format!(", worst {worst}")).unwrap_or_default();
    let fix = one.finding.fix.as_ref().map(|fix| format!(". Instead: {fix}")).unwrap_or_default();
    let times = if one.count == 1 { "once".to_owned() } else { format!("{} times", one.count) };
    let least = if one.is_at_least { "at least " } else { "" };
    let sentence = format!("{}: {least}{times}{rate}{worst}{fix}", one.finding.summary);
    let place = one.place.as_ref().and_then(|place| place.function.as_deref()).unwrap_or_default();
    let path = names.path(vec![group.to_owned(), slug(&format!("{} {} {place}", one.finding.id, one.thread))]);
    Case { path, title: format!("{} in {}", one.finding.id, one.thread), outcome, sentence }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::{CheckSource, Finding, Outcome, Severity};
    use punctual_units::Nanos;

    fn check(is_known: bool, missing: Option<&str>) -> Check {
        let finding = Finding {
            id: "allocation".into(),
            group: "Real-time threads".into(),
            severity: Severity::Medium,
            state: State::Fail,
            summary: "control: memory is allocated or freed (malloc)".into(),
            evidence: Vec::new(),
            why: String::new(),
            fix: None,
        };
        let one = CheckFinding {
            finding,
            thread: "control".into(),
            tids: vec![8],
            count: 3,
            is_at_least: false,
            per_cycle: None,
            worst_ns: None,
            is_in_cycle: true,
            place: None,
            stack: Vec::new(),
            is_stack_cut: false,
            is_known,
        };
        Check {
            outcome: if is_known { Outcome::Inconclusive } else { Outcome::Fail },
            program: "./app".into(),
            duration_ns: Nanos(1_000_000_000),
            ended: "ended".into(),
            real_time_from: String::new(),
            findings: vec![one.clone(), one],
            threads: Vec::new(),
            sources: vec![CheckSource { name: "wakeups".into(), missing: missing.map(str::to_owned) }],
            lost: 0,
            events: 0,
            own_cpu_ns: Nanos(0),
            own_cpu_observing_ns: Nanos(0),
            notes: Vec::new(),
        }
    }

    #[test]
    fn what_is_not_observed_is_never_green() {
        let outcomes = |check: &Check| -> Vec<CaseOutcome> {
            Cases::of_check(About::default(), check).cases().map(|case| case.outcome).collect()
        };
        use CaseOutcome::{Fail, Inconclusive, Pass, Skip};
        assert_eq!(outcomes(&check(false, None)), [Fail, Fail, Pass]);
        assert_eq!(outcomes(&check(true, Some("no such event"))), [Skip, Skip, Inconclusive, Inconclusive]);
    }
}
