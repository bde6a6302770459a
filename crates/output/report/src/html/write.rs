//! Building blocks of HTML. Optional end tags (`td`, `tr`, `li`, …) are omitted: tables make up most of a page.

use crate::clean;
use crate::number::tie;
use crate::svg::{Chart, Table};
use std::fmt::Write;

pub fn esc(text: &str) -> String {
    clean::html(text)
}

/// Formats a sentence that may contain untrusted words: escapes it, shows text between backticks as code, and does not
/// separate numbers from their units.
pub fn prose(text: &str) -> String {
    let safe = unbroken_exponents(&esc(&tie(text)));
    let parts: Vec<&str> = safe.split('`').collect();
    let mut out = String::with_capacity(safe.len());
    for (n, part) in parts.iter().enumerate() {
        let closes = n + 1 < parts.len();
        match n % 2 {
            1 if closes => out.push_str(&format!("<code>{part}</code>")),
            // An unpaired backtick is literal.
            1 => out.push_str(&format!("`{part}")),
            _ => out.push_str(part),
        }
    }
    out
}

/// Prevents a line break in `1e-6`.
fn unbroken_exponents(safe: &str) -> String {
    let is_exponent = |w: &str| {
        let mut parts = w.split("e-");
        let (before, after) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        before.ends_with(|c: char| c.is_ascii_digit()) && after.starts_with(|c: char| c.is_ascii_digit())
    };
    let word = |w: &str| {
        let (bare, space) = w.split_at(w.trim_end_matches([' ', '\u{a0}']).len());
        if is_exponent(bare) { format!("<span class=\"nb\">{bare}</span>{space}") } else { w.to_owned() }
    };
    // Text in code spans is skipped, because the backticks would split the span.
    let part = |(n, p): (usize, &str)| match n % 2 {
        0 => p.split_inclusive([' ', '\u{a0}']).map(word).collect::<String>(),
        _ => p.to_owned(),
    };
    safe.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
}

pub fn list(class: &str, sentences: &[String]) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let items: String = sentences.iter().map(|s| format!("<li>{}", prose(s))).collect();
    format!("<ul class=\"{class}\">{items}</ul>")
}

pub fn facts(rows: &[(&str, Option<String>)]) -> String {
    let row = |(name, value): &(&str, Option<String>)| {
        value.as_ref().map(|v| format!("<div><dt>{}<dd>{}</div>", esc(name), prose(v))).unwrap_or_default()
    };
    format!("<dl class=\"facts\">{}</dl>", rows.iter().map(row).collect::<String>())
}

/// Maximum number of columns that fit a phone; in wider tables each row becomes a card on a phone.
const FITTING: usize = 4;
/// Returns the attribute that prevents a line break in the short name of a row.
pub fn name_class(name: &str) -> &'static str {
    if name.chars().count() <= 16 { " class=\"nb\"" } else { "" }
}

/// Maximum number of columns with normal spacing.
const DENSE: usize = 9;

pub fn table(table: &Table) -> String {
    let cards = table.head.len() > FITTING;
    let dense = if table.head.len() > DENSE { " dense" } else { "" };
    let class = if cards { format!("figures plain cards{dense}") } else { "figures plain".to_owned() };
    let mut out = format!("<div class=\"scroll\"><table class=\"{class}\"><thead><tr>");
    table.head.iter().for_each(|h| out.push_str(&format!("<th scope=\"col\">{}", esc(h))));
    out.push_str("<tbody>");
    for row in &table.rows {
        out.push_str("<tr>");
        for (cell, head) in row.iter().zip(&table.head) {
            // Text may wrap, figures may not.
            let class = if cell.chars().count() > LONGEST_FIGURE { " class=\"t\"" } else { "" };
            let label = if cards { format!(" data-l=\"{}\"", esc(head)) } else { String::new() };
            out.push_str(&format!("<td{class}{label}>{}", esc(cell)));
        }
    }
    out + "</table></div>"
}

/// Maximum number of characters of a figure with its unit and bounds; longer content is text.
const LONGEST_FIGURE: usize = 26;

/// Maximum size of collapsed content that is printed, bytes.
const SHORT: usize = 2_500;

/// Formats a collapsed part that its summary opens. When printed, a short part is open, and a long part is omitted.
pub fn details(summary: &str, content: &str) -> String {
    let class = if content.len() <= SHORT { " class=\"short\"" } else { "" };
    format!("<details{class}><summary>{}</summary>{content}</details>", esc(summary))
}

pub fn figure(chart: &Chart, caption: &str, data: &str) -> String {
    let mut out = format!("<figure><figcaption>{}</figcaption>{}", prose(caption), chart.svg);
    if !chart.legend.is_empty() {
        out.push_str("<ul class=\"legend\">");
        for key in &chart.legend {
            let _ = write!(out, "<li><i class=\"{}\"></i>{}", key.class, esc(&tie(&key.text)));
        }
        out.push_str("</ul>");
    }
    if let Some(note) = &chart.note {
        let _ = write!(out, "<p class=\"note\">{}", prose(note));
    }
    if !chart.table.rows.is_empty() {
        // Collapsed and therefore not printed, because the chart is.
        let _ = write!(out, "<details><summary>{}</summary>{}</details>", esc(data), table(&chart.table));
    }
    out + "</figure>"
}

pub fn section(id: &str, title: &str, content: &str) -> String {
    format!("<section id=\"{id}\"><h2>{title}</h2>{content}</section>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_marked_and_nothing_gets_through() {
        assert_eq!(prose("under `io` & more"), "under <code>io</code> &amp; more");
        assert_eq!(prose("a ` b"), "a ` b");
        assert_eq!(prose("≤ 1e-4; `1e-4`"), "≤\u{a0}<span class=\"nb\">1e-4;</span> <code>1e-4</code>");
        assert_eq!(prose("`<b>`"), "<code>&lt;b&gt;</code>");
    }
}
