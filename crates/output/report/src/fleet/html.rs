use super::words::{boards, contrast, headline, method, outlier, settings, too_few};
use crate::html::head;
use crate::html::write::{esc, list, section, table};
use punctual_model::Fleet;

pub fn fleet_html(fleet: &Fleet) -> String {
    let mut body = section("boards", "Boards, worst wakeup first", &table(&boards(fleet)));
    body += &part("outliers", "Outliers", fleet.outliers.iter().map(outlier));
    body += &part("too-few", "Too few boards to judge", fleet.too_few.iter().map(too_few));
    body += &part("contrasts", "By kernel and settings", fleet.contrasts.iter().filter_map(contrast));
    body += &part("settings", "Settings", settings(fleet).into_iter());
    body +=
        &part("doubtful", "Without usable figures", fleet.doubtful.iter().map(|(run, why)| format!("{run}: {why}")));
    body += &part("method", "Method", method(fleet).into_iter());
    format!(
        "{}<header><p class=\"what\">Wakeup latency of many boards</p><h1>{}</h1></header>\n{body}</body></html>\n",
        head("Fleet: wakeup latency"),
        esc(&headline(fleet)),
    )
}

fn part(id: &str, title: &str, sentences: impl Iterator<Item = String>) -> String {
    // Backticks are markup here.
    let all: Vec<String> = sentences.map(|sentence| sentence.replace('`', "'")).collect();
    if all.is_empty() { String::new() } else { section(id, title, &list("", &all)) }
}
