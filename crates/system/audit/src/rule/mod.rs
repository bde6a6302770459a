mod fix;
mod gate;
mod group;
mod irqs;
mod load;
mod named;
mod source;
mod test;

use fix::ON_THE_HOST;
pub use fix::{Action, Fix};
pub(crate) use fix::{NOT_HERE, ON_WSL, SUPPORTED, line};
pub use group::Group;
pub use load::RuleError;

pub(crate) use gate::Commons;
pub(crate) use irqs::{IrqFilter, expression};
pub(crate) use load::{Mistake, Sources, check, parse, parse_commons, parse_sources};
pub(crate) use named::Named;
pub(crate) use source::{As, Form, Part, Read, Set, Source};
pub(crate) use test::{Test, Word};

use crate::Profile;
use punctual_model::{Finding, Severity, State};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// One rule: the content of `rules/<id>.toml`.
///
/// ```toml
/// id = "clk-source"
/// title = "Clocksource"
/// group = "time"
/// severity = "high"                    # of a FAIL: fatal, high, medium, low, info, off
/// why = "the cost, with the figure if one is known"
/// sources = ["UBUTCC"]                 # keys of sources.toml; K alone (not checked) only with severity info
///
/// [[opinion]]                          # optional, several: if authorities disagree, the opinion of each
/// says = "disable it"
/// sources = ["TDRT"]
///
/// [severity_for]                       # optional: other severities for some profiles; off disables the rule
/// measure-only = "info"
///
/// [reads]                              # everything the rule reads, each with a name
/// current = { file = "/sys/…/current_clocksource" }
///
/// [[applies]]                          # optional: each must be true, or the rule is SKIP with this text
/// when = { current = { present = true } }
/// otherwise = "the clocksource cannot be chosen"
///
/// [[case]]                             # the first that applies decides; the last has no condition
/// when = { current = { one_of = ["tsc", "arch_sys_counter"] } }
/// state = "PASS"
/// say = "the clocksource is {current}"
///
/// [[case]]
/// profiles = ["busy-poll"]             # optional: only these profiles have this case
/// state = "FAIL"
/// say = "the clocksource is {current}"
/// fix = { persist = […], undo = "…" }  # optional: the fix of this case, instead of [fix]
///
/// [fix]                                # or: none = "why no fix exists"
/// now = [{ write = { file = "/sys/…/current_clocksource", value = "tsc" } }]
/// persist = [{ boot = { add = "clocksource=tsc" } }]
/// undo = "the clocksource that was current before"
/// risk = "what may go wrong"           # optional
/// disruptive = false                   # optional: true if it disturbs running programs
/// ```
///
/// **Reads** have one of these keys:
/// - `file`: a file's content. `as` is `word` (default: all of it, trimmed), `integer`, `words` (a list), `marked` (the
///   word in brackets), `cpus` or `mask` (a CPU list or hexadecimal mask, `none` when empty; `within` or `without` one
///   of the sets below). `key` (`name: value`, `name=value`, `name value`), `field` (a word, from 1) or `lines` (those
///   with one of these texts) select a part of the file.
/// - `files`: a list, the same for every file that a path with `*` names. After letters `*` is a number, alone it is
///   any name; `@` represents the numbers of the measured CPUs, or of the list `on`. With `sparse = true` missing files
///   are ignored.
/// - `list`: the names in a folder that match `names`. `exists`: `yes` or `no`.
/// - `kconfig`: an option of the running kernel's configuration without `CONFIG_` (`n` when off). `kconfigs`: which of
///   several are on.
/// - `cmdline`: the value of a kernel parameter that this kernel supports. `parameters`: which of several are given, as
///   written. `supports`: `yes`, or a sentence about why the kernel does not support a parameter.
/// - `cpus`: one of the sets `measured`, `isolated`, `housekeeping`, `online`, `tickless`.
/// - `units`: which of several systemd units run or are enabled. `processes`: which of several programs run.
/// - `log`: lines of the kernel log with one of these texts.
/// - `irqs`: for interrupts that match the regular expressions `actions`, `chip_name`, `name`, `type`, their CPUs that
///   are not in the list `outside`, or `none`.
/// - `probe`: a probe of that name, with numbers in `with`.
///
/// Modifiers: `only` drops elements of a list that do not pass a test. `change = true` returns a number's increase
/// during the window. With `optional = true`, conditions on something unreadable are false instead of undecided; this
/// is for reads that only add certainty, and not allowed in `applies`. `{pid}` in a path is the application's process,
/// `{release}` the kernel's release.
///
/// **Applicability**: `only_if` names conditions of `gates.toml`, `[[applies]]` adds conditions of this rule, `needs`
/// names inputs from the caller: `window`, `pid`, `trial` (behaviour tests). Otherwise the rule is SKIP.
///
/// **Tests**: `[[test]]` tables; `tests/it/cases.rs` documents them.
///
/// **Conditions**: `when` names reads, each with a word it equals or a table of tests, all of which must hold. For
/// single values: `is`, `not`, `one_of`, `contains`, `lacks`, `min`, `max`, `present`. For lists: `all` and `any` of a
/// test (`all` needs at least one element), `empty`, `present`. On a failed read a condition is neither true nor false,
/// except that an absent file decides `present`.
///
/// **Outcome**: undecided cases make the rule BLOCKED (if permission is missing) or UNKNOWN, unless every case that
/// could still decide has the same state. Sentences may name reads in braces, and `{scheduling}`, `{cpus}`,
/// `{profile}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The rule's id, which is unique and the name of its file; users identify rules by it.
    pub id: String,
    /// The rule's title, a few words for tables.
    pub title: String,
    pub group: Group,
    /// Severity of a FAIL, unless a profile overrides it.
    pub severity: Severity,
    #[serde(default)]
    pub(crate) severity_for: BTreeMap<Profile, Severity>,
    /// What a FAIL costs, with a measured value if one is known.
    pub why: String,
    /// Keys of the rule's sources, for [`crate::Rules::source`].
    pub sources: Vec<String>,
    #[serde(default, rename = "opinion")]
    pub(crate) opinions: Vec<Opinion>,
    #[serde(default)]
    pub(crate) needs: Vec<Need>,
    #[serde(default)]
    pub(crate) only_if: Vec<String>,
    #[serde(default)]
    pub(crate) reads: Named<Read>,
    #[serde(default)]
    pub(crate) applies: Vec<Gate>,
    #[serde(rename = "case")]
    pub(crate) cases: Box<[Case]>,
    pub fix: Fix,
    /// The rule's `[[test]]` tables, which only tests read.
    #[serde(default, rename = "test")]
    _tests: IgnoredAny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Need {
    /// A time window: the machine is read at the beginning and at the end of the window.
    Window,
    Pid,
    /// Permission to run behaviour tests.
    Trial,
}

