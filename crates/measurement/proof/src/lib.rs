//! A complete run of `prove` or `measure`: audits the machine, measures it idle and under each load into a run
//! directory, reads the directory back, explains the worst wakeups, judges the claims, and writes the report.
//!
//! Architecture invariant: this crate prints nothing and does not use the terminal. It reports progress to an
//! [`Observer`].

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod app;
mod auditing;
mod blocks;
mod calls;
mod capture;
mod checkpoints;
mod concluding;
mod error;
mod hardware;
mod live;
mod measuring;
mod meter;
mod methods;
mod options;
mod partition;
mod phase;
mod recorder;
mod rounds;
mod scheduling;
mod sections;
mod setup;
mod shares;
mod stream;
mod subject;
mod trial;
mod unchanged;
mod until;
mod watching;

pub use app::{App, AppKeeper, AppOptions, Lates};
pub use auditing::{AUDIT_ARG, audit_main, die_with};
pub use blocks::Blocks;
pub use calls::{CallsError, watch_calls};
pub use capture::{Cutter, Window};
pub use concluding::Done;
pub use error::ProofError;
pub use hardware::{HardwareOptions, Looked, hardware};
pub use live::{LiveOptions, Watched, live};
pub use measuring::{measure, measure_by, prove, signals};
pub use meter::begun;
pub use methods::{Method, TIMERLAT_ARG, Via, timerlat_main};
pub use options::{MAXIMA_BLOCK, Observer, Options, Quiet, Step, Trace, When};
pub use phase::announced;
pub use punctual_measure::Tick;
pub use punctual_tracefs::recover;
pub use scheduling::{Choice, choose_scheduling};
pub use sections::{SectionOptions, sections};
pub use setup::{check_loads_of, facts, new_run};
pub use trial::{TRIAL_ARG, trial_main, try_out};
pub use watching::{Seen, Watching};
