//! Effect of the command line on idle states on x86.

use super::{CONFIG_READS, Probe, With};
use crate::cmdline::values;
use crate::reading::{Cause, Gap, Reading, Value};
use crate::sight::{Notes, Sight};
use punctual_machine::parameter;

const CMDLINE: &str = "/proc/cmdline";
const DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";
const CPUS: &str = "/proc/cpuinfo";

pub(super) const PROBES: &[Probe] = &[
    // Absent if no word concerns idle states. `shallow`: no deeper than C1. `acpi`: acpi_idle with all states of the
    // firmware; `acpi-some`: with some of them; `acpi-nomwait`: with those entered through I/O ports. `other`: limits
    // that this machine's driver ignores; `other-perhaps`: or may ignore. `some`: up to the given number; `none`: no
    // limit.
    Probe { name: "idle-by-line", with: &[], reads: &[&[CMDLINE, DRIVER, CPUS], CONFIG_READS], run: by_line },
];

/// CPUIDLE_STATE_MAX of include/linux/cpuidle.h, minus one: intel_idle sets no limit for this number and above.
const MAX: i64 = 9;

#[derive(Default)]
struct Words {
    idle: Option<String>,
    is_off: bool,
    /// Value of intel_idle.max_cstate=; 0 disables intel_idle (intel_idle_init of drivers/idle/intel_idle.c).
    intel: Option<i64>,
    /// Value of processor.max_cstate=, used by acpi_idle only; 0 means 1 (drivers/acpi/processor_idle.c).
    acpi: Option<i64>,
}

impl Words {
    fn of(line: &str) -> Words {
        let number = |name: &str| parameter(line, name).and_then(|value| values::number(&value));
        Words {
            idle: parameter(line, "idle"),
            is_off: number("cpuidle.off").is_some_and(|off| off != 0),
            intel: number("intel_idle.max_cstate"),
            acpi: number("processor.max_cstate").map(|number| number.max(1)),
        }
    }

    /// Returns the combined effect of the parameters. `is_intel`: true if intel_idle is used unless the command line
    /// disables it; `None` if that is unknown. `is_out`: true if the kernel is built without intel_idle.
    fn come_to(&self, is_intel: Option<bool>, is_out: bool) -> Option<&'static str> {
        let idle = self.idle.as_deref();
        // Any idle= disables intel_idle (intel_idle_init); poll and halt disable acpi_idle (disabled_by_idle_boot_param
        // of drivers/acpi/processor_idle.c).
        if matches!(idle, Some("poll" | "halt")) || self.is_off {
            return Some("shallow");
        }
        let of_acpi = match self.acpi {
            Some(1) => "shallow",
            Some(_) => "acpi-some",
            None if idle == Some("nomwait") => "acpi-nomwait",
            None => "acpi",
        };
        if (self.intel == Some(0) && !is_out) || idle == Some("nomwait") {
            return Some(of_acpi);
        }
        let of_intel = match self.intel {
            Some(1) => "shallow",
            Some(number) if (2..MAX).contains(&number) => "some",
            _ => "none",
        };
        match (self.intel.is_some(), self.acpi.is_some(), is_intel) {
            (false, false, _) => None,
            (true, true, None) if of_intel == "shallow" && of_acpi == "shallow" => Some("shallow"),
            (_, _, Some(true)) => Some(if self.intel.is_some() { of_intel } else { "other" }),
            (_, _, Some(false)) => Some(if self.acpi.is_some() { of_acpi } else { "other" }),
            (_, _, None) => Some(if of_intel == "none" && self.acpi.is_none() { "none" } else { "other-perhaps" }),
        }
    }
}

/// Returns true if intel_idle is used by default, judging by the current driver, else by the processor's vendor.
fn is_intel(sight: &Sight) -> Option<bool> {
    let mut unnoted = Notes::default();
    match sight.text(DRIVER, &mut unnoted).as_deref() {
        Ok("intel_idle") => return Some(true),
        Ok("acpi_idle") => return Some(false),
        _ => {}
    }
    let cpus = sight.text(CPUS, &mut unnoted).ok()?;
    cpus.contains("vendor_id").then(|| cpus.contains("GenuineIntel"))
}

fn by_line(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let line = match sight.cmdline() {
        Ok(line) => line,
        Err(gap) => {
            notes.add(&gap.source, gap.cause.describe());
            return Reading::gap(gap);
        }
    };
    let is_out =
        sight.option("INTEL_IDLE", &mut Notes::default()).is_ok_and(|value| value == Value::Text("n".to_owned()));
    let is_intel = if is_out { Some(false) } else { is_intel(sight) };
    match Words::of(&line).come_to(is_intel, is_out) {
        Some(word) => Reading::word(word),
        None => Reading::gap(sight.open().unwrap_or_else(|| Gap::new("/proc/cmdline: idle states", Cause::Absent))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_to_what_the_drivers_make_of_them() {
        let of = |line: &str, is_intel| Words::of(line).come_to(is_intel, false);
        for (line, intel, other, unknown) in [
            ("quiet", None, None, None),
            ("intel_idle.max_cstate=0", Some("acpi"), Some("acpi"), Some("acpi")),
            ("intel_idle.max_cstate=0 processor.max_cstate=0", Some("shallow"), Some("shallow"), Some("shallow")),
            ("intel_idle.max_cstate=0 processor.max_cstate=3", Some("acpi-some"), Some("acpi-some"), Some("acpi-some")),
            ("intel_idle.max_cstate=1", Some("shallow"), Some("other"), Some("other-perhaps")),
            ("intel_idle.max_cstate=4", Some("some"), Some("other"), Some("other-perhaps")),
            ("intel_idle.max_cstate=9", Some("none"), Some("other"), Some("none")),
            ("processor.max_cstate=1", Some("other"), Some("shallow"), Some("other-perhaps")),
            ("intel_idle.max_cstate=1 processor.max_cstate=1", Some("shallow"), Some("shallow"), Some("shallow")),
            ("idle=nomwait", Some("acpi-nomwait"), Some("acpi-nomwait"), Some("acpi-nomwait")),
            ("idle=nomwait processor.max_cstate=1", Some("shallow"), Some("shallow"), Some("shallow")),
            ("idle=halt", Some("shallow"), Some("shallow"), Some("shallow")),
            ("cpuidle.off=1", Some("shallow"), Some("shallow"), Some("shallow")),
        ] {
            assert_eq!(
                (of(line, Some(true)), of(line, Some(false)), of(line, None)),
                (intel, other, unknown),
                "{line}"
            );
        }
        for (line, expected) in [
            ("intel_idle.max_cstate=0", Some("other")),
            ("intel_idle.max_cstate=0 processor.max_cstate=1", Some("shallow")),
            ("quiet", None),
        ] {
            assert_eq!(Words::of(line).come_to(Some(false), true), expected, "{line}");
        }
    }
}
