use super::{and, capital, phase_name, stopped};
use crate::clean;
use crate::number::{count, plural};
use punctual_model::{Claim, Import, Lost, LostKind, Quantity, Recording, Series, Verdict};
use punctual_units::{CpuId, Nanos};

/// Maximum number of threads named in a sentence about a loss; if there are more, their number is given.
const NAMED: usize = 4;

/// Formats the origin: ``Imported from `a.txt`, measured by cyclictest 2.40.``
pub(crate) fn whence(recording: &Recording) -> Option<String> {
    let import = recording.run.import.as_ref()?;
    let tool = &recording.run.tool;
    let version = tool.version.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
    let names: Vec<String> =
        import.files.iter().take(NAMED).map(|f| format!("`{}`", clean::clip(&f.name, 60))).collect();
    let more = match import.files.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {}", plural(n as u64, "more file", "more files")),
    };
    Some(format!(
        "These figures were measured by {}{version} and imported from {}{more}; what it did not record is unknown.",
        tool.name,
        and(&names)
    ))
}

pub(super) fn grave(recording: &Recording) -> Vec<String> {
    let is_grave = |l: &&Lost| {
        matches!(
            l.kind,
            LostKind::Overflow
                | LostKind::Distribution
                | LostKind::Truncated
                | LostKind::Disagreement
                | LostKind::Unreadable
                | LostKind::Gap
        )
    };
    let Some(import) = &recording.run.import else { return Vec::new() };
    let problems = || recording.run.problems.iter().chain(recording.run.phases.iter().flat_map(|p| &p.problems));
    let reported = |l: &&Lost| problems().any(|p| p.text == l.text);
    sentences(recording, import.lost.iter().filter(is_grave).filter(|l| !reported(l)))
}

/// Reports everything that was lost; threads that lost the same share a sentence.
pub fn lost(recording: &Recording) -> Vec<String> {
    recording.run.import.as_ref().map(|import| sentences(recording, import.lost.iter())).unwrap_or_default()
}

fn sentences<'a>(recording: &Recording, lost: impl Iterator<Item = &'a Lost>) -> Vec<String> {
    // Threads share a sentence within a phase only.
    let mut groups: Vec<(&Lost, Vec<CpuId>, Option<u64>)> = Vec::new();
    for one in lost {
        match groups.iter_mut().find(|(l, ..)| l.kind == one.kind && l.phase == one.phase && l.text == one.text) {
            Some((_, cpus, sum)) => {
                cpus.extend(one.cpu);
                *sum = sum.zip(one.count).map(|(a, b)| a.saturating_add(b));
            }
            None => groups.push((one, one.cpu.into_iter().collect(), one.count)),
        }
    }
    groups.into_iter().map(|(l, cpus, sum)| sentence(recording, l, &cpus, sum)).collect()
}

fn sentence(recording: &Recording, lost: &Lost, cpus: &[CpuId], sum: Option<u64>) -> String {
    let phase = lost.phase.as_deref().filter(|_| recording.run.phases.len() > 1);
    let phase = phase.map(|id| format!("`{}`", phase_name(recording, id)));
    let all = |id: &str| recording.run.phases.iter().find(|p| p.id == id).map_or(0, |p| p.cpus.len());
    let whole = lost.phase.as_deref().is_some_and(|id| all(id) == cpus.len());
    let cpus = match cpus {
        [] => None,
        _ if whole => None,
        few if few.len() <= NAMED => {
            Some(format!("CPU {}", and(&few.iter().map(CpuId::to_string).collect::<Vec<_>>())))
        }
        many => Some(format!("{} CPUs", many.len())),
    };
    let place: Vec<String> = [phase, cpus].into_iter().flatten().collect();
    let place = if place.is_empty() { String::new() } else { format!("{}: ", place.join(", ")) };
    let number = sum.map(|n| format!(" ({} of them)", count(n))).unwrap_or_default();
    let text = if place.is_empty() { capital(&lost.text) } else { lost.text.clone() };
    stopped(&format!("{place}{text}{number}"))
}

