//! Units that run, are enabled or masked, determined from files alone: systemd.unit(5).

use super::{Notes, Sight};
use crate::glob::fits;
use crate::reading::{Cause, Gap, Many, Reading, Value};
use punctual_machine::Read;

/// Control groups of running services: cgroup v2 and v1.
const RUNNING: &[&str] = &["/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice"];

/// Folders whose `TARGET.wants` contain links to enabled units.
const ENABLED: &[&str] = &["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];

/// Targets of an ordinary boot.
const TARGETS: &[&str] = &["multi-user", "graphical", "timers", "sockets", "basic", "sysinit", "default", "local-fs"];

/// ENXIO, from reading a link to /dev/null, which is a device.
const DEVICE: i32 = 6;

impl Sight<'_> {
    /// Returns `NAME running` or `NAME enabled`; patterns may contain `*`.
    pub(super) fn units(&self, patterns: &[String], notes: &mut Notes) -> Many {
        let mut many = Many::default();
        let running = self.names_of(RUNNING.iter().map(|path| (*path).to_owned()), &mut many.missing);
        let wants = ENABLED.iter().flat_map(|folder| TARGETS.iter().map(move |t| format!("{folder}/{t}.target.wants")));
        let enabled = self.names_of(wants, &mut many.missing);
        for pattern in patterns {
            let mut found: Vec<&String> = running.iter().chain(&enabled).filter(|name| fits(pattern, name)).collect();
            found.sort_unstable();
            found.dedup();
            for name in found {
                let is_running = running.contains(name);
                if is_running || !self.is_masked(name) {
                    let state = if is_running { "running" } else { "enabled" };
                    many.push("", Ok(Value::Text(format!("{name} {state}"))));
                }
            }
        }
        let gap = many.missing.as_ref().map(|gap| format!("; {}", gap.describe())).unwrap_or_default();
        notes.add("systemd units", format!("{}{gap}", Reading::Many(many.clone()).show()));
        many
    }

    fn is_masked(&self, unit: &str) -> bool {
        matches!(self.machine.read(&format!("/etc/systemd/system/{unit}")), Read::Failed(DEVICE))
    }

    /// Returns the names in several folders; missing ones count as empty.
    fn names_of(&self, folders: impl Iterator<Item = String>, missing: &mut Option<Gap>) -> Vec<String> {
        let mut all = Vec::new();
        for folder in folders {
            match self.names(&folder) {
                Ok(names) => all.extend(names),
                Err(gap) if gap.cause == Cause::Absent => {}
                Err(gap) => {
                    missing.get_or_insert(gap);
                }
            }
        }
        all
    }
}
