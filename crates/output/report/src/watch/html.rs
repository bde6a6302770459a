use super::text::{
    about_application, columns, headline, late_by, late_sentence, newest, newest_late, not_measured, said, sentence,
    settings,
};
use crate::date::utc;
use crate::html::document;
use crate::html::write::{esc, figure, list, table};
use crate::number::{count, nanos};
use crate::svg::{Table, watch};
use punctual_model::{WatchBlock, WatchLine, Watched};

const MOST: usize = 200;

/// Formats a watch series as a self-contained HTML file: OSADL's long-term view, the largest latencies by CPU, every
/// new maximum with its cause, and gaps in the measurement.
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
    let watch = &watched.watch;
    let app = watch.application.iter().flat_map(about_application).chain(late_by(watched));
    let app: Vec<String> = app.map(|one| harmless(&one)).collect();
    let late: Vec<String> = newest_late(watched).take(MOST).map(|one| harmless(&late_sentence(one))).collect();
    let application = match (&app[..], &late[..]) {
        ([], []) => String::new(),
        _ => list("", &app) + &list("", &late),
    };
    let sections = [
        ("series", "Over time", chart.unwrap_or_default()),
        ("figures", "Largest latencies", table(&by_cpu(watched))),
        ("maxima", "New maxima, newest first", list("", &maxima)),
        ("application", "Application: moments at which it was late, newest first", application),
        ("notes", "Gaps and other events", list("", &gaps)),
        ("method", "Method", list("", &said)),
    ];
    let host = watch.host.as_ref().map(|host| format!(" of {host}")).unwrap_or_default();
    let front = format!(
        "<header><p class=\"what\">{}</p><h1>{}</h1></header>\n",
        esc(&settings(watch)),
        esc(&headline(watched))
    );
    let sections = sections.map(|(id, title, content)| (id, title.to_owned(), content));
    document(&format!("Watch{host}"), &front, &sections, "")
}

/// Replaces backticks, which are markup in HTML.
fn harmless(text: &str) -> String {
    text.replace('`', "'")
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
