//! How a machine is tuned, and which.

use crate::objective::Objective;
use crate::search::{self, Rules};
use punctual_fix::System;
use punctual_model::State;
use punctual_proof as proof;
use punctual_units::Nanos;
use std::path::Path;

/// How a machine is tuned.
#[derive(Clone, Debug)]
pub struct Options {
    /// The run that all ends with, and whose claims are to hold. Its CPUs, policy, priority and period are those of blocks.
    pub last: proof::Options,
    /// Measuring time of a block over all its loads.
    pub block: Nanos,
    /// Its loads.
    pub block_loads: Vec<String>,
    /// The most time the search may take, without the last run.
    pub max: Nanos,
    /// A block's figure.
    pub objective: Objective,
    /// May the last protection against runaway loops go without a watchdog?
    pub i_know: bool,
}

impl Options {
    /// The least time a search takes that keeps `kept` of so many candidates.
    pub fn least(&self, candidates: usize, kept: usize) -> Nanos {
        let loads = self.block_loads.len() as u64;
        let block = self.block.0 + loads * (self.last.warmup.0 + START_OF_A_LOAD.0);
        let blocks = search::blocks(candidates, kept, &Rules::default()) as u64;
        Nanos(block.saturating_mul(blocks))
    }
}

/// The machine that is tuned.
pub struct Place<'a> {
    /// Through which it is changed.
    pub sys: &'a dyn System,
    /// The folder of the journal of changes.
    pub folder: &'a Path,
    /// Judges one rule again: its state and sentence.
    pub judge: &'a dyn Fn(&str) -> Option<(State, String)>,
}

/// What one block takes besides measuring: starting a load and proving that it runs.
const START_OF_A_LOAD: Nanos = Nanos::from_millis(300);
