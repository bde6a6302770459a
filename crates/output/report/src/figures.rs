use crate::bounds::{Finder, Quantile};
use crate::number::plural;
use punctual_model::{Blur, CellJudgement, CpuResult, Known, Phase, Recording, Verdict};
use punctual_units::{Arrange, CpuId, Histogram};
use std::borrow::Cow;

pub const QUANTILES: [(f64, &str); 6] =
    [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"), (0.9999, "p99.99"), (0.99999, "p99.999")];

/// Maximum number of CPUs that charts and tables show individually; if there are more, they show only the relevant
/// CPUs.
pub const MOST_APART: usize = 8;

/// Returns the recorded time of a phase, ns: the time of its periods, excluding start and stop, or, if no periods are
/// known, the time from start to end. Returns 0 if an imported file contains neither.
pub fn recorded_ns(recording: &Recording, phase: &Phase) -> u64 {
    if recording.run.settings.period_ns.is_none() {
        let length = |(from, to): (u64, Option<u64>)| to.map_or(0, |to| to.saturating_sub(from));
        return phase.stretches().into_iter().map(length).fold(0, u64::saturating_add);
    }
    let released = phase.cpus.iter().map(|c| c.scored()).max().unwrap_or(0);
    released.saturating_mul(recording.run.settings.period_ns.map_or(0, |p| p.0))
}

pub struct Cell<'a> {
    pub phase: &'a Phase,
    pub result: &'a CpuResult,
    pub raw: Option<&'a Histogram>,
    /// All released periods, including skipped periods, as far as they are known.
    pub known: Option<Known<'a>>,
    pub judged: Option<&'a CellJudgement>,
    /// Corrected quantiles in the order of [`QUANTILES`].
    pub quantiles: Vec<Quantile>,
    pub raw_quantiles: Option<Vec<Quantile>>,
}

impl<'a> Cell<'a> {
    fn new(finder: &mut Finder, from: (&'a Recording, &'a Verdict), phase: &'a Phase, result: &'a CpuResult) -> Self {
        let (recording, verdict) = from;
        // Counts whose sum overflows are invalid.
        let distribution = recording.distribution(&phase.id, result.cpu);
        let distribution = distribution.filter(|d| d.raw.count().checked_add(d.skipped.count()).is_some());
        let blur = Blur::of(result);
        let known = distribution.map(|d| match d.skipped.is_empty() {
            true => Known::new(Cow::Borrowed(&d.raw), blur),
            false => Known::new(Cow::Owned(d.corrected()), blur),
        });
        // Claims may estimate the clustering at different limits; the strongest is used.
        let judged = verdict.claims.iter().flat_map(|claim| &claim.cells);
        let judged = judged.filter(|c| c.phase == phase.id && c.cpu == result.cpu);
        let judged = judged.min_by(|a, b| a.effective_samples.total_cmp(&b.effective_samples));
        let raw = distribution.map(|d| &d.raw);
        let mut cell = Cell { phase, result, raw, known, judged, quantiles: Vec::new(), raw_quantiles: None };
        let theta = cell.theta();
        let mut all = |h: &Known| QUANTILES.iter().map(|(q, _)| finder.quantile(h, theta, *q)).collect();
        cell.quantiles = match &cell.known {
            Some(known) => all(known),
            None => vec![Quantile::default(); QUANTILES.len()],
        };
        let raw = raw.filter(|_| cell.was_corrected());
        cell.raw_quantiles = raw.map(|raw| all(&Known::new(Cow::Borrowed(raw), blur)));
        cell
    }

    /// Returns all counted periods. Those without a value are given the least possible value.
    pub fn corrected(&self) -> Option<&Histogram> {
        self.known.as_ref().map(Known::all)
    }

    /// Returns the periods with a value, which may be shown in bins.
    pub fn values(&self) -> Option<&Histogram> {
        self.known.as_ref().map(Known::values)
    }

    /// Returns the largest latency, ns; `None` if a larger one is possible.
    pub fn known_max(&self) -> Option<u64> {
        self.known.as_ref().map_or(self.result.max_ns, Known::max)
    }

    /// Returns the number of periods with a latency; `None` if the imported file leaves some of them uncounted.
    pub fn known_periods(&self) -> Option<u64> {
        let is_counted = self.known.as_ref().is_none_or(|known| known.count().is_some());
        is_counted.then(|| self.result.scored())
    }

    /// Returns the mean over all periods; for an imported file, the mean that it contains.
    pub fn mean(&self) -> Option<f64> {
        match self.result.blur {
            Some(_) => self.result.mean_ns,
            None => self.corrected()?.mean(),
        }
    }

    /// Returns true if all latencies are whole microseconds.
    pub fn is_whole_micros(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.blur().is_whole_micros())
    }

    pub fn cpu(&self) -> CpuId {
        self.result.cpu
    }

    pub fn max(&self) -> Option<u64> {
        self.corrected().and_then(Histogram::max).or(self.result.max_ns)
    }

    pub fn was_corrected(&self) -> bool {
        self.raw.zip(self.corrected()).is_some_and(|(raw, corrected)| raw.count() != corrected.count())
    }

    /// Returns the effective number of independent samples according to the verdict; without a verdict, the number of
    /// all samples.
    pub fn effective(&self) -> f64 {
        self.judged.map_or(self.result.scored() as f64, |j| j.effective_samples)
    }

    fn theta(&self) -> f64 {
        match self.judged {
            Some(j) if j.samples > 0 => (j.effective_samples / j.samples as f64).clamp(0.0, 1.0),
            _ => 1.0,
        }
    }
}

