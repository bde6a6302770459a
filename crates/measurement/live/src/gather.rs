use crate::snapshot::{CpuView, Machine};
use punctual_measure::{Cell, Counts};
use punctual_model::ContextSample;
use punctual_units::{Bin, CpuId, bin_high, bin_low, held_rank};

/// Reads the cells of the measuring threads into reused memory. Repeated calls do not allocate, so no memory is
/// returned to the kernel, which would interrupt the measured CPUs (munmap(2) flushes their TLBs).
#[derive(Default)]
pub struct Looker {
    counts: Counts,
}

impl Looker {
    /// Reads `cell` into `view`, except for the values that the context thread supplies. A sample recorded during the
    /// call may be included in one value and not yet in another.
    pub fn look(&mut self, cell: &Cell, view: &mut CpuView) {
        let extremes = cell.extremes();
        cell.copy_counts(&mut self.counts);
        view.bins.clear();
        let filled = self.counts.raw.iter().enumerate().filter(|&(_, &count)| count > 0);
        view.bins.extend(filled.map(|(i, &count)| Bin { low: bin_low(i), high: bin_high(i), count }));
        view.ran = sum(&self.counts.raw);
        view.skipped = sum(&self.counts.skipped);
        view.min = extremes.map(|(min, _)| min);
        view.worst = extremes.map(|(_, max)| max);
        view.median = quantile(view, 50);
        view.p99 = quantile(view, 99);
    }
}

fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum: u64, &n| sum.saturating_add(n))
}

/// Returns the nearest-rank quantile: the upper edge of its bin, but at most the maximum, like `Histogram::quantile`.
fn quantile(view: &CpuView, percent: u32) -> Option<u64> {
    let rank = held_rank(f64::from(percent) / 100.0, view.ran)?;
    let mut seen = 0;
    let bin = view.bins.iter().find(|bin| {
        seen += bin.count;
        seen >= rank
    })?;
    Some(view.worst.map_or(bin.high, |worst| bin.high.min(worst)))
}

/// Converts a context sample into displayed values. Also sets the share of steal time of each CPU.
pub fn machine(sample: &ContextSample, khz: &[(CpuId, u64)], cpus: &mut [CpuView]) -> Machine {
    let interval = sample.interval_ns.max(1) as f64;
    for view in &mut *cpus {
        let context = sample.cpus.iter().find(|c| c.cpu == view.cpu);
        view.steal = context.and_then(|c| c.steal_ns).map(|ns| (ns as f64 / interval).min(1.0));
    }
    let mine = || khz.iter().filter(|(cpu, _)| cpus.iter().any(|view| view.cpu == *cpu)).map(|(_, khz)| *khz);
    Machine {
        hottest: sample.temperatures.iter().max_by_key(|t| t.value).map(|t| (t.name.clone(), t.value)),
        throttled: (!sample.throttling.is_empty())
            .then(|| sample.throttling.iter().fold(0, |n: i64, r| n.saturating_add(r.value))),
        khz: mine().min().zip(mine().max()),
        steps_per_s: sample.frequency_transitions.map(|n| n as f64 * 1e9 / interval),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use punctual_model::{CpuContext, Reading};
    use punctual_units::Histogram;

    proptest! {
        #[test]
        fn quantiles_are_the_histograms(values in proptest::collection::vec(0u64..10_000_000, 1..300)) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|&v| histogram.record(v));
            let bins: Vec<Bin> = histogram.bins().collect();
            let view = CpuView { ran: histogram.count(), worst: histogram.max(), bins, ..CpuView::default() };
            prop_assert_eq!(quantile(&view, 50), histogram.quantile(0.5));
            prop_assert_eq!(quantile(&view, 99), histogram.quantile(0.99));
        }
    }

    #[test]
    fn nothing_measured_is_nothing_known() {
        let mut view = CpuView { median: Some(3), ..CpuView::default() };
        Looker::default().look(&Box::new(Cell::new(4)), &mut view);
        assert_eq!(view, CpuView::default());
    }

    #[test]
    fn what_the_context_does_not_know_stays_unknown() {
        let mut cpus =
            [CpuView { cpu: CpuId(0), ..CpuView::default() }, CpuView { cpu: CpuId(1), ..CpuView::default() }];
        assert_eq!(machine(&ContextSample::default(), &[], &mut cpus), Machine::default());
        let sample = ContextSample {
            interval_ns: 2_000_000_000,
            temperatures: [("a", 40_000), ("b", 57_000)].map(|(n, value)| Reading { name: n.into(), value }).into(),
            frequency_transitions: Some(5),
            cpus: vec![CpuContext { cpu: CpuId(1), steal_ns: Some(100_000_000), ..CpuContext::default() }],
            ..ContextSample::default()
        };
        let khz = [(CpuId(0), 1_200_000), (CpuId(1), 2_400_000), (CpuId(7), 9)];
        let seen = machine(&sample, &khz, &mut cpus);
        assert_eq!((seen.hottest, seen.throttled), (Some(("b".into(), 57_000)), None));
        assert_eq!((seen.khz, seen.steps_per_s), (Some((1_200_000, 2_400_000)), Some(2.5)));
        assert_eq!((cpus[0].steal, cpus[1].steal), (None, Some(0.05)));
    }
}
