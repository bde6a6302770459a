//! Formats sentences about a run's figures, shared by HTML and text.
//!
//! Names, claims and numbers that a reader may want to type are between backticks. Sentences are not escaped here, but
//! when they are printed.

pub(crate) mod causes;
pub(crate) mod claims;
pub(crate) mod evidence;
mod headline;
pub(crate) mod imported;
pub(crate) mod limits;
pub(crate) mod maxima;
mod next;
mod not_known;
pub(crate) mod tails;
mod tracing;
mod tuned;
mod warnings;

pub use claims::claim;
pub use evidence::evidence;
pub use headline::{Headline, headline, is_mere_measurement, word};
pub(crate) use headline::{place_of, problem};
pub use imported::lost;
pub use limits::cannot_say;
pub use maxima::maxima;
pub(crate) use next::{Step, next};
pub use not_known::not_known;
pub use tails::tails;
pub use tracing::notes;
pub use tuned::tuned;
pub use warnings::warnings;

use crate::clean;
use crate::figures::recorded_ns;
use crate::number::plural;
use punctual_model::{AppValue, Application, Phase, Recording, Verdict};
use punctual_units::{CpuId, Nanos};

/// Formats a latency of this run, in whole microseconds if its file has that resolution.
pub(crate) fn latency(recording: &Recording, ns: Option<u64>) -> String {
    let is_whole = recording.run.import.as_ref().is_some_and(|import| import.resolution_ns == Some(1_000));
    crate::number::latency(ns, is_whole)
}

/// Describes the measurement: number and kind of the wakeups, duration, loads.
pub fn measured(recording: &Recording, verdict: &Verdict) -> String {
    let run = &recording.run;
    if let Some(import) = &run.import {
        return imported::measured(recording, verdict, import);
    }
    if let Some(application) = &recording.application {
        return of_application(recording, application, verdict);
    }
    if let Some(way) = other_way(recording, verdict) {
        return way;
    }
    let got = run.phases.iter().flat_map(|p| &p.cpus);
    let mut got: Vec<String> = got.filter_map(|c| Some(c.got?.to_string())).collect();
    got.sort();
    got.dedup();
    let length = run.phases.iter().fold(0u64, |sum, p| sum.saturating_add(recorded_ns(recording, p)));
    let mut loads: Vec<String> = run.phases.iter().map(|p| format!("`{}`", load_name(&p.load))).collect();
    loads.dedup();
    if got.is_empty() {
        return "Nothing was measured.".into();
    }
    format!(
        "{} on {} ({}) at {}, one every {} on each, for {} under {}.",
        plural(verdict.scored(), "wakeup", "wakeups"),
        plural(run.settings.cpus.len() as u64, "CPU", "CPUs"),
        run.settings.cpus,
        and(&got),
        run.settings.period_ns.unwrap_or_default(),
        Nanos(length),
        and(&loads)
    )
}

/// States which application was measured, and the number of its cycles.
fn of_application(recording: &Recording, application: &Application, verdict: &Verdict) -> String {
    let run = &recording.run;
    let mut loads: Vec<String> = run.phases.iter().map(|p| format!("`{}`", load_name(&p.load))).collect();
    loads.dedup();
    format!(
        "{} of {} of {}, for {} under {}.",
        plural(verdict.scored(), "cycle", "cycles"),
        plural(application.threads.len() as u64, "thread", "threads"),
        clean::clip(&application.program, 48),
        run.settings.duration_ns.unwrap_or_default(),
        and(&loads)
    )
}

/// Like [`measured`], for a run whose phases are named after their figures (`measure --via timerlat`): their samples
/// are not wakeups, and may have no period.
fn other_way(recording: &Recording, verdict: &Verdict) -> Option<String> {
    let run = &recording.run;
    let labels: Vec<String> =
        run.phases.iter().filter_map(|p| Some(format!("`{}`", load_name(p.label.as_deref()?)))).collect();
    let end = |p: &Phase| Some((p.start_mono_ns?, p.end_mono_ns?));
    let mut times: Vec<(u64, u64)> = run.phases.iter().filter_map(end).collect();
    // Kinds of latency measured together have the same start.
    times.dedup_by_key(|(start, _)| *start);
    let length = times.iter().fold(0u64, |sum, (start, end)| sum.saturating_add(end.saturating_sub(*start)));
    let how = run.settings.clock.as_deref().map(|how| format!(" ({how})")).unwrap_or_default();
    (!labels.is_empty()).then(|| {
        format!(
            "{} on {} ({}){how}, for {}: {}.",
            plural(verdict.scored(), "sample", "samples"),
            plural(run.settings.cpus.len() as u64, "CPU", "CPUs"),
            run.settings.cpus,
            Nanos(length),
            and(&labels)
        )
    })
}

