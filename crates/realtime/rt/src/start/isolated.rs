//! CPUs that the scheduler does not balance: isolcpus= at boot, isolated cpuset partitions at run time.

use crate::start::probe::Machine;
use punctual_units::CpuList;

const AT_BOOT: &str = "/sys/devices/system/cpu/isolated";
/// Mount points of cgroup v2: the first if it is the only hierarchy, the second if cgroup v1 is mounted, too.
const GROUPS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// Maximum nesting depth of the control groups that are examined.
const DEPTH: usize = 8;

/// Returns all isolated CPUs. The kernel lists the CPUs of isolcpus= in one file, and those of partitions in another:
/// since Linux 6.7 in the root group, before that only in each partition (Documentation/admin-guide/cgroup-v2.rst).
///
/// # Errors
/// A file cannot be read, or CPUs may be isolated in a way that cannot be examined (cgroup v1, or partitions that are
/// not visible in a container).
pub(super) fn isolated(machine: &Machine) -> Result<CpuList, String> {
    let at_boot = list(machine, AT_BOOT)?;
    let since = partitions(machine)?;
    Ok(at_boot.iter().chain(since.iter()).collect())
}

/// Returns why a CPU that no list contains may nevertheless be isolated; `None` if there is no doubt.
pub(super) fn doubt(machine: &Machine) -> Option<String> {
    // cgroup v1: if load balancing is off in the root, each group decides for itself (cpusets(7)).
    let root = "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance";
    if machine.read(root).is_ok_and(|text| text == "0") {
        return Some(format!("{root} is 0: control groups of version 1 may isolate CPUs, and are not examined"));
    }
    // The kernel's root group has no cgroup.events; what looks like the root in a container has one.
    let inside = GROUPS.iter().find(|mount| machine.read(&format!("{mount}/cgroup.events")).is_ok())?;
    Some(format!("{inside} is not the root of the control groups (a container?): partitions outside are not visible"))
}

fn partitions(machine: &Machine) -> Result<CpuList, String> {
    for mount in GROUPS {
        let listed = format!("{mount}/cpuset.cpus.isolated");
        if machine.exists(&listed) {
            return list(machine, &listed);
        }
    }
    let mut found = CpuList::default();
    for mount in GROUPS {
        if machine.read(&format!("{mount}/cgroup.controllers")).is_ok_and(|all| all.split(' ').any(|c| c == "cpuset")) {
            descend(machine, mount, DEPTH, &mut found)?;
        }
    }
    Ok(found)
}

/// Adds the CPUs of the isolated partitions below `folder` to `found`. The parent of a partition is always a partition,
/// up to the root.
fn descend(machine: &Machine, folder: &str, depth: usize, found: &mut CpuList) -> Result<(), String> {
    if depth == 0 {
        return Ok(());
    }
    for name in machine.names(folder)? {
        let group = format!("{folder}/{name}");
        // `isolated invalid (…)` is not a partition.
        match machine.read(&format!("{group}/cpuset.cpus.partition")).as_deref() {
            Ok("isolated") => {
                let cpus = list(machine, &format!("{group}/cpuset.cpus.effective"))?;
                *found = found.iter().chain(cpus.iter()).collect();
            }
            Ok("root") => {}
            _ => continue,
        }
        descend(machine, &group, depth - 1, found)?;
    }
    Ok(())
}

fn list(machine: &Machine, path: &str) -> Result<CpuList, String> {
    match machine.read(path)?.as_str() {
        // The kernel prints (null) for a mask that it never allocated.
        "" | "(null)" => Ok(CpuList::default()),
        text => text.parse().map_err(|error| format!("{path}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::start::probe::tests::machine;

    fn found(files: &[(&str, &str)]) -> Result<String, String> {
        let (_root, machine) = machine(files);
        isolated(&machine).map(|cpus| cpus.to_string())
    }

    const NONE: (&str, &str) = ("sys/devices/system/cpu/isolated", "\n");

    #[test]
    fn isolcpus_and_partitions_add_up() {
        let boot = ("sys/devices/system/cpu/isolated", "2-3\n");
        assert_eq!(found(&[boot]), Ok("2-3".into()));
        assert_eq!(found(&[boot, ("sys/fs/cgroup/cpuset.cpus.isolated", "5\n")]), Ok("2-3,5".into()));
        assert_eq!(found(&[NONE, ("sys/fs/cgroup/unified/cpuset.cpus.isolated", "1\n")]), Ok("1".into()));
        assert!(found(&[]).is_err());
        assert!(found(&[("sys/devices/system/cpu/isolated", "x\n")]).is_err());
    }

    #[test]
    fn before_6_7_the_partitions_themselves_are_looked_at() {
        let controllers = ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io\n");
        let group = |path: &'static str, kind, cpus| {
            let file = |name: &str| -> &'static str { format!("sys/fs/cgroup/{path}/{name}").leak() };
            [(file("cpuset.cpus.partition"), kind), (file("cpuset.cpus.effective"), cpus)]
        };
        let all = [
            vec![NONE, controllers],
            group("rt", "isolated\n", "3\n").to_vec(),
            group("pool", "root\n", "4-7\n").to_vec(),
            group("pool/inner", "isolated\n", "7\n").to_vec(),
            group("bad", "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n", "1\n").to_vec(),
            group("member", "member\n", "0-1\n").to_vec(),
        ]
        .concat();
        assert_eq!(found(&all), Ok("3,7".into()));
    }

    #[test]
    fn what_may_hide_isolation_is_named() {
        let doubt = |files: &[(&str, &str)]| super::doubt(&machine(files).1);
        assert!(doubt(&[("sys/fs/cgroup/cpuset/cpuset.sched_load_balance", "0\n")]).unwrap().contains("version 1"));
        assert_eq!(doubt(&[("sys/fs/cgroup/cpuset/cpuset.sched_load_balance", "1\n")]), None);
        assert!(doubt(&[("sys/fs/cgroup/cgroup.events", "populated 1\n")]).unwrap().contains("container"));
        assert_eq!(doubt(&[]), None);
    }
}
