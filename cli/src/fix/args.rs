//! Options of `audit --fix` and of `undo`.

use crate::args::common::{KnownArgs, OutputArgs};
use clap::Args;
use punctual_fix::FixOptions;
use punctual_units::Nanos;

/// What `audit` may do besides telling.
#[derive(Args, Debug)]
pub struct FixArgs {
    /// Apply the fixes of these rules, or of every FAIL and WARN whose fix interrupts nothing and takes nothing away; each change is
    /// journalled first, read back, audited again, and rolled back if it did not help
    #[arg(long, value_name = "ID", num_args = 0.., conflicts_with_all = ["root", "snapshot", "config", "plan_cpus", "explain"])]
    pub fix: Option<Vec<String>>,
    /// Show what --fix would do: every value, file and command, and what is left to you; writes nothing
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
    /// With --fix: reverted automatically unless confirmed with `punctual undo --keep` within this time: 5m
    #[arg(long, value_name = "TIME", requires = "fix")]
    pub confirm: Option<Nanos>,
    #[command(flatten)]
    pub known: KnownArgs,
    /// With --fix: change the machine although a process measures on it, whose result is inconclusive then
    #[arg(long, requires = "fix")]
    pub while_measuring: bool,
    /// With --fix: check after this time whether another program reverted a change
    #[arg(long, value_name = "TIME", default_value = "3s")]
    pub look_again: Nanos,
}

impl FixArgs {
    /// Is anything to be changed or shown?
    pub fn is_wanted(&self) -> bool {
        self.fix.is_some() || self.dry_run.is_some()
    }

    /// How fixes are carried out.
    pub fn options(&self) -> FixOptions {
        let seconds = |time: Nanos| time.0.div_ceil(1_000_000_000);
        FixOptions {
            confirm_within_s: self.confirm.map(seconds),
            look_again_s: seconds(self.look_again),
            i_know: self.known.is_without_watchdog(),
        }
    }

    /// The rules that were named.
    pub fn ids(&self) -> Vec<String> {
        self.fix.iter().chain(&self.dry_run).flatten().cloned().collect()
    }
}

/// Options of `undo`.
#[derive(Args, Debug)]
pub struct UndoArgs {
    /// Undo only the changes made for these rules
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// List what can be undone; changes nothing
    #[arg(long, conflicts_with_all = ["keep"])]
    pub list: bool,
    /// Confirm changes made with --confirm: they stay
    #[arg(long, conflicts_with = "ids")]
    pub keep: bool,
    /// Undo although a process measures on this machine, whose result is inconclusive then
    #[arg(long, conflicts_with_all = ["list", "keep"])]
    pub while_measuring: bool,
    /// Go on without what is lost from a damaged journal: it cannot be undone, and the machine is as you want it
    #[arg(long, conflicts_with_all = ["ids", "list", "keep"])]
    pub accept_loss: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}
