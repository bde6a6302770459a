//! The process group of this process.

use rustix::process::Pid;

/// This process's group; `None` where the group's number is 0, which is one of an outer PID namespace (pid_namespaces(7)): rustix's
/// `getpgrp` takes that for impossible, and panics or is undefined.
pub fn process_group() -> Option<Pid> {
    // SAFETY: getpgrp(2) takes nothing and always succeeds.
    Pid::from_raw(unsafe { libc::getpgrp() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_group_that_the_kernel_names() {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        // Third after the name (proc_pid_stat(5)).
        let group: i32 = stat.rsplit(") ").next().unwrap().split(' ').nth(2).unwrap().parse().unwrap();
        assert_eq!(process_group(), Pid::from_raw(group));
    }
}
