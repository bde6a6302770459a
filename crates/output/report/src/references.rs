//! Published figures of the run's board beside its own worst wakeup: no verdict, and with the differences.

use crate::figures::{Figures, recorded_ns};
use crate::number::{count, plural};
use crate::words;
use punctual_model::Recording;
use punctual_references::{Board, Kernel, Published};
use punctual_units::Nanos;
use serde::Serialize;

const NONE: &str = "no published figures for this board are bundled";

/// A run shorter than a published one by this factor had clearly fewer chances of a late wakeup.
const SHORTER: f64 = 1.5;

fn board(recording: &Recording) -> Option<&'static Board> {
    recording.run.machine.board.as_deref().and_then(punctual_references::board)
}

fn kernel(recording: &Recording) -> Option<Kernel> {
    recording.run.machine.preempt_rt.map(|rt| if rt { Kernel::PreemptRt } else { Kernel::Stock })
}

/// Published figures are of wakeups by a timer; other measurements are not comparable.
fn is_of_timers(recording: &Recording) -> bool {
    let wakes = recording.run.phases.iter().all(|p| p.label.as_ref().is_none_or(|label| is_wakeup(label)));
    recording.run.settings.via.as_ref().is_none_or(|via| !via.is_woken()) && wakes
}

/// The label of an imported phase says what was measured, after the file names if there are several.
fn is_wakeup(label: &str) -> bool {
    matches!(label.rsplit(": ").next(), Some("latency" | "wakeup latency"))
}

fn published(recording: &Recording) -> Vec<&'static Published> {
    board(recording).map(|b| punctual_references::of(b, kernel(recording))).unwrap_or_default()
}

/// The line shown if there are no published figures; `None` if there are.
pub(crate) fn none(figures: &Figures) -> Option<String> {
    published(figures.recording).is_empty().then(|| NONE.to_owned())
}

/// The run's worst compared with the published figures, each with conditions and source, and the differences. Empty if
/// there are none for the board, or the run has no worst.
pub(crate) fn sentences(figures: &Figures) -> Vec<String> {
    let recording = figures.recording;
    let (all, board) = (published(recording), board(recording));
    let Some(((worst, board), _)) = worst_ns(figures).zip(board).zip(all.first()) else { return Vec::new() };
    let mut lines = vec![beside(worst, board, recording, &all)];
    lines.extend(all.iter().map(|p| entry(p)));
    lines.extend(differing(recording, &all));
    lines
}

fn worst_ns(figures: &Figures) -> Option<u64> {
    let worst = figures.verdict.worst.as_ref().map(|w| w.max_ns);
    worst.filter(|_| is_of_timers(figures.recording))
}

fn in_ns(p: &Published) -> u64 {
    (p.worst_us * 1e3).round() as u64
}

fn beside(worst: u64, board: &Board, recording: &Recording, all: &[&Published]) -> String {
    let low = all.iter().map(|p| in_ns(p)).min().unwrap_or(0);
    let high = all.iter().map(|p| in_ns(p)).max().unwrap_or(0);
    let place = match (low == high, worst) {
        (true, w) if w == low => format!("is the {} that was", Nanos(low)),
        (true, w) if w < low => format!("is below the {} that were", Nanos(low)),
        (true, _) => format!("is above the {} that were", Nanos(low)),
        (false, w) if w < low => format!("is below all of {} to {} that were", Nanos(low), Nanos(high)),
        (false, w) if w > high => format!("is above all of {} to {} that were", Nanos(low), Nanos(high)),
        (false, _) => format!("lies within the {} to {} that were", Nanos(low), Nanos(high)),
    };
    let with =
        kernel(recording).map_or("; this run's kernel is not known".into(), |k| format!(" with a {} kernel", k.name()));
    format!(
        "This run's worst of {} {place} published for a {}{with}. This is a comparison with other people's measurements, not a verdict.",
        Nanos(worst),
        board.name
    )
}

/// `93.0 µs: PREEMPT_RT 4.19.59-rt23-v7l+, load not recorded, 50,000,000 wakeups on each of 4 threads, …`
fn entry(p: &Published) -> String {
    let kernel = match &p.release {
        Some(release) => format!("{} kernel `{release}`", p.kernel.name()),
        None => format!("{} kernel, release not recorded", p.kernel.name()),
    };
    let load = p.load.as_ref().map_or("load not recorded".into(), |load| format!("load: {load}"));
    let samples = p.samples.map(|n| match p.threads {
        Some(threads) if threads > 1 => format!("{} wakeups on each of {threads} threads", count(n)),
        _ => format!("{} wakeups", count(n)),
    });
    let length = p.duration_s.map(|s| Nanos::from_secs(s).to_string());
    let size = samples.or(length).unwrap_or_else(|| "length not recorded".into());
    let tool = p.options.as_ref().map_or(p.tool.clone(), |options| format!("{} `{options}`", p.tool));
    let note = p.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
    let year = p.year.map(|year| format!(", {year}")).unwrap_or_default();
    let url = p.url.as_ref().map(|url| format!(", {url}")).unwrap_or_default();
    format!("{}: {kernel}; {load}; {size}; {tool}{note}. Source: {}{year}{url}", Nanos(in_ns(p)), p.source)
}

