//! Checks control groups: an isolated cpuset partition needs version 2.

use crate::system::{System, is_absent};
use std::path::Path;

const AT_BOOT: &str = "isolate CPUs at boot (isolcpus= on the kernel command line, with --persist)";

/// Returns why a cpuset partition cannot be created here, and what to do; `None` if it can be created.
///
/// Source: Documentation/admin-guide/cgroup-v2.rst (cgroup.controllers, cpuset.cpus.partition), cgroup-v1/cpusets.rst.
pub(super) fn hindrance(sys: &dyn System) -> Option<String> {
    const CONTROLLERS: &str = "/sys/fs/cgroup/cgroup.controllers";
    match sys.read(Path::new(CONTROLLERS)) {
        Ok(names) if String::from_utf8_lossy(&names).split_whitespace().any(|name| name == "cpuset") => unpins(sys),
        Ok(_) => match version_1(sys) {
            Some(where_) => Some(by_version_1(&where_)),
            None => Some(format!(
                "cgroup v2 lacks the cpuset controller ({CONTROLLERS}; in a container the host has it): {AT_BOOT}"
            )),
        },
        Err(e) if is_absent(&e) => match version_1(sys) {
            Some(where_) => Some(by_version_1(&where_)),
            None => Some(format!(
                "cgroup v2 is not mounted at /sys/fs/cgroup, which an isolated partition needs: {AT_BOOT}"
            )),
        },
        Err(e) => Some(format!("cannot tell if cgroup v2 has the cpuset controller: {CONTROLLERS}: {e}")),
    }
}

fn unpins(sys: &dyn System) -> Option<String> {
    let release = sys.read(Path::new("/proc/sys/kernel/osrelease")).ok();
    let release = release.map(|text| String::from_utf8_lossy(&text).trim().to_owned());
    punctual_machine::partition_unpins(release.as_deref()).map(|why| format!("{why}: {AT_BOOT}"))
}

fn by_version_1(where_: &str) -> String {
    format!(
        "the cpuset controller belongs to cgroup v1 here ({where_}), which has no isolated partitions: boot with \
         systemd.unified_cgroup_hierarchy=1 (without systemd: cgroup_no_v1=cpuset) for cgroup v2, or {AT_BOOT}"
    )
}

/// Returns evidence that the cpuset controller belongs to cgroup version 1: its directory, or a separate hierarchy in
/// /proc/self/cgroup (`4:cpuset:/`, cgroups(7)). `None` if there is none.
fn version_1(sys: &dyn System) -> Option<String> {
    for folder in ["/sys/fs/cgroup/cpuset", "/dev/cpuset"] {
        for file in ["cpuset.cpus", "cpus"] {
            if sys.look(&Path::new(folder).join(file)).is_ok() {
                return Some(folder.to_owned());
            }
        }
    }
    let groups = String::from_utf8_lossy(&sys.read(Path::new("/proc/self/cgroup")).ok()?).into_owned();
    let is_cpuset =
        |line: &&str| line.split(':').nth(1).is_some_and(|names| names.split(',').any(|name| name == "cpuset"));
    groups.lines().find(is_cpuset).map(|line| format!("/proc/self/cgroup: {line}"))
}
