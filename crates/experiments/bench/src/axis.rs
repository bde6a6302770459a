//! Interface of the benchmark axes. An axis is a property to measure, for example memory bandwidth; it measures one
//! repetition at a time.

use crate::error::BenchError;
use crate::{disk, memory, network, nqueens, switch};
use punctual_model::{BenchCheck, BenchDistribution, BenchFigure, BenchParts, BenchSettings};
use punctual_units::Histogram;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

pub trait Axis {
    /// Measures one repetition.
    ///
    /// # Errors
    /// The benchmark cannot continue. Earlier measurements are kept.
    fn repetition(&mut self, turn: &mut Turn<'_>) -> Result<Ended, BenchError>;

    /// Returns the time after which a repetition is stopped; `None` if it runs to its end.
    fn longest(&self) -> Option<Duration> {
        Some(Duration::from_secs(3600))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    Done(Measured),
    /// The repetition was stopped before its end. Only the parts in the log are kept.
    Stopped,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    pub elapsed_ns: u64,
    pub cpu_ns: Option<u64>,
    pub figures: Vec<BenchFigure>,
    pub checks: Vec<BenchCheck>,
    pub distributions: Vec<BenchDistribution>,
    pub notes: Vec<String>,
}

impl Measured {
    /// Adds a measured value. If it is not finite, a note is added instead.
    pub(crate) fn figure(&mut self, of: &str, name: &str, unit: &str, value: f64) {
        if value.is_finite() {
            self.figures.push(BenchFigure { of: of.into(), name: name.into(), unit: unit.into(), value });
        } else {
            self.notes.push(format!("{of}: {name} could not be computed"));
        }
    }

    /// Adds a distribution of times, and its median, 99th percentile and maximum as single values.
    pub(crate) fn times(&mut self, of: &str, name: &str, histogram: Histogram) {
        let figures =
            [("median", histogram.quantile(0.5)), ("p99", histogram.quantile(0.99)), ("max", histogram.max())];
        for (which, ns) in figures {
            if let Some(ns) = ns {
                self.figure(of, &format!("{name}, {which}"), "ns", ns as f64);
            }
        }
        self.distributions.push(BenchDistribution { of: of.into(), name: name.into(), histogram });
    }
}

pub struct Turn<'a> {
    /// Number of the repetition, starting at 1.
    pub number: u64,
    /// Completed parts of a repetition that was interrupted, and the time they took.
    pub earlier: BenchParts,
    pub stop: &'a AtomicBool,
    pub(crate) log: &'a mut dyn FnMut(BenchParts) -> Result<(), punctual_rundir::Error>,
    pub(crate) share: &'a mut dyn FnMut(f64),
}

impl Turn<'_> {
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Logs completed parts and the elapsed time. The log is on disk when this returns.
    ///
    /// # Errors
    /// [`BenchError::RunDirectory`] if the log cannot be written.
    pub fn log(&mut self, parts: BenchParts) -> Result<(), BenchError> {
        (self.log)(parts).map_err(BenchError::RunDirectory)
    }

    pub fn share(&mut self, share: f64) {
        (self.share)(share);
    }
}

/// Creates the axis for these settings.
///
/// # Errors
/// [`BenchError::Refused`] if the settings are not possible on this machine, for example because the log was edited or
/// comes from another machine.
pub(crate) fn of(settings: &BenchSettings) -> Result<Box<dyn Axis>, BenchError> {
    Ok(match settings {
        BenchSettings::Memory { threads, bytes } => Box::new(memory::Memory::new(*threads, *bytes)?),
        BenchSettings::Disk { folder, bytes, writes } => Box::new(disk::Disk::new(folder, *bytes, *writes)?),
        BenchSettings::Switch { rounds, cpu, other } => Box::new(switch::Switch::new(*rounds, *cpu, *other)),
        BenchSettings::Nqueens(settings) => Box::new(nqueens::Nqueens::new(settings)?),
        BenchSettings::Network(settings) => Box::new(network::Network::new(settings)?),
    })
}