fn differing(recording: &Recording, all: &[&Published]) -> Option<String> {
    let run = &recording.run;
    let mut what = Vec::new();
    what.extend(shorter(recording, all));
    what.extend(loads(recording, all));
    if run.virtual_time.is_some() {
        what.push("this run is of an emulator's virtual time".into());
    } else if let Some(hypervisor) = run.machine.virtualisation.as_ref().filter(|v| *v != "none") {
        what.push(format!("this run is of a virtual machine (`{hypervisor}`)"));
    }
    let release = run.machine.kernel_release.as_ref();
    if let Some(release) = release.filter(|r| all.iter().all(|p| p.release.as_ref() != Some(r))) {
        what.push(format!("none of them states this run's kernel `{release}`"));
    }
    if all.iter().all(|p| p.tool != run.tool.name) {
        what.push("theirs are of other tools".into());
    }
    (!what.is_empty()).then(|| format!("What differs: {}.", what.join("; ")))
}

/// Wakeups of the busiest thread, or duration, compared with the longest published measurement.
fn shorter(recording: &Recording, all: &[&Published]) -> Option<String> {
    let most = all.iter().filter_map(|p| p.samples).max();
    let longest = all.iter().filter_map(|p| p.duration_s).max();
    let phases = &recording.run.phases;
    let of_cpu = |cpu| {
        phases.iter().flat_map(|p| &p.cpus).filter(|c| c.cpu == cpu).map(|c| c.scored()).fold(0, u64::saturating_add)
    };
    let own = phases.iter().flat_map(|p| &p.cpus).map(|c| of_cpu(c.cpu)).max().unwrap_or(0);
    if let Some(most) = most.filter(|most| (own as f64) * SHORTER < *most as f64) {
        return Some(format!("this run has {} a CPU, one of them {}", plural(own, "wakeup", "wakeups"), count(most)));
    }
    let length = phases.iter().map(|p| recorded_ns(recording, p)).fold(0, u64::saturating_add);
    let seconds = longest.filter(|s| most.is_none() && length > 0 && (length as f64) * SHORTER < (*s as f64) * 1e9)?;
    Some(format!("this run lasted {}, one of them {}", Nanos(length), Nanos::from_secs(seconds)))
}

fn loads(recording: &Recording, all: &[&Published]) -> Option<String> {
    let mut own: Vec<String> =
        recording.run.phases.iter().map(|p| format!("`{}`", words::load_name(&p.load))).collect();
    own.dedup();
    if own.is_empty() {
        return None;
    }
    let reported = all.iter().filter(|p| p.load.is_some()).count();
    let theirs = if reported == 0 { "theirs are not stated" } else { "theirs are different loads" };
    Some(format!("this run's load is {}, {theirs}", words::and(&own)))
}

/// Published figures of the run's board.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct PublishedPart {
    /// The board's key; null if no figures of it are bundled.
    board: Option<&'static str>,
    /// `stock` or `PREEMPT_RT`; null if unknown.
    kernel: Option<&'static str>,
    /// The run's worst wakeup; null if it has none that is comparable.
    worst_ns: Option<u64>,
    /// Why there are no figures; null if there are some.
    note: Option<String>,
    /// The run's worst compared with the published figures.
    sentences: Vec<String>,
    /// With conditions and source.
    entries: Vec<EntryPart>,
}

/// One published worst latency.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct EntryPart {
    /// The worst wakeup of all threads.
    worst_ns: u64,
    /// `stock`, `PREEMPT_RT`, `Xenomai`.
    kernel: &'static str,
    /// `uname -r`.
    kernel_release: &'static Option<String>,
    /// Load during the measurement; null if the source does not state it, as for all below.
    load: &'static Option<String>,
    duration_s: Option<u64>,
    wakeups_per_thread: Option<u64>,
    /// Number of measuring threads.
    threads: Option<u64>,
    tool: &'static str,
    /// Options of the tool.
    options: &'static Option<String>,
    /// Other conditions that the source states.
    note: &'static Option<String>,
    /// Title of the page, paper or repository.
    source: &'static str,
    url: &'static Option<String>,
    year: Option<u16>,
}

impl PublishedPart {
    pub(crate) fn new(figures: &Figures) -> PublishedPart {
        let recording = figures.recording;
        PublishedPart {
            board: board(recording).map(|b| b.key.as_str()),
            kernel: kernel(recording).map(Kernel::name),
            worst_ns: worst_ns(figures),
            note: none(figures),
            sentences: sentences(figures),
            entries: published(recording).into_iter().map(EntryPart::new).collect(),
        }
    }
}

impl EntryPart {
    fn new(p: &'static Published) -> EntryPart {
        EntryPart {
            worst_ns: in_ns(p),
            kernel: p.kernel.name(),
            kernel_release: &p.release,
            load: &p.load,
            duration_s: p.duration_s,
            wakeups_per_thread: p.samples,
            threads: p.threads,
            tool: &p.tool,
            options: &p.options,
            note: &p.note,
            source: &p.source,
            url: &p.url,
            year: p.year,
        }
    }
}
