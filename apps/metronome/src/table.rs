use crate::paper::{Column, Means, XENOMAI_LATENCY, published};
use crate::plan::Measured;
use punctual_units::{Nanos, Scheduling};
use std::fmt::Write;

const HEAD: usize = 38;
const CELL: usize = 24;

/// Returns a table of the worst latencies by period, method and policy (rows) and load (columns), with the paper's in
/// parentheses. A dash means that there is no measurement.
pub fn table(measured: &[Measured]) -> String {
    let loads = unique(measured.iter().map(|m| m.plan.load.to_string()));
    let mut text = format!("Worst latencies; those in the paper's Table 2 are in parentheses\n{:HEAD$}", "");
    for load in &loads {
        let _ = write!(text, "{load:>CELL$}");
    }
    text.push('\n');
    for (period, scheduling) in unique(measured.iter().map(|m| (m.plan.period, m.plan.scheduling))) {
        for means in [Means::Edges, Means::Task] {
            row(&mut text, measured, &loads, (period, scheduling, means));
        }
    }
    let [least, mean, most] = XENOMAI_LATENCY;
    let _ = writeln!(text, "Xenomai's latency test on that board, 1 ms: minimum {least}, mean {mean}, maximum {most}");
    if loads.iter().any(|load| load == "loopback") {
        text.push_str(
            "loopback is traffic within this machine; the paper downloaded a file: --peer HOST loads the network\n",
        );
    }
    for m in measured {
        for doubt in m.doubts() {
            let _ = writeln!(text, "{}, every {}, {}: {doubt}", m.plan.load, m.plan.period, m.plan.scheduling);
        }
    }
    text
}

fn row(
    text: &mut String,
    measured: &[Measured],
    loads: &[String],
    (period, scheduling, means): (Nanos, Scheduling, Means),
) {
    let name = match means {
        Means::Edges => "edges",
        Means::Task => "in the task",
    };
    let head = format!("{period:<9} {:<11}  {name}", scheduling.to_string());
    let _ = write!(text, "{head:HEAD$}");
    for load in loads {
        let ours = measured
            .iter()
            .find(|m| m.plan.period == period && m.plan.scheduling == scheduling && m.plan.load.to_string() == *load)
            .and_then(|m| worst(m, means));
        let real_time = scheduling.policy().is_real_time();
        let theirs = Column::of_load(load).and_then(|column| published(period, means, real_time, column));
        let shown = |time: Option<Nanos>| time.map_or("–".to_owned(), |time| time.to_string());
        let cell = format!("{} ({})", shown(ours), shown(theirs));
        let _ = write!(text, "{cell:>CELL$}");
    }
    text.push('\n');
}

/// Returns the worst latency by this method; `None` if it was not measured.
fn worst(measured: &Measured, means: Means) -> Option<Nanos> {
    match means {
        Means::Edges => measured.edges.as_ref().and_then(|(edges, _)| edges.latency.max()),
        // A skipped release may be later than every release that ran.
        Means::Task => {
            let counted = &measured.stats.counted;
            counted.lateness.max().max(counted.given_up.max())
        }
    }
    .map(Nanos)
}

fn unique<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}
