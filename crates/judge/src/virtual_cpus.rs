//! May several CPUs in virtual time be trusted?
//!
//! An emulator that counts instructions runs its CPUs in turns on one host thread, so that one CPU's work delays another's:
//! that is the emulator's hand-over, not the kernel's. The control is a spinner on the last CPU; it must not change the
//! worst wakeup of an idle CPU by a factor of [`LIMIT`] or more.

use punctual_model::{Problem, ProblemKind, Recording};
use punctual_units::{CpuId, Nanos};

/// Below this factor the control passes.
pub const LIMIT: f64 = 2.0;

/// The worst wakeups of one CPU while idle and beside the control's spinner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VirtualControl {
    /// The CPU: the first one measured.
    pub cpu: CpuId,
    /// While idle.
    pub idle: Nanos,
    /// With a spinner on another CPU.
    pub beside_spinner: Nanos,
}

impl VirtualControl {
    /// How many times later.
    pub fn ratio(&self) -> f64 {
        self.beside_spinner.0 as f64 / (self.idle.0 as f64).max(1.0)
    }

    /// Did the control pass?
    pub fn passed(&self) -> bool {
        self.ratio() < LIMIT
    }
}

/// The control's result, where both its phases were measured.
pub fn virtual_control(recording: &Recording) -> Option<VirtualControl> {
    let cpu = recording.run.settings.cpus.iter().next()?;
    let worst = |load: &str| {
        let phase = recording.run.phases.iter().find(|p| p.load == load)?;
        recording.distribution(&phase.id, cpu)?.corrected().max().map(Nanos)
    };
    Some(VirtualControl { cpu, idle: worst("idle")?, beside_spinner: worst("control")? })
}

/// What stands against a run in virtual time on several CPUs.
pub(crate) fn doubt(recording: &Recording) -> Option<Problem> {
    let model = recording.run.virtual_time.as_ref().filter(|model| model.cpus > 1)?;
    let text = match virtual_control(recording) {
        Some(control) if control.passed() => return None,
        Some(control) => format!(
            "a spinner on another of the {} virtual CPUs made the worst idle wakeup of CPU {} {:.1} times later ({} instead of \
             {}), which no kernel does: the figures are invalid; measure with one virtual CPU",
            model.cpus,
            control.cpu,
            control.ratio(),
            control.beside_spinner,
            control.idle
        ),
        None => format!(
            "{} virtual CPUs without a control that shows that they do not disturb each other: measure with the loads idle \
             and control, or with one virtual CPU",
            model.cpus
        ),
    };
    Some(Problem { kind: ProblemKind::VirtualCpus, text })
}
