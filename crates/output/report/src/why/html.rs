use super::{Culprit, Late, by_culprit, by_load, of_run, shares, stack};
use crate::html::write::{details, esc, figure, list, prose};
use crate::number::plural;
use crate::svg::timeline;
use crate::words::{self, causes};
use punctual_model::Recording;
use punctual_units::Nanos;

/// Number of sentences shown per culprit; the others are in collapsed parts. `CULPRITS` is the number of culprits
/// shown.
const SENTENCES: usize = 1;
const CULPRITS: usize = 3;
/// Maximum number of sentences of a culprit; `punctual explain` prints all.
const MOST_SENTENCES: usize = 8;
/// Number of timelines shown; with those in the collapsed part, there are at most `MOST_PICTURES`.
const PICTURES: usize = 3;
const MOST_PICTURES: usize = 5;

/// Draws the main causes of the explained wakeups as a bar; empty without explained wakeups.
pub fn bar(recording: &Recording) -> String {
    let all = of_run(recording);
    let n = plural(all.len() as u64, "late wakeup was traced", "late wakeups were traced");
    let title = prose(&format!("{n}; by main cause:"));
    stack::of_wakeups(&title, &by_culprit(&all))
}

pub fn section(recording: &Recording) -> String {
    let all = of_run(recording);
    if all.is_empty() {
        return String::new();
    }
    let loads = by_load(recording, &all);
    let bars: String = loads
        .iter()
        .map(|(name, late)| {
            let (parts, whole) = shares(late.iter().map(|late| late.victim));
            stack::of_delay(&title(name, late, whole), &parts)
        })
        .collect();
    culprits(&all) + &details("Composition of the delay, by load", &bars) + &pictures(recording, &all)
}

/// Draws the timelines of the worst wakeups, and in a collapsed part the worst one of each other load.
fn pictures(recording: &Recording, all: &[Late]) -> String {
    let drawn: Vec<&Late> = all.iter().filter(|late| late.timeline.is_some()).collect();
    let (worst, rest) = drawn.split_at(drawn.len().min(PICTURES));
    let mut others: Vec<&Late> = Vec::new();
    for late in rest {
        if worst.iter().chain(&others).all(|other| other.phase != late.phase) {
            others.push(late);
        }
    }
    others.truncate(MOST_PICTURES - PICTURES);
    let one = |(n, late): (usize, &&Late)| {
        let under = words::under(recording, late.phase);
        picture(&format!("tl{n}"), &format!("{} {under}", ordinal(n)), std::slice::from_ref(late))
    };
    let shown: String = worst.iter().enumerate().map(one).collect();
    let more: String = others.iter().enumerate().map(|(n, late)| one((n + PICTURES, late))).collect();
    match others.is_empty() {
        true => shown,
        false => shown + &details("The worst wakeup of each other load", &more),
    }
}

fn ordinal(n: usize) -> &'static str {
    match n {
        0 => "The worst traced wakeup,",
        1 => "The second worst,",
        2 => "The third worst,",
        _ => "The worst",
    }
}

fn title(name: &str, late: &[&Late], whole: u64) -> String {
    let worst = late.iter().map(|late| late.latency_ns).max().unwrap_or(0);
    let text =
        format!("{}, {} in all, worst {}", plural(late.len() as u64, "wakeup", "wakeups"), Nanos(whole), Nanos(worst));
    format!("<b>{}</b> {}", esc(name), prose(&text))
}

pub fn culprits(all: &[Late]) -> String {
    let each: Vec<String> = by_culprit(all).iter().map(culprit).collect();
    let (shown, more) = each.split_at(if each.len() > CULPRITS + 1 { CULPRITS } else { each.len() });
    let more = match more {
        [] => String::new(),
        more => details(&plural(more.len() as u64, "other cause", "other causes"), &more.concat()),
    };
    shown.concat() + &more
}

fn culprit(group: &Culprit) -> String {
    let worst = group.late.iter().map(|late| late.latency_ns).max().unwrap_or(0);
    let times = plural(group.late.len() as u64, "wakeup", "wakeups");
    let class = causes::class(group.class);
    let class = if class == group.name { String::new() } else { format!("{class}, ") };
    let heading = format!(
        "<h3>{} <small>{class}{}</small></h3>",
        esc(&group.name),
        prose(&format!("{times}, worst {}", Nanos(worst)))
    );
    let advice = advice(group);
    let of = |late: &&Late| late.sentence.strip_suffix(advice.unwrap_or("")).unwrap_or(&late.sentence).to_owned();
    let items: Vec<String> = group.late.iter().take(MOST_SENTENCES).map(|late| item(late, &of(late))).collect();
    let (shown, more) = items.split_at(items.len().min(SENTENCES));
    let all = group.late.len();
    let what = match all > items.len() {
        true => format!("{} more of {}", more.len(), all - shown.len()),
        false => format!("{} more", more.len()),
    };
    let more = match more {
        [] => String::new(),
        more => details(&what, &format!("<ul>{}</ul>", more.concat())),
    };
    let advice = advice.map(|text| {
        let text = text.trim_start_matches(SEPARATOR);
        format!("<p class=\"note\">{}", prose(&words::capital(text)))
    });
    format!("{heading}<ul>{}</ul>{}{more}", shown.concat(), advice.unwrap_or_default())
}

/// Separates a sentence from its advice.
const SEPARATOR: &str = " — ";

/// Returns the advice at the end of the sentences, if there are several sentences, and all of them end with the same
/// advice.
fn advice<'a>(group: &Culprit<'a>) -> Option<&'a str> {
    let [first, others @ ..] = &group.late[..] else { return None };
    let at = first.sentence.find(SEPARATOR).filter(|_| !others.is_empty())?;
    let advice = first.sentence.get(at..)?;
    others.iter().all(|late| late.sentence.ends_with(advice)).then_some(advice)
}

/// Formats the sentence of a wakeup, and below it the chain of causes.
fn item(late: &Late, sentence: &str) -> String {
    let chain: Vec<String> = late.victim.chain.iter().map(|link| words::stopped(&link.text())).collect();
    format!("<li>{}{}", prose(sentence), list("", &chain))
}

/// Draws the timeline of the first of these wakeups that has one; `which` begins its caption.
pub fn picture(id: &str, which: &str, late: &[&Late]) -> String {
    let Some((late, timeline)) = late.iter().find_map(|late| Some((late, late.timeline?))) else {
        return String::new();
    };
    let chart = timeline::chart(id, late.victim, timeline);
    let caption =
        format!("{which}: {} on {}, {} late", causes::victim(late.victim), late.victim.place(), Nanos(late.latency_ns));
    format!("<div class=\"timeline\">{}</div>", figure(&chart, &caption, "Activity during the delay"))
}
