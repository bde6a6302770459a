use super::words::{name, of_series, sentences, settings, warnings};
use super::{kernel, short, when};
use crate::clean::clip;
use crate::text::TextStyle;
use crate::text::page::{Page, Tint};
use crate::words::capital;
use punctual_model::history::{Figure, History, HistoryGroup, HistorySeries, RunSummary};
use punctual_units::Nanos;

/// Maximum number of runs listed per group; the most recent runs are listed.
const MOST_RUNS: usize = 40;
const COLUMN: usize = 11;
/// Width in columns of the fields before the figures: time, ID and kernel.
const FIXED: usize = 2 + 17 + 11 + 22;

/// Formats a history for a terminal: findings, then runs and sparklines for each machine and settings. The text ends in
/// a newline.
pub fn history_text(history: &History, style: TextStyle) -> String {
    let mut page = Page::new(style);
    for sentence in sentences(history) {
        page.tagged("", Tint::Plain, &capital(&sentence));
    }
    for group in &history.groups {
        // The first figure for which at least one run is long enough.
        let has = |f: &&Figure| group.series.iter().any(|s| s.figure == **f && !s.points.is_empty());
        let figure = history.figures.iter().find(has).or(history.figures.first());
        of_group(&mut page, group, figure.copied().unwrap_or(Figure::Max));
    }
    page.finish()
}

fn of_group(page: &mut Page, group: &HistoryGroup, figure: Figure) {
    page.heading(&group.machine);
    page.tagged("", Tint::Plain, &settings(group));
    warnings(group).iter().for_each(|w| page.tagged("! ", Tint::Warn, w));
    table(page, group, figure);
    page.gap();
    for series in &group.series {
        let tint = if !series.shifts.is_empty() { Tint::Warn } else { Tint::Plain };
        if let Some(line) = sparkline(series, page.width().saturating_sub(50).clamp(16, 80)) {
            page.tagged("  ", tint, &format!("{}  {line}", name(series).replace('`', "")));
        }
        of_series(series).iter().for_each(|s| page.tagged("    ", tint, &capital(s)));
    }
}

fn table(page: &mut Page, group: &HistoryGroup, figure: Figure) {
    let mut loads: Vec<&str> = Vec::new();
    group.series.iter().for_each(|s| {
        if !loads.contains(&s.load.as_str()) {
            loads.push(&s.load)
        }
    });
    let fits = page.width().saturating_sub(FIXED) / COLUMN;
    let apart = loads.len() <= fits.max(1);
    let mut head = format!("  {:<17}{:<11}{:<22}", "started (UTC)", "run", "kernel");
    match apart {
        true => {
            loads.iter().for_each(|load| head += &format!("{:>COLUMN$}", clip(load, COLUMN - 1)));
            page.row(Tint::Plain, &format!("  {figure} of each run and load, on the CPU where it is largest:"));
        }
        false => head += &format!("{:>COLUMN$}  under", format!("{figure}")),
    }
    page.row(Tint::Strong, &head);
    let hidden = group.runs.len().saturating_sub(MOST_RUNS);
    if hidden > 0 {
        page.row(Tint::Plain, &format!("  … {hidden} earlier runs"));
    }
    for run in group.runs.iter().skip(hidden) {
        let shifted = group.series.iter().flat_map(|s| &s.shifts).any(|s| s.run == run.id);
        let mark = if shifted { "> " } else { "  " };
        let figures = if apart { each(run, &loads, figure) } else { largest(run, &loads, figure) };
        let text =
            format!("{mark}{:<17}{:<11}{:<22}{figures}", when(run.started_ns), short(&run.id), clip(kernel(run), 21));
        let incomplete = if run.complete { "" } else { "  incomplete" };
        page.row(if shifted { Tint::Warn } else { Tint::Plain }, &(text + incomplete));
    }
}

fn each(run: &RunSummary, loads: &[&str], figure: Figure) -> String {
    let shown = |load: &&str| run.figure(load, figure).map_or("-".into(), |ns| Nanos(ns).to_string());
    loads.iter().map(|load| format!("{:>COLUMN$}", shown(load))).collect()
}

fn largest(run: &RunSummary, loads: &[&str], figure: Figure) -> String {
    let all = loads.iter().filter_map(|load| Some((run.figure(load, figure)?, *load)));
    match all.max_by_key(|(ns, _)| *ns) {
        Some((ns, load)) => format!("{:>COLUMN$}  {}", Nanos(ns).to_string(), clip(load, 16)),
        None => format!("{:>COLUMN$}", "-"),
    }
}

/// Draws the most recent points on a logarithmic scale from minimum to maximum; `None` for fewer than two.
fn sparkline(series: &HistorySeries, most: usize) -> Option<String> {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let hidden = series.points.len().saturating_sub(most);
    let shown = || series.points.iter().skip(hidden).map(|p| p.ns.max(1));
    let (low, high) = (shown().min()?, shown().max()?);
    if series.points.len() < 2 {
        return None;
    }
    let range = (high as f64 / low as f64).ln();
    // A range of less than 5 % is not magnified.
    let range = range.max(1.05f64.ln());
    let bar = |ns: u64| {
        let share = (ns as f64 / low as f64).ln() / range;
        BARS.get((share * 7.999) as usize).copied().unwrap_or('█')
    };
    let line: String = shown().map(bar).collect();
    Some(format!("{line}  {} – {}", Nanos(low), Nanos(high)))
}
