//! Kernel parameters for eight boot chains: determines which chain boots a machine ([`detect`]), reads the parameters
//! that it passes to the kernel ([`current`]), and plans changes to them ([`change`]).
//!
//! Everything is read through [`Machine`], so that a recorded machine or a directory can replace the running machine.
//! The result is a [`Plan`]: files to write, commands to run, how to undo both, and, if the boot loader supports it, a
//! trial boot after which the old parameters apply again.
//!
//! Text that is not understood stays the same byte for byte. If a change depends on it, the change is refused with the
//! reason. If a parameter already exists, adding it changes nothing.
//!
//! Architecture invariant: this crate writes nothing, runs no command, and reads only the given machine.

#![forbid(unsafe_code)]

mod armbian;
mod bls;
mod change;
mod current;
mod detect;
mod dropin;
mod extlinux;
mod generated;
mod grub;
mod grub_bls;
mod grub_menu;
mod grubenv;
mod kernel;
mod kernel_cmdline;
mod length;
mod ostree;
mod pi;
mod plan;
mod read;
mod shell;
mod systemd_boot;
mod trial;
mod tuned;
mod ubuntu_core;
mod words;

pub use change::{BadWord, Change};
pub use current::{Configured, Drift};
pub use detect::{Chain, Kind, detect};
pub use kernel::{NewKernel, PI_WATCHDOG_S, kernel_kept, kernel_place, kernel_trial};
pub use pi::{PiBoot, PiStart, firmware_start};
pub use plan::{Plan, Refusal, Run, Trial};
pub use read::BootError;
pub use trial::{TRIAL_PARAMETER, trial_word};

use punctual_machine::Machine;

/// Returns the parameters that are configured, those of the next boot, and those of the running kernel.
///
/// # Errors
/// A file of the boot chain cannot be read or is not understood.
pub fn current(view: &dyn Machine, chain: &Chain) -> Result<Configured, BootError> {
    match chain.kind {
        Kind::RaspberryPi => pi::current(view),
        Kind::GrubDebian => grub::current(view),
        Kind::GrubBls => grub_bls::current(view),
        Kind::SystemdBoot => systemd_boot::current(view),
        Kind::Ostree => ostree::current(view),
        Kind::Extlinux => extlinux::current(view),
        Kind::Armbian => armbian::current(view),
        Kind::UbuntuCore => ubuntu_core::current(view),
    }
}

/// Plans a change. If the plan has neither steps nor refusals, nothing needs to be done. If it has refusals, it has no
/// steps.
pub fn change(view: &dyn Machine, chain: &Chain, change: &Change) -> Plan {
    if let Err(bad) = change.check() {
        return Plan::refuse(Refusal::new(bad.to_string()));
    }
    let change = &change.clone().once();
    let plan = match chain.kind {
        Kind::RaspberryPi => pi::change(view, change),
        Kind::GrubDebian => grub::change(view, change),
        Kind::GrubBls => grub_bls::change(view, change),
        Kind::SystemdBoot => systemd_boot::change(view, change),
        Kind::Ostree => ostree::change(view, change),
        Kind::Extlinux => extlinux::change(view, change),
        Kind::Armbian => armbian::change(view, change),
        Kind::UbuntuCore => ubuntu_core::change(view, change),
    };
    let mut plan = plan.unwrap_or_else(|stop| Plan::refuse(stop.0));
    if plan.refused.is_empty() {
        if plan.is_done() {
            plan.notes.clear();
        }
        plan.notes.extend(unseen(view, change, &plan.before));
    }
    plan
}

/// Returns a note on words to remove that the running kernel has but no file contains, so that no edit can remove them;
/// `None` if there are none.
fn unseen(view: &dyn Machine, change: &Change, before: &[String]) -> Option<String> {
    let is_removed = |word: &&String| change.remove.iter().any(|pattern| words::means(pattern, word));
    let is_seen = |word: &&String| before.iter().any(|other| words::key(other) == words::key(word));
    let running = read::running(view)?;
    let foreign: Vec<String> =
        running.iter().filter(is_removed).filter(|word| !is_seen(word)).map(|word| format!("`{word}`")).collect();
    (!foreign.is_empty()).then(|| {
        format!(
            "not removed: {}: the running kernel has it but the boot files do not: it was removed since this \
             boot, or another component adds it",
            foreign.join(", ")
        )
    })
}
