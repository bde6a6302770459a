use super::{CPU_SET_READS, Probe, With};
use crate::glob::fits;
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::rule::Set;
use crate::sight::{Notes, Sight};
use crate::tasks::{READS as TASKS, Task};
use punctual_machine::field_values;
use punctual_units::CpuList;

const STATUS: &[&str] = &["/proc/*/task/*/status"];

pub(super) const PROBES: &[Probe] = &[
    // Measured CPUs that are not isolated, `none` if all are.
    Probe { name: "measured-not-isolated", with: &[], reads: &[CPU_SET_READS], run: not_isolated },
    // Measured CPUs that are not tickless, `none` if all are.
    Probe { name: "measured-not-tickless", with: &[], reads: &[CPU_SET_READS], run: not_tickless },
    // Movable tasks that may run on an isolated CPU, except those deliberately confined to isolated CPUs.
    Probe { name: "foreign-tasks", with: &[], reads: &[TASKS, STATUS, CPU_SET_READS], run: foreign },
    // Threads of offloaded RCU callbacks that may run on an isolated CPU.
    Probe { name: "rcuo-isolated", with: &[], reads: &[TASKS, STATUS, CPU_SET_READS], run: callbacks },
    // The load average of the last minute, in per cent of the housekeeping CPUs.
    Probe { name: "load-per-housekeeping-cpu", with: &[], reads: &[&["/proc/loadavg"], CPU_SET_READS], run: load },
];

fn not_isolated(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    measured_outside(sight, Set::Isolated, notes)
}

fn not_tickless(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    measured_outside(sight, Set::Tickless, notes)
}

fn measured_outside(sight: &Sight, set: Set, notes: &mut Notes) -> Reading {
    match sight.set(set, notes) {
        Ok(_) if sight.context.cpus.is_empty() => {
            Reading::gap(Gap::new("the list of measured CPUs", Cause::Garbled("CPU")))
        }
        Ok(set) => {
            let rest = sight.context.cpus.minus(&set);
            Reading::word(if rest.is_empty() { "none".to_owned() } else { rest.to_string() })
        }
        Err(gap) => Reading::gap(gap),
    }
}

/// Returns the CPUs a task may run on; `None` if it has ended.
fn allowed(sight: &Sight, task: &Task) -> Option<Result<CpuList, Gap>> {
    let path = format!("/proc/{}/task/{}/status", task.pid, task.tid);
    let read = sight.machine.read(&path);
    match Cause::of(&read) {
        Some(Cause::Absent | Cause::Failed(3)) => return None,
        Some(cause) => return Some(Err(Gap::new(path, cause))),
        None => {}
    }
    let text = read.bytes().map(String::from_utf8_lossy).unwrap_or_default();
    let list = field_values(&text, "Cpus_allowed_list").next().and_then(|list| list.parse().ok());
    Some(list.ok_or_else(|| Gap::new(path, Cause::Garbled("list of allowed CPUs"))))
}

fn there(sight: &Sight, notes: &mut Notes, what: &str, of_kind: impl Fn(&Task, &CpuList, &CpuList) -> bool) -> Reading {
    let isolated = match sight.set(Set::Isolated, notes) {
        Ok(isolated) => isolated,
        Err(gap) => return Reading::Many(Many::unknown(gap)),
    };
    let tasks = sight.tasks();
    let mut many = Many { items: Vec::new(), missing: tasks.missing.clone() };
    for task in tasks.all.iter().filter(|task| !task.is_bound && Some(task.pid) != sight.offers.pid) {
        match allowed(sight, task) {
            Some(Ok(cpus)) if !cpus.and(&isolated).is_empty() && of_kind(task, &cpus, &isolated) => {
                many.push("", Ok(Value::Text(format!("{} ({})", task.name, task.tid))));
            }
            Some(Err(gap)) => {
                many.missing.get_or_insert(gap);
            }
            _ => {}
        }
    }
    let gap = many.missing.as_ref().map(|gap| format!("; {}", gap.describe())).unwrap_or_default();
    notes.add(what, format!("{}{gap}", Reading::Many(many.clone()).show()));
    Reading::Many(many)
}

fn foreign(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    there(sight, notes, "tasks allowed on isolated CPUs", |_, cpus, isolated| !cpus.minus(isolated).is_empty())
}

fn callbacks(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    there(sight, notes, "rcuo threads allowed on isolated CPUs", |task, _, _| {
        task.is_kernel && fits("rcuo*", &task.name)
    })
}

fn load(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    const PATH: &str = "/proc/loadavg";
    let cpus = match sight.set(Set::Housekeeping, notes) {
        Ok(cpus) if !cpus.is_empty() => cpus.len(),
        Ok(_) => return Reading::gap(Gap::new("housekeeping CPUs", Cause::Garbled("CPU"))),
        Err(gap) => return Reading::gap(gap),
    };
    match sight.text(PATH, notes).map_err(Gap::expected) {
        Ok(text) => match text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok()) {
            Some(load) if (0.0..1e6).contains(&load) => {
                Reading::One(Ok(Value::Number((load * 100.0 / cpus as f64).round() as i64)))
            }
            _ => Reading::gap(Gap::new(PATH, Cause::Garbled("load"))),
        },
        Err(gap) => Reading::gap(gap),
    }
}
