use super::latency::in_doubt;
use super::{About, Case, CaseOutcome, Cases, Figure, FigureUnit, Group, Names, slug};
use punctual_model::{Bench, BenchCheck, Recording, Series};

impl Cases {
    /// Creates a case for the completeness of the record, and one for each check and for each figure that this machine
    /// cannot measure. Figures are mean, minimum and maximum of each series.
    pub fn of_bench(recording: &Recording, bench: &Bench) -> Cases {
        let mut names = Names::default();
        let name = names.name("bench".into());
        let mut cases = vec![complete(&mut names, &name, recording, bench)];
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
        for (n, why) in bench.plan.not_measured.iter().enumerate() {
            let path = names.path(vec![name.clone(), format!("not-measured-{}", n + 1)]);
            let title = "figure that this machine cannot measure".into();
            cases.push(Case { path, title, outcome: CaseOutcome::Skip, sentence: why.clone() });
        }
        let figures = of_series(&mut names, &name, &bench.series);
        Cases {
            not_known: Vec::new(),
            about: About::of(&recording.run),
            groups: vec![Group { name, title: "benchmark".into(), seconds: None, places: Vec::new(), cases, figures }],
        }
    }
}

/// Returns the mean, minimum and maximum of each series that has points.
pub(super) fn of_series(names: &mut Names, group: &str, all: &[Series]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for series in all.iter().filter(|s| s.count > 0) {
        let place = names.path(vec![group.to_owned(), slug(&format!("{} {}", series.of, series.name))]);
        let unit = FigureUnit::Other(series.unit.clone());
        for (what, value) in [("mean", series.mean), ("min", series.min), ("max", series.max)] {
            if value.is_finite() {
                let path = names.path([&place[..], &[what.to_owned()]].concat());
                figures.push(Figure { path, value, bounds: (None, None), unit: unit.clone() });
            }
        }
    }
    figures
}

fn complete(names: &mut Names, group: &str, recording: &Recording, bench: &Bench) -> Case {
    let (done, wanted) = (bench.repetitions.len(), bench.plan.repetitions);
    let missing = (bench.interrupted || done == 0).then(|| format!("{done} of {wanted} repetitions ran"));
    let doubts: Vec<String> = recording.damage.iter().cloned().chain(missing).collect();
    in_doubt(names.path(vec![group.to_owned(), "complete".into()]), "all repetitions", &doubts)
}

/// Adds a repetition's check to the case: a worse outcome replaces the outcome and the sentence.
fn worst(case: &mut Case, path: &[String], check: &BenchCheck) {
    let (outcome, sentence) = match check.expected {
        Some(expected) if check.is_wrong() => (CaseOutcome::Fail, format!("got {}, expected {expected}", check.got)),
        Some(_) => (CaseOutcome::Pass, format!("got {}, as expected", check.got)),
        None => (CaseOutcome::Inconclusive, format!("got {}; the correct value is unknown", check.got)),
    };
    case.path = path.to_vec();
    if case.sentence.is_empty() || outcome > case.outcome {
        (case.outcome, case.sentence) = (outcome, sentence);
    }
}
