//! Named outcomes and figures for test harnesses, common to all of their formats.

mod bench;
mod check;
mod findings;
mod latency;
mod suite;

use punctual_model::{Outcome, Run};
use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq)]
pub struct Cases {
    pub about: About,
    pub groups: Vec<Group>,
    /// Sentences about facts that an imported file does not state and that are therefore omitted; untrusted, not
    /// escaped.
    pub not_known: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    pub host: Option<String>,
    /// Output of `uname -r`.
    pub kernel_release: Option<String>,
    /// Output of `uname -v`.
    pub kernel_version: Option<String>,
    /// Output of `uname -m`.
    pub architecture: Option<String>,
    pub board: Option<String>,
    /// The measuring tool, for example `punctual 0.1.0`.
    pub tool: String,
    /// CLOCK_REALTIME at the start, ns since 1970.
    pub started_real_ns: Option<u64>,
    /// CRC-32 of the imported files, which identifies runs whose start is unknown.
    pub identity: Option<u32>,
    /// True if times were measured with an emulated clock.
    pub is_virtual: bool,
}

impl About {
    pub fn of(run: &Run) -> About {
        let machine = &run.machine;
        let imported = run.import.as_ref();
        let crc = |import: &punctual_model::Import| {
            import.files.iter().fold(0u32, |all, file| all.rotate_left(1) ^ file.crc32)
        };
        About {
            host: run.host.clone(),
            kernel_release: machine.kernel_release.clone(),
            kernel_version: machine.kernel_version.clone(),
            architecture: machine.architecture.clone(),
            board: machine.board.clone(),
            tool: [Some(run.tool.name.as_str()), run.tool.version.as_deref()]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" "),
            started_real_ns: run.started.map(|s| s.real_ns).or(imported.and_then(|i| i.started_real_ns)),
            identity: imported.map(crc),
            is_virtual: run.virtual_time.is_some(),
        }
    }
}

/// A group of cases: a load, a suite, or an audit.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Slug, unique among the groups.
    pub name: String,
    /// Title for display; untrusted, not escaped.
    pub title: String,
    /// Measurement time in seconds, if known.
    pub seconds: Option<f64>,
    /// Slugs of the group's CPUs in the order of measurement; each is the second segment of a path.
    pub places: Vec<String>,
    pub cases: Vec<Case>,
    pub figures: Vec<Figure>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Slugs, starting with the slug of the group: `["io", "cpu1", "max-lt-100us"]`.
    pub path: Vec<String>,
    /// Condition to be met; untrusted, not escaped.
    pub title: String,
    pub outcome: CaseOutcome,
    /// Evidence; untrusted, not escaped.
    pub sentence: String,
}

/// Outcome of a case. Only `Pass` and `Held` count as passed. A format without a separate outcome for `Held` mentions
/// it in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaseOutcome {
    /// The condition holds, with the required evidence.
    Pass,
    /// The condition was not refuted. No stronger result is possible for a condition of this kind.
    Held,
    /// The condition does not apply, or this machine lacks the feature.
    Skip,
    Inconclusive,
    Fail,
}

impl CaseOutcome {
    pub fn word(self) -> &'static str {
        match self {
            CaseOutcome::Pass => "pass",
            CaseOutcome::Held => "held",
            CaseOutcome::Skip => "skip",
            CaseOutcome::Inconclusive => "inconclusive",
            CaseOutcome::Fail => "fail",
        }
    }
}

