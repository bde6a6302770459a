//! Histogram bins as read, stored until the file's summary is known, which may follow them.

use crate::number::MOST_SAMPLES;

/// Maximum number of bins for all threads of a file, which use 128 MiB.
pub(crate) const MOST_BINS: usize = 8 << 20;

#[derive(Clone, Debug, Default)]
pub(crate) struct Bins {
    /// Edge that identifies the bin (ns) and number of samples, in the order of the file.
    pub filled: Vec<(u64, u64)>,
    pub count: u64,
}

impl Bins {
    /// Adds a bin. Returns `false` if the number of samples is impossible.
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
