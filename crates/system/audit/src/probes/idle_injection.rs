//! Cooling devices that force CPUs to idle: drivers/thermal/intel/intel_powerclamp.c,
//! drivers/thermal/cpuidle_cooling.c.

use super::{Probe, With};
use crate::reading::{Cause, Many, Reading, Value};
use crate::sight::{Notes, Sight};

const FOLDER: &str = "/sys/class/thermal";

pub(super) const PROBES: &[Probe] = &[
    // Percentage of idle time that each device injects; at most 0 if it injects none.
    Probe {
        name: "idle-injectors",
        with: &[],
        reads: &[&[FOLDER, "/sys/class/thermal/cooling_device*/type", "/sys/class/thermal/cooling_device*/cur_state"]],
        run: injectors,
    },
];

fn injects(kind: &str) -> bool {
    kind == "intel_powerclamp" || kind.starts_with("idle-") || kind.starts_with("thermal-idle")
}

fn injectors(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let devices = match sight.numbered(FOLDER, "cooling_device") {
        Ok(devices) => devices,
        // Without the thermal framework no cooling devices exist.
        Err(gap) if gap.cause == Cause::Absent => return Reading::Many(Many::unknown(gap.expected())),
        Err(gap) => return Reading::Many(Many::unknown(gap)),
    };
    notes.add(FOLDER, format!("{} cooling devices", devices.len()));
    let mut many = Many::default();
    for device in devices {
        match sight.text(&format!("{FOLDER}/cooling_device{device}/type"), &mut Notes::default()) {
            Ok(kind) if injects(&kind) => {
                let state = sight.number(&format!("{FOLDER}/cooling_device{device}/cur_state"), notes);
                many.push(kind, state.map(Value::Number));
            }
            Ok(_) => {}
            Err(gap) => many.missing = Some(gap),
        }
    }
    Reading::Many(many)
}
