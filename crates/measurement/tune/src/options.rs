use crate::objective::Objective;
use crate::search::{self, Rules};
use punctual_fix::System;
use punctual_model::State;
use punctual_proof as proof;
use punctual_units::Nanos;
use std::path::Path;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Options {
    /// The final run, whose claims are to hold. Blocks use its CPUs, policy, priority and period.
    pub last: proof::Options,
    /// Measuring time of a block over all its loads.
    pub block: Nanos,
    pub block_loads: Vec<String>,
    /// Maximum time of the search, without the final run.
    pub max: Nanos,
    pub objective: Objective,
    /// May the last protection against runaway loops be removed without a watchdog?
    pub i_know: bool,
}

impl Options {
    /// Minimum time of a search that keeps `kept` of so many candidates.
    pub fn least(&self, candidates: usize, kept: usize) -> Nanos {
        let loads = self.block_loads.len() as u64;
        let block = self.block.0 + loads * (self.last.warmup.0 + START_OF_A_LOAD.0);
        let blocks = search::blocks(candidates, kept, &Rules::new(0)) as u64;
        let works = search::works(candidates, kept) as u64 * WORK.as_nanos() as u64;
        Nanos(block.saturating_mul(blocks).saturating_add(works))
    }
}

pub struct Place<'a> {
    pub sys: &'a dyn System,
    pub folder: &'a Path,
    /// Judges one rule again: its state and sentence.
    pub judge: &'a dyn Fn(&str) -> Option<(State, String)>,
    /// Measures throughput for about [`WORK`] into this new directory, 1/s; `None` if that fails.
    pub work: &'a dyn Fn(&Path) -> Option<f64>,
}

/// Time of a measurement of throughput.
pub const WORK: Duration = Duration::from_secs(1);

/// Time of a block besides measuring: starting a load and proving that it runs.
const START_OF_A_LOAD: Nanos = Nanos::from_millis(300);
