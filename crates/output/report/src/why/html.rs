use super::{Late, by_culprit, by_load, of_run, shares, stack};
use crate::html::write::{details, esc, figure, list, prose};
use crate::number::plural;
use crate::svg::timeline;
use crate::words::{self, causes};
use punctual_model::Recording;
use punctual_units::Nanos;

/// Number of sentences shown per culprit; the rest is in a collapsed part.
const SENTENCES: usize = 3;

pub fn section(recording: &Recording) -> String {
    let all = of_run(recording);
    if all.is_empty() {
        return String::new();
    }
    let loads = by_load(recording, &all);
    let mut out = culprits(&all);
    out.push_str("<h3>How the delay splits</h3>");
    for (name, late) in &loads {
        let (parts, whole) = shares(late.iter().map(|late| late.victim));
        out.push_str(&stack::bar(&title(name, late, whole), &parts));
    }
    for (n, (name, late)) in loads.iter().enumerate() {
        out.push_str(&picture(&format!("tl{n}"), &format!("under {}", quoted(name)), late));
    }
    out
}

fn quoted(load: &str) -> String {
    format!("`{load}`")
}

fn title(name: &str, late: &[&Late], whole: u64) -> String {
    let worst = late.iter().map(|late| late.latency_ns).max().unwrap_or(0);
    let text =
        format!("{}, {} in all, worst {}", plural(late.len() as u64, "wakeup", "wakeups"), Nanos(whole), Nanos(worst));
    format!("<b>{}</b> {}", esc(name), prose(&text))
}

pub fn culprits(all: &[Late]) -> String {
    let mut out = String::new();
    for group in by_culprit(all) {
        let worst = group.late.iter().map(|late| late.latency_ns).max().unwrap_or(0);
        let times = plural(group.late.len() as u64, "wakeup", "wakeups");
        let class = causes::class(group.class);
        let class = if class == group.name { String::new() } else { format!("{class}, ") };
        out.push_str(&format!(
            "<h3>{} <small>{class}{}</small></h3>",
            esc(&group.name),
            prose(&format!("{times}, worst {}", Nanos(worst)))
        ));
        let items: Vec<String> = group.late.iter().map(|late| item(late)).collect();
        let (shown, more) = items.split_at(items.len().min(SENTENCES));
        out.push_str(&format!("<ul>{}</ul>", shown.concat()));
        if !more.is_empty() {
            out.push_str(&details(&format!("{} more", more.len()), &format!("<ul>{}</ul>", more.concat())));
        }
    }
    out
}

/// The sentence of a wakeup, and the chain behind it.
fn item(late: &Late) -> String {
    let chain: Vec<String> = late.victim.chain.iter().map(|link| words::stopped(&link.text())).collect();
    format!("<li>{}{}", prose(&late.sentence), list("", &chain))
}

/// The timeline of the worst of these wakeups that has one.
pub fn picture(id: &str, place: &str, late: &[&Late]) -> String {
    let Some((late, timeline)) = late.iter().find_map(|late| Some((late, late.timeline?))) else {
        return String::new();
    };
    let chart = timeline::chart(id, late.victim, timeline);
    let caption = format!(
        "The worst wakeup {place}: {} on {}, {} late",
        causes::victim(late.victim),
        late.victim.place(),
        Nanos(late.latency_ns)
    );
    format!("<div class=\"timeline\">{}</div>", figure(&chart, &caption, "What ran meanwhile"))
}
