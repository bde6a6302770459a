//! Compares the run's own worst wakeup with published figures: without a verdict, but with the differences in
//! conditions.

mod contribution;
mod list;
mod part;

use crate::figures::{Figures, recorded_ns};
use crate::number::{count, plural};
use crate::words;
pub use contribution::{Contribution, contribution};
pub use list::{references_board, references_list};
pub(crate) use part::PublishedPart;
pub use part::{CheckedResult, ReferencesResult};
use punctual_model::Recording;
use punctual_references::{Board, Comparable, Flavour, LoadClass, Published, Quantity, Scope};
use punctual_units::Nanos;
use std::collections::BTreeSet;

const NONE: &str = "there are no built-in published figures for this board";

/// A run shorter than a published one by this factor was clearly less likely to include a late wakeup.
const SHORTER: f64 = 1.5;

/// Number of entries shown in full; the others are counted.
const SHOWN: usize = 3;

type Entry = (&'static Board, &'static Published);

fn flavour(recording: &Recording) -> Option<Flavour> {
    recording.run.machine.preempt_rt.map(|rt| if rt { Flavour::PreemptRt } else { Flavour::Stock })
}

/// Returns true if the run measured wakeups by a timer, as all published figures did. Other measurements are not
/// comparable.
fn is_of_timers(recording: &Recording) -> bool {
    let wakes = recording.run.phases.iter().all(|p| p.label.as_ref().is_none_or(|label| is_wakeup(label)));
    recording.run.settings.via.as_ref().is_none_or(|via| !via.is_woken()) && wakes
}

/// Returns true if the label of an imported phase denotes wakeup latency. The label follows the file name if there are
/// several files.
fn is_wakeup(label: &str) -> bool {
    matches!(label.rsplit(": ").next(), Some("latency" | "wakeup latency"))
}

/// Returns the comparable figures, those with the most similar conditions first. A run without a board, for example an
/// imported file, has no comparable figures: its processor alone does not identify the machine.
fn published(recording: &Recording) -> Option<Comparable> {
    let machine = &recording.run.machine;
    let board = machine.board.as_deref()?;
    let mut found = punctual_references::comparable(Some(board), machine.cpu_model.as_deref(), flavour(recording))?;
    found.entries.sort_by_key(|(_, p)| std::cmp::Reverse((similar(recording, p), p.samples, p.duration_s)));
    Some(found)
}

/// Returns the line shown if there are no published figures; `None` if there are some.
pub(crate) fn none(figures: &Figures) -> Option<String> {
    published(figures.recording).is_none().then(|| NONE.to_owned())
}

/// Compares the run's worst wakeup with the published figures, lists the most comparable figures with conditions and
/// source, and states how comparable they are. Empty if there are no figures, or if the run has no worst wakeup.
pub(crate) fn sentences(figures: &Figures) -> Vec<String> {
    let recording = figures.recording;
    let Some((worst, all)) = worst_ns(figures).zip(published(recording)) else { return Vec::new() };
    let mut lines = vec![beside(worst, recording, &all)];
    let shown = all.entries.iter().take(SHOWN);
    lines.extend(shown.map(|(board, p)| entry(matches!(all.scope, Scope::Core(_)).then_some(*board), p)));
    lines.extend(more(&all));
    lines.push(comparable(recording, &all.entries));
    lines
}

fn worst_ns(figures: &Figures) -> Option<u64> {
    let worst = figures.verdict.worst.as_ref().map(|w| w.max_ns);
    worst.filter(|_| is_of_timers(figures.recording))
}

fn in_ns(p: &Published) -> u64 {
    (p.worst_us * 1e3).round() as u64
}

fn beside(worst: u64, recording: &Recording, all: &Comparable) -> String {
    let low = all.entries.iter().map(|(_, p)| in_ns(p)).min().unwrap_or(0);
    let high = all.entries.iter().map(|(_, p)| in_ns(p)).max().unwrap_or(0);
    let place = match (low == high, worst) {
        (true, w) if w == low => format!("is the {} that was", Nanos(low)),
        (true, w) if w < low => format!("is below the {} that were", Nanos(low)),
        (true, _) => format!("is above the {} that were", Nanos(low)),
        (false, w) if w < low => format!("is below all of {} to {} that were", Nanos(low), Nanos(high)),
        (false, w) if w > high => format!("is above all of {} to {} that were", Nanos(low), Nanos(high)),
        (false, _) => format!("lies within the {} to {} that were", Nanos(low), Nanos(high)),
    };
    let with =
        flavour(recording).map_or("; this run's kernel is unknown".into(), |k| format!(" with a {} kernel", k.name()));
    let of = match all.scope {
        Scope::Board(board) => format!("a {}", board.name),
        Scope::Core(core) => {
            format!(
                "other boards with the same processor core ({core}), because no figures are published for this board,"
            )
        }
    };
    let number = plural(all.entries.len() as u64, "figure", "figures");
    format!(
        "This run's worst of {} {place} published for {of}{with} ({number}). This is a comparison with other people's measurements, not a verdict.",
        Nanos(worst),
    )
}

