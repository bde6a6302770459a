//! Draws the maxima of the blocks of a long run, which show whether it became worse.

use super::data::History;
use super::panel::Panel;
use super::{LEFT, TOP, WIDTH, legend, marks, range, table, time_axis, x_scale};
use crate::figures::Figures;
use crate::svg::Chart;
use crate::svg::axis::{Scale, nice_above, nice_below};
use crate::svg::canvas::Canvas;
use crate::svg::form::{Form, both};
use crate::svg::frame::Area;
use crate::words;
use punctual_units::CpuId;

const HEIGHT: f64 = 130.0;

/// Draws the chart; `None` if the run has too few blocks. `limits` are the claimed limits, ns.
pub fn chart(id: &str, figures: &Figures, picked: &[CpuId], limits: &[f64]) -> Option<Chart> {
    let history = History::of_blocks(figures, picked)?;
    let lines = history.latency_lines(picked);
    let (least, most) = range(&lines);
    let px = (TOP + HEIGHT, TOP);
    let scale = match most / least.max(1.0) > 25.0 {
        true => Scale::log(nice_below(least), nice_above(most * 1.05), px),
        false => Scale::linear(0.0, most * 1.1, px),
    };
    let description =
        "The worst wakeup latency of every block, one step line per CPU; a block is drawn as long as it lasted.";
    let draw = |form: Form| {
        let x = x_scale(&history, form);
        let area = Area { left: LEFT, top: TOP, right: x.pixels().1, bottom: TOP + HEIGHT };
        let size = (form.width(WIDTH), area.bottom + 50.0);
        let mut canvas = Canvas::new(&form.id(id), size, "Maxima of blocks over time", description);
        time_axis(&mut canvas, &x, area.bottom);
        let panel =
            Panel { name: "worst wakeup".into(), is_latency: true, area, scale, lines: history.latency_lines(picked) };
        panel.grid(&mut canvas);
        canvas.open("z");
        marks::phases(&mut canvas, figures, &x, (TOP, area.bottom));
        panel.draw(&mut canvas, &history, &x);
        marks::limits(&mut canvas, &panel, limits);
        canvas.close();
        panel.axes(&mut canvas);
        canvas.finish()
    };
    Some(Chart {
        svg: both(draw),
        legend: legend(&history, picked),
        table: table(&history),
        note: words::maxima(figures.recording),
    })
}
