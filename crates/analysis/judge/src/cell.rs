//! The samples of one phase on one CPU (a cell), and their reliability.

use crate::doubt::{Doubt, cpus};
use crate::late::Late;
use punctual_model::{AppValue, Blocks, Blur, Distribution, Episodes, Kind, Phase, Recording, Run, Worst};
use punctual_units::{CpuId, Histogram, bin_index, bin_low};
use std::collections::BTreeMap;

const MICRO: u64 = 1_000;

/// Returns a limit that is equivalent for whole microseconds and lies at the end of a bin if possible. The histogram
/// then gives the exact number of samples above it.
fn between_bins(limit: u64) -> u64 {
    let last = limit / MICRO * MICRO;
    let Some(next) = last.checked_add(MICRO) else { return limit };
    let end = bin_low(bin_index(next)).saturating_sub(1);
    if end >= last { end } else { limit }
}

pub(crate) struct Cell<'a> {
    pub phase: &'a str,
    pub value: Option<&'a AppValue>,
    pub cpu: CpuId,
    /// True if the cell can never pass.
    pub doubtful: bool,
    /// Samples; `None` if nothing was recorded.
    pub samples: Option<Samples<'a>>,
}

pub(crate) struct Samples<'a> {
    pub raw: &'a Histogram,
    /// Lateness of skipped periods. Minimum and maximum are bin edges.
    pub skipped: &'a Histogram,
    /// Latencies of wakeups and skipped periods; never empty.
    pub corrected: Histogram,
    /// Exact largest corrected latency, ns.
    pub max: u64,
    /// Number of skipped periods according to the histogram or the thread's counter, whichever is larger.
    pub missed: u64,
    pub late: Late,
    /// Period in ns; 0 if unknown.
    pub period: u64,
    /// Upper bound on the number of skipped periods that were not counted: 0 for runs of this program, [`u64::MAX`] if
    /// an imported file states none.
    pub uncounted: u64,
    /// How far samples may deviate from their recorded values.
    pub blur: Blur,
    pub deadline: Option<u64>,
    /// True if the order of the samples is unknown (imported files).
    pub is_unordered: bool,
    /// Recorded episodes, by limit.
    pub episodes: &'a [Episodes],
    /// Counts per block of time, for quantiles.
    pub blocks: &'a [Blocks],
}

pub(crate) fn cells<'a>(recording: &'a Recording, doubts: &[Doubt]) -> Vec<Cell<'a>> {
    let mut worst: BTreeMap<(&str, CpuId), Vec<&Worst>> = BTreeMap::new();
    for w in &recording.worst {
        worst.entry((&w.phase, w.cpu)).or_default().push(w);
    }
    let mut cells = Vec::new();
    for phase in &recording.run.phases {
        for cpu in cpus(recording, phase) {
            let late = worst.get(&(phase.id.as_str(), cpu)).map_or(&[][..], Vec::as_slice);
            cells.push(Cell {
                phase: &phase.id,
                value: phase.value.as_ref(),
                cpu,
                doubtful: doubts.iter().any(|d| d.touches(&phase.id, cpu)),
                samples: recording
                    .distribution(&phase.id, cpu)
                    .and_then(|d| samples(&recording.run, phase, cpu, d, late)),
            });
        }
    }
    cells
}

fn samples<'a>(
    run: &Run,
    phase: &'a Phase,
    cpu: CpuId,
    distribution: &'a Distribution,
    worst: &[&Worst],
) -> Option<Samples<'a>> {
    let Distribution { raw, skipped } = distribution;
    // Counts whose sum overflows are invalid, which doubt.rs reports.
    raw.count().checked_add(skipped.count()).filter(|&n| n > 0)?;
    let result = phase.cpus.iter().find(|c| c.cpu == cpu);
    // A skipped period is less late than the wakeup that skipped it, so the largest wakeup is the exact maximum. If
    // files contradict each other, the larger figure counts, because it was observed.
    let raw_max = raw.max().unwrap_or(0);
    let skipped_max = match skipped.bins().next_back() {
        Some(bin) if bin.low > raw_max => bin.high.min(skipped.max().unwrap_or(bin.high)),
        _ => 0,
    };
    let listed = worst.iter().map(|w| w.latency_ns).max().unwrap_or(0);
    let stated = result.and_then(|r| r.max_ns).unwrap_or(0);
    let period = phase.period_ns.or(run.settings.period_ns).map_or(0, |p| p.0);
    let blur = result.and_then(|r| r.blur).unwrap_or_default();
    let uncounted = match result {
        Some(result) if result.skipped.is_none() => blur.skipped_at_most.unwrap_or(u64::MAX),
        _ => 0,
    };
    Some(Samples {
        raw,
        skipped,
        corrected: distribution.corrected(),
        max: raw_max.max(skipped_max).max(listed).max(stated),
        missed: skipped.count().max(result.and_then(|r| r.skipped).unwrap_or(0)),
        late: Late::new(worst, run.settings.worst_kept, raw, period),
        period,
        uncounted,
        blur,
        // A response longer than the period is late.
        deadline: phase.value.as_ref().map_or(run.settings.deadline_ns, |_| phase.period_ns).map(|d| d.0),
        is_unordered: run.kind == Kind::Imported,
        episodes: result.map_or(&[], |r| &r.episodes),
        blocks: result.map_or(&[], |r| &r.blocks),
    })
}

