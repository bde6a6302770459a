//! Facts that are saved with a window in addition to its events.

use punctual_directory::Dir;
use punctual_machine::{self as machine, Live};
use punctual_trace::Kind;
use punctual_uapi as uapi;
use punctual_units::Policy;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// Returns the policies of those real-time threads in a trace that still exist.
pub(super) fn policies(dir: &Dir, trace: &str) -> BTreeMap<i32, Policy> {
    let mut policies = BTreeMap::new();
    let Ok(file) = dir.file(trace) else { return policies };
    let Ok(source) = punctual_trace::open(file, punctual_trace::Options::default()) else { return policies };
    for event in source {
        let Kind::SchedSwitch { prev, next, .. } = event.kind else { continue };
        for task in [prev, next] {
            // Kernel priorities 0 to 99 are real-time. For a thread with a boosted priority, its own policy counts.
            let wanted = task.prio.is_some_and(|prio| (0..100).contains(&prio)) && task.tid > 0;
            if wanted
                && !policies.contains_key(&task.tid)
                && policies.len() < 256
                && let Ok((scheduling, _)) = uapi::scheduling(task.tid)
            {
                policies.insert(task.tid, scheduling.policy());
            }
        }
    }
    policies
}

/// Facts about the machine that change only when it is rebooted.
pub(crate) struct OfMachine {
    pub kernel: Option<String>,
    pub guest: Option<bool>,
    pub rt_group_sched: Option<bool>,
}

impl OfMachine {
    pub fn read() -> OfMachine {
        let live = Live::new();
        let facts = machine::facts(&live);
        OfMachine {
            guest: facts.virtualisation.as_deref().map(|kind| kind != "none"),
            kernel: facts.kernel_release,
            rt_group_sched: machine::rt_group_sched(&live),
        }
    }
}

/// Reads the settings of the fair server (Linux 6.12 and later, debugfs). Returns true if it is on for any CPU, false
/// if it is off for all; `None` if the settings cannot be read or the kernel has no fair server.
pub(crate) fn fair_server() -> Option<bool> {
    let folders = std::fs::read_dir("/sys/kernel/debug/sched/fair_server").ok()?;
    let mut known = None;
    for folder in folders.flatten() {
        let runtime = std::fs::read_to_string(folder.path().join("runtime")).ok()?;
        known = Some(known == Some(true) || runtime.trim().parse::<u64>().ok()? > 0);
    }
    known
}

pub(super) struct Log(Option<File>);

impl Log {
    pub fn open() -> Log {
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let mut file = File::options().read(true).custom_flags(flags).open("/dev/kmsg").ok();
        if let Some(log) = &mut file
            && log.seek(SeekFrom::End(0)).is_err()
        {
            file = None;
        }
        Log(file)
    }

    /// Returns true if the kernel reported real-time throttling. It does so only once per boot, so a missing message
    /// proves nothing.
    pub fn throttled(&mut self) -> Option<bool> {
        let file = self.0.as_mut()?;
        let mut record = [0u8; 2048];
        let mut found = None;
        // Each read returns one record (Documentation/ABI/testing/dev-kmsg). A read of an overwritten record fails, and
        // the next read continues after it.
        for _ in 0..4096 {
            match file.read(&mut record) {
                Ok(n) => {
                    let said = record.get(..n).is_some_and(|r| contains(r, b"RT throttling activated"));
                    found = found.or(said.then_some(true));
                }
                Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {}
                Err(_) => break,
            }
        }
        found
    }
}

fn contains(text: &[u8], what: &[u8]) -> bool {
    text.windows(what.len()).any(|part| part == what)
}
