//! Formats sentences about gaps.

use super::Surroundings;
use punctual_model::{GapClass, GapFinding, GapPart, SpanKind};
use punctual_units::{CpuList, Nanos};

pub(super) fn say(finding: &mut GapFinding, around: &Surroundings) {
    finding.evidence = evidence(finding, around);
    let worst = format!("worst {} on CPU {}", Nanos(finding.worst_ns), finding.worst_cpu);
    let mut said = format!("{}: {}, {worst}", finding.class.name(), count(finding.gaps, "gap"));
    if let Some(part) = worst_part(finding) {
        said.push_str(&format!(" ({}, up to {})", part.what, Nanos(part.worst_ns)));
    }
    said.push_str(&format!(", {} in all", Nanos(finding.total_ns)));
    for what in &finding.evidence {
        said.push_str(&format!("; {what}"));
    }
    finding.verdict = format!("{said} ({})", finding.confidence.name());
    finding.advice = advice(finding);
}

fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Returns the longest part caused by Linux.
fn worst_part(finding: &GapFinding) -> Option<&GapPart> {
    finding.parts.iter().max_by_key(|part| part.worst_ns)
}

fn evidence(finding: &GapFinding, around: &Surroundings) -> Vec<String> {
    let mut said = Vec::new();
    let at_once = || match (finding.at_once, finding.class) {
        (0, _) => None,
        (1, GapClass::Firmware) => Some("on all reading CPUs at once".to_owned()),
        (n, GapClass::Firmware) => Some(format!("{n} times on all reading CPUs at once")),
        (n, _) => Some(format!("{n} of them while all other reading CPUs were stalled too")),
    };
    let guest =
        || around.virtualisation.as_deref().filter(|name| *name != "none").map(|name| format!("a guest of {name}"));
    match finding.class {
        GapClass::Linux => said.push("the trace shows what ran".into()),
        GapClass::Hypervisor => {
            said.extend(guest());
            said.push(match stolen(around) {
                Some(0) => "steal time did not increase, but where gaps could be compared with other CPUs, another CPU continued".into(),
                Some(ns) => format!("steal time increased by {}", Nanos(ns)),
                None => "steal time is not counted on this machine".into(),
            });
        }
        GapClass::Firmware => {
            said.extend(at_once());
            said.push(smis(around));
        }
        GapClass::Hardware => {
            said.push("no hypervisor was found".into());
            said.extend(at_once());
            said.push(smis(around));
            said.extend(around.throttled.then(|| "throttling was reported meanwhile".into()));
        }
        GapClass::BeyondLinux => {
            said.push("the trace shows only the reading thread".into());
            said.push(guest().unwrap_or_else(|| "it is unknown whether this is a guest".into()));
            said.extend(stolen(around).map(|ns| format!("steal time increased by {}", Nanos(ns))));
            said.extend(at_once());
        }
        GapClass::Unknown => said.push("no trace covers the gaps".into()),
    }
    said
}

/// Returns the steal of all CPUs; `None` if not counted.
fn stolen(around: &Surroundings) -> Option<u64> {
    (!around.steal_ns.is_empty()).then(|| around.steal_ns.values().sum())
}

fn smis(around: &Surroundings) -> String {
    match around.smi.values().max() {
        Some(0) => "the SMI counter did not change".into(),
        Some(n) => format!("SMI counter +{n}"),
        None => "SMIs cannot be counted on this machine (msr module, Intel processors only)".into(),
    }
}

fn advice(finding: &GapFinding) -> Option<String> {
    let cpu = CpuList::from_iter([finding.worst_cpu]);
    Some(match finding.class {
        GapClass::Linux => return worst_part(finding).map(|part| against(part, &cpu)),
        GapClass::Hypervisor => format!(
            "on the host, give this vCPU a CPU of its own: virsh vcpupin GUEST {cpu} HOSTCPU, virsh schedinfo, <vcpusched \
             scheduler='fifo' priority='1'/>"
        ),
        GapClass::Firmware => {
            "find the source in the firmware setup (USB legacy, power and fan control, ECC logging); count while \
                               you change it: perf stat -a -e msr/smi/ sleep 60"
                .into()
        }
        GapClass::Hardware => {
            "use the kernel's own detector, if available: punctual explain --hardware --hwlat; count SMIs: \
                               modprobe msr, then perf stat -a -e msr/smi/ sleep 60"
                .into()
        }
        GapClass::BeyondLinux => {
            "run punctual explain --hardware on the host at the same time: gaps in both are caused by firmware \
                                  or hardware"
                .into()
        }
        GapClass::Unknown => "run it with tracing: sudo punctual explain --hardware".into(),
    })
}

/// Returns how to avoid the activity on a CPU.
fn against(part: &GapPart, cpu: &CpuList) -> String {
    let number = part.what.strip_prefix("irq ").and_then(|rest| rest.split(' ').next());
    match (part.kind, number) {
        (SpanKind::Irq, Some(irq)) => {
            format!("send it to another CPU: echo OTHER_CPUS > /proc/irq/{irq}/smp_affinity_list")
        }
        (SpanKind::Irq, None) if part.what == "local_timer" => {
            format!(
                "to keep the tick and other tasks' timers off this CPU, boot with isolcpus={cpu} nohz_full={cpu} rcu_nocbs={cpu}"
            )
        }
        (SpanKind::Irq, None) => {
            format!("it was sent by another CPU: boot with isolcpus=managed_irq,domain,{cpu} nohz_full={cpu}")
        }
        (SpanKind::Softirq, _) => {
            format!("move the interrupts that raise it to other CPUs, and boot with isolcpus={cpu} rcu_nocbs={cpu}")
        }
        (SpanKind::Nmi, _) => "see who sends them: grep NMI /proc/interrupts; sysctl kernel.nmi_watchdog=0".into(),
        (SpanKind::Task, _) => match part.what.rsplit_once("pid ").map(|(_, pid)| pid.trim_end_matches(')')) {
            Some(pid) => format!("keep it off that CPU: taskset -cp OTHER_CPUS {pid}; see its priority: chrt -p {pid}"),
            None => format!("keep other threads off that CPU: boot with isolcpus={cpu}"),
        },
        (SpanKind::Idle | SpanKind::Unknown, _) => {
            "repeat without stopping the thread: punctual explain --hardware".into()
        }
    }
}
