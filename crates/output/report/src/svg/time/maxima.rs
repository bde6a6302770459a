//! The maxima of the blocks of a long run, which show whether it became worse.

use super::data::History;
use super::panel::Panel;
use super::{LEFT, RIGHT, TOP, legend, marks, range, table, time_axis};
use crate::figures::Figures;
use crate::svg::Chart;
use crate::svg::axis::{Scale, nice_above, nice_below};
use crate::svg::canvas::Canvas;
use crate::svg::frame::Area;
use crate::words;
use punctual_units::CpuId;

const WIDTH: f64 = super::WIDTH;
const HEIGHT: f64 = 130.0;

/// `None` if the run has too few blocks. `limits` are the claimed ones, ns.
pub fn chart(id: &str, figures: &Figures, picked: &[CpuId], limits: &[f64]) -> Option<Chart> {
    let history = History::of_blocks(figures, picked)?;
    let x = Scale::linear(history.from as f64, history.to as f64, (LEFT, RIGHT));
    let lines = history.latency_lines(picked);
    let (least, most) = range(&lines);
    let area = Area { left: LEFT, top: TOP, right: RIGHT, bottom: TOP + HEIGHT };
    let px = (area.bottom, area.top);
    let scale = match most / least.max(1.0) > 25.0 {
        true => Scale::log(nice_below(least), nice_above(most * 1.05), px),
        false => Scale::linear(0.0, most * 1.1, px),
    };
    let description =
        "The worst wakeup latency of every block, one step line per CPU; a block is drawn as long as it lasted.";
    let size = (WIDTH, area.bottom + 50.0);
    let mut canvas = Canvas::new(id, size, "Maxima of blocks over time", description);
    marks::phases(&mut canvas, figures, &x, (TOP, area.bottom));
    let panel = Panel { name: "worst wakeup".into(), area, scale, lines };
    panel.draw(&mut canvas, &history, &x);
    marks::limits(&mut canvas, &panel, limits);
    time_axis(&mut canvas, &x, area.bottom);
    Some(Chart {
        svg: canvas.finish(),
        legend: legend(&history, picked),
        table: table(&history),
        note: words::maxima(figures.recording),
    })
}
