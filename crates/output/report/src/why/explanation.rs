//! Formats the explanation of one trace for a terminal.

use super::text::timeline_text;
use crate::clean::line;
use crate::number::plural;
use crate::text::page::{Page, Tint, tagged};
use crate::text::{SUMMARY_LINES, TextStyle};
use punctual_model::{Cause, Class, Confidence, Explanation, Timeline, Victim};
use punctual_units::Nanos;

const WAKEUPS: &str = "\nThe latest wakeups in these events:\n";

/// Formats what a trace shows about late wakeups, for a terminal: the verdicts first, then the composition of the worst
/// delay. The moments for which the events of an application were kept precede them.
///
/// `places` contains the load and the time of each explained wakeup, in order; `cycles` also lists the longest cycles.
pub fn explanation_text(explanation: &Explanation, places: &[String], cycles: bool) -> String {
    let mut out: String = explanation.moments.iter().map(|moment| format!("{}\n", line(moment))).collect();
    if explanation.victims.is_empty() && explanation.moments.is_empty() {
        match &explanation.answer {
            Some(answer) => out.push_str(&format!("{}\n", line(answer))),
            None => out.push_str(&format!("{}\n", line(&none(explanation)))),
        }
    }
    if !explanation.moments.is_empty() && !explanation.victims.is_empty() {
        out.push_str(WAKEUPS);
    }
    for (n, victim) in explanation.victims.iter().enumerate() {
        let place = places.get(n).filter(|place| !place.is_empty());
        let place = place.map(|place| format!("{}: ", line(place))).unwrap_or_default();
        out.push_str(&format!("{place}{}\n", line(&victim.verdict)));
        victim.chain.iter().for_each(|link| out.push_str(&format!("  ← {}\n", line(&link.text()))));
    }
    if let Some(worst) = explanation.victims.first() {
        out.push_str(&format!(
            "\nThe delay of the worst wakeup, {}, consists of:\n{}",
            Nanos(worst.latency_ns),
            causes(worst)
        ));
        worst.doubts.iter().for_each(|doubt| out.push_str(&format!("  doubt: {}\n", line(doubt))));
    }
    let grouped: Vec<&str> = explanation.groups.iter().map(|g| g.sentence.as_str()).collect();
    list(&mut out, "By culprit", &grouped);
    if cycles {
        let cycles: Vec<&str> = explanation.cycles.iter().map(|c| c.verdict.as_str()).collect();
        list(&mut out, "Longest cycles", &cycles);
    }
    let said = explanation.tracers.iter().filter(|said| Some(*said) != explanation.answer.as_ref());
    let tracers: Vec<&str> = said.map(String::as_str).collect();
    list(&mut out, "Output of the tracer", &tracers);
    let notes: Vec<&str> = explanation.notes.iter().skip(leading(explanation)).map(String::as_str).collect();
    list(&mut out, "Notes", &notes);
    out + "\n" + &chosen(explanation)
}

/// Formats what a trace shows about late wakeups on one screen of 80×24, [`SUMMARY_LINES`] lines at most: the worst
/// wakeup and the composition of its delay, the culprits, doubts, and the command that shows the rest. `source` is what
/// was explained, as a user types it.
pub fn explanation_summary(explanation: &Explanation, places: &[String], source: &str, style: TextStyle) -> String {
    const MOMENTS: usize = 4;
    const VERDICT: usize = 5;
    const CAUSES: usize = 4;
    const GROUPS: usize = 4;
    /// The heading of the culprits and the next step, each after a blank line.
    const BELOW: usize = 4;
    let mut page = Page::new(style);
    if !explanation.moments.is_empty() {
        explanation.moments.iter().take(MOMENTS).for_each(|moment| page.tagged("", Tint::Strong, moment));
        let more = explanation.moments.len().saturating_sub(MOMENTS);
        let more = if more > 0 { format!("{more} more, ") } else { String::new() };
        page.gap();
        page.row(Tint::Plain, &format!("Next   1. punctual explain {source} --full  {more}wakeups in these events"));
        return page.cut(SUMMARY_LINES - 1).join("\n") + "\n" + &chosen(explanation);
    }
    let Some(worst) = explanation.victims.first() else {
        page.tagged("", Tint::Plain, &explanation.answer.clone().unwrap_or_else(|| none(explanation)));
        let notes = explanation.notes.iter().skip(leading(explanation)).chain(&explanation.tracers);
        notes
            .filter(|note| Some(*note) != explanation.answer.as_ref())
            .take(4)
            .for_each(|note| page.row(Tint::Plain, note));
        return page.cut(SUMMARY_LINES - 1).join("\n") + "\n" + &chosen(explanation);
    };
    let place = places.first().filter(|place| !place.is_empty()).map(|place| format!("{place}: ")).unwrap_or_default();
    page.tagged("", Tint::Strong, &format!("{place}{}", worst.verdict));
    let out = page.cut(VERDICT).join("\n") + "\n";
    let mut page = Page::new(style);
    page.heading(&format!("The delay of the worst wakeup, {}, consists of:", Nanos(worst.latency_ns)));
    page.row(Tint::Plain, HEAD);
    // The evidence is shown with `--full`.
    worst.causes.iter().take(CAUSES).for_each(|cause| page.row(Tint::Plain, &row(cause)));
    if let Some(doubt) = worst.doubts.first() {
        page.add(&tagged(style, "  doubt: ", Tint::Warn, doubt, 3));
    }
    let chosen = tagged(style, "", Tint::Plain, chosen(explanation).trim_end(), 2);
    let above = page.lines();
    let left_room = SUMMARY_LINES.saturating_sub(out.lines().count() + above.len() + chosen.len() + BELOW);
    let mut page = Page::new(style);
    page.add(&above);
    page.heading("By culprit");
    let groups = explanation.groups.len().min(GROUPS).min(left_room.max(1));
    explanation.groups.iter().take(groups).for_each(|group| page.row(Tint::Plain, &format!("  - {}", group.sentence)));
    let left = [
        (explanation.groups.len().saturating_sub(groups), "more culprit"),
        (explanation.victims.len() - 1, "more wakeup"),
        (explanation.notes.len(), "note"),
        (explanation.tracers.len(), "line of the tracer"),
    ];
    let left: Vec<String> =
        left.iter().filter(|(n, _)| *n > 0).map(|(n, what)| plural(*n as u64, what, &plural_of(what))).collect();
    page.gap();
    page.row(Tint::Plain, &format!("Next   1. punctual explain {source} --full  {}", left.join(", ")));
    page.add(&chosen);
    out + &page.finish()
}

