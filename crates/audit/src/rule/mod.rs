//! The form of a rule.

mod fix;
mod load;
mod source;
mod test;

pub use fix::{Action, Fix};
pub use load::RuleError;

pub(crate) use load::{Sources, parse, parse_sources};
pub(crate) use source::{As, Read, Source};
pub(crate) use test::Test;

use crate::Profile;
use punctual_model::{Severity, State};
use serde::Deserialize;
use std::collections::BTreeMap;

/// One rule: the content of `rules/<id>.toml`.
///
/// ```toml
/// id = "clk-source"
/// title = "Clocksource"
/// group = "time"
/// severity = "high"                    # of a FAIL: fatal, high, medium, low, info, off
/// why = "what it costs, with the figure where one is known"
/// sources = ["UBUTCC"]                 # keys of sources.toml; K alone (not checked) only with severity info
///
/// [[opinion]]                          # optional, several: where authorities disagree, who says what
/// says = "switch it off"
/// sources = ["TDRT"]
///
/// [severity_for]                       # optional: other severities for some profiles; off switches the rule off
/// measure-only = "info"
///
/// [reads]                              # everything the rule looks at, by a name of its own
/// current = { file = "/sys/…/current_clocksource" }
///
/// [[applies]]                          # optional: each must hold, or the rule is SKIP with this text
/// when = { current = { present = true } }
/// otherwise = "no clocksource can be chosen here"
///
/// [[case]]                             # the first that holds decides; the last has no condition
/// when = { current = { one_of = ["tsc", "arch_sys_counter"] } }
/// state = "PASS"
/// say = "the clocksource is {current}"
///
/// [[case]]
/// profiles = ["busy-poll"]             # optional: only these profiles have this case
/// state = "FAIL"
/// say = "the clocksource is {current}"
///
/// [fix]                                # or: none = "why there is none"
/// now = [{ write = { file = "/sys/…/current_clocksource", value = "tsc" } }]
/// persist = [{ boot = { add = "clocksource=tsc" } }]
/// undo = "the clocksource that was current before"
/// risk = "what may go wrong"           # optional
/// disruptive = false                   # optional: does it disturb what runs?
/// ```
///
/// **Reads** (one of these keys each):
/// `file` a file's content, `as` `word` (default: all of it, trimmed), `integer`, `words` (a list), `marked` (the word in
/// brackets); `files` a list, the same of every file that a path with `*` names; `list` the names in a folder;
/// `kconfig` an option of the running kernel's configuration without `CONFIG_` (`n` when off); `cmdline` the value of a
/// kernel parameter; `probe` a probe of that name, with numbers in `with`. `optional = true`: where it cannot be read,
/// conditions on it do not hold instead of staying open; for reads that only add certainty, and not in `applies`.
///
/// **Conditions**: `when` names reads, each with a word it equals or a table of tests, all of which must hold. Of single
/// values: `is`, `not`, `one_of`, `contains`, `lacks`, `min`, `max`, `present`. Of lists: `all` and `any` of a test (`all`
/// wants at least one element), `empty`, `present`. Reads that failed make a condition neither hold nor fail, except
/// `present`, which an absent file settles.
///
/// **Outcome**: cases that stay open make the rule BLOCKED (when permission is missing) or UNKNOWN, unless every case
/// that could still decide has the same state. Sentences may name reads in braces, and `{scheduling}`, `{cpus}`,
/// `{profile}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Unique, also the file's name; users name rules by it.
    pub id: String,
    /// A few words for tables.
    pub title: String,
    /// Its chapter.
    pub group: Group,
    /// How bad a FAIL is, where no profile says otherwise.
    pub severity: Severity,
    #[serde(default)]
    pub(crate) severity_for: BTreeMap<Profile, Severity>,
    /// What it costs, with the figure where one is known.
    pub why: String,
    /// Who says so: keys of [`crate::Rules::source`].
    pub sources: Vec<String>,
    #[serde(default, rename = "opinion")]
    pub(crate) opinions: Vec<Opinion>,
    pub(crate) reads: BTreeMap<String, Read>,
    #[serde(default)]
    pub(crate) applies: Vec<Gate>,
    #[serde(rename = "case")]
    pub(crate) cases: Vec<Case>,
    /// What to do about it.
    pub fix: Fix,
}

