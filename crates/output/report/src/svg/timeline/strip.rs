//! T1 to T4 magnified, where they fall on one another in the picture.

use super::super::axis::Scale;
use super::super::canvas::{Anchor, Canvas};
use super::{CHARACTER, LEFT, View};
use crate::words::causes;
use punctual_units::Nanos;

pub const HEIGHT: f64 = 66.0;
/// Moments this close to each other cannot be told apart.
const CLOSE: f64 = 60.0;

pub struct Strip {
    moments: Vec<(&'static str, u64)>,
    times: f64,
}

impl Strip {
    pub fn new(view: &View) -> Option<Strip> {
        let moments: Vec<(&'static str, u64)> =
            causes::moments(view.timeline).into_iter().skip(1).map(|(name, at, _)| (name, at)).collect();
        let (first, last) = (moments.first()?.1, moments.last()?.1);
        let width = view.at(last) - view.at(first);
        (last > first && width < CLOSE).then(|| Strip { moments, times: (view.right - LEFT) / width.max(1e-3) })
    }

    pub fn draw(&self, canvas: &mut Canvas, view: &View, top: f64) {
        let first = self.moments.first().map_or(0, |(_, at)| *at);
        let since = |at: u64| at.saturating_sub(first) as f64;
        let last = self.moments.last().map_or(1.0, |(_, at)| since(*at));
        let half = 6.0 * CHARACTER;
        let scale = Scale::linear(0.0, last, (LEFT + half, view.right - half));
        let y = top + 24.0;
        canvas.text("lane", (LEFT - 8.0, y + 5.0), Anchor::End, &format!("× {:.0}", self.times));
        canvas.line("axis", (LEFT + half, y), (view.right - half, y));
        let mut taken = f64::MIN;
        for (name, at) in &self.moments {
            let x = scale.at(since(*at));
            canvas.line("mark", (x, y - 8.0), (x, y + 8.0));
            // A label beside another one goes below the line.
            let below = x < taken;
            let text = match at == &first {
                true => (*name).to_owned(),
                false => format!("{name} +{}", Nanos(at.saturating_sub(first))),
            };
            canvas.text("tick", (x, if below { y + 26.0 } else { y - 12.0 }), Anchor::Middle, &text);
            if !below {
                taken = x + (text.chars().count() + 1) as f64 * CHARACTER;
            }
        }
    }
}
