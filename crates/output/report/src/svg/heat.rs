//! Draws a heat map of the worst wakeup of every CPU under every load, for more CPUs than lines can show. Darker is
//! later.

use super::canvas::{Anchor, Canvas};
use super::form::{Form, both};
use super::{Chart, Table};
use crate::clean;
use crate::figures::Figures;
use crate::number::nanos;
use crate::words;
use punctual_units::CpuId;

/// Number of shades, which are the classes `h0` (best) to `h9` (worst) of the style sheet.
const SHADES: f64 = 10.0;
const LEFT: f64 = 92.0;
const TOP: f64 = 22.0;
const ROW: f64 = 26.0;
const WIDTH: f64 = 1120.0;

pub fn chart(id: &str, figures: &Figures) -> Chart {
    let mut cpus: Vec<CpuId> = figures.cells.iter().map(|c| c.cpu()).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let svg = both(|form| drawing(&form.id(id), form, figures, &cpus));
    let (least, most) = ends(figures);
    let note = format!(
        "From {} (lightest) to {} (darkest), on a logarithmic scale.",
        nanos(Some(least as u64)),
        nanos(Some(most as u64))
    );
    Chart { svg, legend: vec![], table: Table::default(), note: Some(note) }
}

fn ends(figures: &Figures) -> (f64, f64) {
    let all = || figures.cells.iter().filter_map(|c| c.max()).filter(|m| *m > 0).map(|m| m as f64);
    (all().fold(f64::MAX, f64::min), all().fold(1.0, f64::max))
}

fn drawing(id: &str, form: Form, figures: &Figures, cpus: &[CpuId]) -> String {
    let phases = &figures.recording.run.phases;
    let width = form.width(WIDTH);
    let column = ((width - LEFT - 4.0) / cpus.len().max(1) as f64).min(40.0);
    let size = (width, TOP + ROW * phases.len() as f64 + 4.0);
    let description = "One row per load, one field per CPU; the darker, the later its worst wakeup. The figures are in \
                       the table of all CPUs.";
    let mut canvas = Canvas::new(id, size, "Worst wakeup of every CPU under every load", description);
    let (least, most) = ends(figures);
    for (n, cpu) in cpus.iter().enumerate() {
        if n % (22.0 / column).ceil() as usize == 0 {
            let x = LEFT + (n as f64 + 0.5) * column;
            canvas.text("tick", (x, TOP - 7.0), Anchor::Middle, &cpu.to_string());
        }
    }
    for (row, phase) in phases.iter().enumerate() {
        let y = TOP + ROW * row as f64;
        let name = words::phase_name(figures.recording, &phase.id);
        canvas.text("tick", (LEFT - 8.0, y + 17.0), Anchor::End, &clean::clip(&clean::line(&name), 12));
        for cell in figures.of_phase(phase) {
            let Ok(n) = cpus.binary_search(&cell.cpu()) else { continue };
            let Some(max) = cell.max() else { continue };
            let tip = format!("CPU {} under {name}: {}", cell.cpu(), nanos(Some(max)));
            let class = format!("h{}", shade(max as f64, least, most));
            canvas.tipped_rect(&class, (LEFT + n as f64 * column, y), (column - 1.5, ROW - 2.0), Some(&tip));
        }
    }
    canvas.finish()
}

fn shade(max: f64, least: f64, most: f64) -> usize {
    if most <= least {
        return 0;
    }
    let share = (max.max(least) / least).ln() / (most / least).ln();
    ((share * SHADES) as usize).min(SHADES as usize - 1)
}
