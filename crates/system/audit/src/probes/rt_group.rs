//! The real-time budget of this program's control group (Documentation/scheduler/sched-rt-group.rst).

use super::{Probe, With};
use crate::reading::{Cause, Gap, Reading};
use crate::sight::{Notes, Sight};

const GROUPS: &str = "/proc/self/cgroup";
const MOUNTS: &str = "/proc/self/mounts";

pub(super) const PROBES: &[Probe] = &[
    // `given`: real-time tasks may run in this group. `zero`: sched_setscheduler(2) fails with EPERM. `off`: the kernel
    // does not group real-time tasks. `not given`: only some files of a machine are given.
    Probe { name: "rt-group-budget", with: &[], reads: &[&[GROUPS, MOUNTS, "/sys/fs/cgroup/**"]], run: budget },
];

fn budget(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match find(sight, notes) {
        Err(gap) if gap.is_not_given() => Reading::word("not given"),
        found => found.map_or_else(Reading::gap, Reading::word),
    }
}

fn find(sight: &Sight, notes: &mut Notes) -> Result<&'static str, Gap> {
    let groups = sight.text(GROUPS, &mut Notes::default()).map_err(Gap::expected)?;
    let mounts = sight.text(MOUNTS, &mut Notes::default()).map_err(Gap::expected)?;
    if let Some(group) = group_of(&groups, |controllers| controllers.split(',').any(|c| c == "cpu")) {
        let mount = mount_of(&mounts, |kind, options| kind == "cgroup" && options.split(',').any(|o| o == "cpu"));
        let mount = mount.ok_or_else(|| Gap::new(MOUNTS, Cause::Garbled("mount of the cpu controller")))?;
        return first_version(sight, &format!("{}{}", mount, group.trim_end_matches('/')), notes);
    }
    let group = group_of(&groups, str::is_empty).ok_or_else(|| Gap::new(GROUPS, Cause::Garbled("control group")))?;
    let mount = mount_of(&mounts, |kind, _| kind == "cgroup2");
    let mount = mount.ok_or_else(|| Gap::new(MOUNTS, Cause::Garbled("mount of control groups")))?;
    second_version(sight, mount, group, notes)
}

/// Returns the path of the line `id:controllers:path` with matching controllers (cgroups(7)).
fn group_of(groups: &str, fits: impl Fn(&str) -> bool) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        (fits(controllers) && path.starts_with('/')).then_some(path)
    })
}

fn mount_of(mounts: &str, fits: impl Fn(&str, &str) -> bool) -> Option<&str> {
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (point, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        (fits(kind, options) && point.starts_with('/')).then_some(point)
    })
}

/// Reads the budget in cgroup v1, where a file of the group contains it. Since 6.16 (commit d6809c2f606c) the file
/// exists only while grouping is on.
fn first_version(sight: &Sight, group: &str, notes: &mut Notes) -> Result<&'static str, Gap> {
    match sight.number(&format!("{group}/cpu.rt_runtime_us"), notes) {
        Ok(0) => Ok("zero"),
        Ok(_) => Ok("given"),
        Err(gap)
            if gap.cause == Cause::Absent && sight.names(group).is_ok_and(|n| n.iter().any(|n| n == "cpu.shares")) =>
        {
            Ok("off")
        }
        Err(gap) => Err(gap.expected()),
    }
}

/// Determines the budget in cgroup v2, where no file contains it: every group below the root with the cpu controller
/// has a budget of zero. Controllers are enabled from the top down, so the topmost groups decide: the one below the
/// root, and in a container its apparent root, which has a file that the real root lacks.
fn second_version(sight: &Sight, mount: &str, group: &str, notes: &mut Notes) -> Result<&'static str, Gap> {
    let names = sight.names(mount).map_err(Gap::expected)?;
    let mut uppermost = Vec::new();
    if names.iter().any(|name| name == "cgroup.events") {
        uppermost.push(mount.to_owned());
    }
    uppermost.extend(group.split('/').find(|part| !part.is_empty()).map(|top| format!("{mount}/{top}")));
    for folder in uppermost {
        let controllers = sight.text(&format!("{folder}/cgroup.controllers"), notes).map_err(Gap::expected)?;
        if controllers.split_whitespace().any(|controller| controller == "cpu") {
            return Ok("zero");
        }
    }
    Ok("given")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_mounts_are_found() {
        let groups = "9:name=systemd:/\n1:cpu,cpuacct:/a/b\n0::/c\n";
        assert_eq!(group_of(groups, |c| c.split(',').any(|c| c == "cpu")), Some("/a/b"));
        assert_eq!(group_of(groups, str::is_empty), Some("/c"));
        let mounts =
            "cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(mount_of(mounts, |kind, _| kind == "cgroup2"), Some("/sys/fs/cgroup/unified"));
    }
}
