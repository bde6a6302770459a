use super::{Probe, With};
use crate::reading::{Cause, Gap, Reading, Value};
use crate::sight::{Notes, Sight};
use punctual_machine::field_values;

const MEMINFO: &str = "/proc/meminfo";
const PRESSURE: &str = "/proc/pressure/memory";

pub(super) const PROBES: &[Probe] = &[
    Probe { name: "memory-available-percent", with: &[], reads: &[&[MEMINFO]], run: available },
    // Time since boot during which all tasks waited for memory, µs (Documentation/accounting/psi.rst).
    Probe { name: "memory-stall-us", with: &[], reads: &[&[PRESSURE]], run: stalled },
    // VmLck of the application as a percentage of its VmRSS, at most 100: locked memory that was never touched counts
    // too.
    Probe { name: "locked-percent", with: &[], reads: &[&["/proc/*/status"]], run: locked },
];

fn kilobytes(text: &str, name: &str) -> Option<i64> {
    field_values(text, name).next()?.strip_suffix("kB")?.trim().parse().ok()
}

fn share(sight: &Sight, path: &str, part: &str, whole: &str, notes: &mut Notes) -> Reading {
    let text = match sight.text(path, &mut Notes::default()).map_err(Gap::expected) {
        Ok(text) => text,
        Err(gap) => {
            notes.add(path, gap.cause.describe());
            return Reading::gap(gap);
        }
    };
    match (kilobytes(&text, part), kilobytes(&text, whole)) {
        (Some(some), Some(all)) if all > 0 && some >= 0 => {
            notes.add(path, format!("{part} {some} kB, {whole} {all} kB"));
            Reading::One(Ok(Value::Number((some.saturating_mul(100) / all).min(100))))
        }
        _ => Reading::gap(Gap::new(path, Cause::Garbled("such figures"))),
    }
}

fn available(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    share(sight, MEMINFO, "MemAvailable", "MemTotal", notes)
}

fn locked(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match sight.offers.pid {
        Some(pid) => share(sight, &format!("/proc/{pid}/status"), "VmLck", "VmRSS", notes),
        None => Reading::gap(Gap::new("the application", Cause::Garbled("process: --pid"))),
    }
}

fn stalled(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let text = match sight.text(PRESSURE, notes) {
        Ok(text) => text,
        Err(gap) => return Reading::gap(gap),
    };
    let full = text.lines().find_map(|line| line.strip_prefix("full ")?.rsplit_once("total="));
    match full.and_then(|(_, total)| total.trim().parse().ok()) {
        Some(total) => Reading::One(Ok(Value::Number(total))),
        None => Reading::gap(Gap::new(PRESSURE, Cause::Garbled("total"))),
    }
}
