//! Fixes that the values in a rule cannot express. Each has a function and a line in a table.

use super::init::Init;
use super::places::{Places, UNKNOWN_CPUS};
use super::{Request, RulePlan, groups};
use crate::carry::Doing;
use crate::form::mask;
use crate::glob;
use punctual_audit::{Movable, PlanWish};
use punctual_units::{CpuList, Policy, Priority, Scheduling};
use std::path::{Path, PathBuf};

type Planner = fn(&Request, &Places, &mut RulePlan);

const PLANNERS: &[(&str, Planner)] = &[
    ("irq-effective-affinity", interrupts_away),
    ("irq-default-affinity", default_affinity),
    ("wq-unbound-cpumask", unbound_work),
    ("rogue-rt-task", rogue_threads),
    ("sched-kthread-prio-for-hogs", kernel_threads_above),
    ("irq-thread-priority", interrupt_threads),
    ("net-irq-thread-prio", awaited_threads),
    ("rcu-nocb-threads", callback_threads),
    ("cpu-idle-latency", idle_states),
    ("cpu-freq-fixed", one_frequency),
    ("iso-present", partition),
    ("kconfig-slub-cpu-partial", slabs),
    ("trace-events-on", events),
];

/// What the fix of a rule interrupts, according to SEAPATH's experience with TuneD and the kernel's documentation.
const INTERRUPTS: &[(&str, &str)] = &[
    ("cpu-smt", "half of the CPUs go offline: whatever is bound to them moves, and does not return after an undo"),
    (
        "irq-balance-daemon",
        "interrupts are redistributed, which can take a second: clusters have lost their quorum because of it",
    ),
    ("mem-swap", "everything that is swapped out is read back first; where memory is short, processes are killed"),
    ("rpi-swap", "everything that is swapped out is read back first; where memory is short, processes are killed"),
    ("net-queue-count", "the link is reset"),
    ("rpi-wifi-bt", "wireless links go down, perhaps the one you are using"),
    (
        "wq-unbound-cpumask",
        "drivers' work moves to other CPUs, which is known to have interrupted network traffic for a moment",
    ),
    ("sched-rt-throttle", "a runaway real-time loop then hangs the machine"),
    ("sched-fair-server", "a runaway real-time loop then hangs the machine"),
    ("sched-fair-server-asym-bug", "a runaway real-time loop then hangs the machine"),
    ("daemon-gpu-desktop", "the desktop ends, with all its programs"),
    ("cpu-pstate-driver", "all frequency settings are reset"),
    ("trace-current-tracer", "someone may be tracing: recorded data is lost"),
    ("trace-hwlat-osnoise-left", "someone may be tracing: recorded data is lost"),
    ("trace-events-on", "someone may be tracing"),
];

/// Rules whose fix takes something away that another program or the administrator may need. They are applied only if
/// named.
const ASKED_ONLY: &[(&str, &str)] = &[
    // raspberrypi/linux issue 3683: a Raspberry Pi 1 B+ does not boot with it.
    ("cmdline-threadirqs", "a driver whose handler must not run in a thread may hang the boot"),
    ("cmdline-audit", "this machine may be required to keep audit records"),
    ("cmdline-isolcpus-flags", "other programs can use fewer CPUs"),
    ("cmdline-tsc-reliable", "a clocksource that fails is then not detected"),
    (
        "cpu-idle-latency",
        "no CPU then enters deep idle states, not even in suspend-to-idle, which produces heat and drains the battery",
    ),
    ("cpu-idle-poll", "CPUs that do not poll have to leave idle states, which takes longer"),
    ("cpu-freq-fixed", "it keeps the processor at its highest frequency, which produces heat"),
    ("irq-managed", "other programs can use fewer CPUs"),
    ("kconfig-efi-runtime", "boot entries and firmware can then not be changed: efibootmgr, bootctl, fwupd"),
    ("kconfig-lockup-detector", "a CPU that hangs is then not detected"),
    (
        "kconfig-nohz-choice",
        "one setting makes every kernel entry slower; with the other, the tick interrupts computations: measure both",
    ),
    ("kconfig-nohz-inert", "another kernel on this machine may be built with support for the parameters"),
    ("rpi-nohz-rcu-inert", "another kernel on this machine may be built with support for the parameters"),
    ("sched-kthread-prio-for-hogs", "these threads then run before the loop"),
    ("virt-idle-poll-guest", "CPUs that do not poll have to leave idle states, which takes longer"),
    ("watchdog-nmi", "a CPU that hangs is then not detected"),
    ("watchdog-soft", "a task that hangs in the kernel is then not detected"),
    ("pm-iommu-strict", "it weakens the protection against faulty or malicious devices"),
    ("rogue-rt-task", "one of those threads may be your own application"),
    ("daemon-package-timers", "security updates are no longer installed automatically"),
    ("watchdog-panic-policy", "a machine that hangs is then not restarted"),
    ("iso-present", "other programs can no longer use these CPUs"),
];

