//! `cargo trials decide`: measures how often decisions between kernels, runs, boards and settings are wrong if nothing
//! differs, and how often they detect a difference. The machines are simulated; the program's own crates decide.

mod compare;
mod fleet;
mod history;
mod tune;

use crate::simulate::Many;
use punctual_stats::SplitMix64;
use std::cell::{Cell, RefCell};
use std::time::Instant;

const SEED: u64 = 20_261_126;

/// Measure how often decisions of compare, history, report of many boards and tune are wrong, and how often they detect
/// a difference
///
/// Has no requirements (docs/guide/statistics.md).
#[derive(Debug, clap::Args)]
pub struct Wanted {
    #[command(flatten)]
    many: Many,
    /// Only conditions whose name contains this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let conditions = Conditions { wanted, number: Cell::new(0), missed: RefCell::default() };
    let begun = Instant::now();
    compare::conditions(&conditions);
    fleet::conditions(&conditions);
    history::conditions(&conditions);
    tune::conditions(&conditions);
    let (number, missed) = (conditions.number.get(), conditions.missed.take());
    println!("{number} conditions, {} runs of each, {:.0} s", wanted.many.runs, begun.elapsed().as_secs_f64());
    if missed.is_empty() { Ok(()) } else { Err(format!("missed: {}", missed.join("; "))) }
}

/// What is required of the mean over the runs.
#[derive(Clone, Copy, Debug)]
enum Bar {
    AtMost(f64),
    AtLeast(f64),
    Within(f64, f64),
    /// No requirement: the value is only reported.
    Shown,
}

impl Bar {
    fn holds(self, mean: f64) -> bool {
        match self {
            Bar::AtMost(most) => mean <= most,
            Bar::AtLeast(least) => mean >= least,
            Bar::Within(least, most) => (least..=most).contains(&mean),
            Bar::Shown => true,
        }
    }

    fn text(self) -> String {
        match self {
            Bar::AtMost(most) => format!("at most {most}"),
            Bar::AtLeast(least) => format!("at least {least}"),
            Bar::Within(least, most) => format!("{least:.2} to {most:.2}"),
            Bar::Shown => "-".into(),
        }
    }
}

/// Tries conditions in order. Each has its own seeds, which do not depend on which other conditions are tried.
struct Conditions<'a> {
    wanted: &'a Wanted,
    number: Cell<u64>,
    missed: RefCell<Vec<String>>,
}

impl Conditions<'_> {
    /// Prints the mean of the results of the runs (1 and 0 for yes and no), with its standard error.
    fn mean<S>(
        &self,
        name: &str,
        bar: Bar,
        state: impl Fn() -> S + Sync,
        run: impl Fn(&mut S, SplitMix64) -> f64 + Sync,
    ) {
        self.number.set(self.number.get() + 1);
        if !name.contains(&self.wanted.only) {
            return;
        }
        let begun = Instant::now();
        let values = self.wanted.many.each(SEED + (self.number.get() << 32), state, run);
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let error = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n / n).sqrt();
        let ok = bar.holds(mean);
        println!(
            "{name:86} {mean:7.3} ± {error:.3}  {:14} {:4} {:5.0} s",
            bar.text(),
            if ok { "ok" } else { "NOT" },
            begun.elapsed().as_secs_f64()
        );
        if !ok {
            self.missed.borrow_mut().push(name.to_owned());
        }
    }

    /// Prints the share of runs for which `run` returns true.
    fn share(&self, name: &str, bar: Bar, run: impl Fn(SplitMix64) -> bool + Sync) {
        self.mean(name, bar, || (), |(), random| f64::from(u8::from(run(random))));
    }
}
