use super::{Culprit, Share};
use crate::html::write::{esc, prose};
use crate::number::percent;
use crate::svg::timeline::colour;
use crate::words::causes;
use punctual_model::Class;
use punctual_units::Nanos;

/// A part of a bar: its length in an arbitrary unit, and its text.
struct Part {
    class: Class,
    length: f64,
    text: String,
}

/// Draws a bar for the total delay, with its parts named below; `title` is HTML.
pub fn of_delay(title: &str, shares: &[Share]) -> String {
    let part = |share: &Share| Part {
        class: share.class,
        length: (share.share * 100.0).clamp(0.0, 100.0),
        text: format!(
            "{}: {}, {}{}",
            share.name,
            Nanos(share.ns),
            percent(share.share),
            class_beside(share.class, &share.name)
        ),
    };
    bar(title, &shares.iter().map(part).collect::<Vec<_>>())
}

/// Draws a bar for a number of late wakeups, by the class of the main cause of each; `title` is HTML.
pub fn of_wakeups(title: &str, groups: &[Culprit]) -> String {
    let mut classes: Vec<(Class, Vec<&Culprit>)> = Vec::new();
    for group in groups {
        match classes.iter_mut().find(|(class, _)| *class == group.class) {
            Some((_, all)) => all.push(group),
            None => classes.push((group.class, vec![group])),
        }
    }
    let number = |groups: &[&Culprit]| groups.iter().map(|group| group.late.len()).sum::<usize>();
    let all: usize = classes.iter().map(|(_, groups)| number(groups)).sum();
    classes.sort_by_key(|(_, groups)| std::cmp::Reverse(number(groups)));
    let part = |(class, groups): &(Class, Vec<&Culprit>)| Part {
        class: *class,
        length: number(groups) as f64,
        text: format!("{}: {} of {all}{}", causes::class(*class), number(groups), named(*class, groups)),
    };
    bar(title, &classes.iter().map(part).collect::<Vec<_>>())
}

/// Names the most frequent culprit if its name is more specific than the class. Policy and PID are omitted, because
/// they vary.
fn named(class: Class, groups: &[&Culprit]) -> String {
    let mut names: Vec<(&str, usize)> = Vec::new();
    for group in groups {
        let name = group.name.split(" (").next().unwrap_or_default();
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, n)) => *n += group.late.len(),
            None => names.push((name, group.late.len())),
        }
    }
    let all: usize = names.iter().map(|(_, n)| n).sum();
    names.retain(|(name, _)| *name != causes::class(class));
    match names.iter().max_by_key(|(_, n)| *n) {
        Some((name, n)) if *n == all => format!(" ({name})"),
        Some((name, n)) => format!(", {n} of them {name}"),
        None => String::new(),
    }
}

fn class_beside(class: Class, name: &str) -> String {
    let class = causes::class(class);
    if name == class || name.ends_with(" others") { String::new() } else { format!(", {class}") }
}

fn bar(title: &str, parts: &[Part]) -> String {
    if parts.is_empty() {
        return String::new();
    }
    let piece = |part: &Part| {
        let Part { class, length, text } = part;
        format!("<i class=\"{}\" style=\"flex-grow:{length:.2}\" title=\"{}\"></i>", colour(*class), esc(text))
    };
    let key = |part: &Part| format!("<li><i class=\"{}\"></i>{}", colour(part.class), prose(&part.text));
    let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    format!(
        "<div class=\"split\"><p>{title}</p><div class=\"stack\" role=\"img\" aria-label=\"{}\">{}</div>\
         <ul class=\"legend\">{}</ul></div>",
        esc(&texts.join("; ")),
        parts.iter().map(piece).collect::<String>(),
        parts.iter().map(key).collect::<String>()
    )
}
