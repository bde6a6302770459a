use super::Share;
use crate::html::write::{esc, prose};
use crate::number::percent;
use crate::svg::timeline::colour;
use punctual_units::Nanos;

/// A bar for the whole delay, with its parts named below; `title` is HTML.
pub fn bar(title: &str, shares: &[Share]) -> String {
    if shares.is_empty() {
        return String::new();
    }
    let told: Vec<String> = shares.iter().map(told).collect();
    let parts: String = shares
        .iter()
        .zip(&told)
        .map(|(share, told)| {
            let width = (share.share * 100.0).clamp(0.0, 100.0);
            format!("<i class=\"{}\" style=\"flex-grow:{width:.2}\" title=\"{}\"></i>", colour(share.class), esc(told))
        })
        .collect();
    let keys: String = shares
        .iter()
        .zip(&told)
        .map(|(share, told)| format!("<li><i class=\"{}\"></i>{}", colour(share.class), prose(told)))
        .collect();
    format!(
        "<div class=\"split\"><p>{title}</p><div class=\"stack\" role=\"img\" aria-label=\"{}\">{parts}</div>\
         <ul class=\"legend\">{keys}</ul></div>",
        esc(&told.join("; "))
    )
}

/// `multipathd (RR 99, pid 195): 33.2 ms, 97 %`
fn told(share: &Share) -> String {
    let class = crate::words::causes::class(share.class);
    let class =
        if share.name == class || share.name.ends_with(" others") { String::new() } else { format!(", {class}") };
    format!("{}: {}, {}{class}", share.name, Nanos(share.ns), percent(share.share))
}
