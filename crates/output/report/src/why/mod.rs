//! Formats the causes of late wakeups from traces, for the explained wakeups of a run or of a single trace.

mod explanation;
mod html;
mod page;
mod stack;
mod text;

pub use explanation::{explanation_summary, explanation_text, worst_timeline_text};
pub(crate) use html::{bar, section};
pub use page::explanation_html;
pub(crate) use text::section as text_section;
pub use text::timeline_text;

use crate::number::{percent, plural};
use crate::words::{self, causes};
use punctual_model::{Cause, Class, Explained, Recording, Timeline, Verdict, Victim};
use punctual_units::Arrange;

pub(crate) struct Late<'a> {
    /// Phase ID; empty without a run.
    pub phase: &'a str,
    pub sentence: String,
    /// Latency as measured, or from the trace if it was not measured, ns.
    pub latency_ns: u64,
    pub victim: &'a Victim,
    pub timeline: Option<&'a Timeline>,
}

pub(crate) fn of_run(recording: &Recording) -> Vec<Late<'_>> {
    of(recording, &recording.explained)
}

fn of<'a>(recording: &Recording, explained: &'a [Explained]) -> Vec<Late<'a>> {
    let mut all: Vec<Late> = explained
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

/// Returns the cause of the run's worst wakeup; if that wakeup is not explained, says so, followed by the cause of the
/// worst explained one. Returns `None` if nothing is explained.
pub(crate) fn worst(recording: &Recording, verdict: &Verdict) -> Option<String> {
    let late = of_run(recording);
    let sentence = &late.first()?.sentence;
    Some(match unexplained(recording, verdict, &late) {
        None => sentence.clone(),
        Some(unexplained) => format!("{unexplained}; the worst explained: {sentence}"),
    })
}

/// Says that the run's worst wakeup is not among the explained ones, if it is not.
pub(crate) fn unexplained(recording: &Recording, verdict: &Verdict, late: &[Late]) -> Option<String> {
    let explained = late.first().map_or(0, |first| first.latency_ns);
    let worst = verdict.worst.as_ref().filter(|worst| worst.max_ns > explained)?;
    let latency = words::latency(recording, Some(worst.max_ns));
    let place = words::place(recording, &worst.phase, worst.cpu);
    Some(format!("the worst {}, {latency} ({place}), is not explained", words::noun(recording)))
}

/// Returns the shares of the causes in the total delay of these wakeups; `None` if there is only one cause.
pub(crate) fn main_shares(late: &[Late]) -> Option<String> {
    // Threads of one name are combined: policy and pid are left out here; the full text has them.
    let short = |cause: &Cause| causes::culprit(cause).split(" (").next().unwrap_or_default().to_owned();
    let (shares, _) = shares_by(late.iter().map(|late| late.victim), short);
    let named: Vec<String> =
        shares.iter().take(4).map(|share| format!("{} {}", share.name, percent(share.share))).collect();
    let all = plural(late.len() as u64, "explained wakeup", "explained wakeups");
    (shares.len() > 1).then(|| format!("{all}: {}.", named.join(", ")))
}

/// Formats the cause of the worst wakeup explained so far, and the shares of all causes, in one or two lines for a
/// display.
pub fn causes_so_far(recording: &Recording, explained: &[Explained]) -> Vec<String> {
    let late = of(recording, explained);
    let worst = late.first().map(|late| format!("Worst explained: {}", late.sentence));
    worst.into_iter().chain(main_shares(&late)).map(|text| crate::clean::line(&text)).collect()
}

pub(crate) struct Culprit<'a> {
    pub name: String,
    pub class: Class,
    pub late: Vec<&'a Late<'a>>,
}

/// Groups wakeups by main culprit; the group with the worst wakeup first.
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

/// Returns the cause that the sentence names; `None` if the unaccounted part of the delay is larger.
pub(crate) fn main_cause(victim: &Victim) -> Option<&punctual_model::Cause> {
    let known = victim.causes.iter().find(|cause| cause.class != Class::Unaccounted)?;
    Some(known).filter(|cause| cause.ns >= victim.unaccounted_ns)
}

pub(crate) struct Share {
    pub class: Class,
    pub name: String,
    pub ns: u64,
    /// Fraction of the whole, 0–1.
    pub share: f64,
}

/// Number of shares shown by name; the rest is combined.
const SHARES: usize = 6;

/// Returns the share of each culprit in the delay of these wakeups, largest first, and the total delay.
pub(crate) fn shares<'a>(victims: impl Iterator<Item = &'a Victim>) -> (Vec<Share>, u64) {
    shares_by(victims, causes::culprit)
}

fn shares_by<'a>(victims: impl Iterator<Item = &'a Victim>, name: impl Fn(&Cause) -> String) -> (Vec<Share>, u64) {
    let mut all: Vec<Share> = Vec::new();
    let mut whole = 0u64;
    for cause in victims.flat_map(|victim| &victim.causes) {
        whole = whole.saturating_add(cause.ns);
        let name = name(cause);
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

/// Returns the loads in the order of the run, each with its wakeups, worst first.
pub(crate) fn by_load<'a>(recording: &Recording, all: &'a [Late<'a>]) -> Vec<(String, Vec<&'a Late<'a>>)> {
    let of = |id: &str| all.iter().filter(|late| late.phase == id).collect::<Vec<_>>();
    let phases = recording.run.phases.iter().map(|phase| phase.id.as_str());
    let known = phases.map(|id| (words::phase_name(recording, id), of(id)));
    known.filter(|(_, late)| !late.is_empty()).collect()
}