/// Reports that nothing is explained, and what is missing if that is known.
pub(super) fn none(explanation: &Explanation) -> String {
    const NONE: &str = "No late wakeup can be explained from this trace";
    explanation.notes.first().map_or_else(|| format!("{NONE}."), |missing| format!("{NONE}: {missing}"))
}

/// Returns the number of notes that the first line already contains.
fn leading(explanation: &Explanation) -> usize {
    usize::from(explanation.victims.is_empty() && explanation.answer.is_none() && explanation.moments.is_empty())
}

fn plural_of(what: &str) -> String {
    match what.split_once(" of ") {
        Some((noun, of)) => format!("{noun}s of {of}"),
        None => format!("{what}s"),
    }
}

fn chosen(explanation: &Explanation) -> String {
    format!("{} wakeups; followed: {}\n", explanation.wakeups, line(&explanation.chosen))
}

/// Formats the contribution of each cause, with its evidence.
fn causes(victim: &Victim) -> String {
    let rows = victim.causes.iter().map(|cause| format!("{}: {}\n", row(cause), line(&cause.evidence)));
    std::iter::once(format!("{HEAD}: evidence\n")).chain(rows).collect()
}

const HEAD: &str = "       time    share  cause                thread, interrupt or task  confidence";

fn row(cause: &Cause) -> String {
    let who = match (&cause.comm, cause.tid, &cause.what) {
        (Some(comm), Some(tid), _) => format!("{comm} ({tid})"),
        (_, _, Some(what)) => what.clone(),
        _ => String::new(),
    };
    let is_of_another = matches!(cause.class, Class::HigherPriority | Class::SamePriority);
    // Among ordinary threads none precedes by its priority; without its priority, that is not known.
    let class = match (cause.scheduled.policy.as_deref(), cause.confidence) {
        (Some("OTHER" | "BATCH" | "IDLE"), _) if is_of_another => "ordinary thread".to_owned(),
        (None, Confidence::Suspected) if is_of_another => "another thread".to_owned(),
        _ => cause.class.name().replace('_', " "),
    };
    let sure = cause.confidence.name();
    let (ns, share) = (Nanos(cause.ns).to_string(), cause.share * 100.0);
    format!("  {ns:>9} {share:5.1} %  {class:<20} {:<26} {sure}", crate::clean::clip(&line(&who), 26))
}

fn list(out: &mut String, title: &str, lines: &[&str]) {
    if !lines.is_empty() {
        out.push_str(&format!("\n{title}\n"));
        lines.iter().for_each(|text| out.push_str(&format!("  - {}\n", line(text))));
    }
}

/// Draws the timeline of the worst wakeup that has one. `timelines` has one entry per explained wakeup, in order.
pub fn worst_timeline_text(explanation: &Explanation, timelines: &[Option<Timeline>], style: TextStyle) -> String {
    let found = explanation.victims.iter().zip(timelines).find_map(|(victim, t)| Some((victim, t.as_ref()?)));
    match found {
        Some((victim, timeline)) => format!("\n{}", timeline_text(victim, timeline, style)),
        None => "\nNo timeline: the trace has only summaries of late wakeups.\n".to_owned(),
    }
}
