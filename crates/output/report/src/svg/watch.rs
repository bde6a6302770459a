//! Draws OSADL's long-term view: the largest latency of every five minutes over weeks, one colour per core.

use super::axis::{Scale, nice_above, nice_below, short_latency};
use super::canvas::{Canvas, px};
use super::form::{Form, both};
use super::frame::Frame;
use super::series::Series;
use super::{Chart, Key, Table, colour};
use crate::date::utc;
use crate::number::{count, nanos};
use punctual_model::WatchBlock;
use punctual_units::{Arrange, CpuId};
use std::collections::BTreeMap;

const MOST_LINES: usize = 8;

pub fn chart(id: &str, blocks: &[&WatchBlock]) -> Option<Chart> {
    let from = blocks.iter().map(|b| b.from_real_ns).min()?;
    let to = blocks.iter().map(|b| b.from_real_ns.saturating_add(b.lasts_ns)).max()?;
    let mut lines: BTreeMap<CpuId, (Series, u64, u64)> = BTreeMap::new();
    for block in blocks {
        for (cpu, max) in block.max_ns.iter().filter_map(|(cpu, max)| Some((*cpu, (*max)?))) {
            let line = lines.entry(cpu).or_insert_with(|| (Series::new(from, to, blocks.len()), 0, u64::MAX));
            line.0.add(block.from_real_ns, block.from_real_ns.saturating_add(block.lasts_ns), max as f64);
            (line.1, line.2) = (line.1.max(max), line.2.min(max));
        }
    }
    let (least, most) = (lines.values().map(|l| l.2).min()?, lines.values().map(|l| l.1).max()?);
    let all = lines.len();
    let mut drawn: Vec<(CpuId, (Series, u64, u64))> = lines.into_iter().collect();
    drawn.arrange_by_key(|(_, line)| std::cmp::Reverse(line.1));
    drawn.truncate(MOST_LINES);
    drawn.arrange_by_key(|(cpu, _)| *cpu);
    let described = format!(
        "The largest wakeup latency of every block from {} to {}, one step line per CPU, logarithmic; interrupted where nothing was \
         measured.",
        utc(from),
        utc(to)
    );
    let draw = |form: Form| {
        let (size, area) = form.framed(1120.0);
        let x = Scale::linear(from as f64, to as f64, (area.left, area.right));
        let y = Scale::log(nice_below(least.max(1) as f64), nice_above(most as f64 * 1.05), (area.bottom, area.top));
        let frame = Frame { area, x, y };
        let mut canvas = Canvas::new(&form.id(id), size, "Largest latency of every block", &described);
        frame.calendar(&mut canvas, (from, to), short_latency);
        for (n, (cpu, (series, ..))) in drawn.iter().enumerate() {
            let figures = series.spans().into_iter().map(|(.., max)| format!("{max:.0}"));
            let d = path(&frame, series);
            canvas.steps(&format!("{} line", colour(n)), &d, &format!("CPU {cpu}"), "ns", figures);
        }
        frame.axes(&mut canvas, &format!("UTC, from {}", utc(from)), "largest latency");
        canvas.finish()
    };
    let legend = drawn.iter().enumerate().map(|(n, (cpu, (_, most, _)))| Key {
        class: colour(n),
        text: format!("CPU {cpu}: max {}", nanos(Some(*most))),
    });
    let left = all.saturating_sub(MOST_LINES);
    let note = (left > 0).then(|| format!("{} CPUs with smaller maxima are not drawn.", count(left as u64)));
    Some(Chart { svg: both(draw), legend: legend.collect(), table: Table::default(), note })
}

/// Draws steps, interrupted where nothing was measured for more than a tenth of a step.
fn path(frame: &Frame, series: &Series) -> String {
    let along = |real_ns: u64| frame.x.at(real_ns as f64);
    let (mut d, mut before) = (String::new(), None);
    for (start, end, figure) in series.spans() {
        let joins = before.is_some_and(|(s, e): (u64, u64)| start <= e.saturating_add(e.saturating_sub(s) / 10));
        let (y, to) = (px(frame.y.at(figure)), px(along(end)));
        d.push_str(&if joins { format!("V{y}H{to}") } else { format!("M{} {y}H{to}", px(along(start))) });
        before = Some((start, end.max(start)));
    }
    d
}
