//! Effect of the command line on RCU's grace periods: kernel/rcu/update.c.

use super::kernel::release;
use super::{CONFIG_READS, Probe, With};
use crate::cmdline::values;
use crate::reading::{Cause, Gap, Reading};
use crate::sight::{Notes, Sight};
use punctual_machine::{is_preempt_rt, parameter};

const NORMAL: &str = "/sys/kernel/rcu_normal";
const CMDLINE: &str = "/proc/cmdline";
const VERSION: &str = "/proc/sys/kernel/version";

pub(super) const PROBES: &[Probe] = &[
    // `expedited`, `callers` (which may expedite) or `normal`; absent if /sys/kernel reports the mode.
    Probe { name: "rcu-mode-by-line", with: &[], reads: &[&[NORMAL, CMDLINE, VERSION], CONFIG_READS], run: mode },
];

/// rcu_normal overrides rcu_expedited (synchronize_rcu_expedited). A real-time kernel sets rcu_normal after boot
/// (commit 8b9a0ecc7ef5), and accepts rcu_normal_after_boot=0 only with NO_HZ_FULL.
fn mode(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let absent = || Reading::gap(Gap::new(NORMAL, Cause::Absent));
    if !sight.text(NORMAL, &mut Notes::default()).is_err_and(|gap| gap.is_not_given()) {
        return absent();
    }
    let (line, version) = match (sight.cmdline(), sight.text(VERSION, &mut Notes::default())) {
        (Ok(line), Ok(version)) => (line, version),
        (Err(gap), _) | (_, Err(gap)) => return Reading::gap(gap),
    };
    let is_rt = is_preempt_rt(&version);
    // In earlier releases the real-time patches did this.
    if is_rt && !release(sight, &mut Notes::default()).is_ok_and(|(major, minor, _)| (major, minor) >= (5, 11)) {
        return absent();
    }
    let number = |name: &str| parameter(&line, &format!("rcupdate.{name}")).and_then(|value| values::number(&value));
    let after_boot = number("rcu_normal_after_boot").map_or(is_rt, |number| number != 0);
    let is_before = release(sight, &mut Notes::default()).is_ok_and(|(major, minor, _)| {
        crate::cmdline::releases::lacks("rcupdate.rcu_expedited", (major, minor)).is_some()
    });
    let is_on = |name: &str| number(name).unwrap_or(0) != 0 && !is_before;
    let mode = match (is_on("rcu_normal") || after_boot, is_on("rcu_expedited")) {
        (true, _) => "normal",
        (false, true) => "expedited",
        (false, false) => "callers",
    };
    notes.add("/proc/cmdline: grace periods", mode);
    Reading::word(mode)
}
