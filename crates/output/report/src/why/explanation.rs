//! One trace explained, for a terminal.

use super::text::timeline_text;
use crate::clean::line;
use crate::text::TextStyle;
use punctual_model::{Cause, Explanation, Timeline, Victim};
use punctual_units::Nanos;

/// What a trace says about late wakeups, for a terminal: the verdicts first, then what the worst is made of.
///
/// `places` are those of the victims, in their order: the load each was measured under and when; `cycles`: the longest cycles, too.
pub fn explanation_text(explanation: &Explanation, places: &[String], cycles: bool) -> String {
    let mut out = String::new();
    if explanation.victims.is_empty() {
        match &explanation.answer {
            Some(answer) => out.push_str(&format!("{}\n", line(answer))),
            None => out.push_str("No late wakeup can be explained from this trace.\n"),
        }
    }
    for (n, victim) in explanation.victims.iter().enumerate() {
        let place = places.get(n).filter(|place| !place.is_empty());
        let place = place.map(|place| format!("{}: ", line(place))).unwrap_or_default();
        out.push_str(&format!("{place}{}\n", line(&victim.verdict)));
    }
    if let Some(worst) = explanation.victims.first() {
        out.push_str(&format!("\nThe worst, {} of which:\n{}", Nanos(worst.latency_ns), causes(worst)));
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
    list(&mut out, "What the tracer says", &tracers);
    let notes: Vec<&str> = explanation.notes.iter().map(String::as_str).collect();
    list(&mut out, "Notes", &notes);
    out.push_str(&format!("\n{} wakeups; followed: {}\n", explanation.wakeups, line(&explanation.chosen)));
    out
}

/// What each cause took.
fn causes(victim: &Victim) -> String {
    let row = |cause: &Cause| {
        let who = match (&cause.comm, cause.tid, &cause.what) {
            (Some(comm), Some(tid), _) => format!("{comm} ({tid})"),
            (_, _, Some(what)) => what.clone(),
            _ => String::new(),
        };
        let class = cause.class.name().replace('_', " ");
        let sure = cause.confidence.name();
        let (ns, share) = (Nanos(cause.ns).to_string(), cause.share * 100.0);
        format!("  {ns:>9} {share:5.1} %  {class:<20} {:<24} {sure}: {}\n", line(&who), line(&cause.evidence))
    };
    victim.causes.iter().map(row).collect()
}

fn list(out: &mut String, title: &str, lines: &[&str]) {
    if !lines.is_empty() {
        out.push_str(&format!("\n{title}\n"));
        lines.iter().for_each(|text| out.push_str(&format!("  - {}\n", line(text))));
    }
}

/// The timeline of the worst wakeup that has one. `timelines` are those of the victims, in their order.
pub fn worst_timeline_text(explanation: &Explanation, timelines: &[Option<Timeline>], style: TextStyle) -> String {
    let found = explanation.victims.iter().zip(timelines).find_map(|(victim, t)| Some((victim, t.as_ref()?)));
    match found {
        Some((victim, timeline)) => format!("\n{}", timeline_text(victim, timeline, style)),
        None => "\nNo timeline: the trace tells of late wakeups in summaries only.\n".to_owned(),
    }
}
