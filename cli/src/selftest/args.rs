//! Options of `selftest`.

use crate::args::common::OutputArgs;
use clap::Args;

#[derive(Args, Debug)]
pub struct SelftestArgs {
    /// CPU to disturb and measure [default: the last one]
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<u32>,
    #[command(flatten)]
    pub output: OutputArgs,
}
