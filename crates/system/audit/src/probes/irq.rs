use super::{CPU_SET_READS, Probe, With};
use crate::Profile;
use crate::interrupts::{INTERRUPTS, Interrupts, Row};
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::rule::Set;
use crate::sight::{Notes, Sight};
use crate::tasks::{READS as TASKS, Task};
use punctual_units::{CpuList, Policy, Scheduling};

const TABLE: &[&str] = &[INTERRUPTS];
const AFFINITY: &[&str] = &["/proc/irq/*/effective_affinity_list", "/proc/irq/*/smp_affinity_list"];
const BANNED: &[&str] = &["/etc/default/irqbalance", "/etc/sysconfig/irqbalance"];

pub(super) const PROBES: &[Probe] = &[
    // Device interrupts whose effective affinity includes an isolated CPU: `24 eth0-rx (CPU 3)`.
    Probe { name: "irqs-isolated", with: &[], reads: &[TABLE, AFFINITY, CPU_SET_READS], run: irqs_isolated },
    // Device interrupts served by isolated CPUs since boot, by interrupt.
    Probe { name: "irq-counts-isolated", with: &[], reads: &[TABLE, CPU_SET_READS], run: counts_isolated },
    // Like `irq-counts-isolated`, for inter-processor interrupts.
    Probe { name: "ipis-isolated", with: &[], reads: &[TABLE, CPU_SET_READS], run: ipis_isolated },
    Probe { name: "ticks-tickless", with: &[], reads: &[TABLE, CPU_SET_READS], run: ticks },
    // Device interrupts since boot on the measured CPUs, in total.
    Probe { name: "interrupts-measured", with: &[], reads: &[TABLE], run: measured },
    Probe { name: "shared-interrupts", with: &[], reads: &[TABLE], run: shared },
    // Interrupt threads whose priority is at least that of the measuring task.
    Probe { name: "irq-threads-above", with: &[], reads: &[TASKS], run: threads_above },
    // Suitable priorities, by device and profile: `irq/24-eth0 (FIFO 50, pid 90) to 91`.
    Probe { name: "irq-thread-plan", with: &[], reads: &[TASKS, &["/sys/class/net"]], run: thread_plan },
    Probe { name: "irq-thread-count", with: &[], reads: &[TASKS], run: thread_count },
    // `covers`, `partly`, `nothing`, or `automatic` when irqbalance detects isolated CPUs itself.
    Probe { name: "irqbalance-banned", with: &[], reads: &[BANNED, CPU_SET_READS], run: banned },
];

fn gap(gap: Gap, notes: &mut Notes) -> Reading {
    notes.add(&gap.source, gap.cause.describe());
    Reading::Many(Many::unknown(gap))
}

fn items(items: Vec<(String, Value)>, source: &str, notes: &mut Notes) -> Reading {
    let mut many = Many::default();
    items.into_iter().for_each(|(label, value)| many.push(label, Ok(value)));
    let reading = Reading::Many(many);
    notes.add(source, reading.show());
    reading
}

fn irqs_isolated(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = Interrupts::read(sight.machine).and_then(|table| Ok((table, sight.set(Set::Isolated, notes)?)));
    let (table, isolated) = match found {
        Ok(found) => found,
        Err(what) => return gap(what, notes),
    };
    let mut many = Many::default();
    for row in table.rows.iter().filter(|row| row.is_device()) {
        match row.goes_to(sight) {
            Ok(cpus) if cpus.and(&isolated).is_empty() => {}
            Ok(cpus) => {
                let text = format!("{} {} (CPU {})", row.id, row.device(), cpus.and(&isolated));
                many.push("", Ok(Value::Text(text)));
            }
            Err(gap) if gap.cause == Cause::Absent => {}
            Err(gap) => many.push("", Err(gap)),
        }
    }
    notes.add("/proc/irq/*/effective_affinity_list", Reading::Many(many.clone()).show());
    Reading::Many(many)
}

