//! Measurements other than the wakeups of a sleeping thread: a thread that never sleeps (`busy-poll`), and two kernel
//! tracers (`timerlat`, `hwlat`). Each writes an ordinary run directory whose phases are named after the measured
//! values. Reports, claims and verdicts treat these phases like those of an imported run.

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
pub enum Method {
    /// Gaps between the clock readings of a thread that reads the clock continuously, as oslat does.
    BusyPoll,
    /// The kernel's timerlat tracer (kernel/trace/trace_osnoise.c): latency of the timer interrupt, of the thread it
    /// wakes, and of that thread's return to user space.
    Timerlat,
    /// The kernel's hwlat tracer (kernel/trace/trace_hwlat.c): gaps with interrupts disabled.
    Hwlat,
}

impl Method {
    pub const ALL: [Method; 3] = [Method::BusyPoll, Method::Timerlat, Method::Hwlat];

    pub fn name(self) -> &'static str {
        match self {
            Method::BusyPoll => "busy-poll",
            Method::Timerlat => "timerlat",
            Method::Hwlat => "hwlat",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Method, String> {
        let names = || Method::ALL.map(Method::name).join(", ");
        Method::ALL
            .into_iter()
            .find(|method| method.name() == text)
            .ok_or_else(|| format!("`{text}` is not a measurement: use one of {}", names()))
    }
}

impl Method {
    /// Returns the CPUs to measure, by default all that this process may use, and notes on this choice.
    ///
    /// # Errors
    /// The policy, the period or the CPUs are not supported, or the kernel lacks the tracer.
    pub(crate) fn check(
        self,
        topology: &Topology,
        cpus: CpuList,
        options: &Options,
        scheduling: Scheduling,
    ) -> Result<(CpuList, Option<String>), ProofError> {
        match self {
            Method::BusyPoll => return poll::cpus(topology, cpus, options.cpus.is_some(), scheduling),
            Method::Timerlat => timerlat::check(options.period, scheduling)?,
            Method::Hwlat => {}
        }
        timerlat::find(self.name())?;
        Ok((cpus, None))
    }

    /// Returns the options that determine the policy. For hwlat the policy of its kernel thread cannot be chosen.
    ///
    /// # Errors
    /// A policy was chosen for hwlat.
    pub(crate) fn policy(self, options: &Options) -> Result<Options, ProofError> {
        if self != Method::Hwlat {
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
            Method::BusyPoll => format!("CLOCK_MONOTONIC, read without a pause, {scheduling}"),
            Method::Timerlat => format!("CLOCK_MONOTONIC, timerlat tracer, {scheduling}"),
            Method::Hwlat => "hwlat tracer, interrupts off".into(),
        });
        settings.alignment = None;
        if self != Method::Timerlat {
            settings.period_ns = None;
        }
        if self == Method::Hwlat {
            settings.scheduling = None;
            settings.scheduling_explicit = false;
        }
        if self == Method::BusyPoll {
            run.notes.extend(poll::notes(scheduling, capture::fair_server()));
        }
    }

    /// Starts a phase.
    ///
    /// # Errors
    /// The kernel refuses a thread, a tracer or a setting that the measurement needs.
    pub(crate) fn start(self, plan: &Plan) -> Result<Box<dyn Meter>, ProofError> {
        match self {
            Method::BusyPoll => poll::start(plan),
            Method::Timerlat => timerlat::start(plan),
            Method::Hwlat => hwlat::start(plan),
        }
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            Method::BusyPoll => poll::LABEL,
            Method::Timerlat => timerlat::LABELS[1],
            Method::Hwlat => hwlat::LABEL,
        }
    }

    /// Returns the ID of a phase, for example `2-cpu-thread-latency` if a load has more than one kind of values.
    pub(crate) fn phase_id(self, id: &str, label: &str) -> String {
        match self {
            Method::Timerlat => format!("{id}-{}", label.to_ascii_lowercase().replace(' ', "-")),
            Method::BusyPoll | Method::Hwlat => id.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for method in Method::ALL {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        assert!("oslat".parse::<Method>().unwrap_err().contains("busy-poll"));
    }
}