impl Need {
    pub fn missing(self) -> &'static str {
        match self {
            Need::Window => "needs a time window: --window 10s",
            Need::Pid => "needs the application: --pid PID",
            Need::Trial => "needs permission to run tests: --probe",
        }
    }
}

impl Rule {
    pub(crate) fn reason(&self, sources: &Sources, profile: Profile) -> String {
        let mut reason = self.why.trim().to_owned();
        for (at, opinion) in self.opinions.iter().enumerate() {
            let who: Vec<&str> =
                opinion.sources.iter().filter_map(|key| sources.get(key)).map(String::as_str).collect();
            let start = if at == 0 { " Authorities differ: " } else { "; " };
            reason.push_str(&format!("{start}{} ({})", opinion.says, who.join(", ")));
        }
        if let Some(opinion) = self.opinions.iter().find(|opinion| opinion.followed_by.contains(&profile)) {
            reason.push_str(&format!(". {profile} follows: {}", opinion.says));
        }
        reason
    }

    /// Returns the fix of a finding of this rule: the fix of its case if it has one, else the rule's. Cases whose fixes
    /// have the same text are equivalent.
    pub fn fix_of(&self, finding: &Finding) -> &Fix {
        let own = self.cases.iter().filter(|case| case.state == finding.state).filter_map(|case| case.fix.as_ref());
        // A finding has a fix only if its state is FAIL, WARN or UNKNOWN.
        let carries = matches!(finding.state, State::Fail | State::Warn | State::Unknown);
        let line = finding
            .fix
            .as_deref()
            .and_then(|line| line.split(NOT_HERE).next()?.split(SUPPORTED).next()?.split(ON_WSL).next());
        let line = line.map(|line| line.strip_prefix(ON_THE_HOST).unwrap_or(line));
        let mut fitting =
            own.filter(|fix| carries && (fix.line().as_deref() == line || fix::line(&fix.persist).as_deref() == line));
        fitting.next().unwrap_or(&self.fix)
    }

    /// Marks the fix of a finding as one for the host: a container uses the host's kernel.
    pub(crate) fn refer_to_host(&self, finding: &mut Finding) {
        let is_hosts = || self.group.is_kernels() || self.fix_of(finding).first().iter().any(Action::is_kernels);
        if finding.fix.is_some() && is_hosts() {
            finding.fix = finding.fix.take().map(|line| format!("{ON_THE_HOST}{line}"));
        }
    }

    /// Returns true if an action of a fix changes the boot loader's line. This includes a manual action if the rule is
    /// about the command line.
    pub(crate) fn changes_line(&self, action: &Action) -> bool {
        matches!(action, Action::Boot { .. }) || (self.group == Group::Cmdline && matches!(action, Action::Manual(_)))
    }

    pub(crate) fn fixes(&self) -> impl Iterator<Item = &Fix> {
        std::iter::once(&self.fix).chain(self.cases.iter().filter_map(|case| case.fix.as_ref()))
    }

    pub fn severity_for(&self, profile: Profile) -> Severity {
        self.severity_for.get(&profile).copied().unwrap_or(self.severity)
    }
}

/// An authority's opinion that others do not share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Opinion {
    pub says: String,
    pub sources: Vec<String>,
    /// Profiles that follow this opinion.
    #[serde(default)]
    pub followed_by: Vec<Profile>,
}

/// Tests of named reads, all of which must hold.
pub(crate) type When = Named<Test>;

/// A condition without which the rule is SKIP.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gate {
    pub when: When,
    pub otherwise: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    #[serde(default)]
    pub when: When,
    /// Profiles that have this case; empty means all.
    #[serde(default)]
    pub profiles: Vec<Profile>,
    pub state: State,
    pub say: String,
    /// The fix of this case, in place of the rule's.
    pub fix: Option<Fix>,
}

impl Case {
    pub fn is_for(&self, profile: Profile) -> bool {
        self.profiles.is_empty() || self.profiles.contains(&profile)
    }
}
