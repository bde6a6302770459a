use rustix::process::Pid;

/// Returns the process group of this process; `None` if its number is 0 because the group belongs to an outer PID
/// namespace (pid_namespaces(7)). In that case `getpgrp` of rustix panics or has undefined behaviour.
pub fn process_group() -> Option<Pid> {
    // SAFETY: getpgrp(2) takes no arguments and always succeeds.
    Pid::from_raw(unsafe { libc::getpgrp() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_group_that_the_kernel_names() {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        // Third field after the comm (proc_pid_stat(5)).
        let group: i32 = stat.rsplit(") ").next().unwrap().split(' ').nth(2).unwrap().parse().unwrap();
        assert_eq!(process_group(), Pid::from_raw(group));
    }
}
