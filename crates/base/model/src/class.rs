//! What a late wakeup's time is put down to, and how sure that is.

use serde::{Deserialize, Serialize};

/// Why time passed between the moment a thread should have run and the moment it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A thread of higher priority ran.
    HigherPriority,
    /// A thread of the same priority ran (FIFO order, or its RR slice).
    SamePriority,
    /// The fair server (Linux 6.12 and later) ran an ordinary task although a real-time task wanted the CPU.
    FairServer,
    /// Real-time throttling (sched_rt_runtime_us) kept real-time tasks off the CPU.
    RtThrottling,
    /// An interrupt handler, or on RT its thread.
    Irq,
    /// A softirq, or on RT its thread.
    Softirq,
    /// The interrupt came late because interrupts were off on this CPU.
    IrqsDisabled,
    /// A thread of lower priority could not be preempted.
    PreemptionDisabled,
    /// The hypervisor ran something else on this CPU.
    Steal,
    /// Every CPU stood still: firmware (SMI) or the host of a guest.
    MachineStall,
    /// The CPU had to leave idle.
    IdleExit,
    /// The thread was moved to another CPU, or the interrupt that tells another CPU came late.
    Migration,
    /// A thread of lower priority ran with the priority of one that waits for its lock.
    PriorityInversion,
    /// The thread had the CPU, and was not back in user space yet.
    ReturnToUser,
    /// Its waking was under way: the thread that wakes it was in the call for it, or a message was on its way.
    Waker,
    /// A thread ran before the one that was to wake it, which has a lower priority than that.
    BeforeWaker,
    /// Not known.
    Unaccounted,
}

impl Class {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Class::HigherPriority => "higher_priority",
            Class::SamePriority => "same_priority",
            Class::FairServer => "fair_server",
            Class::RtThrottling => "rt_throttling",
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
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Suspected => "suspected",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// How sure a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// It fits, but something that would prove it is missing from the trace.
    Suspected,
    /// Inferred from what the trace shows.
    Medium,
    /// The trace shows it.
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