impl Samples<'_> {
    /// Returns the minimum and maximum number of corrected samples later than `limit`.
    pub fn beyond(&self, limit: u64) -> (u64, u64) {
        let (raw, skipped) = (self.raw_beyond(limit), self.skipped_beyond(limit));
        // The maximum may be known exactly, independently of the histogram.
        let known = u64::from(self.max > limit.saturating_add(self.blur.below_ns));
        // A skipped period is less late than the wakeup that skipped it. If no wakeup exceeds the limit, no skipped
        // period does.
        let uncounted = if raw.1 > 0 { self.uncounted } else { 0 };
        ((raw.0 + skipped.0).max(known), (raw.1 + skipped.1).max(known).saturating_add(uncounted))
    }

    /// Like [`Samples::beyond`], for wakeups only.
    pub fn raw_beyond(&self, limit: u64) -> (u64, u64) {
        let (least, most) = self.blurred_beyond(limit);
        match self.late.wakeups_above(limit) {
            Some(exact) if (least..=most).contains(&exact) => (exact, exact),
            _ => (least, most),
        }
    }

    /// Like [`Samples::raw_beyond`], but from the histogram alone: the bounds allow for the uncertainty
    /// of the recorded values ([`Blur`]).
    fn blurred_beyond(&self, limit: u64) -> (u64, u64) {
        let Blur { below_ns, above_ns, unplaced, .. } = self.blur;
        let whole = self.whole_micros();
        let between = |limit: u64| if whole { between_bins(limit) } else { limit };
        let (least, _) = self.raw.above(between(limit.saturating_add(below_ns)));
        let Some(lowered) = limit.checked_sub(above_ns) else { return (least, self.raw.count()) };
        let (_, most) = self.raw.above(between(lowered));
        // Samples placed at or below the limit that may exceed it.
        let more =
            unplaced.filter(|u| u.from_ns <= lowered && u.to_ns.is_none_or(|to| to > lowered)).map_or(0, |u| u.count);
        (least, most.saturating_add(more).min(self.raw.count()))
    }

    /// Returns true if all samples are recorded in whole microseconds.
    fn whole_micros(&self) -> bool {
        (self.blur.below_ns, self.blur.above_ns) == (0, MICRO - 1)
    }

    /// Like [`Samples::beyond`], for skipped periods only.
    fn skipped_beyond(&self, limit: u64) -> (u64, u64) {
        // Histogram::above treats the maximum as exact, but here it is only the edge of its bin.
        let count = |edge: fn(&punctual_units::Bin) -> u64| {
            self.skipped.bins().rev().take_while(|b| edge(b) > limit).map(|b| b.count).sum()
        };
        let (least, most): (u64, u64) = (count(|b| b.low), count(|b| b.high));
        match self.late.skipped_above(limit) {
            Some(exact) if (least..=most).contains(&exact) => (exact, exact),
            _ => (least, most),
        }
    }

    /// Returns bounds in ns on the sample with this rank (1 = smallest) among all corrected samples: the edges of its
    /// bin, moved apart by the uncertainty of the recorded values ([`Blur`]). An upper bound of `None` means unbounded.
    pub fn edges_at(&self, rank: u64) -> Option<(u64, Option<u64>)> {
        let mut seen = 0;
        let bin = self.corrected.bins().find(|bin| {
            seen += bin.count;
            seen >= rank && rank > 0
        })?;
        let min = self.corrected.min().unwrap_or(0);
        let low = bin.low.max(min).min(self.max).saturating_sub(self.blur.below_ns);
        let high = match self.blur.unplaced {
            // The order of samples beyond this bin is unknown.
            Some(unplaced) if bin.high >= unplaced.from_ns => unplaced.to_ns,
            // For values in whole microseconds, this is the last whole microsecond of the bin.
            _ if self.whole_micros() => Some((bin.high / MICRO * MICRO).min(self.max)),
            _ => Some(bin.high.min(self.max)),
        };
        Some((low, high.map(|high| high.saturating_add(self.blur.above_ns))))
    }
}
