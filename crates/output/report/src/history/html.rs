use super::chart::chart;
use super::words::{alarms, name, of_series, sentences, settings, warnings};
use crate::html::document;
use crate::html::write::{figure, list, prose};
use crate::words::capital;
use punctual_model::history::{History, HistoryGroup};

/// Formats a history as a self-contained HTML file: findings, then a chart per figure for each machine and settings.
pub fn history_html(history: &History) -> String {
    let said: Vec<String> = sentences(history).iter().map(|s| capital(s)).collect();
    let ids: Vec<String> = (0..history.groups.len()).map(|n| format!("g{n}")).collect();
    let groups = history.groups.iter().zip(&ids).enumerate();
    let mut sections: Vec<(&str, String, String)> =
        groups.map(|(n, (group, id))| (id.as_str(), group.machine.clone(), of_group(n, group))).collect();
    sections.push(("method", "Method".into(), method(history)));
    let front = format!(
        "<header><p class=\"what\">Wakeup latency, run by run</p><h1>History</h1>{}</header>\n",
        list("warnings", &said)
    );
    document("History of wakeup latency", &front, &sections, "")
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
    content
}

fn method(history: &History) -> String {
    format!(
        "<p>{}",
        prose(&format!(
            "One run is one sample, and the worst CPU of each run and load counts. Runs are compared only where machine, \
             clock and settings are the same; the maximum, which grows with the time measured, only where that is the same too. \
             Every series is watched as if it were examined after each run: each run's rank among the earlier ones of its level, \
             corrected for the influence of the previous run, is summed (a self-starting CUSUM of the residuals of an AR(1)), with {}. A \
             level is estimated from {} runs; after a shift, a new level is estimated.",
            alarms(history),
            punctual_stats::LEARNT
        ))
    )
}
