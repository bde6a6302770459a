//! What is measured other than a thread that sleeps and notes how late it woke: a thread that never sleeps
//! (`busy-poll`), and two kernel tracers (`timerlat`, `hwlat`). Each gives an ordinary run directory whose phases are
//! named after their figures, so that reports, claims and the judge treat them like the phases of an imported run.

mod hwlat;
mod lane;
mod poll;
mod settings;
mod timerlat;
mod user;
mod via;

use crate::capture;
use crate::error::ProofError;
use crate::meter::Meter;
use crate::options::Options;
use punctual_measure::{Plan, Topology};
use punctual_model::Run;
use punctual_units::{CpuList, Policy, Scheduling};
pub(crate) use settings::write;
use std::fmt;
use std::str::FromStr;
pub use user::{TIMERLAT_ARG, timerlat_main};
pub use via::Via;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelWay {
    /// Gaps in the readings of a clock that a thread reads without a pause, as oslat does.
    BusyPoll,
    /// The kernel's timerlat tracer (kernel/trace/trace_osnoise.c): latency of the timer interrupt, of the thread it
    /// wakes, and of that thread's return to user space.
    Timerlat,
    /// The kernel's hwlat tracer (kernel/trace/trace_hwlat.c): gaps with interrupts off.
    Hwlat,
}

impl KernelWay {
    pub const ALL: [KernelWay; 3] = [KernelWay::BusyPoll, KernelWay::Timerlat, KernelWay::Hwlat];

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

impl KernelWay {
    /// The CPUs to measure of those asked for (`None`: all), and remarks.
    ///
    /// # Errors
    /// It cannot be measured: the policy, the period, the CPUs, or this kernel lacks the tracer.
    pub(crate) fn check(
        self,
        topology: &Topology,
        cpus: CpuList,
        options: &Options,
        scheduling: Scheduling,
    ) -> Result<(CpuList, Option<String>), ProofError> {
        match self {
            KernelWay::BusyPoll => return poll::cpus(topology, cpus, options.cpus.is_some(), scheduling),
            KernelWay::Timerlat => timerlat::check(options.period, scheduling)?,
            KernelWay::Hwlat => {}
        }
        timerlat::find(self.name())?;
        Ok((cpus, None))
    }

    /// The options that decide the policy: hwlat has a thread of its own, whose policy cannot be chosen.
    ///
    /// # Errors
    /// One was chosen.
    pub(crate) fn policy(self, options: &Options) -> Result<Options, ProofError> {
        if self != KernelWay::Hwlat {
            return Ok(options.clone());
        }
        if options.policy.is_some() || options.priority.is_some() {
            let text = "hwlat's thread is the kernel's own: leave out --policy and --priority";
            return Err(ProofError::Usage(text.into()));
        }
        Ok(Options { policy: Some(Policy::Other), ..options.clone() })
    }

    pub(crate) fn note(self, run: &mut Run, scheduling: Scheduling) {
        let settings = &mut run.settings;
        settings.clock = Some(match self {
            KernelWay::BusyPoll => format!("CLOCK_MONOTONIC, read without a pause, {scheduling}"),
            KernelWay::Timerlat => format!("CLOCK_MONOTONIC, timerlat tracer, {scheduling}"),
            KernelWay::Hwlat => "hwlat tracer, interrupts off".into(),
        });
        settings.alignment = None;
        if self != KernelWay::Timerlat {
            settings.period_ns = None;
        }
        if self == KernelWay::Hwlat {
            settings.scheduling = None;
            settings.scheduling_explicit = false;
        }
        if self == KernelWay::BusyPoll {
            run.notes.extend(poll::notes(scheduling, capture::fair_server()));
        }
    }

    /// Starts a phase.
    ///
    /// # Errors
    /// The measurement is refused what it needs.
    pub(crate) fn start(self, plan: &Plan) -> Result<Box<dyn Meter>, ProofError> {
        match self {
            KernelWay::BusyPoll => poll::start(plan),
            KernelWay::Timerlat => timerlat::start(plan),
            KernelWay::Hwlat => hwlat::start(plan),
        }
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            KernelWay::BusyPoll => poll::LABEL,
            KernelWay::Timerlat => timerlat::LABELS[1],
            KernelWay::Hwlat => hwlat::LABEL,
        }
    }

    /// The phase id of these figures: `2-cpu-thread-latency` if a load gives more than one kind.
    pub(crate) fn phase_id(self, id: &str, label: &str) -> String {
        match self {
            KernelWay::Timerlat => format!("{id}-{}", label.to_ascii_lowercase().replace(' ', "-")),
            KernelWay::BusyPoll | KernelWay::Hwlat => id.to_owned(),
        }
    }
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
