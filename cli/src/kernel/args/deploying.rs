//! Options of `kernel deploy` and of the commands that are used after it.

use crate::args::common::{OutputArgs, TargetArgs};
use clap::Args;
use punctual_units::Nanos;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct DeployArgs {
    /// Kernel to deploy: a .deb (linux-image-…), a tarball with manifest.json, or a directory with boot/ and
    /// lib/modules/
    #[arg(value_name = "PACKAGE")]
    pub package: PathBuf,
    /// Deploy on this machine, which is the default
    #[arg(long, conflicts_with = "target")]
    pub local: bool,
    #[command(flatten)]
    pub target: TargetArgs,
    /// Time in the trial boot after which the machine returns to the old kernel, unless the new one is committed
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub limit: Nanos,
    /// Do not require a PREEMPT_RT kernel
    #[arg(long)]
    pub not_rt: bool,
    /// Deploy even if the machine cannot return to the old kernel automatically; somebody must then be at the machine
    #[arg(long)]
    pub manual_recovery: bool,
    /// Word to add to the kernel's command line; may be repeated
    #[arg(long = "append", value_name = "WORD")]
    pub append: Vec<String>,
    /// Check whose failure is accepted; may be repeated
    #[arg(long = "skip", value_name = "CHECK")]
    pub skip: Vec<String>,
    /// Deploy although a process is measuring on this machine; its result becomes inconclusive
    #[arg(long)]
    pub while_measuring: bool,
    /// Start the trial boot immediately
    #[arg(long)]
    pub reboot: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// Length of the latency measurement
    #[arg(short = 'D', long, value_name = "TIME", default_value = "5s")]
    pub duration: Nanos,
    /// Maximum acceptable wakeup latency [default: none: the latency is shown but not judged]
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<Nanos>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug)]
pub struct CommitArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// Commit without a successful verification in this boot
    #[arg(long)]
    pub unverified: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug)]
pub struct OnArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}
