//! Proves kernels without a board: runs `punctual prove` in a guest whose clock counts instructions. Engine, loads,
//! claims and run directory are the same as on hardware; the same kernel, seed and options give the same bytes.
//!
//! Architecture invariant: this crate neither measures nor judges; the guest's `punctual` and `punctual-judge` do.

#![forbid(unsafe_code)]

mod bisect;
mod boots;
mod build;
mod compare;
mod document;
mod error;
mod git;
mod guest_program;
mod options;
mod prove;
mod script;

pub use bisect::{Bisect, BisectReport, Prove, Step, StepOutcome, bisect};
pub use boots::{LabObserver, Proven, prove_boots};
pub use build::Build;
pub use compare::{Compared, compare};
pub use document::{LabBisectResult, LabBootResult, LabCompareResult, LabProveResult};
pub use error::LabError;
pub use guest_program::guest_program;
pub use options::LabOptions;
pub use prove::{LabRun, prove};
