//! Scheduling experiments: threads with policies, priorities and CPUs do a fixed amount of work; when each ends is predicted by
//! theory and measured, and what differs is explained.
//!
//! An experiment is a file of `experiments/` ([`EXPERIMENTS`]), a TOML file of the same form, or an rt-app workload.
//!
//! Architecture invariant: [`predict`] and the accounting of traces are pure; only the runner starts threads. Threads that are
//! measured do not allocate, log or lock between their release and their end, and none runs longer than it was allowed to.

#![forbid(unsafe_code)]

pub mod body;
pub mod predict;
