//! Formats `punctual references`: all boards, or one.

use crate::text::page::{Page, TextStyle, Tint};
use punctual_references::{Board, Flavour, LoadClass, Published, Quantity};
use punctual_units::Nanos;
use std::collections::BTreeMap;

/// Number of boards listed without `--full`, so that everything fits a terminal of 24 lines.
const BOARDS_SHOWN: usize = 14;

/// Width of the plot, without labels.
const PLOT: usize = 34;

/// Formats the boards with the number and the range of their figures, the boards with the most figures first.
pub fn references_list(boards: &[Board], full: bool, style: TextStyle) -> String {
    let mut page = Page::new(style);
    let figures: usize = boards.iter().map(|board| board.published.len()).sum();
    page.tagged(
        "",
        Tint::Plain,
        &format!("Published worst wakeup latencies: {figures} figures of {} boards, in µs.", boards.len()),
    );
    page.gap();
    page.row(Tint::Strong, &row(["BOARD", "FIGURES", "PREEMPT_RT", "STOCK", "OTHER"].map(str::to_owned)));
    let mut sorted: Vec<&Board> = boards.iter().collect();
    sorted.sort_by_key(|board| std::cmp::Reverse(board.published.len()));
    let shown = if full { sorted.len() } else { sorted.len().min(BOARDS_SHOWN) };
    for board in sorted.iter().take(shown) {
        let of = |wanted: &dyn Fn(Flavour) -> bool| spread(board.published.iter().filter(|p| wanted(p.flavour)));
        page.row(
            Tint::Plain,
            &row([
                board.key.clone(),
                board.published.len().to_string(),
                of(&|flavour| flavour == Flavour::PreemptRt),
                of(&|flavour| flavour == Flavour::Stock),
                of(&|flavour| !matches!(flavour, Flavour::PreemptRt | Flavour::Stock)),
            ]),
        );
    }
    if shown < sorted.len() {
        page.row(Tint::Plain, &format!("… {} more: punctual references --full", sorted.len() - shown));
    }
    page.gap();
    page.tagged(
        "",
        Tint::Plain,
        "OTHER: Xenomai, EVL, RTAI, hypervisors, or not stated. Conditions differ: none of these figures is a limit.",
    );
    page.row(Tint::Plain, "Next   punctual references raspberry-pi-4b   conditions and sources of a board");
    page.finish()
}

fn row([board, figures, rt, stock, other]: [String; 5]) -> String {
    format!("{board:<26} {figures:>7}  {rt:>12}  {stock:>12}  {other:>12}")
}

/// Formats a range, for example `58 to 288`; empty without figures.
fn spread<'p>(entries: impl Iterator<Item = &'p Published>) -> String {
    let mut worst: Vec<f64> = entries.map(|p| p.worst_us).collect();
    worst.sort_by(f64::total_cmp);
    match (worst.first(), worst.last()) {
        (Some(low), Some(high)) if micros(*low) != micros(*high) => format!("{} to {}", micros(*low), micros(*high)),
        (Some(only), _) => micros(*only),
        _ => String::new(),
    }
}

/// Formats microseconds with at most one decimal, and none from 10 on.
fn micros(us: f64) -> String {
    if us >= 9.95 || us.fract() == 0.0 { format!("{us:.0}") } else { format!("{us:.1}") }
}

/// Formats one board: the range by kernel and load as a plot, every figure with its conditions, and the sources.
pub fn references_board(board: &Board, full: bool, style: TextStyle) -> String {
    let mut page = Page::new(style);
    page.tagged("", Tint::Plain, &title(board));
    plot(&mut page, board);
    let sources = sources(board);
    if full {
        entries(&mut page, board);
    } else {
        table(&mut page, board, &sources);
        page.heading("Sources");
        for (n, (source, address)) in sources.iter().enumerate() {
            page.tagged(&format!("  [{}] ", n + 1), Tint::Plain, &format!("{source}, {address}"));
        }
    }
    if !board.notes.is_empty() {
        page.heading("Notes");
        board
            .notes
            .iter()
            .for_each(|note| page.tagged("  - ", Tint::Plain, &format!("{} ({})", note.text, note.source)));
    }
    page.gap();
    page.tagged("", Tint::Plain, "Other people's measurements under their conditions: none of them is a limit.");
    if !full {
        let next = format!("Next   punctual references {} --full   options, notes, quotes", board.key);
        page.row(Tint::Plain, &next);
    }
    page.finish()
}

/// Formats a title: `Raspberry Pi 4 Model B (BCM2711, 4 × Cortex-A72): 22 published figures`.
fn title(board: &Board) -> String {
    let cores = board.core.as_ref().map(|core| board.cpus.map_or(core.clone(), |n| format!("{n} × {core}")));
    let parts: Vec<String> = board.soc.iter().cloned().chain(cores).collect();
    let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    let number = crate::number::plural(board.published.len() as u64, "published figure", "published figures");
    format!("{}{parts}: {number}", board.name)
}

/// A row of the plot: kind of kernel, whether the task is in the kernel, series, class of the load.
type Group = (Flavour, bool, Option<(u32, u32)>, LoadClass);