impl From<Outcome> for CaseOutcome {
    fn from(outcome: Outcome) -> CaseOutcome {
        match outcome {
            Outcome::Pass => CaseOutcome::Pass,
            Outcome::Held => CaseOutcome::Held,
            Outcome::Inconclusive => CaseOutcome::Inconclusive,
            Outcome::Fail => CaseOutcome::Fail,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Slugs, starting with the slug of the group: `["io", "cpu1", "p99_9"]`.
    pub path: Vec<String>,
    pub value: f64,
    /// Two-sided 95 % bounds, if known.
    pub bounds: (Option<f64>, Option<f64>),
    pub unit: FigureUnit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FigureUnit {
    Nanoseconds,
    Count,
    /// Unit of a figure of a benchmark; untrusted, not escaped.
    Other(String),
}

impl Cases {
    pub fn cases(&self) -> impl Iterator<Item = &Case> {
        self.groups.iter().flat_map(|group| &group.cases)
    }

    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.groups.iter().flat_map(|group| &group.figures)
    }

    /// Returns the worst outcome among the cases with the same group and CPU as the figure; `None` if there are none.
    pub fn outcome_beside(&self, figure: &Figure) -> Option<CaseOutcome> {
        let place = |path: &[String]| path.get(..2).map(<[String]>::to_vec);
        let wanted = place(&figure.path);
        let group = self.groups.iter().find(|g| Some(&g.name) == figure.path.first())?;
        group
            .cases
            .iter()
            .filter(|case| case.path.len() > 2 && place(&case.path) == wanted)
            .map(|case| case.outcome)
            .max()
    }
}

const LONGEST_SLUG: usize = 48;

/// Converts text to a name segment that is valid in every harness: `[a-zA-Z0-9_-]`, 1 to 48 characters. `<`, `>` and
/// `=` become words, so that `max < 100us` stays readable. A `.` between digits becomes `_`, and any other sequence
/// becomes a single `-`.
pub fn slug(text: &str) -> String {
    let worded =
        text.replace("<=", " le ").replace('≤', " le ").replace('<', " lt ").replace('>', " gt ").replace('=', " eq ");
    let mut out = String::new();
    for c in worded.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c),
            '_' => out.push('_'),
            '.' if out.ends_with(|c: char| c.is_ascii_digit()) => out.push('_'),
            _ if out.is_empty() || out.ends_with('-') => {}
            _ => out.push('-'),
        }
        if out.len() >= LONGEST_SLUG {
            break;
        }
    }
    let trimmed = out.trim_end_matches(['-', '_']);
    if trimmed.is_empty() { "unnamed".into() } else { trimmed.into() }
}

/// Makes names unique, since different texts may have the same slug.
#[derive(Clone, Debug, Default)]
pub struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    /// Appends a number to the last segment if the path is already used. Paths are unique however their segments are
    /// joined.
    pub fn path(&mut self, mut path: Vec<String>) -> Vec<String> {
        let Some(last) = path.pop() else { return path };
        let joined = |name: &str| path.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("-");
        let mut name = last.clone();
        let mut n = 2u64;
        while !self.taken.insert(joined(&name)) {
            name = format!("{last}-{n}");
            n += 1;
        }
        path.push(name);
        path
    }

    pub fn name(&mut self, name: String) -> String {
        self.path(vec![name]).pop().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_stay_readable_as_names() {
        assert_eq!(slug("max < 100us"), "max-lt-100us");
        assert_eq!(slug("p99.99 < 50us @95%"), "p99_99-lt-50us-95");
        assert_eq!(slug("P(>100us) < 1e-6 @95%"), "P-gt-100us-lt-1e-6-95");
        assert_eq!(slug("missed <= 3 per 1e6"), "missed-le-3-per-1e6");
        assert_eq!(slug("cmd:make -j4"), "cmd-make-j4");
    }

    #[test]
    fn a_name_is_never_empty_and_never_strange() {
        for text in ["", " ", "\0", "\x1b[31m", "../../etc", "<LAVA_SIGNAL_TESTCASE>", "µ", &"x".repeat(5000)] {
            let name = slug(text);
            assert!(!name.is_empty() && name.len() <= LONGEST_SLUG, "{text:?}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{name}");
        }
    }

    #[test]
    fn equal_names_are_told_apart_however_they_are_joined() {
        let mut names = Names::default();
        let path = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let all = [names.path(path(&["a", "b-c"])), names.path(path(&["a-b", "c"])), names.path(path(&["a", "b-c"]))];
        let joined: BTreeSet<String> = all.iter().map(|p| p.join("-")).collect();
        assert_eq!(joined.len(), 3, "{all:?}");
    }
}
