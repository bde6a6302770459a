//! Prints the output of `tune` before, during and after the search.

use punctual_report::tune::{self as report, TunePlan};
use punctual_tune::search::Update;
use punctual_tune::{Chosen, Options};
use punctual_units::Nanos;
use std::time::{Duration, Instant};

pub fn plan<'a>(chosen: &'a Chosen, options: &'a Options) -> TunePlan<'a> {
    let count = chosen.prepared.len();
    TunePlan {
        candidates: chosen.prepared.iter().map(|p| (p.candidate.rule.as_str(), p.candidate.what.as_str())).collect(),
        not_tried: &chosen.not_tried,
        block: options.block,
        loads: &options.block_loads,
        figure: options.objective.to_string(),
        least: [options.least(count, 0), options.least(count, 1)],
        max: options.max,
        last: options.last.duration,
    }
}

/// Prints a line on standard error for each fix that is tried.
pub struct Progress {
    begun: Instant,
    max: Nanos,
    /// Start of the running trial.
    trial_begun: Instant,
    /// Duration of a pair of blocks; `None` until one has been measured.
    pair: Option<Duration>,
}

impl Progress {
    pub fn new(max: Nanos) -> Progress {
        let now = Instant::now();
        Progress { begun: now, max, trial_begun: now, pair: None }
    }

    /// Prints a message about the search.
    pub fn show(&mut self, update: Update) {
        match update {
            Update::Begins { candidate, confirming, number, of, pairs } => {
                self.trial_begun = Instant::now();
                let left = self.pair.map(|pair| nanos(pair * (pairs * (of - number + 1)) as u32));
                let time = (nanos(self.begun.elapsed()), self.max);
                progress!("{}", report::begins(&candidate.rule, confirming, (number, of), left, time));
            }
            Update::Paired(shift_ns) => {
                self.took(1);
                progress!("{}\n", report::so_far(shift_ns));
            }
            Update::Ended(trial) => {
                self.took(trial.pairs.len());
                progress!("{}\n", report::ended(trial));
            }
        }
    }

    fn took(&mut self, pairs: usize) {
        self.pair = Some(self.trial_begun.elapsed() / pairs.max(1) as u32);
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2))
}
