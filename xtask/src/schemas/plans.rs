//! The documents of `kernel plan`. As in `documents.rs`, nothing is written from these types; real documents are held
//! against their schemas (cli/tests/it/kernel.rs).

#![allow(dead_code, reason = "only their schemas are used")]

use schemars::JsonSchema;
use serde::Serialize;

/// Of `kernel plan`.
#[derive(JsonSchema, Serialize)]
pub struct PlanResult {
    /// The board's key.
    pub board: String,
    /// How far the board's entry was tried.
    pub board_verified: Verified,
    /// By what.
    pub board_verified_by: String,
    /// ARCH of the kernel's make.
    pub arch: Arch,
    /// The operating system, as far as known.
    pub os: Option<String>,
    /// `uname -r` of the machine.
    pub running: Option<String>,
    /// Is it PREEMPT_RT? null: not known.
    pub running_rt: Option<bool>,
    /// Where the kernel comes from.
    pub source: Source,
    /// Why from there.
    pub why: String,
    /// Cheaper ways that do not do.
    pub passed_over: Vec<PassedOver>,
    /// What the configuration has to hold; null: nothing is configured.
    pub fragment: Option<String>,
    /// In order.
    pub steps: Vec<Step>,
    /// What has gone wrong on this board, and what else to know.
    pub warnings: Vec<String>,
}

/// How far an entry was tried.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verified {
    /// On such a board.
    Hardware,
    /// In QEMU's model of it.
    Qemu,
    /// Not at all.
    Model,
}

/// ARCH of the kernel's make.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arch {
    /// 32-bit Arm.
    Arm,
    /// 64-bit Arm.
    Arm64,
    /// 64-bit x86.
    #[serde(rename = "x86_64")]
    X86,
    /// RISC-V.
    Riscv,
}

/// Where a kernel comes from. A series is `6.12`, a patched release `6.6.147-rt77`.
#[derive(JsonSchema, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Source {
    /// The running kernel does.
    Running,
    /// The distribution's package.
    Package {
        /// Its name.
        package: String,
        /// How it is installed.
        install: String,
    },
    /// Built from the distribution's source package.
    #[serde(rename = "distribution-source")]
    Distribution {
        /// Its name.
        package: String,
        /// The kernel's series.
        series: String,
    },
    /// Built from the Raspberry Pi's tree.
    PiTree {
        /// Its branch.
        branch: String,
        /// The kernel's series.
        series: String,
    },
    /// Built from the Raspberry Pi's tree with the published patch.
    PiTreePatched {
        /// Its branch.
        branch: String,
        /// The patch, where one is known.
        patched: Option<String>,
        /// The kernel's series.
        series: String,
    },
    /// Built from kernel.org's source.
    Mainline {
        /// The kernel's series.
        series: String,
    },
    /// Built from kernel.org's source with the published patch.
    StableRt {
        /// The patch, where one is known.
        patched: Option<String>,
        /// The kernel's series.
        series: String,
    },
}

/// A way that was not taken, and why.
#[derive(JsonSchema, Serialize)]
pub struct PassedOver {
    /// The way.
    pub way: String,
    /// Why.
    pub why: String,
}

/// One thing to do.
#[derive(JsonSchema, Serialize)]
pub struct Step {
    /// In a few words.
    pub title: String,
    /// What to type, in order.
    pub commands: Vec<String>,
    /// What it is for.
    pub why: String,
    /// null: not known.
    pub time: Option<Estimate>,
    /// Room it takes, MB; null: not known.
    pub disk_mb: Option<u32>,
    /// What may go wrong, and what then; empty where nothing is changed.
    pub risk: String,
}

/// How long a step takes, minutes.
#[derive(JsonSchema, Serialize)]
pub struct Estimate {
    /// At the least.
    pub minutes_min: u32,
    /// At the most.
    pub minutes_max: u32,
    /// Measured where.
    pub basis: String,
}
