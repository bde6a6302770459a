//! Histogram bins as read, kept until the file's summary, which may follow them, is known.

use crate::number::MOST_SAMPLES;

/// Maximum number of bins for all threads of a file: 128 MiB.
pub(crate) const MOST_BINS: usize = 8 << 20;

#[derive(Clone, Debug, Default)]
pub(crate) struct Bins {
    /// Edge that names the bin, ns, and number of samples; in file order.
    pub filled: Vec<(u64, u64)>,
    pub count: u64,
}

impl Bins {
    /// Returns `false` for an impossible number of samples.
    pub fn add(&mut self, edge_ns: u64, samples: u64) -> bool {
        let Some(count) = self.count.checked_add(samples).filter(|&n| n <= MOST_SAMPLES) else { return false };
        self.count = count;
        if samples > 0 {
            self.filled.push((edge_ns, samples));
        }
        true
    }

    pub fn range(&self) -> Option<(u64, u64)> {
        let edges = || self.filled.iter().map(|b| b.0);
        Some((edges().min()?, edges().max()?))
    }
}
