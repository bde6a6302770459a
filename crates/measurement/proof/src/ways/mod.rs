//! Ways to measure other than a thread that sleeps and notes how late it woke: a thread that never sleeps (`busy-poll`), and two
//! tracers of the kernel (`timerlat`, `hwlat`). Each gives a run directory as any other, whose phases are named by what their
//! figures are, so that reports, claims and the judge treat them like the phases of an imported run.

mod begin;
mod hwlat;
mod lane;
mod meter;
mod poll;
mod run;
mod settings;
mod timerlat;
mod user;
mod via;

use crate::error::ProofError;
use crate::measuring::Done;
use crate::options::{Observer, Options, When};
pub(crate) use settings::write;
use std::fmt;
use std::str::FromStr;
pub use user::{TIMERLAT_ARG, timerlat_main};
pub use via::Via;

/// What is measured instead of a sleeping thread's wakeup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelWay {
    /// Gaps in the readings of a clock that a thread reads without a pause, as oslat does.
    BusyPoll,
    /// The kernel's timerlat tracer (kernel/trace/trace_osnoise.c): latency of the timer interrupt, of the thread it wakes, and of that
    /// thread's return to user space.
    Timerlat,
    /// The kernel's hwlat tracer (kernel/trace/trace_hwlat.c): gaps with interrupts off.
    Hwlat,
}

impl KernelWay {
    /// All of them.
    pub const ALL: [KernelWay; 3] = [KernelWay::BusyPoll, KernelWay::Timerlat, KernelWay::Hwlat];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            KernelWay::BusyPoll => "busy-poll",
            KernelWay::Timerlat => "timerlat",
            KernelWay::Hwlat => "hwlat",
        }
    }
}

impl fmt::Display for KernelWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for KernelWay {
    type Err = String;

    fn from_str(text: &str) -> Result<KernelWay, String> {
        let names = || KernelWay::ALL.map(KernelWay::name).join(", ");
        KernelWay::ALL
            .into_iter()
            .find(|way| way.name() == text)
            .ok_or_else(|| format!("`{text}` is no way to measure: {}", names()))
    }
}

/// As [`crate::measure`], in this way. Nothing is traced beside it.
///
/// # Errors
/// [`ProofError`] where nothing was measured; for the tracers also that this kernel does not have them, or that somebody else uses
/// them.
pub fn measure_by(way: KernelWay, options: &Options, observer: &mut dyn Observer) -> Result<Done, ProofError> {
    if options.trace.when == When::Always {
        return Err(ProofError::Usage(format!("with --via {way} nothing else is traced: leave out --trace")));
    }
    if options.until.is_some() {
        return Err(ProofError::Usage(format!("--via {way} measures for a fixed time: leave out --until-decided")));
    }
    run::Job::prepare(way, options)?.run(observer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for way in KernelWay::ALL {
            assert_eq!(way.to_string().parse(), Ok(way));
        }
        assert!("oslat".parse::<KernelWay>().unwrap_err().contains("busy-poll"));
    }
}
