//! Options of `audit --fix` and of `undo`.

use crate::args::common::OutputArgs;
use clap::Args;
use punctual_fix::FixOptions;
use punctual_units::Nanos;

/// What `audit` may do besides telling.
#[derive(Args, Debug)]
pub struct FixArgs {
    /// Do what the audit advises, for these rules or for every FAIL and WARN whose fix interrupts nothing; each change is written down
    /// first, read back, judged again, and rolled back where it brought nothing
    #[arg(long, value_name = "ID", num_args = 0.., conflicts_with_all = ["root", "snapshot", "config", "plan_cpus", "explain"])]
    pub fix: Option<Vec<String>>,
    /// Show what --fix would do: every value, file, command, and what is left to you; writes nothing
    #[arg(long, value_name = "ID", num_args = 0.., conflicts_with_all = ["snapshot", "config", "plan_cpus", "explain"])]
    pub dry_run: Option<Vec<String>>,
    /// With --fix or --dry-run: for good, too, by files of our own (sysctl.d, tmpfiles.d, udev, systemd, limits.d, modprobe.d).
    /// Kernel parameters go through the boot loader and are in force after a reboot
    #[arg(long)]
    pub persist: bool,
    /// With --persist: try the kernel parameters in one boot first, which returns to the old ones by itself; in that boot,
    /// `punctual audit --fix --persist` keeps them, and `punctual undo boot-trial` takes the entry away
    #[arg(long, requires = "persist", conflicts_with = "confirm")]
    pub trial: bool,
    /// With --fix: undone by itself after this time unless `punctual undo --keep` comes: 5m
    #[arg(long, value_name = "TIME", requires = "fix")]
    pub confirm: Option<Nanos>,
    /// With --fix: RT throttling and the fair server may go although no hardware watchdog is armed
    #[arg(long)]
    pub i_know: bool,
    /// With --fix: look again after this time whether another program changed it back
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
            i_know: self.i_know,
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
    /// Only what was done for these rules
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Show what could be put back; changes nothing
    #[arg(long, conflicts_with_all = ["keep"])]
    pub list: bool,
    /// Confirm what was done with --confirm: it stays
    #[arg(long, conflicts_with = "ids")]
    pub keep: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}
