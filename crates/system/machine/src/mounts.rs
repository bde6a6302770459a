use crate::Machine;

/// Returns the mount that contains `path` if it is read-only, such as /sys, /sys/fs/cgroup and /proc/sys of an
/// unprivileged container (proc_pid_mounts(5)). `None` also if the mounts cannot be read.
pub fn read_only_mount(machine: &dyn Machine, path: &str) -> Option<String> {
    let read = machine.read("/proc/self/mounts");
    let covers = |folder: &str| {
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || folder == "/")
    };
    let mounts = read.text()?.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (folder, options) = (fields.next()?, fields.nth(1)?);
        covers(folder).then_some((folder, options))
    });
    // The last of several mounts at the same place hides the others.
    let (folder, options) = mounts.max_by_key(|(folder, _)| folder.len())?;
    options.split(',').any(|option| option == "ro").then(|| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Read, Recorded};

    #[test]
    fn the_innermost_mount_decides() {
        let mut machine = Recorded::default();
        let of = |machine: &Recorded, path: &str| read_only_mount(machine, path);
        assert_eq!(of(&machine, "/sys/x"), None);
        let mounts = "overlay / overlay rw 0 0\nsysfs /sys sysfs ro,nosuid 0 0\ncgroup /sys/fs/cgroup cgroup2 rw 0 0\n";
        machine.set("/proc/self/mounts", Read::Known(mounts.as_bytes().to_vec()));
        assert_eq!(of(&machine, "/sys/devices/system/cpu/cpu3/online").as_deref(), Some("/sys"));
        assert_eq!(of(&machine, "/sys/fs/cgroup/rt"), None);
        assert_eq!(of(&machine, "/etc/sysctl.d/x"), None);
        assert_eq!(of(&machine, "/system"), None);
    }
}
