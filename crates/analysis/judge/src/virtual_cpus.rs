//! Checks whether the latencies of several CPUs in virtual time are reliable.
//!
//! An emulator that counts instructions runs its CPUs in turn on one host thread, so the work of one CPU delays
//! another. This is an artefact of the emulator, not of the kernel. The controls are busy loops, on the last CPU
//! (`control`) and on every CPU (`control-all`). Any kernel preempts these immediately, so they must not change the
//! worst wakeup of an idle CPU by a factor of [`VirtualControl::LIMIT`] or more. The first control alone does not
//! suffice: it passed (1.7) in a case in which two busy CPUs were 500 µs late.

use punctual_model::{Problem, ProblemKind, Recording, VirtualControl};
use punctual_units::{CpuId, Nanos};

pub const CONTROLS: [&str; 2] = ["control", "control-all"];

/// Compares the controls with the idle phase. `None` unless all phases of the controls were measured on every CPU.
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

pub(crate) fn of_virtual_time(recording: &Recording) -> Option<VirtualControl> {
    recording.run.virtual_time.as_ref().filter(|model| model.cpus > 1)?;
    virtual_control(recording)
}

pub(crate) fn doubt(recording: &Recording) -> Option<Problem> {
    let model = recording.run.virtual_time.as_ref().filter(|model| model.cpus > 1)?;
    let text = match virtual_control(recording) {
        Some(control) if control.passed() => return None,
        Some(control) => format!(
            "busy loops (`{}`) on the {} virtual CPUs made the worst idle wakeup of CPU {} {:.1} times as long ({} instead of {}), \
             which no kernel causes: the results are invalid; measure with one virtual CPU",
            control.control,
            model.cpus,
            control.cpu,
            control.ratio(),
            Nanos(control.beside_spinner_ns),
            Nanos(control.idle_ns)
        ),
        None => format!(
            "{} virtual CPUs without a control for mutual disturbance: measure with the loads \
             idle, control and control-all, or with one virtual CPU",
            model.cpus
        ),
    };
    Some(Problem { kind: ProblemKind::VirtualCpus, text })
}
