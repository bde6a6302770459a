//! Draws one histogram per CPU above a common axis.

use super::canvas::{BOLD, COUNT, Canvas, DIM, LATE, WARN};
use super::scale::Scale;
use super::text::latency;
use crate::snapshot::{CpuView, Snapshot};

const MARGIN: u16 = 6;
const BLOCKS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/// Characters for the top of a column without Unicode block characters: a dot below half a line, a colon above.
const LETTERS: [&str; 9] = [" ", ".", ".", ".", ".", ":", ":", ":", "|"];

/// Draws the histograms from line `top` up to but not including line `bottom`.
pub(super) fn draw(snapshot: &Snapshot, cpus: &[&CpuView], canvas: &mut Canvas, top: u16, bottom: u16) {
    let (width, _) = canvas.size();
    let columns = width.saturating_sub(MARGIN + 1);
    let lines = bottom.saturating_sub(top).saturating_sub(2);
    let cpus_shown = u16::try_from(cpus.len()).unwrap_or(u16::MAX);
    if columns == 0 || cpus_shown == 0 || lines < cpus_shown {
        return;
    }
    let scale = Scale::of(snapshot, cpus, columns);
    let tallest = cpus.iter().flat_map(|view| heights(view, scale, columns)).max().unwrap_or(0);
    let each = lines / cpus_shown;
    let mut y = top + lines % cpus_shown;
    for view in cpus {
        // Histograms of more than three lines are separated by a blank line.
        let gap = u16::from(each > 3);
        one(snapshot, view, canvas, (y + gap, each - gap), scale, tallest);
        y += each;
    }
    axis(snapshot, canvas, y, scale, columns);
}

fn heights(view: &CpuView, scale: Scale, columns: u16) -> Vec<u64> {
    let mut heights = vec![0u64; usize::from(columns)];
    for bin in &view.bins {
        if let Some(height) = scale.column(bin.low).and_then(|column| heights.get_mut(usize::from(column))) {
            *height = height.saturating_add(bin.count);
        }
    }
    heights
}

fn one(snapshot: &Snapshot, view: &CpuView, canvas: &mut Canvas, (y, lines): (u16, u16), scale: Scale, tallest: u64) {
    let (width, _) = canvas.size();
    let columns = width.saturating_sub(MARGIN + 1);
    let deadline = snapshot.deadline.and_then(|d| scale.column(d.0));
    let floor = y + lines.saturating_sub(1);
    canvas.put(0, floor, &format!("{:>5}", view.cpu.to_string()), BOLD);
    let symbols = if canvas.looks.unicode { BLOCKS } else { LETTERS };
    let (wall, room) = (if canvas.looks.unicode { "│" } else { "|" }, usize::from(lines) * 8);
    for (column, &n) in (0..columns).zip(&heights(view, scale, columns)) {
        let mut eighths = eighths(n, tallest, room);
        let late = deadline.is_some_and(|deadline| column >= deadline);
        for up in 0..lines {
            let full = eighths.min(8);
            eighths -= full;
            let (symbol, look) = match symbols.get(full) {
                Some(symbol) if full > 0 => (*symbol, if late { LATE } else { COUNT }),
                _ if deadline == Some(column) => (wall, LATE),
                _ => continue,
            };
            canvas.put(MARGIN + column, floor.saturating_sub(up), symbol, look);
        }
    }
}

/// Returns the height of a column in eighths of a line, on a logarithmic scale: at least an eighth for one wakeup, the
/// full height for the maximum.
fn eighths(n: u64, tallest: u64, room: usize) -> usize {
    if n == 0 {
        return 0;
    }
    let of = |n: u64| (n as f64 + 1.0).ln();
    let height = (of(n) / of(tallest.max(n)) * room as f64).round() as usize;
    height.clamp(1, room.max(1))
}

fn axis(snapshot: &Snapshot, canvas: &mut Canvas, y: u16, scale: Scale, columns: u16) {
    let (line, tick) = if canvas.looks.unicode { ("─", "┴") } else { ("-", "+") };
    canvas.put(MARGIN, y, &line.repeat(columns.into()), DIM);
    let (width, _) = canvas.size();
    let mut free = 0;
    // Powers of ten are placed first. If the axis is wide, multiples by 2 and 5 fill the remaining space.
    let decades = scale.ticks().filter(|(_, ns)| ns.to_string().starts_with('1'));
    let wide = scale.ticks().count() * 9 <= usize::from(columns);
    let ticks: Vec<_> = if wide { scale.ticks().collect() } else { decades.collect() };
    for (column, ns) in ticks {
        let at = MARGIN + column;
        canvas.put(at, y, tick, DIM);
        let text = short(ns, canvas);
        let length = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
        if at >= free && at.saturating_add(length) <= width {
            canvas.put(at, y + 1, &text, DIM);
            free = at.saturating_add(length + 1);
        }
    }
    if let Some(at) = snapshot.deadline.and_then(|d| scale.column(d.0)) {
        canvas.put(MARGIN + at, y, if canvas.looks.unicode { "┼" } else { "!" }, WARN);
    }
}

/// Formats a latency without trailing zeros, for example `1 ms` instead of `1.00 ms`.
fn short(ns: u64, canvas: &Canvas) -> String {
    let text = latency(Some(ns), canvas.looks);
    match text.split_once(' ') {
        Some((figure, unit)) if figure.contains('.') => {
            format!("{} {unit}", figure.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wakeup_can_be_seen_and_the_most_fill_the_room() {
        assert_eq!((eighths(0, 9, 16), eighths(1, 1_000_000, 16), eighths(1_000_000, 1_000_000, 16)), (0, 1, 16));
        assert_eq!((eighths(u64::MAX, u64::MAX, 8), eighths(5, 0, 8), eighths(3, 3, 0)), (8, 8, 1));
    }
}
