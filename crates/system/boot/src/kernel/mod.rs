//! Adds a kernel beside the default one: first an entry for one boot, then the same entry permanently.
//!
//! The default stays until the entry is accepted, and its entry remains even then.

mod extlinux;
mod grub;
mod pi;

use crate::detect::{Chain, Kind};
use crate::plan::{Refusal, Trial};
use crate::trial::TRIAL_PARAMETER;
use crate::{Change, words};
use punctual_machine::Machine;
use punctual_model::Edit;

/// A kernel whose files are already installed in a separate folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewKernel {
    /// The kernel's release, as `uname -r` will print it.
    pub release: String,
    /// Folder of the kernel's files, relative to the boot folder: `punctual/6.12.9-rt1`; without `..` and leading
    /// slash.
    pub folder: String,
    pub image: String,
    /// File in `folder`; `None` boots without an initrd.
    pub initrd: Option<String>,
    /// Folder in `folder`; `None` uses the device trees of the loader or the firmware.
    pub trees: Option<String>,
    /// Identifies the trial boot: letters and digits.
    pub mark: String,
    pub add: Vec<String>,
    /// Lines in the loader's language before its trial entry, to arm a watchdog (GRUB only).
    pub prelude: Vec<String>,
}

/// Seconds until the firmware's watchdog resets a Raspberry Pi whose kernel did not take it over. Source: Raspberry Pi
/// documentation, config.txt, `kernel_watchdog_timeout`.
pub const PI_WATCHDOG_S: u32 = 60;

/// Parameters that make a failing kernel reset the machine: Documentation/admin-guide/kernel-parameters.txt. The user's
/// values take precedence.
const ENDINGS: [&str; 5] = ["panic=10", "oops=panic", "softlockup_panic=1", "hung_task_panic=1", "nmi_watchdog=panic"];

impl NewKernel {
    /// The word that only the trial boot's command line has.
    pub fn word(&self) -> String {
        format!("{TRIAL_PARAMETER}={}", self.mark)
    }

    fn for_good(&self) -> Change {
        Change { add: self.add.clone(), remove: Vec::new() }
    }

    /// The change for the trial boot: every failure that the kernel notices ends in a reset.
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

/// Plans an entry for one boot.
///
/// # Errors
/// If the loader cannot boot an entry once, or its configuration is not understood.
pub fn kernel_trial(view: &dyn Machine, chain: &Chain, kernel: &NewKernel) -> Result<Trial, Refusal> {
    kernel.check()?;
    match chain.kind {
        Kind::RaspberryPi => pi::trial(view, kernel),
        Kind::GrubDebian => grub::trial(view, kernel),
        Kind::Extlinux => extlinux::trial(view, kernel),
        other => Err(unknown(other)),
    }
}

/// Plans the entry as the new default. The old default's entry can still be selected manually.
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
        "install the distribution's kernel package, which supports its loader",
    )
}

#[cfg(test)]
mod tests;
