//! Throughput of the machine, to measure the cost of a fix: N queens on every CPU.

use crate::run_directory::command_line;
use punctual_bench::{Around, WantedQueens};
use punctual_model::{BenchPlan, NqueensMode};
use punctual_tune::WORK;
use std::cell::OnceCell;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// Board size of the N-queens benchmark: one count takes milliseconds.
const N: u32 = 12;

/// A benchmark of about a second, planned once so that every run does the same work.
#[derive(Default)]
pub struct Work {
    plan: OnceCell<Option<BenchPlan>>,
}

impl Work {
    /// How many times per second the board is counted; the measurement is written to this new directory; `None` if the
    /// benchmark fails.
    pub fn rate(&self, out: &Path) -> Option<f64> {
        let (stop, signal) = (AtomicBool::new(false), OnceLock::new());
        let plan = self.plan.get_or_init(|| {
            let fill_s = Some(WORK.as_secs_f64());
            let wanted = WantedQueens { mode: NqueensMode::Native, n: N, threads: None, fill_s, repetitions: 1 };
            punctual_bench::plan_nqueens(&wanted, &stop).ok()
        });
        let around = Around { command: command_line(), stop: &stop, signal: &signal };
        let bench = punctual_bench::run(plan.as_ref()?, out, &around, &mut |_| ()).ok()?;
        let figures = bench.repetitions.iter().flat_map(|repetition| &repetition.figures);
        let time = figures.into_iter().find(|figure| figure.unit == "ns")?.value;
        (time > 0.0).then(|| 1e9 / time)
    }
}
