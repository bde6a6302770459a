use super::chart::chart;
use super::words::{alarms, name, of_series, sentences, settings, warnings};
use crate::html::head;
use crate::html::write::{esc, figure, list, prose, section};
use crate::words::capital;
use punctual_model::history::{History, HistoryGroup};

/// A history as a self-contained HTML file without script: findings, then a chart per figure for each machine and
/// settings.
pub fn history_html(history: &History) -> String {
    let said: Vec<String> = sentences(history).iter().map(|s| capital(s)).collect();
    let groups: String = history.groups.iter().enumerate().map(|(n, g)| of_group(n, g)).collect();
    format!(
        "{}<header><p class=\"what\">Wakeup latency, run by run</p><h1>History</h1>{}</header>\n{groups}{}</body></html>\n",
        head("History of wakeup latency"),
        list("warnings", &said),
        section("method", "Method", &method(history)),
    )
}

fn of_group(n: usize, group: &HistoryGroup) -> String {
    let mut content = format!("<p class=\"measured\">{}</p>", prose(&settings(group)));
    content += &list("warnings", &warnings(group));
    for (k, series) in group.series.iter().enumerate() {
        let Some(chart) = chart(&format!("g{n}s{k}"), series) else { continue };
        content += &figure(&chart, &name(series), "Every run");
        let said: Vec<String> = of_series(series).iter().map(|s| capital(s)).collect();
        content += &list("", &said);
    }
    section(&format!("g{n}"), &esc(&group.machine), &content)
}

fn method(history: &History) -> String {
    format!(
        "<p>{}",
        prose(&format!(
            "One run is one sample, and of each run and load the CPU that is latest counts. Runs are compared only where machine, \
             clock and settings are the same; the maximum, which grows with the time measured, only where that is the same too. \
             Every series is watched as if it were looked at after each run: each run's rank among the earlier ones of its level, \
             after what follows from the run before, is added up (a self-starting CUSUM of the residuals of an AR(1)), with {}. A \
             level is learnt from {} runs; after a shift the next one is.",
            alarms(history),
            punctual_stats::LEARNT
        ))
    )
}
