//! Scheduling policies and priorities, see sched(7).

use crate::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    Other,
    Batch,
    Idle,
    Fifo,
    Rr,
    Deadline,
}

impl Policy {
    /// Returns true if the policy takes a priority from 1 to 99.
    pub fn has_priority(self) -> bool {
        matches!(self, Policy::Fifo | Policy::Rr)
    }

    /// Returns true if threads with this policy run before all threads of the fair class.
    pub fn is_real_time(self) -> bool {
        matches!(self, Policy::Fifo | Policy::Rr | Policy::Deadline)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Policy::Other => "SCHED_OTHER",
            Policy::Batch => "SCHED_BATCH",
            Policy::Idle => "SCHED_IDLE",
            Policy::Fifo => "SCHED_FIFO",
            Policy::Rr => "SCHED_RR",
            Policy::Deadline => "SCHED_DEADLINE",
        })
    }
}

#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a scheduling policy: use fifo, rr, other, batch, idle or deadline")]
pub struct PolicyError(String);

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lower = text.to_ascii_lowercase();
        match lower.strip_prefix("sched_").unwrap_or(&lower) {
            "other" | "normal" => Ok(Policy::Other),
            "batch" => Ok(Policy::Batch),
            "idle" => Ok(Policy::Idle),
            "fifo" => Ok(Policy::Fifo),
            "rr" => Ok(Policy::Rr),
            "deadline" => Ok(Policy::Deadline),
            _ => Err(PolicyError(text.into())),
        }
    }
}

/// A real-time priority from 1 (lowest) to 99 (highest), as used in user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(u8);

#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("priority {0} is out of range: real-time priorities range from 1 to 99")]
pub struct PriorityError(String);

impl Priority {
    /// The highest priority, 99.
    pub const MAX: Priority = Priority(99);

    pub fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<u8> for Priority {
    type Error = PriorityError;
    fn try_from(n: u8) -> Result<Self, Self::Error> {
        if (1..=99).contains(&n) { Ok(Priority(n)) } else { Err(PriorityError(n.to_string())) }
    }
}

impl From<Priority> for u8 {
    fn from(p: Priority) -> u8 {
        p.0
    }
}

impl FromStr for Priority {
    type Err = PriorityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.trim().parse::<u8>().ok().and_then(|n| n.try_into().ok()).ok_or_else(|| PriorityError(text.into()))
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A policy with its parameters, as reported by sched_getattr(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "policy", rename_all = "lowercase")]
pub enum Scheduling {
    Other {
        /// Nice value, −20 (highest priority) to 19.
        nice: i8,
    },
    Batch {
        /// Nice value, −20 (highest priority) to 19.
        nice: i8,
    },
    Idle,
    Fifo {
        /// Real-time priority, 1–99.
        priority: Priority,
    },
    Rr {
        /// Real-time priority, 1–99.
        priority: Priority,
    },
    /// SCHED_DEADLINE: up to `runtime_ns` of CPU time per `period_ns`, to be received within `deadline_ns`.
    Deadline {
        runtime_ns: Nanos,
        /// Deadline relative to the release.
        deadline_ns: Nanos,
        period_ns: Nanos,
    },
}

impl Scheduling {
    pub fn policy(self) -> Policy {
        match self {
            Scheduling::Other { .. } => Policy::Other,
            Scheduling::Batch { .. } => Policy::Batch,
            Scheduling::Idle => Policy::Idle,
            Scheduling::Fifo { .. } => Policy::Fifo,
            Scheduling::Rr { .. } => Policy::Rr,
            Scheduling::Deadline { .. } => Policy::Deadline,
        }
    }

    pub fn priority(self) -> Option<Priority> {
        match self {
            Scheduling::Fifo { priority } | Scheduling::Rr { priority } => Some(priority),
            _ => None,
        }
    }
}

/// Prints for example `FIFO 90`, `RR 50`, `OTHER`, `OTHER nice 5` or `DEADLINE 200 µs / 1.00 ms`.
impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scheduling::Other { nice: 0 } => write!(f, "OTHER"),
            Scheduling::Other { nice } => write!(f, "OTHER nice {nice}"),
            Scheduling::Batch { nice: 0 } => write!(f, "BATCH"),
            Scheduling::Batch { nice } => write!(f, "BATCH nice {nice}"),
            Scheduling::Idle => write!(f, "IDLE"),
            Scheduling::Fifo { priority } => write!(f, "FIFO {priority}"),
            Scheduling::Rr { priority } => write!(f, "RR {priority}"),
            Scheduling::Deadline { runtime_ns, period_ns, .. } => write!(f, "DEADLINE {runtime_ns} / {period_ns}"),
        }
    }
}

crate::debug_as_display!(PolicyError, PriorityError);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_outside_1_to_99_are_refused() {
        assert!("0".parse::<Priority>().is_err());
        assert!("100".parse::<Priority>().is_err());
        assert!("-1".parse::<Priority>().is_err());
        assert_eq!("99".parse::<Priority>().unwrap().get(), 99);
    }

    #[test]
    fn policies_are_read_in_both_spellings() {
        assert_eq!("SCHED_FIFO".parse(), Ok(Policy::Fifo));
        assert_eq!("rr".parse(), Ok(Policy::Rr));
        assert!("batchy".parse::<Policy>().is_err());
    }

    #[test]
    fn scheduling_serializes_flat() {
        let s = Scheduling::Fifo { priority: Priority::try_from(90).unwrap() };
        assert_eq!(serde_json::to_string(&s).unwrap(), r#"{"policy":"fifo","priority":90}"#);
    }
}