/// Names the samples of a run: wakeups unless its phases have labels.
pub(crate) fn noun(recording: &Recording) -> &'static str {
    let phases = &recording.run.phases;
    match phases.iter().any(|phase| phase.label.is_some()) {
        _ if phases.iter().any(|phase| phase.value.is_some()) => "cycle",
        true => "sample",
        false => "wakeup",
    }
}

/// Names the quantity of which the run has one sample per release.
pub(crate) fn quantity(recording: &Recording) -> &'static str {
    if recording.application.is_some() { "response" } else { "wakeup latency" }
}

/// Returns the name of a load; an overlong command is truncated.
pub(crate) fn load_name(load: &str) -> String {
    if load.trim().is_empty() { "unnamed".into() } else { clean::clip(load, 48) }
}

/// Returns the name of a phase in sentences: its load, or its ID if two phases had the same load.
pub(crate) fn phase_name(recording: &Recording, id: &str) -> String {
    let phases = &recording.run.phases;
    match phases.iter().find(|p| p.id == id) {
        Some(Phase { label: Some(label), .. }) => load_name(label),
        Some(phase) if phases.iter().filter(|p| p.load == phase.load).count() == 1 => load_name(&phase.load),
        _ => load_name(id),
    }
}

/// Formats the load: ``under `io` ``, or `while idle`.
pub(crate) fn under(recording: &Recording, id: &str) -> String {
    match phase_name(recording, id).as_str() {
        "idle" => "while idle".into(),
        name if recording.run.phases.iter().any(|p| p.id == id && p.label.is_some()) => format!("in `{name}`"),
        name if recording.run.import.is_some() => format!("in `{name}`"),
        name => format!("under `{name}`"),
    }
}

/// Formats a place: ``CPU 1 under `io` ``.
pub(crate) fn place(recording: &Recording, id: &str, cpu: CpuId) -> String {
    if let Some((value, load)) = value_of(recording, id) {
        return format!("{} {load}", value.label());
    }
    format!("CPU {cpu} {}", under(recording, id))
}

/// Formats a place: ``on CPU 1 under `io` ``.
pub(crate) fn at_place(recording: &Recording, id: &str, cpu: CpuId) -> String {
    if let Some((_, load)) = value_of(recording, id) {
        return load;
    }
    format!("on {}", place(recording, id, cpu))
}

/// Returns what was measured of an application in a phase, and ``under `cpu` `` or `while idle`.
pub(crate) fn value_of<'a>(recording: &'a Recording, id: &str) -> Option<(&'a AppValue, String)> {
    let phase = recording.run.phases.iter().find(|phase| phase.id == id)?;
    let load = if phase.load == "idle" { "while idle".into() } else { format!("under `{}`", load_name(&phase.load)) };
    Some((phase.value.as_ref()?, load))
}

/// Joins texts: `a`, `a and b`, `a, b and c`.
pub(crate) fn and(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Adds a full stop unless the sentence ends in punctuation.
pub(crate) fn stopped(sentence: &str) -> String {
    let sentence = sentence.trim_end();
    if sentence.ends_with(['.', '!', '?', ':']) { sentence.to_owned() } else { format!("{sentence}.") }
}

/// Capitalises the sentence, unless it begins with a name (`rogue99 …`, `/proc/…`).
pub(crate) fn capital(sentence: &str) -> String {
    let first = sentence.split(' ').next().unwrap_or_default();
    if !first.trim_end_matches([',', ':', ';']).chars().all(|c| c.is_ascii_lowercase() || c == '-') {
        return sentence.to_owned();
    }
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
