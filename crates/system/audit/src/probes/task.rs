use super::{Probe, With};
use crate::owner::{Owner, READS as OWNER};
use crate::reading::{Many, Reading, Value};
use crate::sight::{Notes, Sight};
use crate::tasks::{READS, Task};
use punctual_machine::field_values;
use punctual_units::{CpuId, CpuList, Policy, Scheduling};

const STATUS: &[&str] = &["/proc/*/task/*/status"];

pub(super) const PROBES: &[Probe] = &[
    // User tasks on a measured CPU whose priority is at least that of the measuring task.
    Probe { name: "user-rt-tasks", with: &[], reads: &[READS, STATUS, OWNER], run: user_tasks },
    // The same for kernel threads, without the stopper threads (migration/N, FIFO 99) that every kernel has.
    Probe { name: "kernel-rt-tasks", with: &[], reads: &[READS, STATUS], run: kernel_tasks },
    Probe { name: "user-tasks-99", with: &[], reads: &[READS], run: at_99 },
    Probe { name: "deadline-tasks", with: &[], reads: &[READS], run: deadline },
    // Kernel threads of the measured CPUs that a loop at the measuring task's priority starves.
    Probe { name: "percpu-threads-below", with: &[], reads: &[READS], run: starved },
];

fn chosen(sight: &Sight, notes: &mut Notes, what: &str, choose: impl Fn(&Task) -> bool) -> Reading {
    let tasks = sight.tasks();
    let mut many = Many { items: Vec::new(), missing: tasks.missing.clone() };
    for task in tasks.all.iter().filter(|task| choose(task)) {
        many.push("", Ok(Value::Text(task.show())));
    }
    let gap = many.missing.as_ref().map(|gap| format!("; {}", gap.describe())).unwrap_or_default();
    notes.add(what, format!("{}{gap}", Reading::Many(many.clone()).show()));
    Reading::Many(many)
}

fn at_99(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    chosen(sight, notes, "programs at priority 99", |task| !task.is_kernel && task.priority == 99)
}

fn deadline(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    chosen(sight, notes, "deadline tasks", |task| task.policy == Policy::Deadline)
}

fn starved(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let of_measured = |task: &Task| {
        let (name, cpu) = task.name.split_once('/').unwrap_or_default();
        let is_kind = matches!(name, "ksoftirqd" | "ktimers" | "rcuc" | "rcub");
        is_kind && task.is_kernel && cpu.parse().is_ok_and(|cpu| sight.context.cpus.contains(CpuId(cpu)))
    };
    chosen(sight, notes, "kernel threads of the measured CPUs", |task| {
        of_measured(task) && !comes_first(task, sight.context.scheduling)
    })
}

fn user_tasks(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    tasks(sight, notes, |task| !task.is_kernel)
}

fn kernel_tasks(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    tasks(sight, notes, |task| task.is_kernel && !task.name.starts_with("migration/"))
}

fn tasks(sight: &Sight, notes: &mut Notes, of_kind: fn(&Task) -> bool) -> Reading {
    let tasks = sight.tasks();
    let all: Vec<String> = tasks.real_time.iter().map(Task::show).collect();
    notes.add("/proc/*/task/*/stat", format!("{} tasks; real-time: {}", tasks.seen, all.join(", ")));
    if let Some(gap) = &tasks.missing {
        notes.add(&gap.source, gap.cause.describe());
    }
    let mut many = Many { items: Vec::new(), missing: tasks.missing.clone() };
    let disturbing = tasks.real_time.iter().filter(|task| of_kind(task) && comes_first(task, sight.context.scheduling));
    for task in disturbing.filter(|task| may_run_there(sight, task)) {
        let shown = if task.is_kernel { task.show() } else { Owner::of(sight, task).describe(task) };
        many.push("", Ok(Value::Text(shown)));
    }
    Reading::Many(many)
}

/// Returns true if `task` has precedence over the measured task, or the same priority. A running FIFO task of the same
/// priority is not preempted. SCHED_DEADLINE precedes every priority (sched(7)).
fn comes_first(task: &Task, measured: Scheduling) -> bool {
    match (task.policy, measured) {
        (Policy::Deadline, _) => true,
        (_, Scheduling::Deadline { .. }) => false,
        (_, Scheduling::Fifo { priority } | Scheduling::Rr { priority }) => task.priority >= i64::from(priority.get()),
        (_, Scheduling::Other { .. } | Scheduling::Batch { .. } | Scheduling::Idle) => true,
    }
}

pub(crate) fn comes_first_there(sight: &Sight, task: &Task) -> bool {
    comes_first(task, sight.context.scheduling) && may_run_there(sight, task)
}

/// Returns true if the task may run on the measured CPUs, false only if it is known to stay on other CPUs.
fn may_run_there(sight: &Sight, task: &Task) -> bool {
    let status = sight.machine.read(&format!("/proc/{}/task/{}/status", task.pid, task.tid));
    let allowed =
        status.text().and_then(|text| field_values(text, "Cpus_allowed_list").next()?.parse::<CpuList>().ok());
    allowed.is_none_or(|allowed| allowed.is_empty() || !allowed.and(&sight.context.cpus).is_empty())
}
