use crate::snapshot::{CpuView, Snapshot};

/// Maps latencies to columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    columns: u16,
}

impl Scale {
    /// Creates a scale that covers all measured latencies and the deadline. Both ends are 1, 2 or 5 times a power of
    /// ten, and at least a factor of ten apart.
    pub fn of(snapshot: &Snapshot, cpus: &[&CpuView], columns: u16) -> Scale {
        let least = cpus.iter().filter_map(|view| view.bins.first()).map(|bin| bin.low).min().unwrap_or(1_000);
        let most = cpus.iter().filter_map(|view| view.bins.last()).map(|bin| bin.low).max().unwrap_or(100_000);
        let deadline = snapshot.deadline.map_or(0, |d| d.0);
        let low = round_down(least.max(1));
        let high = round_up(most.max(deadline).max(low.saturating_mul(9)));
        Scale { low: (low as f64).ln(), high: (high as f64).ln(), columns }
    }

    /// Returns the column of a latency; `None` if it is outside the scale.
    pub fn column(&self, ns: u64) -> Option<u16> {
        let width = f64::from(self.columns);
        let at = ((ns.max(1) as f64).ln() - self.low) / (self.high - self.low).max(f64::MIN_POSITIVE) * width;
        let at = (at + 1e-9).floor();
        (at >= 0.0 && at < width).then_some(at as u16)
    }

    /// Returns the latencies to label on the axis, with their columns.
    pub fn ticks(&self) -> impl Iterator<Item = (u16, u64)> {
        let scale = *self;
        steps().filter_map(move |ns| Some((scale.column(ns)?, ns)))
    }
}

/// Returns 1, 2, 5, 10, 20, … as far as 64 bits allow.
fn steps() -> impl Iterator<Item = u64> {
    (0..20).flat_map(|k| [1u64, 2, 5].into_iter().filter_map(move |m| m.checked_mul(10u64.checked_pow(k)?)))
}

fn round_down(ns: u64) -> u64 {
    steps().take_while(|&step| step <= ns).last().unwrap_or(1)
}

fn round_up(ns: u64) -> u64 {
    steps().find(|&step| step > ns).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_round_outwards() {
        assert_eq!((round_down(1_999), round_up(1_999)), (1_000, 2_000));
        assert_eq!((round_down(2_000), round_up(2_000)), (2_000, 5_000));
        assert_eq!((round_down(1), round_up(u64::MAX)), (1, u64::MAX));
        assert_eq!(steps().last(), Some(10_000_000_000_000_000_000));
    }

    proptest! {
        #[test]
        fn all_that_was_measured_has_a_column(a in 1u64.., b in 1u64.., columns in 1u16..500) {
            let bin = |ns| punctual_units::Bin { low: ns, high: ns, count: 1 };
            let view = CpuView { bins: vec![bin(a.min(b)), bin(a.max(b))], ..CpuView::default() };
            let scale = Scale::of(&Snapshot::default(), &[&view], columns);
            prop_assert!(scale.column(a).is_some() || a > u64::MAX / 2);
            prop_assert!(scale.column(b).is_some() || b > u64::MAX / 2);
        }
    }
}
