use super::{Late, html, shares, stack};
use crate::html::document;
use crate::html::write::{esc, list, prose};
use crate::words;
use punctual_model::{Explanation, Timeline, Victim};
use punctual_units::Nanos;

const BARS: usize = 10;

/// Formats the explanation of a trace as a self-contained HTML file: the worst wakeup's verdict, then all wakeups by
/// culprit, the composition of their delays, the timeline of the worst, and what the trace cannot show.
///
/// `name` is the trace as the user named it; `timelines` has one entry per explained wakeup, in order.
pub fn explanation_html(name: &str, explanation: &Explanation, timelines: &[Option<Timeline>]) -> String {
    let pictures = timelines.iter().map(Option::as_ref).chain(std::iter::repeat(None));
    let all: Vec<Late> =
        explanation.victims.iter().zip(pictures).map(|(victim, picture)| late(victim, picture)).collect();
    let worst: Vec<&Late> = all.iter().collect();
    let groups: Vec<String> = explanation.groups.iter().map(|group| group.sentence.clone()).collect();
    let doubts = all.first().map(|late| late.victim.doubts.clone()).unwrap_or_default();
    let sections = [
        ("moments", "Moments at which the application was late", list("", &explanation.moments)),
        (
            "timeline",
            "The worst wakeup",
            html::picture("tl0", "The worst wakeup of the trace", &worst) + &list("quiet", &doubts),
        ),
        ("causes", "Composition of the delays", bars(&all)),
        ("verdicts", "By culprit", html::culprits(&all)),
        ("rhythm", "Frequency", list("", &groups)),
        ("tracers", "Output of the tracer", list("", &explanation.tracers)),
        ("notes", "Limits of the trace", list("", &explanation.notes)),
    ];
    let answer = || explanation.answer.clone().unwrap_or_else(|| super::explanation::none(explanation));
    let of_wakeup = || all.first().map(|late| late.victim.verdict.clone());
    let verdict = explanation.moments.first().cloned().or_else(of_wakeup).unwrap_or_else(answer);
    let (headline, advice) = verdict.split_once(" — ").unwrap_or((&verdict, ""));
    let followed = format!("{} wakeups; followed: {}", crate::number::count(explanation.wakeups), explanation.chosen);
    let front = format!(
        "<header><p class=\"what\">Late wakeups in <strong>{}</strong></p><h1 class=\"said\">{}</h1>{}<p class=\"measured\">{}</header>\n",
        esc(name),
        prose(&words::stopped(headline)),
        if advice.is_empty() {
            String::new()
        } else {
            format!("<p>{}", prose(&words::stopped(&words::capital(advice))))
        },
        prose(&words::stopped(&followed))
    );
    let sections = sections.map(|(id, title, content)| (id, title.to_owned(), content));
    document(&format!("Late wakeups in {name}"), &front, &sections, "")
}

fn late<'a>(victim: &'a Victim, timeline: Option<&'a Timeline>) -> Late<'a> {
    let sentence = words::stopped(&victim.verdict);
    Late { phase: "", sentence, latency_ns: victim.latency_ns, victim, timeline }
}

fn bars(all: &[Late]) -> String {
    let bar = |late: &Late| {
        let (parts, _) = shares(std::iter::once(late.victim));
        let title = format!("{}, {} late", late.victim.place(), Nanos(late.latency_ns));
        stack::of_delay(&prose(&title), &parts)
    };
    all.iter().take(BARS).map(bar).collect()
}
