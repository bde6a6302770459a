//! The measuring engine. One thread per CPU sleeps until an absolute time and records how late it woke; one ordinary
//! thread samples the machine. The gap detector ([`gaps`]) has threads that read the clock without sleeping.
//!
//! Architecture invariant: this crate does not depend on tracefs, loads or run directories. It returns results in
//! [`Outcome`] and through [`Recorder`]; the caller decides where they are stored.

#![forbid(unsafe_code)]

mod bell;
mod cell;
mod clocks;
mod context;
mod counters;
mod cpus;
mod engine;
mod episodes;
mod gaps;
mod idle;
mod outcome;
mod plan;
mod poll;
mod remarks;
mod rendezvous;
mod ring;
mod sources;
mod thread;
mod woken;

pub use bell::Bell;
pub use cell::{Cell, Counts, Kept, WORST};
pub use clocks::{clock_events, clocks, host_name};
pub use context::{Beats, Context, ContextCost, ContextPlan, Pace, Recorder, Tick};
pub use counters::{Counters, busy_ns, steal_ticks};
pub use cpus::{CpuError, Topology};
pub use engine::{EngineError, Running, cut_short, start, start_polling};
pub use episodes::{GRID, LIMITS};
pub use gaps::{GapPlan, GapResult, Gaps, gaps};
pub use idle::{IdleError, IdleExit, idle_exit};
pub use outcome::Outcome;
pub use plan::Plan;
pub use sources::between::{between_phases, frequencies};
pub use woken::{SenderPlace, Sent, Serial, SerialError, SourceRefused};
