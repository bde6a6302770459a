use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;

/// Facts about a machine that a trace of it does not contain; a fact that could not be read is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Output of `uname -r`.
    pub release: Option<String>,
    /// Content of `/proc/version`, which mentions PREEMPT_RT.
    pub version: Option<String>,
    /// Scheduling policies of all threads (sched(7)), by thread ID: `FIFO`, `RR`, `OTHER`, …
    pub policies: BTreeMap<i32, String>,
    /// True if the fair server has a runtime above zero (debugfs sched/fair_server/cpu*/runtime, since Linux 6.12).
    pub fair_server: Option<bool>,
    /// True if the kernel has logged `sched: RT throttling activated` since it booted.
    pub throttled: Option<bool>,
    /// Steal time of all CPUs, jiffies (/proc/stat).
    pub steal: Option<u64>,
    /// Tracer of the top instance; `nop` if there is none.
    pub tracer: Option<String>,
}

const FAIR_SERVER: &str = "/sys/kernel/debug/sched/fair_server";
const THROTTLED: &str = "RT throttling activated";

impl Surroundings {
    pub fn read(tracefs: &str) -> Surroundings {
        let trimmed = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        Surroundings {
            release: trimmed("/proc/sys/kernel/osrelease"),
            version: trimmed("/proc/version"),
            policies: policies(),
            fair_server: fair_server(),
            throttled: kernel_log().map(|log| log.contains(THROTTLED)),
            steal: trimmed("/proc/stat").and_then(|text| steal(&text)),
            tracer: trimmed(&format!("{tracefs}/current_tracer")),
        }
    }
}

pub(crate) fn fair_server() -> Option<bool> {
    if !fs::exists("/sys/kernel/debug/sched").unwrap_or(false) {
        return None;
    }
    let Ok(cpus) = fs::read_dir(FAIR_SERVER) else { return Some(false) };
    let runtime = |cpu: fs::DirEntry| fs::read_to_string(cpu.path().join("runtime")).ok()?.trim().parse::<u64>().ok();
    // Files that even root may not read leave the result unknown.
    let runtimes: Option<Vec<u64>> = cpus.flatten().map(runtime).collect();
    Some(runtimes?.into_iter().any(|ns| ns > 0))
}

fn policies() -> BTreeMap<i32, String> {
    let folders = |path: String| {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok())
    };
    let tids = folders("/proc".into()).flat_map(|pid| folders(format!("/proc/{pid}/task")));
    let policy = |tid: i32| Some((tid, punctual_uapi::scheduling(tid).ok()?.0.policy().to_string()));
    tids.filter_map(policy).collect()
}

/// Returns the steal time, the eighth value of the first line (proc_stat(5)).
fn steal(stat: &str) -> Option<u64> {
    stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().nth(7)?.parse().ok()
}

fn kernel_log() -> Option<String> {
    use rustix::fs::{Mode, OFlags};
    let fd = rustix::fs::open("/dev/kmsg", OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let (mut log, mut record) = (Vec::new(), vec![0u8; 8192]);
    // One record per read(2); EAGAIN at the end, EPIPE if records were overwritten meanwhile.
    for _ in 0..1 << 16 {
        match rustix::io::read(&fd, &mut record) {
            Ok(n) if n > 0 => log.extend_from_slice(record.get(..n).unwrap_or_default()),
            Err(rustix::io::Errno::PIPE) => {}
            _ => break,
        }
    }
    Some(String::from_utf8_lossy(&log).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_figure() {
        assert_eq!(steal("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1"), Some(8));
        assert_eq!(steal("cpu  1 2"), None);
    }

    #[test]
    fn what_is_read_here_is_read() {
        let here = Surroundings::read("/nowhere");
        assert!(here.release.is_some() && !here.policies.is_empty());
        assert_eq!(here.tracer, None);
    }
}
