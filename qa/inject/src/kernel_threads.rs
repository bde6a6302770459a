use crate::InjectError;
use crate::thread::fifo;
use crate::undo::Raised;
use std::fs;

pub(crate) const ABOVE: u8 = 90;

#[derive(Clone, Debug)]
pub(crate) struct KernelThread {
    pub tid: i32,
    pub comm: String,
}

/// Returns the threads of `cpu` with one of these name prefixes: for CPU 1, the prefix `ksoftirqd` selects
/// `ksoftirqd/1`.
pub(crate) fn of_cpu(names: &[&str], cpu: u32) -> Vec<KernelThread> {
    let wanted: Vec<String> = names.iter().map(|name| format!("{name}/{cpu}")).collect();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let tids = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    let named = tids.filter_map(|tid| {
        let comm = fs::read_to_string(format!("/proc/{tid}/comm")).ok()?.trim().to_owned();
        Some(KernelThread { tid, comm })
    });
    named.filter(|thread| wanted.contains(&thread.comm)).collect()
}

/// Raises the priority of these threads above the victim's, as is often recommended for RT kernels. Dropping the result
/// restores the old priorities.
pub(crate) fn raise(threads: &[KernelThread]) -> Result<Vec<Raised>, InjectError> {
    threads.iter().map(|thread| Raised::thread(thread.tid, fifo(ABOVE)?)).collect()
}

/// Returns true on PREEMPT_RT, where softirqs run in threads. The mainline kernel has no /sys/kernel/realtime, but its
/// version string shows it.
pub(crate) fn is_rt() -> bool {
    fs::read_to_string("/proc/version").is_ok_and(|version| version.contains("PREEMPT_RT"))
}
