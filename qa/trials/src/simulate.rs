//! Simulates runs on several threads. Each run has its own seed.

use punctual_stats::{SplitMix64, normal_quantile};
use std::panic::resume_unwind;
use std::thread;

/// Number of runs of each condition, and of threads.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Many {
    /// Simulated runs of each condition
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Number of threads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: u32,
}

impl Many {
    /// Returns the results of the runs in order. `state` is called once per thread.
    pub fn each<S, T: Send>(
        self,
        seed: u64,
        state: impl Fn() -> S + Sync,
        run: impl Fn(&mut S, SplitMix64) -> T + Sync,
    ) -> Vec<T> {
        let (all, threads) = (u64::from(self.runs), u64::from(self.threads));
        let part = |part: u64| -> Vec<T> {
            let mut state = state();
            let numbers = part * all / threads..(part + 1) * all / threads;
            numbers.map(|number| run(&mut state, SplitMix64::new(seed + number))).collect()
        };
        thread::scope(|scope| {
            let part = &part;
            let parts: Vec<_> = (0..threads).map(|number| scope.spawn(move || part(number))).collect();
            let joined = parts.into_iter().map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)));
            joined.flatten().collect()
        })
    }
}

/// Returns a random number with the standard normal distribution.
pub fn normal(random: &mut SplitMix64) -> f64 {
    normal_quantile(random.uniform()).unwrap_or(0.0)
}
