use super::latency::in_doubt;
use super::{About, Case, CaseOutcome, Cases, Figure, FigureUnit, Group, Names, slug};
use punctual_model::{Outcome, Recording, Suite, SuiteEnd, SuiteRan, SuiteResult};

impl Cases {
    /// Creates cases for the verdict and the completeness of the record, and one for each test. A test that the
    /// environment does not support is skipped, but makes the verdict inconclusive, because it was requested.
    pub fn of_suite(recording: &Recording, suite: &Suite) -> Cases {
        let mut names = Names::default();
        let name = names.name(slug(&format!("events {}", suite.backend)));
        let mut cases = vec![verdict(&mut names, &name, suite), complete(&mut names, &name, recording, suite)];
        let mut figures = Vec::new();
        for result in &suite.results {
            let place = names.path(vec![name.clone(), slug(&result.test)]);
            cases.push(case(&mut names, &place, result));
            if let SuiteEnd::Ran(ran) = &result.ended {
                figures.extend(of_ran(&mut names, &place, ran));
            }
        }
        for test in &suite.not_run {
            let place = names.path(vec![name.clone(), slug(test)]);
            let path = names.path([&place[..], &["promise".to_owned()]].concat());
            cases.push(in_doubt(path, test, &["not run: the suite ended before this test"]));
        }
        let title = format!("event suite, backend {}", suite.backend);
        Cases {
            not_known: Vec::new(),
            about: About::of(&recording.run),
            groups: vec![Group { name, title, seconds: None, places: Vec::new(), cases, figures }],
        }
    }
}

fn verdict(names: &mut Names, group: &str, suite: &Suite) -> Case {
    let outcome = suite.outcome();
    let sentence = match outcome {
        Outcome::Pass | Outcome::Held => "every promise was kept in every test",
        Outcome::Fail => "a promise was broken",
        Outcome::Inconclusive => "no promise was broken, but some could not be verified",
    };
    let path = names.path(vec![group.to_owned(), "verdict".into()]);
    Case { path, title: "all tests".into(), outcome: outcome.into(), sentence: sentence.into() }
}

fn complete(names: &mut Names, group: &str, recording: &Recording, suite: &Suite) -> Case {
    let mut doubts: Vec<String> = recording.damage.iter().cloned().chain(suite.missing()).collect();
    if suite.results.is_empty() {
        doubts.push("no test was run".into());
    }
    for load in suite.under.iter().filter(|load| !load.ran) {
        let why = load.why_not.as_deref().unwrap_or("reason unknown");
        doubts.push(format!("load {} did not run: {why}", load.load));
    }
    in_doubt(names.path(vec![group.to_owned(), "complete".into()]), "tests and loads", &doubts)
}

fn case(names: &mut Names, place: &[String], result: &SuiteResult) -> Case {
    let (outcome, sentence) = match &result.ended {
        SuiteEnd::Unsupported { why } => (CaseOutcome::Skip, why.clone()),
        SuiteEnd::Failed { why } => (CaseOutcome::Inconclusive, why.clone()),
        SuiteEnd::Ran(ran) if !ran.broken.is_empty() => (CaseOutcome::Fail, ran.broken.join("; ")),
        SuiteEnd::Ran(ran) if !ran.inconclusive.is_empty() => (CaseOutcome::Inconclusive, ran.inconclusive.join("; ")),
        SuiteEnd::Ran(ran) => {
            (CaseOutcome::Pass, format!("{} of {} received, none lost", ran.counts.received, ran.counts.sent))
        }
    };
    let path = names.path([place, &["promise".to_owned()]].concat());
    Case { path, title: format!("{}, promise {}", result.test, result.promise.name()), outcome, sentence }
}

fn of_ran(names: &mut Names, place: &[String], ran: &SuiteRan) -> Vec<Figure> {
    let times =
        [("p50", ran.lateness.quantile(0.5)), ("p99_9", ran.lateness.quantile(0.999)), ("max", ran.lateness.max())];
    let counts = [
        ("sent", Some(ran.counts.sent)),
        ("lost", Some(ran.counts.lost)),
        ("late", Some(ran.counts.late)),
        ("page-faults", ran.page_faults),
    ];
    let times = times.into_iter().map(|(name, value)| (name, value, FigureUnit::Nanoseconds));
    let counts = counts.into_iter().map(|(name, value)| (name, value, FigureUnit::Count));
    let known = times.chain(counts).filter_map(|(name, value, unit)| Some((name, value? as f64, unit)));
    known
        .map(|(name, value, unit)| Figure {
            path: names.path([place, &[name.to_owned()]].concat()),
            value,
            bounds: (None, None),
            unit,
        })
        .collect()
}
