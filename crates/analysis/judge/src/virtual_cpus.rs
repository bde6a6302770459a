//! May several CPUs in virtual time be trusted?
//!
//! An emulator that counts instructions runs its CPUs in turns on one host thread, so that one CPU's work delays another's:
//! that is the emulator's hand-over, not the kernel's. The controls are spinners, on the last CPU (`control`) and on every CPU
//! (`control-all`): any kernel preempts those at once, so they must not change an idle CPU's worst wakeup by a factor of
//! [`VirtualControl::LIMIT`] or more. The first alone is not enough: it was seen to pass (1.7) where two busy CPUs were 500 µs late.

use punctual_model::{Problem, ProblemKind, Recording, VirtualControl};
use punctual_units::{CpuId, Nanos};

/// The controls of a run in virtual time, loads of these names.
pub const CONTROLS: [&str; 2] = ["control", "control-all"];

/// The controls' result, where all their phases were measured on every CPU.
pub fn virtual_control(recording: &Recording) -> Option<VirtualControl> {
    let worst = |load: &str, cpu: CpuId| {
        let phase = recording.run.phases.iter().find(|p| p.load == load)?;
        recording.distribution(&phase.id, cpu)?.corrected().max()
    };
    let mut found: Option<VirtualControl> = None;
    for cpu in recording.run.settings.cpus.iter() {
        for control in CONTROLS {
            let (idle_ns, beside_spinner_ns) = (worst("idle", cpu)?, worst(control, cpu)?);
            let this = VirtualControl { cpu, control: control.into(), idle_ns, beside_spinner_ns };
            if found.as_ref().is_none_or(|f| f.ratio() < this.ratio()) {
                found = Some(this);
            }
        }
    }
    found
}

/// The same, where it matters: with several CPUs in virtual time.
pub(crate) fn of_virtual_time(recording: &Recording) -> Option<VirtualControl> {
    recording.run.virtual_time.as_ref().filter(|model| model.cpus > 1)?;
    virtual_control(recording)
}

/// What stands against a run in virtual time on several CPUs.
pub(crate) fn doubt(recording: &Recording) -> Option<Problem> {
    let model = recording.run.virtual_time.as_ref().filter(|model| model.cpus > 1)?;
    let text = match virtual_control(recording) {
        Some(control) if control.passed() => return None,
        Some(control) => format!(
            "spinners (`{}`) on the {} virtual CPUs made the worst idle wakeup of CPU {} {:.1} times later ({} instead of {}), \
             which no kernel does: the figures are invalid; measure with one virtual CPU",
            control.control,
            model.cpus,
            control.cpu,
            control.ratio(),
            Nanos(control.beside_spinner_ns),
            Nanos(control.idle_ns)
        ),
        None => format!(
            "{} virtual CPUs without a control that shows that they do not disturb each other: measure with the loads \
             idle, control and control-all, or with one virtual CPU",
            model.cpus
        ),
    };
    Some(Problem { kind: ProblemKind::VirtualCpus, text })
}
