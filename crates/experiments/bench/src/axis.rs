//! What every axis does: one repetition.

use crate::error::BenchError;
use crate::{disk, memory, network, nqueens, switch};
use punctual_model::{BenchCheck, BenchDistribution, BenchFigure, BenchParts, BenchSettings};
use punctual_units::Histogram;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// One axis.
pub trait Axis {
    /// Measures one repetition.
    ///
    /// # Errors
    /// [`BenchError`]: the benchmark ends with what it has.
    fn repetition(&mut self, turn: &mut Turn<'_>) -> Result<Ended, BenchError>;
}

/// How a repetition ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// It is measured.
    Done(Measured),
    /// It was stopped: only what it logged counts.
    Stopped,
}

/// What a repetition measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// What it took, ns.
    pub elapsed_ns: u64,
    /// Processor time of this program in it, ns.
    pub cpu_ns: Option<u64>,
    /// One value each.
    pub figures: Vec<BenchFigure>,
    /// Results that are right or wrong.
    pub checks: Vec<BenchCheck>,
    /// What each step took.
    pub distributions: Vec<BenchDistribution>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

impl Measured {
    /// Adds a figure; one that is not finite is a mistake in measuring, and is said.
    pub(crate) fn figure(&mut self, of: &str, name: &str, unit: &str, value: f64) {
        if value.is_finite() {
            self.figures.push(BenchFigure { of: of.into(), name: name.into(), unit: unit.into(), value });
        } else {
            self.notes.push(format!("{of}: {name} could not be computed"));
        }
    }

    /// Adds times, and their median, 99th percentile and maximum as figures.
    pub(crate) fn times(&mut self, of: &str, name: &str, histogram: Histogram) {
        let told = [("median", histogram.quantile(0.5)), ("p99", histogram.quantile(0.99)), ("max", histogram.max())];
        for (which, ns) in told {
            if let Some(ns) = ns {
                self.figure(of, &format!("{name}, {which}"), "ns", ns as f64);
            }
        }
        self.distributions.push(BenchDistribution { of: of.into(), name: name.into(), histogram });
    }
}

/// What a repetition is given.
pub struct Turn<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Parts of it that are done already, and what they took.
    pub earlier: BenchParts,
    /// Set when the user wants no more.
    pub stop: &'a AtomicBool,
    pub(crate) log: &'a mut dyn FnMut(BenchParts) -> Result<(), punctual_rundir::Error>,
    pub(crate) share: &'a mut dyn FnMut(f64),
}

impl Turn<'_> {
    /// Does the user want no more?
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Logs parts that are done, with what the repetition took so far; synced when this returns.
    ///
    /// # Errors
    /// [`BenchError::RunDirectory`].
    pub fn log(&mut self, parts: BenchParts) -> Result<(), BenchError> {
        (self.log)(parts).map_err(BenchError::RunDirectory)
    }

    /// Tells how much of it is done, 0 to 1.
    pub fn share(&mut self, share: f64) {
        (self.share)(share);
    }
}

/// The axis with these settings.
///
/// # Errors
/// [`BenchError::Refused`]: they make no sense here (a log that was edited, another machine).
pub(crate) fn of(settings: &BenchSettings) -> Result<Box<dyn Axis>, BenchError> {
    Ok(match settings {
        BenchSettings::Memory { threads, bytes } => Box::new(memory::Memory::new(*threads, *bytes)?),
        BenchSettings::Disk { folder, bytes, writes } => Box::new(disk::Disk::new(folder, *bytes, *writes)?),
        BenchSettings::Switch { rounds, cpu, other } => Box::new(switch::Switch::new(*rounds, *cpu, *other)),
        BenchSettings::Nqueens(settings) => Box::new(nqueens::Nqueens::new(settings)?),
        BenchSettings::Network(settings) => Box::new(network::Network::new(settings)?),
    })
}
