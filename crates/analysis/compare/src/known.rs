//! Facts that other tools' files lack, and that therefore cannot be compared.

use crate::Side;
use punctual_model::{Blur, Known, Recording};
use punctual_units::{Histogram, Nanos};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Maximum number of sentences about missing facts.
const MOST: usize = 8;

/// Returns sentences about missing facts, one per run.
pub(crate) fn not_known(sides: &[Side]) -> Vec<String> {
    let mut texts = Vec::new();
    for side in sides {
        for (name, recording) in &side.runs {
            let sentence = of_run(recording).map(|text| format!("{}: {text}", place(side, name)));
            texts.extend(sentence.filter(|text| !texts.contains(text)));
        }
    }
    texts.truncate(MOST);
    texts
}

/// Returns the name of a run within its group. A group that consists of one file has the file's name.
pub(crate) fn place(side: &Side, run: &str) -> String {
    let is_same = side.name == run || side.name.ends_with(&format!("/{run}"));
    if is_same { run.to_owned() } else { format!("{}, {run}", side.name) }
}

fn of_run(recording: &Recording) -> Option<String> {
    let none = Histogram::new();
    let (mut is_summary, mut has_mean, mut beyond, mut hidden) = (false, true, None, None);
    for phase in &recording.run.phases {
        for result in &phase.cpus {
            let raw = recording.distribution(&phase.id, result.cpu).map_or(&none, |d| &d.raw);
            let known = Known::new(Cow::Borrowed(raw), Blur::of(result));
            is_summary |= known.is_summary();
            has_mean &= result.mean_ns.is_some();
            beyond = beyond.into_iter().chain(known.blur().unplaced.map(|u| u.from_ns)).min();
            hidden = hidden.into_iter().chain(known.blur().hidden_from_ns).min();
        }
    }
    match (is_summary, beyond, hidden) {
        (true, ..) if has_mean => Some("the file has only number, minimum, mean and maximum, so no quantiles".into()),
        (true, ..) => Some("the file has only number, minimum and maximum, so no quantiles".into()),
        (_, _, Some(ns)) => {
            Some(format!("latencies of {} and more are not counted, so the worst one is unknown", Nanos(ns)))
        }
        (_, Some(ns), None) => {
            Some(format!("latencies of {} and more are counted, but their values are unknown", Nanos(ns)))
        }
        _ => None,
    }
}

/// Returns a sentence for each run that is a copy of another run's file, and therefore not a separate sample.
pub(crate) fn copies(side: &Side) -> Vec<String> {
    let mut first: BTreeMap<Vec<(u64, u32)>, &str> = BTreeMap::new();
    let mut texts = Vec::new();
    for (name, recording) in &side.runs {
        let Some(import) = &recording.run.import else { continue };
        let content: Vec<(u64, u32)> = import.files.iter().map(|file| (file.bytes, file.crc32)).collect();
        match first.get(&content) {
            Some(other) => {
                let copy = if other == name { "another run" } else { other };
                texts.push(format!("{} has the content of {copy}: a copy is not a separate run", place(side, name)));
            }
            None => drop(first.insert(content, name)),
        }
    }
    texts
}
