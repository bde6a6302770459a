use super::words::{boards, contrast, headline, method, outlier, settings, too_few};
use crate::html::document;
use crate::html::write::{esc, list, table};
use punctual_model::Fleet;

/// Formats a fleet as a self-contained HTML file: the boards, outliers, effects of kernels and settings.
pub fn fleet_html(fleet: &Fleet) -> String {
    let contrasts: Vec<String> = fleet.contrasts.iter().filter_map(contrast).collect();
    let doubtful: Vec<String> = fleet.doubtful.iter().map(|(run, why)| format!("{run}: {why}")).collect();
    let outliers: Vec<String> = fleet.outliers.iter().map(outlier).collect();
    let too_few: Vec<String> = fleet.too_few.iter().map(too_few).collect();
    let sections = [
        ("outliers", "Outliers", outliers),
        ("boards", "Boards, worst wakeup first", Vec::new()),
        ("contrasts", "By kernel and settings", contrasts),
        ("too-few", "Too few boards to judge", too_few),
        ("settings", "Settings", settings(fleet)),
        ("doubtful", "Without usable figures", doubtful),
        ("method", "Method", method(fleet)),
    ];
    let content = |id: &str, said: &[String]| match id {
        "boards" => table(&boards(fleet)),
        // Backticks are markup in HTML.
        _ => list("", &said.iter().map(|one| one.replace('`', "'")).collect::<Vec<_>>()),
    };
    let front = format!(
        "<header><p class=\"what\">Wakeup latency of many boards</p><h1>{}</h1></header>\n",
        esc(&headline(fleet))
    );
    let sections = sections.map(|(id, title, said)| (id, title.to_owned(), content(id, &said)));
    document("Fleet: wakeup latency", &front, &sections, "")
}