/// Returns the headline of a file without latencies, if nothing was claimed.
pub(super) fn only_series(recording: &Recording, verdict: &Verdict) -> Option<String> {
    let series = recording.run.import.as_ref().map(|import| import.series.len() as u64).filter(|&n| n > 0)?;
    let fine = recording.run.phases.is_empty() && verdict.claims.is_empty() && verdict.problems.is_empty();
    fine.then(|| {
        format!("{} of figures that are not latencies; nothing was claimed", plural(series, "series", "series"))
    })
}

pub(super) fn measured(recording: &Recording, verdict: &Verdict, import: &Import) -> String {
    let run = &recording.run;
    let threads = run.phases.iter().map(|p| p.cpus.len()).sum::<usize>() as u64;
    let figures: u64 = import.series.iter().map(|s| s.count).sum();
    let series = match import.series.len() as u64 {
        0 => String::new(),
        n => format!("{} in {}", plural(figures, "figure", "figures"), plural(n, "series", "series")),
    };
    if threads == 0 {
        return if series.is_empty() { "Nothing was measured.".into() } else { format!("{series}, no latencies.") };
    }
    let period = run.settings.period_ns.map(|p| format!(", one every {p} on each")).unwrap_or_default();
    let also = if series.is_empty() { series } else { format!(", and {series}") };
    format!(
        "{} of {}{period}{also}.",
        plural(verdict.scored(), "sample", "samples"),
        plural(threads, "thread", "threads")
    )
}

/// Returns why data missing from the file leave a claim open; `None` if the reason is another one.
pub(super) fn open(recording: &Recording, claim: &Claim, phase: &str, cpu: CpuId) -> Option<String> {
    let phase = recording.run.phases.iter().find(|p| p.id == phase)?;
    let result = phase.cpus.iter().find(|c| c.cpu == cpu)?;
    let blur = result.blur.as_ref()?;
    let mut why = Vec::new();
    let by_order =
        matches!(claim.quantity, Quantity::Exceedance { .. } | Quantity::MissedShare(_) | Quantity::Episodes { .. });
    if by_order && result.episodes.is_empty() {
        why.push("the order of the samples is not in the file".into());
    }
    if let Some(unplaced) = blur.unplaced {
        let to = unplaced.to_ns.map(|to| format!(" and at most {}", Nanos(to))).unwrap_or_default();
        let samples = plural(unplaced.count, "sample is", "samples are");
        why.push(format!("{samples} recorded only as at least {}{to}", Nanos(unplaced.from_ns)));
    }
    if !matches!(claim.quantity, Quantity::Max(_)) && result.skipped.is_none() {
        match blur.skipped_at_most {
            Some(0) => {}
            Some(most) => {
                why.push(format!("up to {} may have been skipped uncounted", plural(most, "period", "periods")))
            }
            None => why.push("periods that were skipped are not in the file".into()),
        }
    }
    if (blur.above_ns > 0 || blur.below_ns > 0) && !by_order {
        let step = blur.above_ns.saturating_add(blur.below_ns).saturating_add(1);
        why.push(format!("values are rounded to steps of {}", Nanos(step)));
    }
    (!why.is_empty()).then(|| and(&why))
}

pub(crate) const SERIES_HEAD: [&str; 6] = ["figure", "unit", "count", "mean", "min", "max"];

pub(crate) fn series_row(series: &Series) -> [String; 6] {
    let some = |v: f64| if series.count == 0 { "–".into() } else { figure(v) };
    [
        clean::clip(&clean::line(&series.name), 32),
        clean::clip(&clean::line(&series.unit), 8),
        count(series.count),
        some(series.mean),
        some(series.min),
        some(series.max),
    ]
}

fn figure(v: f64) -> String {
    match v.abs() {
        x if x >= 1e15 || (x > 0.0 && x < 1e-4) => format!("{v:.3e}"),
        x if x >= 10_000.0 => format!("{v:.0}"),
        x if x >= 100.0 => format!("{v:.1}"),
        x if x >= 1.0 => format!("{v:.2}"),
        _ => format!("{v:.4}"),
    }
}
