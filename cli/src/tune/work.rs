//! Measures the throughput of the machine, which shows the cost of a fix: N queens on every CPU.

use crate::run_directory::command_line;
use punctual_bench::{Around, WantedQueens};
use punctual_model::{BenchPlan, NqueensMode};
use punctual_tune::WORK;
use std::cell::OnceCell;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// Board size of the N-queens benchmark, with which one count takes milliseconds.
const N: u32 = 12;

/// A benchmark of about a second, planned once so that every run does the same work.
#[derive(Default)]
pub struct Work {
    plan: OnceCell<Option<BenchPlan>>,
}

impl Work {
    /// Returns how many times per second the solutions are counted; `None` if the benchmark fails. The measurement is
    /// written to `out`, a new directory.
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
