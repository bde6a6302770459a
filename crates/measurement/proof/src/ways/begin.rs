//! What a run by one of these ways begins with.

use super::KernelWay;
use crate::error::ProofError;
use crate::options::Options;
use crate::setup;
use punctual_loads::{Load, LoadSettings, LoadSpec};
use punctual_measure::{self as measure, Plan};
use punctual_model::{Event, Problem, ProblemKind, Run};
use punctual_units::{Nanos, Policy, Scheduling};

/// The detector has a thread of its own, whose policy is not to be chosen.
pub(super) fn without_policy(way: KernelWay, options: &Options) -> Result<Options, ProofError> {
    if way != KernelWay::Hwlat {
        return Ok(options.clone());
    }
    if options.policy.is_some() || options.priority.is_some() {
        return Err(ProofError::Usage("hwlat's thread is the kernel's own: leave out --policy and --priority".into()));
    }
    Ok(Options { policy: Some(Policy::Other), ..options.clone() })
}

/// The run as it begins.
pub(super) fn new_run(way: KernelWay, options: &Options, plan: &Plan, explicit: bool) -> Run {
    let mut run = setup::new_run(options, plan, explicit);
    let settings = &mut run.settings;
    settings.clock = Some(match way {
        KernelWay::BusyPoll => format!("CLOCK_MONOTONIC, read without a pause, {}", plan.scheduling),
        KernelWay::Timerlat => format!("CLOCK_MONOTONIC, timerlat tracer, {}", plan.scheduling),
        KernelWay::Hwlat => "hwlat tracer, interrupts off".into(),
    });
    settings.alignment = None;
    if way != KernelWay::Timerlat {
        settings.period_ns = None;
    }
    if way == KernelWay::Hwlat {
        settings.scheduling = None::<Scheduling>;
        settings.scheduling_explicit = false;
    }
    run
}

/// Idle is no load; one that does not start is a problem of the phase.
pub(super) fn start_load(
    spec: &LoadSpec,
    name: &str,
    settings: &LoadSettings,
    problems: &mut Vec<Problem>,
) -> Option<Load> {
    if name == "idle" {
        return None;
    }
    let refused = |e: punctual_loads::LoadError| {
        problems.push(Problem { kind: ProblemKind::LoadDidNotRun, text: e.to_string() });
    };
    Load::start(spec, settings).map_err(refused).ok()
}

/// Was the machine suspended since?
pub(super) fn asleep(before: &punctual_model::Stamp) -> Option<Problem> {
    measure::clock_events(before, &measure::clocks()).into_iter().find_map(|event| match event {
        Event::Suspend { asleep_ns, .. } => Some(Problem {
            kind: ProblemKind::Suspended,
            text: format!("the machine was suspended for {} in this phase", Nanos(asleep_ns)),
        }),
        _ => None,
    })
}