fn counts(sight: &Sight, set: Set, chosen: impl Fn(&Row) -> bool, notes: &mut Notes) -> Reading {
    let found = Interrupts::read(sight.machine).and_then(|table| Ok((table, sight.set(set, notes)?)));
    match found {
        Ok((table, cpus)) => {
            let rows = table.rows.iter().filter(|row| chosen(row));
            let counted = rows.map(|row| (label(row), Value::Number(table.on(row, &cpus))));
            items(counted.collect(), INTERRUPTS, notes)
        }
        Err(what) => gap(what, notes),
    }
}

fn label(row: &Row) -> String {
    if row.is_device() { format!("{} {}", row.id, row.device()) } else { row.id.clone() }
}

fn counts_isolated(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    counts(sight, Set::Isolated, Row::is_device, notes)
}

fn ipis_isolated(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let is_ipi = |row: &Row| matches!(row.id.as_str(), "RES" | "CAL" | "TLB") || row.id.starts_with("IPI");
    counts(sight, Set::Isolated, is_ipi, notes)
}

fn ticks(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let is_tick = |row: &Row| row.id == "LOC" || row.what.contains("arch_timer") || row.what.contains("riscv-timer");
    counts(sight, Set::Tickless, is_tick, notes)
}

fn measured(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match Interrupts::read(sight.machine) {
        Ok(table) => {
            let rows = table.rows.iter().filter(|row| row.is_device());
            let sum = rows.map(|row| table.on(row, &sight.context.cpus)).fold(0, i64::saturating_add);
            notes.add(INTERRUPTS, format!("device interrupts on CPU {}: {sum}", sight.context.cpus));
            Reading::One(Ok(Value::Number(sum)))
        }
        Err(gap) => {
            notes.add(&gap.source, gap.cause.describe());
            Reading::gap(gap)
        }
    }
}

fn shared(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match Interrupts::read(sight.machine) {
        Ok(table) => {
            let rows = table.rows.iter().filter(|row| row.is_device() && row.device().contains(", "));
            let text =
                |row: &Row| (String::new(), Value::Text(format!("{}: {}", row.id, row.device().replace(", ", " + "))));
            items(rows.map(text).collect(), INTERRUPTS, notes)
        }
        Err(what) => gap(what, notes),
    }
}

fn is_irq_thread(task: &&Task) -> bool {
    task.is_kernel && task.name.starts_with("irq/")
}

fn threads_above(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let priority = match sight.context.scheduling {
        Scheduling::Fifo { priority } | Scheduling::Rr { priority } => i64::from(priority.get()),
        Scheduling::Deadline { .. } => 100,
        _ => 0,
    };
    let tasks = sight.tasks();
    let mut many = Many { items: Vec::new(), missing: tasks.missing.clone() };
    let above = |task: &&Task| task.policy != Policy::Deadline && task.priority >= priority;
    for task in tasks.real_time.iter().filter(is_irq_thread).filter(above) {
        many.push("", Ok(Value::Text(task.show())));
    }
    notes.add("interrupt threads", Reading::Many(many.clone()).show());
    Reading::Many(many)
}

/// The default priority of interrupt threads: sched_set_fifo() in kernel/irq/manage.c.
const USUAL: i64 = 50;

/// Substrings of the names of sound devices' interrupts.
const SOUND: &[&str] = &["snd", "hda", "sof", "audio", "i2s", "ac97", "firewire_ohci"];

pub(crate) struct PlannedThread<'a> {
    pub task: &'a Task,
    pub wanted: i64,
    pub is_awaited: bool,
}

