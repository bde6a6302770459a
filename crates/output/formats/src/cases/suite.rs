use super::{About, Case, CaseOutcome, Cases, Figure, FigureUnit, Group, Names, slug};
use punctual_model::{Run, Suite, SuiteEnd, SuiteRan, SuiteResult};

impl Cases {
    /// One case per test. What this environment lacks is skipped, never passed.
    pub fn of_suite(run: &Run, suite: &Suite) -> Cases {
        let mut names = Names::default();
        let name = names.name(slug(&format!("events {}", suite.backend)));
        let (mut cases, mut figures) = (vec![finished(&mut names, &name, suite)], Vec::new());
        for result in &suite.results {
            let place = names.path(vec![name.clone(), slug(&result.test)]);
            cases.push(case(&mut names, &place, result));
            if let SuiteEnd::Ran(ran) = &result.ended {
                figures.extend(of_ran(&mut names, &place, ran));
            }
        }
        let title = format!("event suite, backend {}", suite.backend);
        Cases {
            not_known: Vec::new(),
            about: About::of(run),
            groups: vec![Group { name, title, seconds: None, places: Vec::new(), cases, figures }],
        }
    }
}

fn finished(names: &mut Names, group: &str, suite: &Suite) -> Case {
    let mut doubts: Vec<String> = Vec::new();
    if suite.interrupted {
        doubts.push("a signal ended it early: tests are missing".into());
    }
    if suite.results.is_empty() {
        doubts.push("no test was run".into());
    }
    for load in suite.under.iter().filter(|load| !load.ran) {
        let why = load.why_not.as_deref().unwrap_or("it does not say why");
        doubts.push(format!("load {} did not run: {why}", load.load));
    }
    let outcome = if doubts.is_empty() { CaseOutcome::Pass } else { CaseOutcome::Inconclusive };
    Case {
        path: names.path(vec![group.to_owned(), "complete".into()]),
        title: "the suite ran to its end, under its loads".into(),
        outcome,
        sentence: if doubts.is_empty() { "nothing in doubt".into() } else { doubts.join("; ") },
    }
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
    Case { path, title: format!("{} keeps its promise: {}", result.test, result.promise.name()), outcome, sentence }
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
