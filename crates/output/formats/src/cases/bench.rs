use super::{About, Case, CaseOutcome, Cases, Figure, FigureUnit, Group, Names, slug};
use punctual_model::{Bench, BenchCheck, Run};

impl Cases {
    /// A case per check, and mean, minimum and maximum of each series.
    pub fn of_bench(run: &Run, bench: &Bench) -> Cases {
        let mut names = Names::default();
        let name = names.name("bench".into());
        let mut cases = vec![complete(&mut names, &name, bench)];
        let mut places: Vec<(&str, Vec<String>)> = Vec::new();
        for check in bench.repetitions.iter().flat_map(|r| &r.checks) {
            let known = places.iter().position(|(what, _)| *what == check.what);
            let at = known.unwrap_or_else(|| {
                places.push((&check.what, names.path(vec![name.clone(), "check".into(), slug(&check.what)])));
                cases.push(Case {
                    path: Vec::new(),
                    title: check.what.clone(),
                    outcome: CaseOutcome::Pass,
                    sentence: String::new(),
                });
                places.len() - 1
            });
            worst(&mut cases[at + 1], &places[at].1, check);
        }
        let mut figures = Vec::new();
        for series in bench.series.iter().filter(|s| s.count > 0) {
            let place = names.path(vec![name.clone(), slug(&format!("{} {}", series.of, series.name))]);
            let unit = FigureUnit::Other(series.unit.clone());
            for (what, value) in [("mean", series.mean), ("min", series.min), ("max", series.max)] {
                if value.is_finite() {
                    let path = names.path([&place[..], &[what.to_owned()]].concat());
                    figures.push(Figure { path, value, bounds: (None, None), unit: unit.clone() });
                }
            }
        }
        Cases {
            not_known: Vec::new(),
            about: About::of(run),
            groups: vec![Group { name, title: "benchmark".into(), seconds: None, places: Vec::new(), cases, figures }],
        }
    }
}

fn complete(names: &mut Names, group: &str, bench: &Bench) -> Case {
    let wanted = bench.plan.repetitions;
    let done = bench.repetitions.len();
    let is_whole = !bench.interrupted && done > 0;
    Case {
        path: names.path(vec![group.to_owned(), "complete".into()]),
        title: "every repetition ran".into(),
        outcome: if is_whole { CaseOutcome::Pass } else { CaseOutcome::Inconclusive },
        sentence: format!("{done} of {wanted} repetitions ran"),
    }
}

/// Replaces the outcome by that of a repetition's check unless that is better.
fn worst(case: &mut Case, path: &[String], check: &BenchCheck) {
    let (outcome, sentence) = match check.expected {
        Some(expected) if check.is_wrong() => (CaseOutcome::Fail, format!("got {}, expected {expected}", check.got)),
        Some(_) => (CaseOutcome::Pass, format!("got {}, as expected", check.got)),
        None => (CaseOutcome::Inconclusive, format!("got {}; what is right is not known", check.got)),
    };
    case.path = path.to_vec();
    if case.sentence.is_empty() || outcome > case.outcome {
        (case.outcome, case.sentence) = (outcome, sentence);
    }
}
