//! Removes file names from the names of imported series and phases.

use punctual_model::{Recording, Series};
use std::collections::BTreeMap;

/// Removes the file name from the series and labels of a run imported from several files (`rt_kernel: N-queens` becomes
/// `N-queens`), so that they match those of another run. A name that would become ambiguous is kept.
pub fn without_files(recording: &mut Recording) {
    let Some(import) = recording.run.import.as_mut().filter(|import| import.files.len() > 1) else { return };
    let files: Vec<String> = import.files.iter().map(|file| file.name.clone()).collect();
    let key = |series: &Series, of: &str| (of.to_owned(), series.name.clone(), series.unit.clone());
    let counted = count(import.series.iter().map(|series| key(series, plain(&files, &series.of))));
    // Temperatures belong to a time series, so the file name of a subject is removed from all of its series or from
    // none.
    let twice = |series: &&Series| counted.get(&key(series, plain(&files, &series.of))) != Some(&1);
    let kept: Vec<String> = import.series.iter().filter(twice).map(|series| series.of.clone()).collect();
    for series in import.series.iter_mut().filter(|series| !kept.contains(&series.of)) {
        series.of = plain(&files, &series.of).to_owned();
    }
    let labels =
        count(recording.run.phases.iter().filter_map(|phase| Some(plain(&files, phase.label.as_ref()?).to_owned())));
    for label in recording.run.phases.iter_mut().filter_map(|phase| phase.label.as_mut()) {
        let short = plain(&files, label).to_owned();
        if labels.get(&short) == Some(&1) {
            *label = short;
        }
    }
}

fn count<K: Ord>(all: impl Iterator<Item = K>) -> BTreeMap<K, usize> {
    let mut counted = BTreeMap::new();
    all.for_each(|key| *counted.entry(key).or_default() += 1);
    counted
}

/// Returns the part of the name after `FILE: `, where FILE is the beginning of the name of a file.
fn plain<'a>(files: &[String], name: &'a str) -> &'a str {
    let is_file = |stem: &str| !stem.is_empty() && files.iter().any(|file| file.starts_with(stem));
    match name.split_once(": ") {
        Some((stem, rest)) if is_file(stem) && !rest.is_empty() => rest,
        _ => name,
    }
}