/// Returns the planned priorities of interrupt threads: the thread of the device that the loop waits for gets a
/// priority above that of the loop, every other thread a lower one (rtirq(1) does the same with a list of names). Empty
/// if the loop's policy is neither FIFO nor RR.
pub(crate) fn planned_threads<'a>(sight: &'a Sight) -> Vec<PlannedThread<'a>> {
    let (Scheduling::Fifo { priority } | Scheduling::Rr { priority }) = sight.context.scheduling else {
        return Vec::new();
    };
    let of_loop = i64::from(priority.get());
    let cards = sight.names("/sys/class/net").unwrap_or_default();
    let plan = |task: &'a Task| {
        let device = task.name.split_once('-').map_or("", |(_, device)| device);
        let is_awaited = match sight.context.profile {
            Profile::FieldbusNic => cards.iter().any(|card| card != "lo" && belongs(device, card)),
            Profile::AudioDesktop => SOUND.iter().any(|kind| device.contains(kind)),
            _ => false,
        };
        let wanted = if is_awaited { (of_loop + 1).min(98) } else { USUAL.min(of_loop - 1).max(1) };
        let is_right = if is_awaited { task.priority > of_loop } else { task.priority < of_loop };
        (!is_right && task.priority != wanted).then_some(PlannedThread { task, wanted, is_awaited })
    };
    sight.tasks().real_time.iter().filter(is_irq_thread).filter_map(plan).collect()
}

fn thread_plan(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    if !matches!(sight.context.scheduling, Scheduling::Fifo { .. } | Scheduling::Rr { .. }) {
        return Reading::Many(Many::default());
    }
    let mut many = Many { items: Vec::new(), missing: sight.tasks().missing.clone() };
    for planned in planned_threads(sight) {
        many.push("", Ok(Value::Text(format!("{} to {}", planned.task.show(), planned.wanted))));
    }
    notes.add("interrupt threads by device", Reading::Many(many.clone()).show());
    Reading::Many(many)
}

/// Returns true if a device name belongs to a network card: `eth0`, `eth0-rx-1` and `eth0:3` belong to the card eth0;
/// `eth01` does not. The kernel truncates a thread's name to 15 characters.
fn belongs(device: &str, card: &str) -> bool {
    let rest = device.strip_prefix(card);
    rest.is_some_and(|rest| rest.is_empty() || !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

fn thread_count(sight: &Sight, _: &With, _: &mut Notes) -> Reading {
    let tasks = sight.tasks();
    let count = tasks.real_time.iter().filter(is_irq_thread).count();
    match &tasks.missing {
        Some(gap) => Reading::gap(gap.clone()),
        None => Reading::One(Ok(Value::Number(i64::try_from(count).unwrap_or(i64::MAX)))),
    }
}

/// Reads the CPUs to which irqbalance must not move interrupts. Without a list irqbalance itself excludes the CPUs of
/// isolcpus= and nohz_full=, as documented in its environment file; it ignores cpuset partitions.
fn banned(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let mut unnoted = Notes::default();
    for path in BANNED {
        let text = match sight.text(path, &mut unnoted) {
            Ok(text) => text,
            Err(gap) if gap.cause == Cause::Absent => continue,
            Err(gap) => {
                notes.add(&gap.source, gap.cause.describe());
                return Reading::gap(gap);
            }
        };
        let line = text.lines().filter_map(|line| line.trim().strip_prefix("IRQBALANCE_BANNED_CPULIST=")).next_back();
        let Some(list) = line.map(|list| list.trim_matches(['"', '\'']).parse::<CpuList>()) else { continue };
        notes.add(*path, format!("IRQBALANCE_BANNED_CPULIST={}", line.unwrap_or_default()));
        return match (list, sight.set(Set::Isolated, &mut unnoted)) {
            (Ok(list), Ok(isolated)) if isolated.minus(&list).is_empty() => Reading::word("covers"),
            (Ok(_), Ok(_)) => Reading::word("partly"),
            (Err(_), _) => Reading::gap(Gap::new(*path, Cause::Garbled("CPU list"))),
            (_, Err(gap)) => Reading::gap(gap),
        };
    }
    match sight.cpu_list("/sys/devices/system/cpu/isolated", notes) {
        Ok(at_boot) if !at_boot.is_empty() => Reading::word("automatic"),
        Ok(_) => Reading::word("nothing"),
        Err(gap) => Reading::gap(gap.expected()),
    }
}