impl Rule {
    /// Why it matters; where authorities disagree, with what each says.
    pub(crate) fn reason(&self, sources: &Sources) -> String {
        let mut reason = self.why.trim().to_owned();
        for (at, opinion) in self.opinions.iter().enumerate() {
            let who: Vec<&str> =
                opinion.sources.iter().filter_map(|key| sources.get(key)).map(String::as_str).collect();
            let start = if at == 0 { " Authorities differ: " } else { "; " };
            reason.push_str(&format!("{start}{} ({})", opinion.says, who.join(", ")));
        }
        reason
    }

    /// How bad a FAIL is for a profile.
    pub fn severity_for(&self, profile: Profile) -> Severity {
        self.severity_for.get(&profile).copied().unwrap_or(self.severity)
    }

    /// Every path the rule may read, also through its probes. `*` stands for one name or part of one, `**` at the end
    /// for the folder and all below; control groups may be mounted elsewhere than where they usually are.
    pub fn paths(&self) -> Vec<&str> {
        self.reads.values().flat_map(|read| read.source.paths()).collect()
    }
}

/// What some authorities say where others say something else.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Opinion {
    pub says: String,
    pub sources: Vec<String>,
}

/// A condition on reads: all of its tests must hold.
pub(crate) type When = BTreeMap<String, Test>;

/// A condition without which the rule says nothing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gate {
    pub when: When,
    pub otherwise: String,
}

/// One way a rule comes out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    #[serde(default)]
    pub when: When,
    /// Empty: all profiles.
    #[serde(default)]
    pub profiles: Vec<Profile>,
    pub state: State,
    pub say: String,
}

impl Case {
    pub fn is_for(&self, profile: Profile) -> bool {
        self.profiles.is_empty() || self.profiles.contains(&profile)
    }
}

/// Chapters of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// How the kernel was built, and which it is.
    Kernel,
    /// Its parameters.
    Cmdline,
    /// Threads of a core, frequency, idle, heat.
    Cpu,
    /// Isolated CPUs, interrupts, the kernel's own work.
    Isolation,
    /// Scheduler and throttling.
    Sched,
    /// Other real-time tasks and daemons.
    Rogue,
    /// Memory.
    Memory,
    /// Timers and clocks.
    Time,
    /// Tracing and debugging left on.
    Trace,
    /// Watchdogs.
    Watchdog,
    /// Firmware.
    Firmware,
    /// Hypervisors and containers.
    Virt,
    /// What the user may do.
    Permission,
    /// Power saving of buses and devices.
    Power,
    /// Storage and network.
    Io,
    /// Raspberry Pi.
    Rpi,
    /// The application itself.
    App,
}

impl Group {
    /// The chapter's heading.
    pub fn title(self) -> &'static str {
        match self {
            Group::Kernel => "Kernel build and identity",
            Group::Cmdline => "Boot command line",
            Group::Cpu => "CPU: SMT, frequency, idle, thermal",
            Group::Isolation => "Isolation, IRQ affinity, kernel housekeeping",
            Group::Sched => "Scheduler and throttling",
            Group::Rogue => "Rogue real-time tasks and daemons",
            Group::Memory => "Memory",
            Group::Time => "Timers and clocksource",
            Group::Trace => "Tracing and debug leftovers",
            Group::Watchdog => "Watchdogs",
            Group::Firmware => "Firmware, SMI, lockdown",
            Group::Virt => "Virtualization and containers",
            Group::Permission => "Permissions",
            Group::Power => "Power management of buses and devices",
            Group::Io => "Storage and network",
            Group::Rpi => "Raspberry Pi",
            Group::App => "The application (given PID or unit)",
        }
    }
}
