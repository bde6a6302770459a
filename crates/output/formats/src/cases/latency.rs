//! Cases of a latency run or an imported run: one per claim, load and CPU, and one per load that shows whether its
//! figures are doubtful.

use super::bench::of_series;
use super::{About, Case, CaseOutcome, Cases, Figure, FigureUnit, Group, Names, slug};
use punctual_model::{Judged, Known, Outcome, Phase, Recording, Verdict};
use punctual_report::{Cell, Figures, QUANTILES, recorded_ns, words};

impl Cases {
    /// Creates the cases. Figures are from the corrected distribution, as in every report.
    pub fn of_run(recording: &Recording, verdict: &Verdict) -> Cases {
        let figures = Figures::new(recording, verdict);
        let mut names = Names::default();
        let mut groups = Vec::with_capacity(recording.run.phases.len() + 1);
        groups.push(whole(&mut names, recording, verdict));
        for phase in &recording.run.phases {
            let title = phase.label.as_deref().unwrap_or(&phase.load);
            let name = names.name(slug(title));
            groups.push(Builder { figures: &figures, names: &mut names, phase, group: name }.group(title));
        }
        Cases { about: About::of(&recording.run), groups, not_known: words::not_known(recording) }
    }
}

/// Returns cases of the whole run: its verdict, if there were claims, and the completeness of the record.
fn whole(names: &mut Names, recording: &Recording, verdict: &Verdict) -> Group {
    let name = names.name("run".into());
    let mut cases = Vec::new();
    if !verdict.claims.is_empty() {
        let headline = words::headline(recording, verdict);
        cases.push(Case {
            path: names.path(vec![name.clone(), "verdict".into()]),
            title: "all claims".into(),
            outcome: verdict.outcome.into(),
            sentence: headline.sentence,
        });
    }
    let mut doubts: Vec<&str> =
        verdict.problems.iter().filter(|(phase, _)| phase.is_none()).map(|(_, p)| p.text.as_str()).collect();
    doubts.extend(recording.damage.iter().map(String::as_str));
    if !recording.run.complete {
        doubts.push("not every phase ran to its planned end");
    }
    let path = names.path(vec![name.clone(), "complete".into()]);
    cases.push(in_doubt(path, "the whole run", &doubts));
    let series = recording.run.import.iter().flat_map(|import| &import.series).cloned().collect::<Vec<_>>();
    let figures = of_series(names, &name, &series);
    Group { name, title: "run".into(), seconds: None, places: Vec::new(), cases, figures }
}

pub(super) fn in_doubt<S: AsRef<str>>(path: Vec<String>, title: &str, doubts: &[S]) -> Case {
    let (outcome, sentence) = match doubts {
        [] => (CaseOutcome::Pass, "no doubts".to_owned()),
        some => (CaseOutcome::Inconclusive, some.iter().map(AsRef::as_ref).collect::<Vec<_>>().join("; ")),
    };
    Case { path, title: title.into(), outcome, sentence }
}

struct Builder<'a> {
    figures: &'a Figures<'a>,
    names: &'a mut Names,
    phase: &'a Phase,
    group: String,
}

impl<'a> Builder<'a> {
    fn group(mut self, title: &str) -> Group {
        let recording = self.figures.recording;
        let doubts = self.doubts();
        let path = self.names.path(vec![self.group.clone(), "undoubted".into()]);
        let mut cases = vec![in_doubt(path, "the load and its figures", &doubts)];
        let (mut figures, mut places) = (Vec::new(), Vec::new());
        for cell in self.figures.cells.iter().filter(|c| std::ptr::eq(c.phase, self.phase)) {
            let place = self.names.path(vec![self.group.clone(), format!("cpu{}", cell.cpu())]);
            cases.extend(self.claims(&place, cell, !doubts.is_empty()));
            figures.extend(self.of_cell(&place, cell));
            places.extend(place.into_iter().next_back());
        }
        let ns = recorded_ns(recording, self.phase);
        let seconds = (ns > 0).then(|| ns as f64 / 1e9);
        Group { name: self.group, title: title.into(), seconds, places, cases, figures }
    }

    fn doubts(&self) -> Vec<&'a str> {
        let concerns = |phase: &Option<String>| phase.as_ref().is_none_or(|id| *id == self.phase.id);
        let problems = &self.figures.verdict.problems;
        problems.iter().filter(|(phase, _)| concerns(phase)).map(|(_, p)| p.text.as_str()).collect()
    }

    fn claims(&mut self, place: &[String], cell: &Cell, is_doubtful: bool) -> Vec<Case> {
        let Figures { recording, verdict, .. } = *self.figures;
        let mut cases = Vec::with_capacity(verdict.claims.len());
        for judged in &verdict.claims {
            let mut here = judged.cells.iter().filter(|c| c.phase == cell.phase.id && c.cpu == cell.cpu());
            let Some(own) = here.next() else { continue };
            // Doubts prevent a pass, whatever the samples are.
            let least = if is_doubtful { Outcome::Inconclusive } else { Outcome::Pass };
            let outcome = own.outcome.max(least);
            let one = Judged { claim: judged.claim.clone(), outcome, cells: vec![own.clone()] };
            cases.push(Case {
                path: self.names.path([place, &[slug(&judged.claim.to_string())]].concat()),
                title: format!("{} on CPU {}, load {}", judged.claim, cell.cpu(), self.phase.load),
                outcome: outcome.into(),
                sentence: words::claim(recording, &one),
            });
        }
        cases
    }

    fn of_cell(&mut self, place: &[String], cell: &Cell) -> Vec<Figure> {
        let known = cell.known.as_ref();
        let mut figures = Vec::new();
        let mut add = |name: &str, value: Option<f64>, bounds: (Option<u64>, Option<u64>), unit: FigureUnit| {
            let Some(value) = value.filter(|v| v.is_finite()) else { return };
            let bounds = (bounds.0.map(|b| b as f64), bounds.1.map(|b| b as f64));
            figures.push(Figure { path: self.names.path([place, &[name.to_owned()]].concat()), value, bounds, unit });
        };
        let none = (None, None);
        add("min", known.and_then(Known::min).map(|ns| ns as f64), none, FigureUnit::Nanoseconds);
        add("mean", cell.mean(), none, FigureUnit::Nanoseconds);
        for ((_, name), quantile) in QUANTILES.iter().zip(&cell.quantiles) {
            // If not all samples are counted, the ranks of samples are unknown.
            let ns = quantile.ns.filter(|_| known.is_some_and(|k| k.count().is_some()));
            let bounds = (quantile.lower, quantile.upper);
            add(&slug(name), ns.map(|ns| ns as f64), bounds, FigureUnit::Nanoseconds);
        }
        add("max", cell.known_max().map(|ns| ns as f64), none, FigureUnit::Nanoseconds);
        add("periods", cell.known_periods().map(|n| n as f64), none, FigureUnit::Count);
        add("skipped", cell.result.skipped.map(|n| n as f64), none, FigureUnit::Count);
        figures
    }
}
