use super::text::{columns, headline, newest, not_measured, said, sentence, settings};
use crate::date::utc;
use crate::html::head;
use crate::html::write::{esc, figure, list, section, table};
use crate::number::{count, nanos};
use crate::svg::{Table, watch};
use punctual_model::{WatchBlock, WatchLine, Watched};

const MOST: usize = 200;

/// A watch series as a self-contained HTML file without script: OSADL's long-term view, the largest latencies by CPU,
/// every new maximum with its cause, and gaps in measuring.
pub fn watch_html(watched: &Watched) -> String {
    let blocks: Vec<&WatchBlock> = watched
        .lines
        .iter()
        .filter_map(|line| match line {
            WatchLine::Block(block) => Some(block),
            _ => None,
        })
        .chain(&watched.watch.block)
        .collect();
    let chart =
        watch::chart("maxima", &blocks).map(|chart| figure(&chart, "Largest latency of every block", "Every block"));
    let maxima: Vec<String> = newest(watched).take(MOST).map(|one| harmless(&sentence(one))).collect();
    let gaps: Vec<String> = not_measured(watched).into_iter().take(MOST).map(|one| harmless(&one)).collect();
    let said: Vec<String> = said(watched).iter().map(|one| harmless(one)).collect();
    let mut body = section("figures", "Largest latencies", &table(&by_cpu(watched)));
    body += &chart
        .map(|chart| section("series", "Over time", &format!("<div class=\"wide\">{chart}</div>")))
        .unwrap_or_default();
    body += &part("maxima", "New maxima, newest first", &maxima);
    body += &part("notes", "Gaps and other events", &gaps);
    body += &part("method", "Method", &said);
    let host = watched.watch.host.as_deref().unwrap_or("an unnamed machine");
    format!(
        "{}<header><p class=\"what\">{}</p><h1>{}</h1></header>\n{body}</body></html>\n",
        head(&format!("Watch of {host}")),
        esc(&settings(&watched.watch)),
        esc(&headline(watched)),
    )
}

/// Backticks are markup here.
fn harmless(text: &str) -> String {
    text.replace('`', "'")
}

fn part(id: &str, title: &str, sentences: &[String]) -> String {
    if sentences.is_empty() { String::new() } else { section(id, title, &list("", sentences)) }
}

fn by_cpu(watched: &Watched) -> Table {
    let columns = columns(&watched.watch);
    let mut names = vec!["CPU".to_owned()];
    names.extend(columns.iter().map(|(name, _)| name.clone()));
    names.extend(["ever", "when", "periods", "missed"].map(String::from));
    let row = |cpu: &punctual_model::WatchCpu| {
        let mut row = vec![cpu.cpu.to_string()];
        row.extend(columns.iter().map(|(_, within)| nanos(watched.max_within(cpu.cpu, *within))));
        row.push(nanos(cpu.ever.as_ref().map(|ever| ever.latency_ns)));
        row.push(cpu.ever.as_ref().map_or_else(|| "–".into(), |ever| utc(ever.real_ns)));
        row.extend([count(cpu.released), count(cpu.skipped)]);
        row
    };
    Table { head: names, rows: watched.watch.cpus.iter().map(row).collect() }
}