/// Plans the fix of a rule that has a function here. Returns false if it has none.
pub(super) fn plan(request: &Request, places: &Places, plan: &mut RulePlan) -> bool {
    let found = PLANNERS.iter().find(|(rule, _)| *rule == plan.rule);
    found.iter().for_each(|(_, planner)| planner(request, places, plan));
    found.is_some()
}

pub(super) fn interrupts(rule: &str) -> Option<&'static str> {
    INTERRUPTS.iter().find(|(name, _)| *name == rule).map(|(_, what)| *what)
}

/// Returns true if the finding changes only some time after the fix: an IO-APIC moves an interrupt at its next
/// occurrence.
pub(super) fn shows_later(rule: &str) -> bool {
    rule == "irq-effective-affinity"
}

pub(super) fn is_for_the_asked_only(rule: &str) -> Option<&'static str> {
    ASKED_ONLY.iter().find(|(name, _)| *name == rule).map(|(_, why)| *why)
}

const NO_HOUSEKEEPING: &str = "no CPU is isolated, so no other CPUs are reserved for housekeeping: see iso-present";

fn interrupts_away(request: &Request, places: &Places, plan: &mut RulePlan) {
    let Some(housekeeping) = places.housekeeping.as_ref().filter(|_| !places.isolated.is_empty()) else {
        return plan.manual.push(NO_HOUSEKEEPING.to_owned());
    };
    let (found, doubts) = request.rules.interrupts_on(request.machine, request.context, &places.isolated, housekeeping);
    plan.manual.extend(doubts);
    for irq in found {
        if irq.movable == Movable::Yes {
            let path = PathBuf::from(format!("/proc/irq/{}/smp_affinity_list", irq.irq));
            plan.steps.push(Doing::Value { path, new: housekeeping.to_string() });
        } else {
            let what = format!(
                "interrupt {} ({}) is kept on its CPU by its driver: boot with isolcpus=managed_irq",
                irq.irq, irq.device
            );
            plan.manual.push(what);
        }
    }
}

fn masks(places: &Places, plan: &mut RulePlan, paths: Vec<PathBuf>) {
    match &places.housekeeping {
        Some(cpus) => plan.steps.extend(paths.into_iter().map(|path| Doing::Value { path, new: mask(cpus) })),
        None => plan.manual.push(NO_HOUSEKEEPING.to_owned()),
    }
}

fn default_affinity(_: &Request, places: &Places, plan: &mut RulePlan) {
    masks(places, plan, vec!["/proc/irq/default_smp_affinity".into()]);
}

fn unbound_work(request: &Request, places: &Places, plan: &mut RulePlan) {
    let paths = ["/sys/devices/virtual/workqueue/cpumask", "/sys/devices/virtual/workqueue/writeback/cpumask"];
    let there = paths.iter().map(PathBuf::from).filter(|path| request.sys.look(path).is_ok()).collect();
    masks(places, plan, there);
}

/// Returns a priority just below the measured task's if there is one, otherwise an ordinary policy.
fn below(measured: Scheduling, policy: Policy) -> Scheduling {
    let priority = match measured {
        Scheduling::Fifo { priority } | Scheduling::Rr { priority } => priority.get() - 1,
        _ => 0,
    };
    match (Priority::try_from(priority), policy) {
        (Ok(priority), Policy::Rr) => Scheduling::Rr { priority },
        (Ok(priority), _) => Scheduling::Fifo { priority },
        (Err(_), _) => Scheduling::Other { nice: 0 },
    }
}

fn rogue_threads(request: &Request, _: &Places, plan: &mut RulePlan) {
    let mut units: Vec<(String, Scheduling)> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for thread in request.rules.rogue_threads(request.machine, request.context) {
        if Some(thread.pid) == request.pid {
            continue;
        }
        if thread.policy == Policy::Deadline {
            plan.manual.push(format!(
                "{} (thread {}) is a deadline task: its program determines its policy",
                thread.name, thread.tid
            ));
            continue;
        }
        let new = below(request.context.scheduling, thread.policy);
        plan.steps.push(Doing::Scheduling { pid: thread.pid, tid: thread.tid, new });
        match unit_of(request, thread.pid) {
            Some(unit) if units.iter().any(|(other, _)| *other == unit) => {}
            Some(unit) => units.push((unit, new)),
            None if others.contains(&thread.name) => {}
            None => others.push(thread.name),
        }
    }
    if request.persist {
        lower_at_start(request, plan, &units, &others);
    }
}

