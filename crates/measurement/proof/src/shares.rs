//! Counts the releases in blocks of time, and how many of them exceed the limits of quantile claims.

use punctual_model::{BlockCount, Blocks, CpuResult, Distribution};
use punctual_units::{Bin, CpuId, Histogram, Nanos};
use std::collections::BTreeMap;

/// Counts of the running phase. A block is the interval between two checkpoints.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    limits: Vec<Nanos>,
    by_cpu: BTreeMap<CpuId, Vec<(Blocks, BlockCount)>>,
}

impl Shares {
    pub fn new(limits: Vec<Nanos>) -> Shares {
        Shares { limits, by_cpu: BTreeMap::new() }
    }

    /// Adds the results of a CPU since the phase or the current round started.
    pub fn add(&mut self, cpu: CpuId, distribution: &Distribution) {
        let limits = &self.limits;
        let start =
            || limits.iter().map(|limit| (Blocks { limit_ns: *limit, counts: Vec::new() }, (0, 0, 0))).collect();
        for (blocks, before) in self.by_cpu.entry(cpu).or_insert_with(start) {
            let now = counts(distribution, blocks.limit_ns.0);
            let new = (now.0 - before.0.min(now.0), now.1 - before.1.min(now.1), now.2 - before.2.min(now.2));
            if new.0 > 0 {
                blocks.push(new);
                *before = now;
            }
        }
    }

    /// Moves the counts into the results of the phase and resets them.
    pub fn move_to(&mut self, cpus: &mut [CpuResult]) {
        for result in cpus {
            if let Some(blocks) = self.by_cpu.remove(&result.cpu) {
                result.blocks = blocks.into_iter().map(|(blocks, _)| blocks).filter(|b| !b.counts.is_empty()).collect();
            }
        }
    }

    pub fn begin(&mut self) {
        self.by_cpu.clear();
    }
}

/// Returns the number of releases, and the minimum and maximum number that exceed the limit.
fn counts(distribution: &Distribution, limit: u64) -> BlockCount {
    let above = |histogram: &Histogram, edge: fn(&Bin) -> u64| -> u64 {
        histogram.bins().rev().take_while(|bin| edge(bin) > limit).map(|bin| bin.count).sum()
    };
    let Distribution { raw, skipped } = distribution;
    let least = above(raw, |bin| bin.low) + above(skipped, |bin| bin.low);
    let most = above(raw, |bin| bin.high) + above(skipped, |bin| bin.high);
    (raw.count() + skipped.count(), least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_what_came_since_the_last_one() {
        let cpu = CpuId(1);
        let mut shares = Shares::new(vec![Nanos(10_000)]);
        let mut distribution = Distribution::default();
        for late in [3, 0, 5] {
            distribution.raw.record_n(2_000, 100);
            distribution.raw.record_n(50_000, late);
            shares.add(cpu, &distribution);
            shares.add(cpu, &distribution);
        }
        assert_eq!(shares.by_cpu[&cpu][0].0.counts, [(103, 3, 3), (100, 0, 0), (105, 5, 5)]);
    }
}
