//! Measures the costs of a change in power and throughput.

use super::{Candidate, Pair, Search, Stop};
use punctual_model::TrialCost;
use punctual_stats::{paired_ratio, pairs_for_interval};

const CONFIDENCE: f64 = 0.95;

/// Returns the number of pairs of throughput measurements.
pub(super) fn pairs_of_work() -> usize {
    pairs_for_interval(CONFIDENCE).unwrap_or(0) as usize
}

impl Search<'_> {
    /// Returns the costs of a change: the difference in power between the blocks that confirmed it, and in throughput
    /// from as many pairs as a confidence interval requires. Unknown costs are omitted. If the time limit interrupts
    /// the throughput measurement, the change stays confirmed.
    pub(super) fn costs(&mut self, candidate: &Candidate, blocks: &[Pair]) -> Result<Vec<TrialCost>, Stop> {
        let power = blocks.iter().map(|(without, with)| without.watts.zip(with.watts)).collect::<Option<Vec<_>>>();
        let work = match self.work(candidate) {
            Err(Stop::TimeUp) => None,
            other => other?,
        };
        let known = [("power", "W", power), ("throughput", "1/s", work)];
        Ok(known.into_iter().filter_map(|(what, unit, pairs)| cost(what, unit, pairs?)).collect())
    }

    fn work(&mut self, candidate: &Candidate) -> Result<Option<Vec<(f64, f64)>>, Stop> {
        let mut pairs = Vec::new();
        for _ in 0..pairs_of_work() {
            let early = if self.random.below(2) == 0 { Some(self.bench.work()?) } else { None };
            let with = self.with(candidate, |bench| bench.work())?.flatten();
            let without = match early {
                Some(without) => without,
                None => self.bench.work()?,
            };
            let Some(pair) = without.zip(with) else { return Ok(None) };
            pairs.push(pair);
        }
        Ok(Some(pairs))
    }
}

fn cost(what: &str, unit: &str, pairs: Vec<(f64, f64)>) -> Option<TrialCost> {
    let ratio = paired_ratio(&pairs, CONFIDENCE)?;
    let interval = ratio.interval.map(|i| (i.low, i.high));
    Some(TrialCost { what: what.into(), unit: unit.into(), pairs, ratio: ratio.value, interval })
}