/// Plans lower priorities for when the threads start again: drop-ins for systemd units, and advice for other threads
/// and for machines without systemd.
fn lower_at_start(request: &Request, plan: &mut RulePlan, units: &[(String, Scheduling)], others: &[String]) {
    let no_program = || request.sys.lacks("systemctl").then(|| "the program `systemctl` is not installed".to_owned());
    let hindrance = Init::of(request.sys).without_systemd().or_else(no_program);
    let advice = |name: &String, why: &str| format!("permanently: {name}: {why}: {WHERE_IT_STARTS}");
    match &hindrance {
        Some(why) => plan.manual.extend(units.iter().map(|(unit, _)| advice(unit, why))),
        None => units.iter().for_each(|(unit, new)| drop_in(request, plan, unit, *new)),
    }
    let why = hindrance.as_deref().unwrap_or("it belongs to no systemd unit");
    plan.manual.extend(others.iter().map(|name| advice(name, why)));
}

/// Advice for threads that no systemd unit starts. Use chrt(1) in front of the program, in OpenRC's command, runit's
/// run script, cron, or the autostart of a desktop.
const WHERE_IT_STARTS: &str = "lower its priority where it is started, with chrt(1)";

/// Plans a drop-in for a unit (systemd.exec(5)). It has no effect if the program sets its priority itself.
fn drop_in(request: &Request, plan: &mut RulePlan, unit: &str, new: Scheduling) {
    let content = match new {
        Scheduling::Fifo { priority } | Scheduling::Rr { priority } => {
            let policy = if matches!(new, Scheduling::Rr { .. }) { "rr" } else { "fifo" };
            format!(
                "[Service]\nCPUSchedulingPolicy={policy}\nCPUSchedulingPriority={0}\nLimitRTPRIO={0}\n",
                priority.get()
            )
        }
        _ => "[Service]\nCPUSchedulingPolicy=other\nLimitRTPRIO=0\n".to_owned(),
    };
    let path = PathBuf::from(format!("/etc/systemd/system/{unit}.d/60-punctual-{}.conf", plan.rule));
    super::persist::file(request, plan, &path, &content);
    let argv = punctual_model::Argv::new(["systemctl", "daemon-reload"]);
    let back = punctual_model::Back::Again;
    let command = punctual_model::Command { argv, back, rewrites: Vec::new(), draft: None };
    plan.steps.push(Doing::Run { command, lasting: true });
    plan.manual
        .push(format!("{unit} gets this priority at its next start, unless the program sets a higher one, which it may be permitted to do"));
}

/// Returns the systemd unit of a process, the last component of its control group; `None` if the process belongs to no
/// unit.
fn unit_of(request: &Request, pid: u32) -> Option<String> {
    let groups = request.sys.read(Path::new(&format!("/proc/{pid}/cgroup"))).ok()?;
    let groups = String::from_utf8_lossy(&groups).into_owned();
    let unit = groups.lines().find_map(|line| line.rsplit('/').find(|part| part.ends_with(".service")))?;
    let is_plain = unit.chars().all(|c| c.is_ascii_alphanumeric() || "-_.@:\\".contains(c));
    is_plain.then(|| unit.to_owned())
}

fn kernel_threads_above(request: &Request, places: &Places, plan: &mut RulePlan) {
    let priority = match request.context.scheduling {
        Scheduling::Fifo { priority } | Scheduling::Rr { priority } => Priority::try_from(priority.get() + 1).ok(),
        _ => None,
    };
    let Some(priority) = priority.filter(|priority| priority.get() < 99) else {
        return plan.manual.push("give the loop a priority below 98, so that there is room above it".to_owned());
    };
    for begins in ["ksoftirqd/", "ktimers/", "rcuc/"] {
        for thread in request.rules.kernel_threads(request.machine, request.context, begins, true) {
            let cpu = thread.name.split('/').nth(1).and_then(|cpu| cpu.parse().ok()).map(punctual_units::CpuId);
            let is_low = thread.priority < i64::from(priority.get());
            if is_low && cpu.is_some_and(|cpu| places.cpus.contains(cpu)) {
                plan.steps.push(Doing::Scheduling {
                    pid: thread.pid,
                    tid: thread.tid,
                    new: Scheduling::Fifo { priority },
                });
            }
        }
    }
}

/// Gives interrupt threads for which the loop waits a priority above the loop's, and all others a lower one.
fn interrupt_threads(request: &Request, _: &Places, plan: &mut RulePlan) {
    threads_by_device(request, plan, false);
}

/// Changes only interrupt threads for which the loop waits.
fn awaited_threads(request: &Request, _: &Places, plan: &mut RulePlan) {
    threads_by_device(request, plan, true);
}

fn threads_by_device(request: &Request, plan: &mut RulePlan, only_awaited: bool) {
    for (thread, wanted, is_awaited) in request.rules.interrupt_threads(request.machine, request.context) {
        let priority = u8::try_from(wanted).ok().and_then(|wanted| Priority::try_from(wanted).ok());
        let Some(priority) = priority.filter(|_| is_awaited || !only_awaited) else { continue };
        plan.steps.push(Doing::Scheduling { pid: thread.pid, tid: thread.tid, new: Scheduling::Fifo { priority } });
    }
}

