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
    /// Options of the final run, which judges the claims. The blocks use the same CPUs, policy, priority and period.
    pub last: proof::Options,
    /// Measured time of a block, all loads together.
    pub block: Nanos,
    pub block_loads: Vec<String>,
    /// Maximum duration of the search, without the final run.
    pub max: Nanos,
    pub objective: Objective,
    /// Permits removing the last protection against runaway real-time threads even if no watchdog is armed.
    pub i_know: bool,
}

impl Options {
    /// Returns the minimum duration of a search with this number of candidates, of which `kept` are kept.
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
    /// Evaluates one rule again. Returns its state and summary; `None` if there is no such rule.
    pub judge: &'a dyn Fn(&str) -> Option<(State, String)>,
    /// Measures throughput in 1/s for about [`WORK`], using this new directory; `None` if that fails.
    pub work: &'a dyn Fn(&Path) -> Option<f64>,
}

/// Duration of a throughput measurement.
pub const WORK: Duration = Duration::from_secs(1);

/// Time for each load in addition to the measurement, to start it and check that it runs.
const START_OF_A_LOAD: Nanos = Nanos::from_millis(300);