/// Formats [`headline`] with the board, tuning, note and source.
fn entry(board: Option<&Board>, p: &Published) -> String {
    let of = board.map(|board| format!(" {}.", board.name)).unwrap_or_default();
    let tuning = p.tuning.as_ref().map(|tuning| format!("; {tuning}")).unwrap_or_default();
    let note = p.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
    let date = p.date.as_ref().map(|date| format!(", {date}")).unwrap_or_default();
    let url = p.url.as_ref().map(|url| format!(", {url}")).unwrap_or_default();
    format!("{}{tuning}{note}.{of} Source: {}{date}{url}", headline(p), p.source)
}

/// Formats a figure: `93.0 µs: PREEMPT_RT kernel 4.19.59-rt23-v7l+; load not recorded; 50,000,000 wakeups on each of 4
/// threads; …`.
fn headline(p: &Published) -> String {
    let kernel = match &p.kernel {
        Some(release) => format!("{} kernel `{release}`", p.flavour.name()),
        None => format!("{} kernel, release not recorded", p.flavour.name()),
    };
    let load = p.load.as_ref().map_or("load not recorded".into(), |load| format!("load: {load}"));
    let samples = p.samples.map(|n| match p.threads {
        Some(threads) if threads > 1 => format!("{} wakeups on each of {threads} threads", count(n)),
        _ => format!("{} wakeups", count(n)),
    });
    let length = p.duration_s.map(|s| Nanos::from_secs(s).to_string());
    let size = samples.or(length).unwrap_or_else(|| "length not recorded".into());
    let tool = match (&p.tool, &p.options) {
        (Some(tool), Some(options)) => format!("{tool} `{options}`"),
        (Some(tool), None) => tool.clone(),
        (None, _) => "tool not recorded".into(),
    };
    let about = if p.approximate { "about " } else { "" };
    let quantity = if p.quantity == Quantity::Wakeup { String::new() } else { format!(", {}", p.quantity.name()) };
    format!("{about}{}{quantity}: {kernel}; {load}; {size}; {tool}", Nanos(in_ns(p)))
}

/// Returns the command that shows the entries that are not shown in full.
fn more(all: &Comparable) -> Option<String> {
    let left = all.entries.len().checked_sub(SHOWN).filter(|left| *left > 0)?;
    let keys: BTreeSet<&str> = all.entries.iter().map(|(board, _)| board.key.as_str()).collect();
    let command = match (all.scope, keys.first()) {
        (Scope::Board(board), _) => format!("punctual references {}", board.key),
        (Scope::Core(_), Some(key)) if keys.len() == 1 => format!("punctual references {key}"),
        _ => "punctual references".to_owned(),
    };
    Some(format!("{left} more, under conditions that differ more: `{command}`."))
}

/// Counts the conditions that a published measurement shares with this run.
fn similar(recording: &Recording, p: &Published) -> u32 {
    let run = &recording.run;
    let shared = [
        loads(recording).contains(&p.load_class()),
        loads(recording).len() == 1 && loads(recording).contains(&p.load_class()),
        p.threads == Some(threads(recording)),
        is_tuned(recording) == p.tuning.is_some(),
        p.tool.as_ref() == Some(&run.tool.name),
        p.kernel.is_some() && p.kernel == run.machine.kernel_release,
        !p.approximate,
    ];
    shared.iter().map(|is_shared| u32::from(*is_shared)).sum()
}

fn loads(recording: &Recording) -> BTreeSet<LoadClass> {
    let known = |load: &'_ str| if load == "unknown" { LoadClass::NotStated } else { LoadClass::of(Some(load)) };
    recording.run.phases.iter().map(|phase| known(&phase.load)).collect()
}

/// Returns the number of measured CPUs.
fn threads(recording: &Recording) -> u64 {
    let cpus = recording.run.phases.iter().flat_map(|phase| &phase.cpus).map(|result| result.cpu);
    cpus.collect::<BTreeSet<_>>().len() as u64
}

