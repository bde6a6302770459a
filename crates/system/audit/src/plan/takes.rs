//! Requirements of kernel parameters: configuration options and releases.

use crate::cmdline::built::Built;
use crate::cmdline::list::Release;
use crate::cmdline::names::key;
use crate::cmdline::{releases, values};
use crate::probes::cmdline::{built, unsupported};
use crate::probes::kernel::{backports, release};
use crate::sight::{Notes, Sight, config_gap};
use crate::{Context, Offers, Rules};
use punctual_machine::{BuiltIn, KernelConfig, Machine};

/// Releases since which a parameter has this effect, though earlier ones accept the name: before, iommu.strict= worked on
/// arm64 only; efi=noruntime is older than its handler.
const SINCE: &[(&str, Release)] = &[("efi", (3, 12)), ("iommu.strict", (5, 14))];

/// First release with the flag `managed_irq`: an unknown flag makes earlier kernels ignore all of isolcpus= (commit
/// 11ea68f553e2).
const MANAGED: Release = (5, 6);

/// Why a parameter has no effect on a kernel, or may have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    pub is_certain: bool,
    pub why: String,
}

impl Rules {
    /// Explains why the running kernel does not support a parameter, as written on its command line; `None` if it does.
    pub fn misfit(&self, machine: &dyn Machine, context: &Context, word: &str) -> Option<Misfit> {
        misfit(&self.sight(machine, context, Offers::default()), word)
    }
}

pub(crate) fn misfit(sight: &Sight, word: &str) -> Option<Misfit> {
    ignored(sight).or_else(|| lacks(sight, word)).or_else(|| without(sight, word))
}

/// A kernel may ignore the boot loader's line, to which a parameter would be added.
fn ignored(sight: &Sight) -> Option<Misfit> {
    let built_in = sight.config().as_ref().ok().and_then(KernelConfig::built_in)?;
    let is_ignored = matches!(built_in, BuiltIn::Instead(_));
    let why = "no effect: this kernel uses only the command line it is built with (CONFIG_CMDLINE)".to_owned();
    is_ignored.then_some(Misfit { is_certain: true, why })
}

fn lacks(sight: &Sight, word: &str) -> Option<Misfit> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let since = match name {
        "isolcpus" if value.contains("managed_irq") => Some(MANAGED),
        _ => SINCE.iter().find(|(known, _)| *known == key(word)).map(|(_, since)| *since),
    };
    let release = running(sight);
    let too_old = since.filter(|since| release.is_some_and(|release| release < *since));
    let too_old = too_old.map(|(major, minor)| format!("{name} with this value was added in Linux {major}.{minor}"));
    if !backports(sight) {
        let why = too_old.or_else(|| unsupported(sight, word)).or_else(|| values::refused(word, release))?;
        return Some(Misfit { is_certain: true, why: format!("no effect: {why}") });
    }
    let why = too_old.or_else(|| releases::lacks(word, release?))?;
    Some(Misfit { is_certain: false, why: format!("probably no effect, unless it was backported: {why}") })
}

fn without(sight: &Sight, word: &str) -> Option<Misfit> {
    let (found, options) = built(sight, word)?;
    match (found, sight.config()) {
        (Built::In, _) => None,
        (Built::Out, _) => {
            Some(Misfit { is_certain: true, why: format!("no effect: this kernel is built without {options}") })
        }
        // Before 4.15 CPU_ISOLATION was not optional.
        (Built::Open, Ok(_)) if running(sight).is_some_and(|release| release < (4, 15)) => None,
        (Built::Open, config) => {
            let why = config.as_ref().err().map(|error| config_gap(error).describe());
            let why = why.unwrap_or_else(|| "the configuration may be truncated".to_owned());
            Some(Misfit { is_certain: false, why: format!("effect unknown (needs {options}): {why}") })
        }
    }
}

/// Returns the running kernel's release; `None` if it cannot be read.
pub(super) fn running(sight: &Sight) -> Option<Release> {
    release(sight, &mut Notes::default()).ok().map(|(major, minor, _)| (major, minor))
}