fn group(p: &Published) -> Group {
    let series = p.series().and_then(|series| {
        let (major, minor) = series.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    (p.flavour, p.quantity != Quantity::Wakeup, series, p.load_class())
}

fn label((flavour, in_kernel, series, load): Group) -> String {
    let series = series.map(|(major, minor)| format!(" {major}.{minor}")).unwrap_or_default();
    let kernel = if in_kernel { " task in kernel" } else { "" };
    format!("{}{series}{kernel}, {}", flavour.name(), load.name())
}

fn plot(page: &mut Page, board: &Board) {
    let mut groups: BTreeMap<Group, Vec<f64>> = BTreeMap::new();
    board.published.iter().for_each(|p| groups.entry(group(p)).or_default().push(p.worst_us));
    let all = board.published.iter().map(|p| p.worst_us.log10());
    let first = all.clone().fold(f64::MAX, f64::min).floor();
    let last = all.fold(f64::MIN, f64::max).ceil().max(first + 1.0);
    let column = |us: f64| (((us.log10() - first) / (last - first)) * (PLOT - 1) as f64).round().max(0.0) as usize;
    let mut axis = [' '; PLOT + 6];
    for decade in first as i32..=last as i32 {
        let at = column(10f64.powi(decade));
        let text = format!("{}", 10f64.powi(decade));
        text.chars().enumerate().for_each(|(n, c)| {
            if let Some(place) = axis.get_mut(at + n) {
                *place = c
            }
        });
    }
    page.gap();
    let wide = groups.keys().map(|group| label(*group).chars().count()).max().unwrap_or(0);
    page.row(Tint::Strong, &format!("{:<wide$}  {}", "WORST, µs (logarithmic)", axis.iter().collect::<String>()));
    for (group, worst) in groups {
        let mut line = [' '; PLOT];
        let (low, high) = worst.iter().fold((PLOT, 0), |(low, high), us| (low.min(column(*us)), high.max(column(*us))));
        line.iter_mut().take(high).skip(low).for_each(|place| *place = '─');
        worst.iter().for_each(|us| {
            if let Some(place) = line.get_mut(column(*us)) {
                *place = '•'
            }
        });
        let text: String = line.iter().collect();
        page.row(Tint::Plain, &format!("{:<wide$}  {text}  {}", label(group), spread_of(&worst)));
    }
}

fn spread_of(worst: &[f64]) -> String {
    let low = worst.iter().copied().fold(f64::MAX, f64::min);
    let high = worst.iter().copied().fold(f64::MIN, f64::max);
    if micros(low) == micros(high) { micros(low) } else { format!("{} to {}", micros(low), micros(high)) }
}

/// Returns the sources with their repository or page, in the order of their first figure.
fn sources(board: &Board) -> Vec<(&str, &str)> {
    let mut all = Vec::new();
    for p in &board.published {
        if !all.contains(&of(p)) {
            all.push(of(p));
        }
    }
    all
}

fn of(p: &Published) -> (&str, &str) {
    let url = p.url.as_deref().unwrap_or("not published");
    // A file of a repository is shown without its path.
    let place =
        if url.starts_with("http") { url } else { url.split_once(", ").map_or(url, |(repository, _)| repository) };
    (&p.source, place)
}

fn sorted(board: &Board) -> Vec<&Published> {
    let mut all: Vec<&Published> = board.published.iter().collect();
    all.sort_by(|a, b| group(a).cmp(&group(b)).then(a.worst_us.total_cmp(&b.worst_us)));
    all
}

fn table(page: &mut Page, board: &Board, sources: &[(&str, &str)]) {
    page.gap();
    page.row(Tint::Strong, &line("WORST", "KERNEL", "LOAD", "MEASURED", "SRC"));
    for p in sorted(board) {
        let worst = format!("{}{} µs", if p.approximate { "~" } else { "" }, micros(p.worst_us));
        let kernel = format!("{} {}", p.flavour.name(), p.kernel.as_deref().unwrap_or_default());
        let source = 1 + sources.iter().position(|one| *one == of(p)).unwrap_or(0);
        let load = p.load.as_deref().unwrap_or("not stated");
        page.row(Tint::Plain, &line(&worst, &kernel, load, &measured(p), &format!("[{source}]")));
    }
}

fn line(worst: &str, kernel: &str, load: &str, measured: &str, source: &str) -> String {
    let cell = |text: &str, wide: usize| format!("{:<wide$}", crate::clean::clip(text, wide));
    format!("{worst:>9}  {} {} {} {source}", cell(kernel, 23), cell(load, 18), cell(measured, 22))
}

/// Formats the length of a measurement: `cyclictest 15 min`, `cyclictest 10,000×`.
fn measured(p: &Published) -> String {
    let length = match (p.duration_s, p.samples) {
        (Some(seconds), _) => Nanos::from_secs(seconds).to_string(),
        (None, Some(samples)) => format!("{}×", crate::number::count(samples)),
        (None, None) => "length?".to_owned(),
    };
    format!("{} {length}", p.tool.as_deref().unwrap_or("tool?"))
}

/// Formats every figure with all details from its source.
fn entries(page: &mut Page, board: &Board) {
    for p in sorted(board) {
        page.gap();
        page.tagged("", Tint::Plain, &super::headline(p));
        for (name, text) in [
            ("preemption", &p.preempt),
            ("tuning", &p.tuning),
            ("date", &p.date),
            ("source", &Some(p.source.clone())),
            ("", &p.url),
            ("quote", &p.quote),
            ("note", &p.note),
        ] {
            if let Some(text) = text {
                page.tagged(&format!("  {name:<11}"), Tint::Plain, text);
            }
        }
    }
}
