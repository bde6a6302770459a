//! Requirements of kernel parameters: configuration options and releases.

use crate::cmdline::built::Built;
use crate::cmdline::list::Release;
use crate::cmdline::names::key;
use crate::cmdline::{arches, releases, values};
use crate::probes::cmdline::{built, unsupported};
use crate::probes::kernel::{backports, release};
use crate::sight::{Notes, Sight, config_gap};
use crate::{Context, Offers, Rules};
use punctual_machine::{BuiltIn, KernelConfig, Machine, parameters, scrub};

/// First releases in which a parameter has its present effect; earlier releases accept the name only: before Linux
/// 5.14, iommu.strict= worked on arm64 only; efi=noruntime is older than its handler.
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
    /// Explains why the running kernel does not support a parameter, given as written on the command line; `None` if it
    /// supports the parameter.
    pub fn misfit(&self, machine: &dyn Machine, context: &Context, word: &str) -> Option<Misfit> {
        misfit(&self.sight(machine, context, Offers::default()), word)
    }

    /// Explains why a change to the boot loader's files cannot remove the parameter `name`; `None` if it can.
    pub fn kept(&self, machine: &dyn Machine, context: &Context, name: &str) -> Option<Misfit> {
        kept(&self.sight(machine, context, Offers::default()), name)
    }
}

pub(crate) fn misfit(sight: &Sight, word: &str) -> Option<Misfit> {
    ignored(sight)
        .or_else(|| replaced(sight))
        .or_else(|| overruled(sight, word))
        .or_else(|| lacks(sight, word))
        .or_else(|| without(sight, word))
}

fn built_in(sight: &Sight) -> Option<BuiltIn> {
    sight.config().as_ref().ok().and_then(KernelConfig::built_in)
}

/// Explains why the kernel ignores the boot loader's line, in which a parameter would be changed; `None` if the kernel
/// uses that line.
pub(crate) fn ignored(sight: &Sight) -> Option<Misfit> {
    let BuiltIn::Instead(_) = built_in(sight)? else { return None };
    let config = sight.config().as_ref().ok()?;
    let mut options = ["CMDLINE_FORCE", "CMDLINE_OVERRIDE", "CMDLINE_OVERWRITE", "CMDLINE_BOOL"].iter();
    let option = options.find(|option| config.is_on(option)).copied().unwrap_or_default();
    let why = format!(
        "no effect: this kernel uses only the command line it is built with: change CONFIG_CMDLINE, or build without CONFIG_{option}"
    );
    Some(Misfit { is_certain: true, why })
}

/// Lists the releases that have a parameter if this kernel's release is unknown, and the architectures that have it if
/// this kernel's architecture is unknown.
pub(crate) fn conditions(sight: &Sight, word: &str) -> impl Iterator<Item = String> {
    let is_arch_known = sight.text("/proc/sys/kernel/arch", &mut Notes::default()).is_ok();
    let since = running(sight).is_none().then(|| releases::since(word)).flatten();
    let only = (!is_arch_known).then(|| arches::only(word)).flatten();
    since.into_iter().chain(only)
}

/// Explains why a built-in word overrides `word`. Built-in words behind the boot loader's line always override it;
/// those before it do so for parameters whose first value counts (kernel/sched/isolation.c, housekeeping_setup).
fn overruled(sight: &Sight, word: &str) -> Option<Misfit> {
    const FIRST: &[&str] = &["isolcpus", "nohz_full"];
    let (line, place) = match built_in(sight)? {
        BuiltIn::Behind(line) => (line, "ends"),
        BuiltIn::Before(line) if FIRST.contains(&key(word).as_str()) => (line, "begins"),
        _ => return None,
    };
    let other = same(&line, word)?;
    let why = format!("no effect: CONFIG_CMDLINE {place} the line with `{other}`, {ELSEWHERE}");
    (other != word).then_some(Misfit { is_certain: true, why })
}

/// Explains why a change would replace the built-in line: if the boot loader passes no line, the kernel uses the
/// built-in one, and any word that the boot loader passed would replace the whole built-in line.
fn replaced(sight: &Sight) -> Option<Misfit> {
    let BuiltIn::Default(line) = built_in(sight)? else { return None };
    let is_used = sight.cmdline().is_ok_and(|running| running.trim() == line.trim());
    let why = format!(
        "the boot loader passes no parameters, so the kernel uses CONFIG_CMDLINE; any parameter that is passed would replace all of it: pass `{}` with the change",
        scrub(&line)
    );
    is_used.then_some(Misfit { is_certain: true, why })
}

/// What to do if no boot file can change a parameter.
const ELSEWHERE: &str =
    "which no boot file can change: build the kernel with another CONFIG_CMDLINE, or boot another kernel";

/// Explains why the parameter `name` cannot be removed from the boot loader's line.
pub(crate) fn kept(sight: &Sight, name: &str) -> Option<Misfit> {
    let (BuiltIn::Before(line) | BuiltIn::Behind(line)) = built_in(sight)? else {
        return ignored(sight).or_else(|| replaced(sight));
    };
    let why = format!("`{}` is in CONFIG_CMDLINE, {ELSEWHERE}", same(&line, name)?);
    Some(Misfit { is_certain: true, why })
}

/// Returns the last word of a line that sets the same parameter as `word`.
fn same(line: &str, word: &str) -> Option<String> {
    parameters(line).iter().rev().find(|other| key(other) == key(word)).map(|other| scrub(other))
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
