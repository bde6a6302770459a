//! Effect of the command line on RCU's grace periods: kernel/rcu/update.c.

use super::kernel::release;
use super::{CONFIG_READS, Probe, With};
use crate::cmdline::values;
use crate::reading::{Cause, Gap, Reading};
use crate::sight::{Notes, Sight};
use punctual_machine::is_preempt_rt;

const NORMAL: &str = "/sys/kernel/rcu_normal";
const CMDLINE: &str = "/proc/cmdline";
const VERSION: &str = "/proc/sys/kernel/version";

pub(super) const PROBES: &[Probe] = &[
    // `expedited`, `callers` (a caller may request expediting) or `normal`; absent if /sys/kernel reports the mode.
    Probe { name: "rcu-mode-by-line", with: &[], reads: &[&[NORMAL, CMDLINE, VERSION], CONFIG_READS], run: mode },
];

/// Determines which grace periods the command line requests. rcu_normal overrides rcu_expedited
/// (synchronize_rcu_expedited). A real-time kernel sets rcu_normal after boot
/// (commit 8b9a0ecc7ef5; from 4.9 to 5.10 "rcu: enable rcu_normal_after_boot by default for RT" of the real-time
/// patches), and accepts rcu_normal_after_boot=0 only with NO_HZ_FULL.
pub(super) fn mode(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let absent = || Reading::gap(Gap::new(NORMAL, Cause::Absent));
    if !sight.text(NORMAL, &mut Notes::default()).is_err_and(|gap| gap.is_not_given()) {
        return absent();
    }
    let is_rt = match sight.text(VERSION, &mut Notes::default()) {
        Ok(version) => is_preempt_rt(&version),
        Err(gap) => return Reading::gap(gap),
    };
    let is_since = |since| release(sight, &mut Notes::default()).is_ok_and(|(major, minor, _)| (major, minor) >= since);
    // Whether a patched kernel accepts rcu_normal_after_boot=0 depends on the patch.
    let is_asked = || sight.asked("rcupdate.rcu_normal_after_boot", &mut Notes::default()) != Ok(None);
    if is_rt && (!is_since((4, 9)) || (!is_since((5, 11)) && is_asked())) {
        return absent();
    }
    let mut number = |name: &str| -> Result<Option<i64>, Gap> {
        let value = sight.asked(&format!("rcupdate.{name}"), notes)?;
        Ok(value.and_then(|value| values::number(&value)))
    };
    let mut mode = || -> Result<&'static str, Gap> {
        let after_boot = number("rcu_normal_after_boot")?.map_or(is_rt, |number| number != 0);
        let (is_normal, is_expedited) =
            (number("rcu_normal")?.unwrap_or(0) != 0, number("rcu_expedited")?.unwrap_or(0) != 0);
        Ok(match (is_normal || after_boot, is_expedited) {
            (true, _) => "normal",
            (false, true) => "expedited",
            (false, false) => "callers",
        })
    };
    let mode = match mode() {
        Ok(mode) => mode,
        Err(gap) => return Reading::gap(gap),
    };
    notes.add("/proc/cmdline: grace periods", mode);
    Reading::word(mode)
}
