//! Requirements of kernel parameters: configuration options and releases.

use crate::cmdline::built::Built;
use crate::cmdline::list::Release;
use crate::cmdline::names::key;
use crate::cmdline::releases;
use crate::probes::cmdline::built;
use crate::probes::kernel::{backports, release};
use crate::sight::{Notes, Sight, config_gap};
use crate::{Context, Offers, Rules};
use punctual_machine::Machine;

/// Releases since which a parameter has an effect, although earlier ones accept its name: iommu.strict=, for example,
/// had an effect only on arm64 before; efi=noruntime, nohz_full, rcu_nocbs, intel_pstate and nosmt are older than the
/// lists of [`releases`].
const SINCE: &[(&str, Release)] = &[
    ("efi", (3, 12)),
    ("intel_pstate", (3, 9)),
    ("iommu.strict", (5, 14)),
    ("nohz_full", (3, 10)),
    ("nosmt", (4, 19)),
    ("rcu_nocb_poll", (3, 8)),
    ("rcu_nocbs", (3, 8)),
    ("rcutree.use_softirq", (5, 3)),
    ("zswap.enabled", (3, 11)),
];

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
    lacks(sight, word).or_else(|| without(sight, word))
}

fn lacks(sight: &Sight, word: &str) -> Option<Misfit> {
    let release = running(sight)?;
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let since = match name {
        "isolcpus" if value.contains("managed_irq") => Some(MANAGED),
        _ => SINCE.iter().find(|(known, _)| *known == key(word)).map(|(_, since)| *since),
    };
    let too_old = since.filter(|since| release < *since);
    let too_old = too_old.map(|(major, minor)| format!("{name} with this value was added in Linux {major}.{minor}"));
    let why = too_old.or_else(|| releases::lacks(word, release))?;
    Some(match backports(sight) {
        true => Misfit { is_certain: false, why: format!("probably no effect, unless it was backported: {why}") },
        false => Misfit { is_certain: true, why: format!("no effect: {why}") },
    })
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
