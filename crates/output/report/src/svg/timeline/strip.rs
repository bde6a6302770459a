//! Draws a magnified view of moments that overlap in the chart.

use super::super::axis::Scale;
use super::super::canvas::{Anchor, Canvas};
use super::{CHARACTER, LEFT, View};
use crate::words::causes;
use punctual_units::Nanos;

pub const HEIGHT: f64 = 66.0;
/// Moments closer than this to each other are indistinguishable, px.
const CLOSE: f64 = 3.0 * CHARACTER;
const APART: f64 = 24.0;

type Moment = (&'static str, u64);

/// Groups the moments that are indistinguishable, each group with its position in the chart.
pub fn groups(view: &View) -> Vec<(Vec<Moment>, f64)> {
    let mut all: Vec<(Vec<Moment>, f64)> = Vec::new();
    let mut last = f64::MIN;
    for (name, at, _) in causes::moments(view.timeline) {
        let x = view.at(at).clamp(LEFT, view.right);
        match all.last_mut().filter(|_| (x - last).abs() < CLOSE) {
            Some((group, _)) => group.push((name, at)),
            None => all.push((vec![(name, at)], x)),
        }
        last = x;
    }
    all
}

/// The groups that are magnified, side by side.
pub struct Strip {
    groups: Vec<Vec<Moment>>,
}

impl Strip {
    /// Creates the strip; `None` if all moments are distinguishable.
    pub fn new(view: &View) -> Option<Strip> {
        let wide = |group: &Vec<Moment>| group.iter().any(|(_, at)| *at > group[0].1);
        let groups: Vec<Vec<Moment>> = groups(view).into_iter().map(|(group, _)| group).filter(wide).collect();
        (!groups.is_empty()).then_some(Strip { groups })
    }

    pub fn draw(&self, canvas: &mut Canvas, view: &View, top: f64) {
        canvas.text("lane", (LEFT - 8.0, top + 29.0), Anchor::End, "magnified");
        let width = (view.right - LEFT - APART * (self.groups.len() - 1) as f64) / self.groups.len() as f64;
        for (n, group) in self.groups.iter().enumerate() {
            let left = LEFT + n as f64 * (width + APART);
            of_group(canvas, view, group, (left, left + width), top + 24.0);
        }
    }
}

fn of_group(canvas: &mut Canvas, view: &View, group: &[Moment], (left, right): (f64, f64), y: f64) {
    let first = group.first().map_or(0, |(_, at)| *at);
    let last = group.iter().map(|(_, at)| *at).max().unwrap_or(first);
    let since = |at: u64| at.saturating_sub(first) as f64;
    let ends = (left + 2.0 * CHARACTER, right - 6.0 * CHARACTER);
    let scale = Scale::linear(0.0, since(last), ends);
    let times = (ends.1 - ends.0) / (view.at(last) - view.at(first)).max(1e-3);
    canvas.line("axis", (ends.0, y), (ends.1, y));
    canvas.text("tick", (right, y + 5.0), Anchor::End, &format!("× {times:.0}"));
    // A label next to another one is drawn below the line.
    let mut free = [f64::MIN; 2];
    for (name, at) in group {
        let x = scale.at(since(*at));
        canvas.line("mark", (x, y - 8.0), (x, y + 8.0));
        let text = match at == &first {
            true => (*name).to_owned(),
            false => format!("{name} +{}", Nanos(at.saturating_sub(first))),
        };
        let half = (text.chars().count() + 1) as f64 * CHARACTER / 2.0;
        let row = usize::from(x - half < free[0]);
        canvas.text("tick", (x, if row == 0 { y - 12.0 } else { y + 24.0 }), Anchor::Middle, &text);
        free[row] = x + half;
    }
}
