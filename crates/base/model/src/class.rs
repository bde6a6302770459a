use serde::{Deserialize, Serialize};

/// Cause of a delay between the time at which a thread should have run and the time at which it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A thread of higher priority ran.
    HigherPriority,
    /// A thread of the same priority ran: it was first in SCHED_FIFO order, or had a SCHED_RR time slice.
    SamePriority,
    /// The fair server (Linux 6.12 and later) ran a fair task although a real-time task was runnable.
    FairServer,
    /// Real-time throttling (sched_rt_runtime_us) kept real-time tasks off the CPU.
    RtThrottling,
    /// The thread had used up its own SCHED_DEADLINE budget and waited for the next period.
    DeadlineBudget,
    /// An interrupt handler ran or, on PREEMPT_RT, an interrupt thread.
    Irq,
    /// A softirq ran or, on PREEMPT_RT, the thread that handles softirqs.
    Softirq,
    /// The interrupt that starts the wakeup was delayed because interrupts were disabled on this CPU.
    IrqsDisabled,
    /// A thread of lower priority had preemption disabled.
    PreemptionDisabled,
    /// The hypervisor ran something else on this CPU.
    Steal,
    /// All CPUs stalled, because of firmware (SMI) or, in a guest, because of the host.
    MachineStall,
    /// The CPU had to leave an idle state.
    IdleExit,
    /// The thread was migrated to another CPU, or the inter-processor interrupt to the other CPU was late.
    Migration,
    /// A thread of lower priority ran with boosted priority because it held a lock for which another thread waited.
    PriorityInversion,
    /// The scheduler had switched to the thread, but the thread had not yet returned to user space.
    ReturnToUser,
    /// The wakeup was still in progress: the waking thread was in its system call, or a message was in transit.
    Waker,
    /// Another thread ran instead of the waking thread, which has a lower priority.
    BeforeWaker,
    /// No cause was found.
    Unaccounted,
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Class::HigherPriority => "higher_priority",
            Class::SamePriority => "same_priority",
            Class::FairServer => "fair_server",
            Class::RtThrottling => "rt_throttling",
            Class::DeadlineBudget => "deadline_budget",
            Class::Irq => "irq",
            Class::Softirq => "softirq",
            Class::IrqsDisabled => "irqs_disabled",
            Class::PreemptionDisabled => "preemption_disabled",
            Class::Steal => "steal",
            Class::MachineStall => "machine_stall",
            Class::IdleExit => "idle_exit",
            Class::Migration => "migration",
            Class::PriorityInversion => "priority_inversion",
            Class::ReturnToUser => "return_to_user",
            Class::Waker => "waker",
            Class::BeforeWaker => "before_waker",
            Class::Unaccounted => "unaccounted",
        }
    }
}

impl Confidence {
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Suspected => "suspected",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The trace is consistent with the cause, but lacks an event that would prove it.
    Suspected,
    /// The cause was inferred from events of the trace.
    Medium,
    /// The trace shows the cause directly.
    High,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_json() {
        let name = |value: String| value.trim_matches('"').to_owned();
        for class in [
            Class::HigherPriority,
            Class::SamePriority,
            Class::FairServer,
            Class::RtThrottling,
            Class::DeadlineBudget,
            Class::Irq,
            Class::Softirq,
            Class::IrqsDisabled,
            Class::PreemptionDisabled,
            Class::Steal,
            Class::MachineStall,
            Class::IdleExit,
            Class::Migration,
            Class::PriorityInversion,
            Class::ReturnToUser,
            Class::Waker,
            Class::BeforeWaker,
            Class::Unaccounted,
        ] {
            assert_eq!(class.name(), name(serde_json::to_string(&class).unwrap()));
        }
        let sure = [Confidence::Suspected, Confidence::Medium, Confidence::High];
        assert!(sure.iter().all(|s| s.name() == name(serde_json::to_string(s).unwrap())));
    }
}
