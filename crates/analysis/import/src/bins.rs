//! Bins as a file tells them: kept until its summary, which may come after them, is known.

use crate::number::MOST_SAMPLES;

/// Filled bins of all threads of a file: 128 MiB.
pub(crate) const MOST_BINS: usize = 8 << 20;

/// The filled bins of one thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bins {
    /// Edge by which the bin is named, ns, and samples; as they came.
    pub filled: Vec<(u64, u64)>,
    /// Samples in all of them.
    pub count: u64,
}

impl Bins {
    /// Adds a bin. False where its samples cannot be.
    pub fn add(&mut self, edge_ns: u64, samples: u64) -> bool {
        let Some(count) = self.count.checked_add(samples).filter(|&n| n <= MOST_SAMPLES) else { return false };
        self.count = count;
        if samples > 0 {
            self.filled.push((edge_ns, samples));
        }
        true
    }

    /// Lowest and highest edge with samples.
    pub fn range(&self) -> Option<(u64, u64)> {
        let edges = || self.filled.iter().map(|b| b.0);
        Some((edges().min()?, edges().max()?))
    }
}
