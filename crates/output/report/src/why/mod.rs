//! Why wakeups were late, as traces show it: the same for a run's explained wakeups and for those of one trace.

mod html;
mod page;
mod stack;
mod text;

pub(crate) use html::section;
pub use page::explanation_html;
pub(crate) use text::section as text_section;
pub use text::timeline_text;

use crate::words::{self, causes};
use punctual_model::{Class, Recording, Timeline, Victim};
use punctual_units::Arrange;

/// A late wakeup and what surrounds it.
pub(crate) struct Late<'a> {
    /// Phase id; empty where there is no run.
    pub phase: &'a str,
    /// Its sentence.
    pub sentence: String,
    /// As measured, or as traced where nobody measured.
    pub latency_ns: u64,
    /// What the trace says.
    pub victim: &'a Victim,
    /// The picture.
    pub timeline: Option<&'a Timeline>,
}

/// All explained wakeups of a run, the worst first.
pub(crate) fn of_run(recording: &Recording) -> Vec<Late<'_>> {
    let mut all: Vec<Late> = recording
        .explained
        .iter()
        .map(|explained| Late {
            phase: &explained.phase,
            sentence: causes::explained(recording, explained),
            latency_ns: explained.latency_ns,
            victim: &explained.victim,
            timeline: explained.timeline.as_ref(),
        })
        .collect();
    all.arrange_by_key(|late| std::cmp::Reverse(late.latency_ns));
    all
}

/// Wakeups with the same main culprit.
pub(crate) struct Culprit<'a> {
    /// Whom or what.
    pub name: String,
    /// Which class.
    pub class: Class,
    /// The wakeups, the worst first.
    pub late: Vec<&'a Late<'a>>,
}

/// Grouped by main culprit; the group with the worst wakeup first.
pub(crate) fn by_culprit<'a>(all: &'a [Late<'a>]) -> Vec<Culprit<'a>> {
    let mut groups: Vec<Culprit> = Vec::new();
    for late in all {
        let main = main_cause(late.victim);
        let class = main.map_or(Class::Unaccounted, |cause| cause.class);
        let name = main.map_or_else(|| causes::class(class).to_owned(), causes::culprit);
        match groups.iter_mut().find(|group| group.class == class && group.name == name) {
            Some(group) => group.late.push(late),
            None => groups.push(Culprit { name, class, late: vec![late] }),
        }
    }
    groups
}

/// The cause that its sentence names; `None` where more of the delay has none.
pub(crate) fn main_cause(victim: &Victim) -> Option<&punctual_model::Cause> {
    let known = victim.causes.iter().find(|cause| cause.class != Class::Unaccounted)?;
    Some(known).filter(|cause| cause.ns >= victim.unaccounted_ns)
}

/// A part of the delay of some wakeups.
pub(crate) struct Share {
    /// Its class.
    pub class: Class,
    /// Whom or what.
    pub name: String,
    /// Nanoseconds, and as part of the whole, 0–1.
    pub ns: u64,
    /// Part of the whole.
    pub share: f64,
}

/// Shares shown by name; the rest is one.
const SHARES: usize = 6;

/// How the delay of some wakeups splits by culprit, the largest first, and how long it is in all.
pub(crate) fn shares<'a>(victims: impl Iterator<Item = &'a Victim>) -> (Vec<Share>, u64) {
    let mut all: Vec<Share> = Vec::new();
    let mut whole = 0u64;
    for cause in victims.flat_map(|victim| &victim.causes) {
        whole = whole.saturating_add(cause.ns);
        let name = causes::culprit(cause);
        match all.iter_mut().find(|share| share.class == cause.class && share.name == name) {
            Some(share) => share.ns = share.ns.saturating_add(cause.ns),
            None => all.push(Share { class: cause.class, name, ns: cause.ns, share: 0.0 }),
        }
    }
    all.arrange_by_key(|share| std::cmp::Reverse(share.ns));
    all.retain(|share| share.ns > 0);
    if all.len() > SHARES {
        let rest = all.split_off(SHARES - 1);
        let ns = rest.iter().fold(0u64, |sum, share| sum.saturating_add(share.ns));
        let name = format!("{} others", rest.len());
        all.push(Share { class: Class::Unaccounted, name, ns, share: 0.0 });
    }
    all.iter_mut().for_each(|share| share.share = share.ns as f64 / whole.max(1) as f64);
    (all, whole)
}

/// The loads of the wakeups in the order of the run, with the wakeups of each, the worst first.
pub(crate) fn by_load<'a>(recording: &Recording, all: &'a [Late<'a>]) -> Vec<(String, Vec<&'a Late<'a>>)> {
    let of = |id: &str| all.iter().filter(|late| late.phase == id).collect::<Vec<_>>();
    let phases = recording.run.phases.iter().map(|phase| phase.id.as_str());
    let known = phases.map(|id| (words::phase_name(recording, id), of(id)));
    known.filter(|(_, late)| !late.is_empty()).collect()
}