fn callback_threads(request: &Request, places: &Places, plan: &mut RulePlan) {
    let Some(housekeeping) = &places.housekeeping else { return plan.manual.push(NO_HOUSEKEEPING.to_owned()) };
    for thread in request.rules.kernel_threads(request.machine, request.context, "rcuo", false) {
        plan.steps.push(Doing::Affinity { pid: thread.pid, tid: thread.tid, new: housekeeping.clone() });
    }
}

/// Maximum exit latency of an idle state that the rule accepts, µs.
const EXIT_LATENCY_US: u64 = 10;

fn idle_states(request: &Request, places: &Places, plan: &mut RulePlan) {
    let number =
        |path: &Path| -> Option<u64> { String::from_utf8(request.sys.read(path).ok()?).ok()?.trim().parse().ok() };
    for cpu in places.cpus.iter() {
        for state in glob::expand(request.sys, &format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state*")) {
            if number(&state.join("latency")).is_some_and(|us| us > EXIT_LATENCY_US) {
                plan.steps.push(Doing::Value { path: state.join("disable"), new: "1".to_owned() });
            }
        }
    }
    plan.manual
        .push("or let the application write 0 to /dev/cpu_dma_latency and hold it open while it runs".to_owned());
}

/// Raises the lowest frequency to the highest permitted one, so that the governor has no choice.
fn one_frequency(request: &Request, _: &Places, plan: &mut RulePlan) {
    for policy in glob::expand(request.sys, "/sys/devices/system/cpu/cpufreq/policy*") {
        match request.sys.read(&policy.join("scaling_max_freq")) {
            Ok(most) => {
                let new = String::from_utf8_lossy(&most).trim().to_owned();
                plan.steps.push(Doing::Value { path: policy.join("scaling_min_freq"), new });
            }
            Err(e) => plan.manual.push(format!("{}: {e}", policy.join("scaling_max_freq").display())),
        }
    }
}

const PARTITION: &str = "/sys/fs/cgroup/punctual-rt";

/// Plans the creation of an isolated cpuset partition for the application (Documentation/admin-guide/cgroup-v2.rst,
/// cpuset.cpus.partition; `isolated` since Linux 6.1).
fn partition(request: &Request, places: &Places, plan: &mut RulePlan) {
    if let Some(why) = groups::hindrance(request.sys) {
        return plan.manual.push(why);
    }
    let chosen: Result<CpuList, String> = match places.is_everywhere {
        None => Err(UNKNOWN_CPUS.to_owned()),
        Some(false) if !places.cpus.is_empty() => Ok(places.cpus.clone()),
        Some(_) => {
            let one = PlanWish { count: 1, near: None };
            request
                .rules
                .plan_cpus(request.machine, request.context, &one)
                .map(|plan| plan.isolated)
                .map_err(|e| e.to_string())
        }
    };
    let cpus = match chosen {
        Ok(cpus) => cpus,
        Err(why) => return plan.manual.push(why),
    };
    let value = |path: String, new: &str| Doing::Value { path: path.into(), new: new.to_owned() };
    plan.steps.push(value("/sys/fs/cgroup/cgroup.subtree_control".to_owned(), "+cpuset"));
    plan.steps.push(Doing::Folder(PARTITION.into()));
    plan.steps.push(value(format!("{PARTITION}/cpuset.cpus"), &cpus.to_string()));
    plan.steps.push(value(format!("{PARTITION}/cpuset.cpus.partition"), "isolated"));
    plan.manual.push(format!("then move the application into the partition: echo PID > {PARTITION}/cgroup.procs"));
}

fn slabs(request: &Request, _: &Places, plan: &mut RulePlan) {
    let paths = glob::expand(request.sys, "/sys/kernel/slab/*/cpu_partial");
    plan.steps.extend(paths.into_iter().map(|path| Doing::Value { path, new: "0".to_owned() }));
}

/// Plans to disable each event separately. The switch for all events reads `X` if only some are on, so that it could
/// not restore exactly these.
fn events(request: &Request, _: &Places, plan: &mut RulePlan) {
    let folder = "/sys/kernel/tracing";
    match request.sys.read(Path::new(&format!("{folder}/set_event"))) {
        Ok(on) => {
            for event in String::from_utf8_lossy(&on).lines().filter_map(|line| line.split_once(':')) {
                let path = PathBuf::from(format!("{folder}/events/{}/{}/enable", event.0.trim(), event.1.trim()));
                plan.steps.push(Doing::Value { path, new: "0".to_owned() });
            }
        }
        Err(e) => plan.manual.push(format!("{folder}/set_event: {e}")),
    }
}