pub struct Figures<'a> {
    pub recording: &'a Recording,
    pub verdict: &'a Verdict,
    pub cells: Vec<Cell<'a>>,
}

pub struct Row<'a> {
    pub phase: &'a Phase,
    /// The CPU, for example `1`, or `64 CPUs` if each figure is the largest of 64 CPUs.
    pub cpu: String,
    pub released: u64,
    /// Number of skipped periods; `None` if an imported file does not state it.
    pub skipped: Option<u64>,
    /// Corrected quantiles in the order of [`QUANTILES`].
    pub quantiles: Vec<Quantile>,
    /// True if all latencies are whole microseconds.
    pub whole_micros: bool,
    pub max: Option<u64>,
    /// The CPU with the largest latency; `None` in a row of a single CPU.
    pub max_cpu: Option<CpuId>,
}

impl<'a> Figures<'a> {
    pub fn new(recording: &'a Recording, verdict: &'a Verdict) -> Figures<'a> {
        let mut finder = Finder::default();
        let results = recording.run.phases.iter().flat_map(|p| p.cpus.iter().map(move |result| (p, result)));
        let cells = results.map(|(p, result)| Cell::new(&mut finder, (recording, verdict), p, result)).collect();
        Figures { recording, verdict, cells }
    }

    pub fn of_phase(&self, phase: &Phase) -> Vec<&Cell<'a>> {
        self.cells.iter().filter(|c| c.phase.id == phase.id).collect()
    }

    /// Returns true if there are too many CPUs to show them individually.
    pub fn is_crowded(&self) -> bool {
        self.recording.run.phases.iter().any(|p| p.cpus.len() > MOST_APART)
    }

    /// Returns the CPUs that charts draw individually: all of them or, if there are many, the worst of each phase, then
    /// the worst of the rest.
    pub fn picked(&self) -> Vec<CpuId> {
        let mut by_max: Vec<&Cell> = self.cells.iter().collect();
        by_max.arrange_by_key(|c| (std::cmp::Reverse(c.max()), c.cpu()));
        let mut picked: Vec<CpuId> = Vec::new();
        let phases = self.recording.run.phases.iter();
        let mut worst_of_each: Vec<_> = phases.filter_map(|p| by_max.iter().find(|c| c.phase.id == p.id)).collect();
        worst_of_each.arrange_by_key(|c| std::cmp::Reverse(c.max()));
        for cell in worst_of_each.into_iter().chain(&by_max) {
            if picked.len() < MOST_APART && !picked.contains(&cell.cpu()) {
                picked.push(cell.cpu());
            }
        }
        picked.sort_unstable();
        picked
    }

    pub fn rows(&self) -> Vec<Row<'a>> {
        let row = |c: &Cell<'a>| Row {
            phase: c.phase,
            cpu: c.cpu().to_string(),
            released: c.result.scored(),
            skipped: c.result.skipped,
            quantiles: c.quantiles.clone(),
            whole_micros: c.is_whole_micros(),
            max: c.max(),
            max_cpu: None,
        };
        self.cells.iter().map(row).collect()
    }

    /// Returns one row per phase with the maximum of each figure over all CPUs, since the worst decides.
    pub fn rows_by_phase(&self) -> Vec<Row<'a>> {
        let phases = self.recording.run.phases.iter();
        phases.map(|p| (p, self.of_phase(p))).filter(|(_, cells)| !cells.is_empty()).map(worst_of).collect()
    }
}

fn worst_of<'a>((phase, cells): (&'a Phase, Vec<&Cell<'a>>)) -> Row<'a> {
    let largest = |q: usize| {
        let all = || cells.iter().map(|c| c.quantiles[q]);
        // If the quantile of one CPU is unbounded, so is the maximum.
        let upper = all().map(|x| x.upper).collect::<Option<Vec<_>>>().and_then(|u| u.into_iter().max());
        // The maximum is also unknown if the quantile of one CPU is.
        let is_open = cells.iter().any(|c| c.corrected().is_some_and(|h| !h.is_empty()) && c.quantiles[q].ns.is_none());
        let ns = all().filter_map(|x| x.ns).max().filter(|_| !is_open);
        Quantile { ns, lower: all().filter_map(|x| x.lower).max(), upper }
    };
    let worst = cells.iter().max_by_key(|c| (c.max(), std::cmp::Reverse(c.cpu())));
    let released = cells.iter().fold(0u64, |s, c| s.saturating_add(c.result.scored()));
    let skipped = cells.iter().try_fold(0u64, |s, c| Some(s.saturating_add(c.result.skipped?)));
    Row {
        phase,
        cpu: plural(cells.len() as u64, "CPU", "CPUs"),
        released,
        skipped,
        quantiles: (0..QUANTILES.len()).map(largest).collect(),
        whole_micros: cells.iter().all(|c| c.is_whole_micros()),
        max: worst.and_then(|c| c.max()),
        max_cpu: worst.map(|c| c.cpu()),
    }
}
