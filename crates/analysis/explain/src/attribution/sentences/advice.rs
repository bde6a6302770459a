//! Recommends what to do about a cause.

use super::super::inside::UNNAMED;
use super::super::label::Why;
use super::super::rtla::OWN;
use super::{UNPREEMPTED, evidence, is_ipi, is_stopper, is_timer};
use punctual_model::{Cause, Class, Confidence};

pub(super) fn advice(cause: &Cause, cpu: Option<u32>) -> String {
    match cause.class {
        Class::HigherPriority if cause.comm.as_deref().is_some_and(is_stopper) && cause.place.is_some() => {
            "it is the stopper of its CPU and runs work for the thread that queued it (a change of affinity, text patching, hotplug)".into()
        }
        Class::HigherPriority if cause.comm.as_deref().is_some_and(is_stopper) => {
            "it is the stopper of its CPU, which runs work queued by others (changes of affinity, text patching, hotplug): find the origin".into()
        }
        Class::HigherPriority if cause.scheduled.policy.is_none() => {
            "record sched_switch, which contains its priority; where preemption was off, a stack at the end names the place".into()
        }
        Class::HigherPriority => "lower its priority or stop it".into(),
        Class::SamePriority if cause.scheduled.policy.as_deref() == Some("DEADLINE") => {
            "shorten its runtime, give the late thread a shorter relative deadline, or move one of the two threads to another CPU".into()
        }
        Class::SamePriority if cause.scheduled.prio.is_some_and(|_| cause.scheduled.policy.as_deref() == Some("OTHER")) => {
            "ordinary threads share the CPU by their weights: give the thread that has to be on time a real-time policy (chrt) or a CPU of its own"
                .into()
        }
        Class::SamePriority => "give one of the two threads another priority".into(),
        Class::FairServer if cause.confidence == Confidence::Suspected && cause.tid.is_some() => {
            "find the real-time thread that never sleeps (rules sched-rt-throttle, sched-fair-server)".into()
        }
        Class::FairServer => format!(
            "find the real-time thread that starves it, or `echo 0 > /sys/kernel/debug/sched/fair_server/cpu{}/runtime` (rule \
             sched-fair-server)",
            cpu.map_or_else(|| "N".to_owned(), |cpu| cpu.to_string())
        ),
        Class::RtThrottling => {
            "find the real-time thread that never sleeps, or `sysctl kernel.sched_rt_runtime_us=-1` (rule sched-rt-throttle)"
                .into()
        }
        Class::DeadlineBudget => {
            "raise its sched_runtime or shorten its work; SCHED_FLAG_DL_OVERRUN sends it SIGXCPU where it overruns".into()
        }
        Class::Irq if cause.what.as_deref() == Some(OWN) => {
            "a timer interrupt that wakes a thread takes this long on this CPU, including the tracing of events in it".into()
        }
        Class::Irq if cause.what.as_deref().is_some_and(is_timer) => {
            "the timer interrupt stays where it is: have fewer timers on this CPU (isolcpus, nohz_full); in a guest, look at steal".into()
        }
        Class::Irq if cause.what.as_deref().is_some_and(is_ipi) && cause.place.is_some() => {
            "prevent its senders from sending it while this CPU has real-time work (isolcpus, nohz_full; look at what it was sent for)".into()
        }
        Class::Irq if cause.what.as_deref().is_some_and(is_ipi) => {
            "another CPU sent it: ipi:ipi_send_cpu with its callback shows which CPU, and for what purpose".into()
        }
        Class::Irq if cause.what.as_deref().is_some_and(|what| what.contains("irq_work") || what.contains("IRQ work")) => {
            "the kernel queued work for this CPU from a context in which it could not run it (perf, BPF, RCU, printk): find the origin".into()
        }
        Class::Irq if cause.what.as_deref() == Some("NMI") => {
            "it cannot be moved: perf, the watchdog (kernel.nmi_watchdog) and firmware raise it".into()
        }
        Class::Irq if cause.what.as_deref().is_some_and(|what| what.starts_with("irq ")) || cause.tid.is_some() => {
            "move that interrupt to another CPU (/proc/irq/*/smp_affinity_list)".into()
        }
        Class::Irq if cause.evidence == evidence(Why::ByFlags) && cause.what.as_deref() != Some(UNNAMED) => {
            "move that interrupt to another CPU (/proc/irq/*/smp_affinity_list)".into()
        }
        Class::Irq => "record irq:* and irq_vectors:* to know which one; the interrupt of a device can be moved to another CPU".into(),
        Class::Softirq if cause.what.as_deref() == Some(UNNAMED) => "record irq:softirq_entry and softirq_exit to know which one".into(),
        Class::Softirq => "move the device or timers that raise it to another CPU".into(),
        Class::PreemptionDisabled if cause.evidence.contains(UNPREEMPTED) => {
            "this kernel preempts none of its own code: boot with preempt=full, or use a PREEMPT_RT kernel; or keep such work off this CPU".into()
        }
        Class::IrqsDisabled | Class::PreemptionDisabled if cause.place.as_deref().is_some_and(|p| p.starts_with("in ")) => {
            "shorten that section, or keep its callers off this CPU".into()
        }
        Class::IrqsDisabled if cause.tid.is_none() => "`punctual explain --hardware` tells the two apart, and so does sched_stat_runtime if it was not recorded".into(),
        Class::IrqsDisabled | Class::PreemptionDisabled => {
            "`punctual explain --live` or `--trace-events stacks` names the function, if the kernel supports it".into()
        }
        Class::Steal => "give the guest CPUs of its own (rule virt-guest)".into(),
        Class::MachineStall => "firmware (SMI) or the host of a guest: run the hwlat tracer, look at the host".into(),
        Class::IdleExit if [Why::Idle, Why::IdleAtEnd].map(evidence).contains(&cause.evidence.as_str()) && cause.confidence == Confidence::Suspected => {
            "record cpu_idle, ipi and irq_vectors events, which tell these apart; hold /dev/cpu_dma_latency at 0 if it is the idle state".into()
        }
        Class::IdleExit if cause.confidence == Confidence::Suspected => {
            "hold /dev/cpu_dma_latency at 0 (rule cpu-idle-latency); in a guest, the host may not have run the CPU".into()
        }
        Class::IdleExit => "hold /dev/cpu_dma_latency at 0, or limit idle states (rule cpu-idle-latency)".into(),
        Class::Migration if cause.evidence == evidence(Why::Ipi) => "wake it from a CPU that shares its cache, or from its own CPU".into(),
        Class::Migration => "pin the thread to one CPU".into(),
        Class::PriorityInversion => "shorten what it does with the lock held".into(),
        Class::ReturnToUser => "look for page faults, signals and other work on the way out of the kernel".into(),
        Class::Waker if cause.evidence == evidence(Why::InCall) => {
            "the scheduler chose a CPU and took the lock of its runqueue in that time: wake it from its own CPU, or pin both threads".into()
        }
        Class::Waker => "that is part of this kind of wakeup: shorten the work of the waking thread, or wait in another way".into(),
        Class::BeforeWaker => "lower its priority, or give the thread that does the waking a higher one (chrt)".into(),
        Class::Unaccounted => "record more events".into(),
    }
}
