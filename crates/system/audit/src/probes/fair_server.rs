//! The server that reserves time for ordinary tasks, since Linux 6.12 (interface: commit d741f297bcea).

use super::{Probe, With};
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::sight::{Notes, Sight};
use punctual_machine::{KERNEL_TYPES, TypeName, kernel_type_name};

const DEBUGFS: &str = "/sys/kernel/debug";
const SCHED: &str = "/sys/kernel/debug/sched";
const SERVER: &str = "/sys/kernel/debug/sched/fair_server";

pub(super) const PROBES: &[Probe] = &[
    // `present` or `absent`, even if its settings cannot be read.
    Probe { name: "fair-server", with: &[], reads: &[&[DEBUGFS, SCHED, SERVER, KERNEL_TYPES]], run: presence },
    // Reserved time on each measured CPU, ns per period.
    Probe {
        name: "fair-server-runtime",
        with: &[],
        reads: &[&[DEBUGFS, SERVER, "/sys/kernel/debug/sched/fair_server/cpu*/runtime"]],
        run: runtimes,
    },
];

/// Reads debugfs if possible, else the kernel's type information, which every user may read: the server is a member of
/// the run queue.
fn presence(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    if sight.names(SERVER).is_ok() {
        notes.add(SERVER, "there");
        return Reading::word("present");
    }
    // The same code (kernel/sched/debug.c) creates the parent directory, so if the directory exists without the server,
    // the kernel lacks it. Until 5.13 (commit 8a99b6833c88) the scheduler's files were at the top level.
    let lists = |folder: &str, file: &str| sight.names(folder).is_ok_and(|names| names.iter().any(|name| name == file));
    if lists(SCHED, "features") || lists(DEBUGFS, "sched_features") {
        notes.add(SERVER, "absent, although the scheduler's other files exist");
        return Reading::word("absent");
    }
    match kernel_type_name(sight.machine, "fair_server") {
        TypeName::Present => {
            notes.add(KERNEL_TYPES, "contains fair_server");
            Reading::word("present")
        }
        TypeName::Absent => {
            notes.add(KERNEL_TYPES, "does not contain fair_server");
            Reading::word("absent")
        }
        TypeName::Unknown(_) => {
            let gap = settings_gap(sight, SERVER);
            notes.add(SERVER, gap.cause.describe());
            Reading::gap(gap)
        }
    }
}

/// Explains why the settings cannot be read. An unmounted debugfs is empty, which proves nothing.
fn settings_gap(sight: &Sight, path: &str) -> Gap {
    match sight.names(DEBUGFS) {
        Ok(names) if names.is_empty() => Gap::new(path, Cause::Hidden("debugfs is not mounted".to_owned())),
        Ok(_) => Gap::new(path, Cause::Missing),
        Err(gap) => Gap::new(path, gap.cause).expected(),
    }
}

fn runtimes(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let mut many = Many::default();
    if sight.context.cpus.is_empty() {
        many.missing = Some(Gap::new("the list of measured CPUs", Cause::Garbled("CPU")));
    }
    if let Err(gap) = sight.names(SERVER) {
        notes.add(SERVER, gap.cause.describe());
        return Reading::Many(Many::unknown(settings_gap(sight, SERVER)));
    }
    for cpu in sight.context.cpus.iter() {
        let path = format!("{SERVER}/cpu{cpu}/runtime");
        let value = sight.number(&path, notes).map_err(Gap::expected);
        many.push(format!("CPU {cpu}"), value.map(Value::Number));
    }
    Reading::Many(many)
}
