//! Effect of cpuset partitions on processes that have been pinned to CPUs.

/// Explains why making a cpuset partition would unpin other processes; `None` if it would not.
///
/// Enabling the controller cpuset in the root cgroup, and each change of a cpuset's CPUs, gives every process the CPUs
/// of its cgroup (cpuset_attach(), update_tasks_cpumask() in kernel/cgroup/cpuset.c). Since Linux 6.2 the kernel keeps
/// the mask requested with sched_setaffinity(2) and applies both masks (commits 8f9ea86fdf99, da019032819a); earlier
/// kernels discard it. `release` is the release that uname(2) returns.
pub fn partition_unpins(release: Option<&str>) -> Option<String> {
    let mut numbers =
        release.unwrap_or_default().split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) if (major, minor) >= (6, 2) => None,
        (Some(major), Some(minor)) => Some(format!("{WHY}; this is Linux {major}.{minor}")),
        _ => Some(unknown()),
    }
}

const WHY: &str = "before Linux 6.2 a cpuset partition unpins every other process: each gets all CPUs of its cgroup, and \
                   its affinity mask is lost";

fn unknown() -> String {
    format!("{WHY}; this machine's Linux version cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_kernels_known_to_keep_affinities_are_taken() {
        for release in ["6.2.0", "6.12.48+deb13-rt-amd64", "7.0-rc1", "10.1"] {
            assert_eq!(partition_unpins(Some(release)), None, "{release}");
        }
        for release in ["6.1.0-28-amd64", "5.14.0-427.13.1.el9_4.x86_64+rt", "4.19"] {
            assert!(partition_unpins(Some(release)).unwrap().contains("this is Linux"), "{release}");
        }
        for release in [None, Some(""), Some("x"), Some("6")] {
            assert!(partition_unpins(release).unwrap().contains("cannot be read"), "{release:?}");
        }
    }
}