fn is_tuned(recording: &Recording) -> bool {
    recording.run.machine.cpus_isolated.as_ref().is_some_and(|cpus| !cpus.is_empty())
}

/// Formats how comparable the figures are: load, length and other conditions.
fn comparable(recording: &Recording, all: &[Entry]) -> String {
    let run = &recording.run;
    let mut what = vec![of_loads(recording, all)];
    what.extend(shorter(recording, all));
    what.push(of_tuning(recording, all));
    what.extend(of_cpus(recording, all));
    if run.virtual_time.is_some() {
        what.push("this run was measured in an emulator's virtual time".into());
    } else if let Some(hypervisor) = run.machine.virtualisation.as_ref().filter(|v| *v != "none") {
        what.push(format!("this run was measured in a virtual machine (`{hypervisor}`)"));
    }
    let release = run.machine.kernel_release.as_ref();
    if let Some(release) = release.filter(|r| all.iter().all(|(_, p)| p.kernel.as_ref() != Some(r))) {
        what.push(format!("none of them states this run's kernel `{release}`"));
    }
    if all.iter().all(|(_, p)| p.tool.as_ref() != Some(&run.tool.name)) {
        what.push("the published figures were measured with other tools".into());
    }
    format!("How comparable they are: {}.", what.join("; "))
}

fn of_loads(recording: &Recording, all: &[Entry]) -> String {
    let mut own: Vec<String> =
        recording.run.phases.iter().map(|p| format!("`{}`", words::load_name(&p.load))).collect();
    own.dedup();
    let own = if own.is_empty() { "unknown".to_owned() } else { words::and(&own) };
    let number = |class| all.iter().filter(|(_, p)| p.load_class() == class).count();
    let theirs = [LoadClass::Idle, LoadClass::Loaded, LoadClass::NotStated].map(|class| (number(class), class.name()));
    let theirs: Vec<String> = theirs.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}")).collect();
    format!("this run's load is {own}, the published loads are {}", theirs.join(", "))
}

/// Compares the wakeups of the busiest thread, or the duration, with the longest published measurement.
fn shorter(recording: &Recording, all: &[Entry]) -> Option<String> {
    let most = all.iter().filter_map(|(_, p)| p.samples).max();
    let longest = all.iter().filter_map(|(_, p)| p.duration_s).max();
    let phases = &recording.run.phases;
    let of_cpu = |cpu| {
        phases.iter().flat_map(|p| &p.cpus).filter(|c| c.cpu == cpu).map(|c| c.scored()).fold(0, u64::saturating_add)
    };
    let own = phases.iter().flat_map(|p| &p.cpus).map(|c| of_cpu(c.cpu)).max().unwrap_or(0);
    if let Some(most) = most.filter(|most| (own as f64) * SHORTER < *most as f64) {
        return Some(format!(
            "this run has {} per CPU, the longest published measurement {}",
            plural(own, "wakeup", "wakeups"),
            count(most)
        ));
    }
    let length = phases.iter().map(|p| recorded_ns(recording, p)).fold(0, u64::saturating_add);
    let seconds = longest.filter(|s| most.is_none() && length > 0 && (length as f64) * SHORTER < (*s as f64) * 1e9)?;
    Some(format!("this run lasted {}, the longest published measurement {}", Nanos(length), Nanos::from_secs(seconds)))
}

fn of_tuning(recording: &Recording, all: &[Entry]) -> String {
    let own = match &recording.run.machine.cpus_isolated {
        Some(cpus) if !cpus.is_empty() => format!("CPU {cpus} isolated"),
        Some(_) => "no CPU isolated".to_owned(),
        None => "isolation unknown".to_owned(),
    };
    let stated = all.iter().filter(|(_, p)| p.tuning.is_some()).count();
    format!("{own} in this run; {stated} of the {} published measurements state their tuning", all.len())
}

fn of_cpus(recording: &Recording, all: &[Entry]) -> Option<String> {
    let own = threads(recording);
    let theirs: BTreeSet<u64> = all.iter().filter_map(|(_, p)| p.threads).collect();
    let (least, most) = (theirs.first()?, theirs.last()?);
    let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
    (own > 0 && theirs.iter().any(|n| *n != own)).then(|| {
        format!("this run measured {}, the published measurements {range} threads", plural(own, "CPU", "CPUs"))
    })
}
