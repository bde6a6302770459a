//! Draws views known from other tools: OSADL's long-term plots and LinuxCNC's latency-histogram.

use super::Page;
use super::write::{details, figure};
use crate::figures::Cell;
use crate::svg::{osadl, signed};
use punctual_model::{Blur, Known};
use punctual_units::CpuId;
use std::borrow::Cow;
use std::collections::BTreeMap;

pub fn views(page: &Page) -> String {
    let wakeups = wakeups(page);
    let limits = page.span.as_ref().map_or(&[][..], |span| &span.limits);
    let long = osadl::chart("osadl", &wakeups, &page.picked, limits)
        .map(|chart| figure(&chart, "Wakeups by latency in steps of 1 µs, all loads together", ""));
    let both_ways = signed::chart("signed", &wakeups)
        .map(|chart| figure(&chart, "Wakeups before and after the median of their CPU, in steps of 100 ns", ""));
    let charts: Vec<String> = long.into_iter().chain(both_ways).collect();
    match charts.is_empty() {
        true => String::new(),
        false => details(
            "Plots in the style of OSADL and LinuxCNC",
            &format!("<div class=\"pair\">{}</div>", charts.concat()),
        ),
    }
}

/// Returns the raw wakeups of each CPU under all loads, as cyclictest and latency-histogram count them; omits other
/// kinds of latency.
fn wakeups(page: &Page) -> BTreeMap<CpuId, Known<'static>> {
    let mut all: BTreeMap<CpuId, Known> = BTreeMap::new();
    let is_wakeups = |cell: &&Cell| page.figures.recording.run.import.is_some() || cell.phase.label.is_none();
    for cell in page.figures.cells.iter().filter(is_wakeups) {
        if let Some(raw) = cell.raw.filter(|raw| !raw.is_empty()) {
            let sum = all.entry(cell.cpu()).or_default();
            // Counts whose sum overflows are invalid.
            if sum.all().count().checked_add(raw.count()).is_some() {
                sum.add(&Known::new(Cow::Borrowed(raw), Blur::of(cell.result)));
            }
        }
    }
    all.retain(|_, known| !known.values().is_empty());
    all
}
