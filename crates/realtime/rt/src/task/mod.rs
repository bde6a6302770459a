//! Periodic tasks: a thread that runs a body at every release and accounts for each release.

mod deadline;
mod handle;
mod launch;
mod record;
mod releases;
mod spawn;
mod usage;

pub use handle::{End, Finished, Task, TaskStats};
pub use launch::SpawnError;
pub use record::{Counted, WorstCycle};
pub use releases::{Cycle, Miss, Next};
pub use spawn::PeriodicTask;
pub use usage::TaskUsage;

pub(crate) use handle::Shared;
pub(crate) use launch::{RESET, launch};
pub(crate) use record::Record;
