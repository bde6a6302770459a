//! What a kernel needs so that a parameter does something: its option, and the releases that know it.

use crate::cmdline::built::Built;
use crate::cmdline::list::Release;
use crate::cmdline::names::key;
use crate::cmdline::releases;
use crate::probes::cmdline::built;
use crate::probes::kernel::{backports, release};
use crate::sight::{Notes, Sight, config_gap};
use crate::{Context, Offers, Rules};
use punctual_machine::Machine;

/// With an effect only since this release, though earlier ones know the name: iommu.strict= is that of arm64 alone before;
/// efi=noruntime, nohz_full, rcu_nocbs, intel_pstate and nosmt are older than what [`releases`] lists.
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

/// An unknown flag makes kernels before 5.6 ignore all of isolcpus= (commit 11ea68f553e2).
const MANAGED: Release = (5, 6);

/// Why a parameter does nothing on a kernel, or may do nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    pub is_certain: bool,
    pub why: String,
}

impl Rules {
    /// Why the running kernel does not take a parameter, as written on its command line; `None` if it does.
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
    let too_old = too_old.map(|(major, minor)| format!("{name} with this value came with Linux {major}.{minor}"));
    let why = too_old.or_else(|| releases::lacks(word, release))?;
    Some(match backports(sight) {
        true => {
            Misfit { is_certain: false, why: format!("not known to have an effect: {why}, unless it was backported") }
        }
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
            let why = why.unwrap_or_else(|| "the configuration may be cut".to_owned());
            Some(Misfit { is_certain: false, why: format!("not known to have an effect (needs {options}): {why}") })
        }
    }
}

/// The running kernel's release; `None` if it cannot be read.
pub(super) fn running(sight: &Sight) -> Option<Release> {
    release(sight, &mut Notes::default()).ok().map(|(major, minor, _)| (major, minor))
}
