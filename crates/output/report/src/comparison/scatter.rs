use super::finding::name;
use crate::svg::axis::{Scale, plain};
use crate::svg::canvas::Canvas;
use crate::svg::frame::{AREA, Frame, SIZE};
use crate::svg::{Chart, Key, Table, colour};
use punctual_model::{Comparison, Scatter};

pub fn chart(comparison: &Comparison, id: &str, scatter: &Scatter) -> Option<Chart> {
    let all = || scatter.groups.iter().flatten();
    let ends = |of: fn(&(f64, f64)) -> f64| {
        let values = || all().map(of);
        Some((values().min_by(f64::total_cmp)?, values().max_by(f64::total_cmp)?))
    };
    let (x, y) = (ends(|p| p.0)?, ends(|p| p.1)?);
    let room = |(low, high): (f64, f64)| ((high - low) * 0.05).max(high.abs() * 0.01);
    let (x_room, y_room) = (room(x), room(y));
    let frame = Frame {
        area: AREA,
        x: Scale::linear(x.0 - x_room, x.1 + x_room, (AREA.left, AREA.right)),
        y: Scale::linear((y.0 - y_room).max(0.0), y.1 + y_room, (AREA.bottom, AREA.top)),
    };
    let title = format!("{} of {} over temperature", scatter.name, scatter.of);
    let description =
        format!("One dot per value; horizontal axis: temperature in °C, vertical axis: value in {}.", scatter.unit);
    let mut canvas = Canvas::new(id, SIZE, &title, &description);
    frame.grid(&mut canvas, "°C", plain, plain);
    for (n, points) in scatter.groups.iter().enumerate() {
        for (heat, value) in points {
            let tip = format!("{}: {value:.3} {} at {heat:.1} °C", name(comparison, n), scatter.unit);
            canvas.dot(&format!("{} end", colour(n)), (frame.x.at(*heat), frame.y.at(*value)), 3.0, &tip);
        }
    }
    if let Some(at) = scatter.at {
        frame.mark(&mut canvas, "limit", at, 0, &format!("{at} °C"));
    }
    frame.axes(&mut canvas, "temperature afterwards, °C", &format!("{}, {}", scatter.name, scatter.unit));
    let legend = (0..scatter.groups.len()).map(|n| Key { class: colour(n), text: name(comparison, n) }).collect();
    Some(Chart { svg: canvas.finish(), legend, table: table(comparison, scatter), note: None })
}

fn table(comparison: &Comparison, scatter: &Scatter) -> Table {
    let head = vec!["group".into(), "temperature, °C".into(), format!("{}, {}", scatter.name, scatter.unit)];
    let rows = scatter.groups.iter().enumerate().flat_map(|(n, points)| {
        points.iter().map(move |(heat, value)| vec![name(comparison, n), format!("{heat:.2}"), format!("{value:.3}")])
    });
    Table { head, rows: rows.collect() }
}
