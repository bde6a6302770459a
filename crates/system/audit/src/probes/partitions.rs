//! cpuset partitions of several CPUs (Documentation/admin-guide/cgroup-v2.rst, cpuset.cpus.partition).

use super::{Probe, With};
use crate::reading::{Cause, Many, Reading, Value};
use crate::sight::{Notes, Sight};
use punctual_units::CpuList;

const ROOT: &str = "/sys/fs/cgroup";

const READS: &[&str] = &[
    ROOT,
    "/sys/fs/cgroup/*",
    "/sys/fs/cgroup/*/cpuset.cpus.partition",
    "/sys/fs/cgroup/*/*/cpuset.cpus.partition",
    "/sys/fs/cgroup/*/cpuset.cpus.effective",
    "/sys/fs/cgroup/*/*/cpuset.cpus.effective",
];

pub(super) const PROBES: &[Probe] = &[
    // Partitions with a measured CPU and other CPUs, between which the scheduler balances load: `rt.slice (2-3)`.
    Probe { name: "balanced-partitions", with: &[], reads: &[READS], run: balanced },
    // Partitions like these, but without load balancing.
    Probe { name: "unbalanced-partitions", with: &[], reads: &[READS], run: unbalanced },
];

fn balanced(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    of_state(sight, notes, "root")
}

fn unbalanced(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    of_state(sight, notes, "isolated")
}

fn of_state(sight: &Sight, notes: &mut Notes, wanted: &str) -> Reading {
    let top = match sight.names(ROOT) {
        Ok(names) => names,
        Err(gap) => return Reading::Many(Many::unknown(gap.expected())),
    };
    let mut many = Many::default();
    for name in top {
        look(sight, &name, wanted, &mut many);
        for inner in sight.names(&format!("{ROOT}/{name}")).unwrap_or_default() {
            look(sight, &format!("{name}/{inner}"), wanted, &mut many);
        }
    }
    notes.add(format!("{wanted} partitions of several CPUs"), Reading::Many(many.clone()).show());
    Reading::Many(many)
}

fn look(sight: &Sight, group: &str, wanted: &str, many: &mut Many) {
    let read = |file: &str| sight.text(&format!("{ROOT}/{group}/{file}"), &mut Notes::default());
    let state = match read("cpuset.cpus.partition") {
        Ok(state) => state,
        // The group does not exist, or the controller is not enabled in the group.
        Err(gap) if matches!(gap.cause, Cause::Absent | Cause::Failed(20)) => return,
        Err(gap) => return many.missing = Some(gap),
    };
    if state != wanted {
        return;
    }
    match read("cpuset.cpus.effective").map(|text| text.parse::<CpuList>()) {
        Ok(Ok(cpus)) if cpus.len() > 1 && !cpus.and(&sight.context.cpus).is_empty() => {
            many.push("", Ok(Value::Text(format!("{group} ({cpus})"))));
        }
        Ok(Ok(_)) => {}
        Ok(Err(_)) => many.missing = Some(crate::reading::Gap::new(group, Cause::Garbled("CPU list"))),
        Err(gap) => many.missing = Some(gap),
    }
}
