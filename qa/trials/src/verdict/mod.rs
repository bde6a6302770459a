//! `cargo trials verdict`: measures how often a verdict is wrong when the true value equals the limit of the claim, and
//! how long it takes.
//!
//! Machines are simulated event by event at 1 kHz, and what they would record is judged like a run. An error rate is
//! acceptable if it is at most 5 % and its upper 95 % limit (Clopper and Pearson) is at most 6 %.

mod quantiles;
mod recorded;
mod shares;
mod source;

use crate::simulate::Many;
use punctual_model::Outcome;
use punctual_stats::{SplitMix64, exceedance_upper};
use std::cell::Cell;
use std::time::Instant;

const SEED: u64 = 20_260_101;
/// Highest allowed error rate; its upper 95 % confidence limit may be at most [`MAX_UPPER`].
const MAX: f64 = 0.05;
const MAX_UPPER: f64 = 0.06;

/// Measure how often verdicts on simulated machines are wrong, and how long they take (docs/guide/statistics.md)
///
/// Has no requirements. 10,000 runs of every condition take about ten minutes of CPU time.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Number of simulated runs of each condition
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Only conditions whose names contain this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Number of threads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    threads: u32,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let runs = Runs { wanted, condition: Cell::new(0) };
    println!(
        "{:52} {:15} {:>5}  {:24} {:24}",
        "condition", "length", "cells", "false PASS (95 % limit)", "false FAIL (95 % limit)"
    );
    let begun = Instant::now();
    let rows: Vec<Row> = shares::rows(&runs).into_iter().chain(quantiles::rows(&runs)).collect();
    println!("{} conditions of {} runs in {:.0} s", rows.len(), wanted.runs, begun.elapsed().as_secs_f64());
    let missed: Vec<&str> = rows.iter().filter(|row| !row.ok).map(|row| row.name.as_str()).collect();
    match (rows.len(), missed.as_slice()) {
        (0, _) => Err(format!("no condition's name contains `{}`", wanted.only)),
        (_, []) => Ok(()),
        (_, missed) => Err(format!("missed: {}", missed.join("; "))),
    }
}

/// Result for one condition.
pub struct Row {
    name: String,
    ok: bool,
}

/// A condition, whose result is printed once it is known whether it is acceptable.
pub struct Found {
    name: String,
    how: String,
    figures: String,
    seconds: f64,
}

impl Found {
    fn ok_if(self, ok: bool) -> Row {
        let Found { name, how, figures, seconds } = self;
        print(&name, &how, 1, &figures, ok, seconds);
        Row { name, ok }
    }
}

fn print(name: &str, how: &str, cells: u32, figures: &str, ok: bool, seconds: f64) {
    println!("{name:52} {how:15} {cells:>5}  {figures:49} {:4} {seconds:6.1} s", if ok { "ok" } else { "NOT" });
}

/// Simulates the runs of each condition. Each condition has its own seed, which does not depend on which others are
/// simulated.
pub struct Runs<'a> {
    wanted: &'a Wanted,
    condition: Cell<u64>,
}

impl Runs<'_> {
    /// Simulates a condition if the user has selected it.
    fn text<T>(&self, name: &str, how: &str, figures: impl FnOnce() -> (T, String)) -> Option<(T, Found)> {
        self.condition.set(self.condition.get() + 1);
        if !name.contains(&self.wanted.only) {
            return None;
        }
        let begun = Instant::now();
        let (value, figures) = figures();
        let seconds = begun.elapsed().as_secs_f64();
        Some((value, Found { name: name.into(), how: how.into(), figures, seconds }))
    }

    fn row(&self, name: &str, how: &str, cells: u32, rates: impl FnOnce() -> Rates) -> Option<Row> {
        let (rates, found) = self.text(name, how, || (rates(), String::new()))?;
        let figures = format!("{:24} {:24}", rates.text(rates.passed), rates.text(rates.failed));
        print(name, how, cells, &figures, rates.ok(), found.seconds);
        Some(Row { name: format!("{name} ({how})"), ok: rates.ok() })
    }

    /// Returns the results of the condition's runs, in order.
    fn each<S, T: Send>(&self, state: impl Fn() -> S + Sync, run: impl Fn(&mut S, SplitMix64) -> T + Sync) -> Vec<T> {
        let many = Many { runs: self.wanted.runs, threads: self.wanted.threads };
        many.each(SEED + (self.condition.get() << 32), state, run)
    }
}

/// Number of runs that passed, number that failed, and total number.
pub struct Rates {
    passed: usize,
    failed: usize,
    all: usize,
}

impl Rates {
    fn of(outcomes: &[Outcome]) -> Rates {
        let number = |wanted: Outcome| outcomes.iter().filter(|outcome| **outcome == wanted).count();
        Rates { passed: number(Outcome::Pass), failed: number(Outcome::Fail), all: outcomes.len() }
    }

    fn share(&self, number: usize) -> (f64, f64) {
        let (number, all) = (number as f64, self.all as f64);
        (number / all, exceedance_upper(number, all, 0.95))
    }

    fn text(&self, number: usize) -> String {
        let (share, upper) = self.share(number);
        format!("{:6.2} % ({:.2} %)", 100.0 * share, 100.0 * upper)
    }

    fn ok(&self) -> bool {
        [self.passed, self.failed]
            .into_iter()
            .map(|number| self.share(number))
            .all(|(share, upper)| share <= MAX && upper <= MAX_UPPER)
    }
}
