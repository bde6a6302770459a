//! Adds a kernel in addition to the default one: first as an entry that is booted once, then permanently.
//!
//! The default changes only when the entry is accepted. Even then the old entry stays.

mod extlinux;
mod grub;
mod pi;

use crate::detect::{Chain, Kind};
use crate::plan::{Refusal, Trial};
use crate::trial::TRIAL_PARAMETER;
use crate::{Change, words};
use punctual_machine::Machine;
use punctual_model::Edit;

/// A kernel whose files are already installed in a directory of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewKernel {
    /// The kernel's release, as `uname -r` will print it.
    pub release: String,
    /// Directory with the kernel's files, relative to the boot directory, without `..` and leading slash, for example
    /// `punctual/6.12.9-rt1`.
    pub folder: String,
    pub image: String,
    /// Name of the initrd in `folder`; `None` if the kernel boots without an initrd.
    pub initrd: Option<String>,
    /// Name of the directory with device trees in `folder`; `None` if those of the boot loader or firmware are used.
    pub trees: Option<String>,
    /// Letters and digits that identify the trial boot.
    pub mark: String,
    pub add: Vec<String>,
    /// Lines in the boot loader's language that precede the trial entry and arm a watchdog (GRUB only).
    pub prelude: Vec<String>,
}

/// Time until the firmware's watchdog resets a Raspberry Pi if the kernel has not taken it over, s (Raspberry Pi
/// documentation, config.txt, `kernel_watchdog_timeout`).
pub const PI_WATCHDOG_S: u32 = 60;

/// Parameters that make a failing kernel reset the machine (Documentation/admin-guide/kernel-parameters.txt). Values
/// that the user has set take precedence.
const ENDINGS: [&str; 5] = ["panic=10", "oops=panic", "softlockup_panic=1", "hung_task_panic=1", "nmi_watchdog=panic"];

impl NewKernel {
    /// Returns the word that only the trial boot has on its command line.
    pub fn word(&self) -> String {
        format!("{TRIAL_PARAMETER}={}", self.mark)
    }

    fn for_good(&self) -> Change {
        Change { add: self.add.clone(), remove: Vec::new() }
    }

    /// Returns the change for the trial boot: every failure that the kernel detects resets the machine.
    fn once(&self) -> Change {
        let mut change = self.for_good();
        let asked = |name: &str| self.add.iter().any(|word| words::key(word) == name);
        change.add.extend(ENDINGS.iter().filter(|word| !asked(&words::key(word))).map(|word| (*word).to_owned()));
        change.add.push(self.word());
        change
    }

    fn check(&self) -> Result<(), Refusal> {
        let is_name = |text: &str| {
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._+-".contains(&b)) && text != ".."
        };
        let parts = self.folder.split('/').chain([self.image.as_str(), &self.release, &self.mark]);
        match parts.chain(self.initrd.as_deref()).chain(self.trees.as_deref()).find(|part| !is_name(part)) {
            Some(bad) => Err(Refusal::new(format!("boot loaders do not accept the name `{bad}`"))),
            None => self.once().check().map_err(|bad| Refusal::new(bad.to_string())),
        }
    }
}

/// Plans an entry that is booted once.
///
/// # Errors
/// The boot loader cannot boot an entry once, or its configuration is not understood.
pub fn kernel_trial(view: &dyn Machine, chain: &Chain, kernel: &NewKernel) -> Result<Trial, Refusal> {
    kernel.check()?;
    match chain.kind {
        Kind::RaspberryPi => pi::trial(view, kernel),
        Kind::GrubDebian => grub::trial(view, kernel),
        Kind::Extlinux => extlinux::trial(view, kernel),
        other => Err(unknown(other)),
    }
}

/// Plans the entry as the new default. The user can still choose the entry of the old default.
pub fn kernel_kept(view: &dyn Machine, chain: &Chain, kernel: &NewKernel) -> Result<Vec<Edit>, Refusal> {
    kernel.check()?;
    match chain.kind {
        Kind::RaspberryPi => pi::kept(view, kernel),
        Kind::GrubDebian => grub::kept(view, kernel),
        Kind::Extlinux => extlinux::kept(view, kernel),
        other => Err(unknown(other)),
    }
}

pub fn kernel_place(view: &dyn Machine, chain: &Chain) -> Option<&'static str> {
    match chain.kind {
        Kind::RaspberryPi => crate::pi::folder(view),
        Kind::GrubDebian | Kind::Extlinux => Some("/boot"),
        _ => None,
    }
}

fn unknown(kind: Kind) -> Refusal {
    Refusal::by_hand(
        format!("{}: adding an entry for another kernel is not supported with this loader", kind.name()),
        "install a kernel package of the distribution: its scripts add the boot entry",
    )
}

#[cfg(test)]
mod tests;
