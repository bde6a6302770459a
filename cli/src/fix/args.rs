//! Options of `audit --fix` and of `undo`.

use crate::args::common::{KnownArgs, OutputArgs};
use clap::Args;
use punctual_fix::FixOptions;
use punctual_units::Nanos;

#[derive(Args, Debug)]
pub struct FixArgs {
    /// Apply the fixes of these rules, or of every FAIL and WARN whose fix interrupts nothing and takes nothing from
    /// other programs. Each change is journalled first, read back, audited again, and rolled back if it did not help
    #[arg(long, value_name = "ID", num_args = 0.., conflicts_with_all = ["root", "snapshot", "config", "plan_cpus", "explain"])]
    pub fix: Option<Vec<String>>,
    /// Show what --fix would do: every value, file and command, and the steps that must be done manually; changes
    /// nothing
    #[arg(long, value_name = "ID", num_args = 0.., conflicts_with_all = ["snapshot", "config", "plan_cpus", "explain"])]
    pub dry_run: Option<Vec<String>>,
    /// With --fix or --dry-run: also persist the fixes in drop-in files (sysctl.d, tmpfiles.d, udev, systemd, limits.d,
    /// modprobe.d). Kernel parameters go through the boot loader and take effect after a reboot
    #[arg(long)]
    pub persist: bool,
    /// With --persist: try the kernel parameters in one boot first, which reverts automatically; in that boot,
    /// `punctual audit --fix --persist` keeps them, and `punctual undo boot-trial` removes the entry
    #[arg(long, requires = "persist", conflicts_with = "confirm")]
    pub trial: bool,
    /// With --fix: revert the changes automatically unless they are confirmed with `punctual undo --confirm` within
    /// TIME, such as 5m
    #[arg(long, value_name = "TIME", requires = "fix")]
    pub confirm: Option<Nanos>,
    #[command(flatten)]
    pub known: KnownArgs,
    /// With --fix: change the machine although a process is measuring on it; its result becomes inconclusive
    #[arg(long, requires = "fix")]
    pub while_measuring: bool,
    /// With --fix: time after which to check whether another program has reverted a change
    #[arg(long, value_name = "TIME", default_value = "3s")]
    pub look_again: Nanos,
}

impl FixArgs {
    /// Returns true if fixes are to be applied or shown.
    pub fn is_wanted(&self) -> bool {
        self.fix.is_some() || self.dry_run.is_some()
    }

    pub fn options(&self) -> FixOptions {
        let seconds = |time: Nanos| time.0.div_ceil(1_000_000_000);
        FixOptions {
            confirm_within_s: self.confirm.map(seconds),
            look_again_s: seconds(self.look_again),
            i_know: self.known.is_without_watchdog(),
        }
    }

    /// Returns the rules named by --fix or --dry-run.
    pub fn ids(&self) -> Vec<String> {
        self.fix.iter().chain(&self.dry_run).flatten().cloned().collect()
    }
}

#[derive(Args, Debug)]
pub struct UndoArgs {
    /// Undo only the changes made for these rules
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// List what can be undone; changes nothing
    #[arg(long, conflicts_with_all = ["confirm"])]
    pub list: bool,
    /// Keep the changes made with `audit --fix --confirm TIME`, which would otherwise be reverted
    #[arg(long, alias = "keep", conflicts_with = "ids")]
    pub confirm: bool,
    /// Undo although a process is measuring on this machine; its result becomes inconclusive
    #[arg(long, conflicts_with_all = ["list", "confirm"])]
    pub while_measuring: bool,
    /// Continue although a damaged part of the journal is lost and its changes cannot be undone
    #[arg(long, conflicts_with_all = ["ids", "list", "confirm"])]
    pub accept_loss: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}
