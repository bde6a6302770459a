//! What the paper measured: Table 2 and the sentence below it. Worst cases, on a Raspberry Pi Model B with Xenomai 2.6.2.1 on Linux 3.5.7.

use punctual_units::Nanos;

/// The paper's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Nothing else to do.
    Idle,
    /// Xenomai's `dohell`.
    Cpu,
    /// A file of 702 MB downloaded.
    Network,
}

impl Column {
    /// The column a load of ours belongs to.
    pub fn of_load(load: &str) -> Option<Column> {
        match load {
            "idle" => Some(Column::Idle),
            "cpu" => Some(Column::Cpu),
            "network" | "loopback" => Some(Column::Network),
            _ => None,
        }
    }
}

/// How it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// On the line: with an oscilloscope; ours: time stamps of a second line's edges.
    Edges,
    /// In the task, by the clock.
    Task,
}

/// One row of the table: worst cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// Of the task.
    pub period: Nanos,
    /// How it was measured.
    pub means: Means,
    /// A task of Xenomai, or an ordinary program.
    pub real_time: bool,
    /// Idle, CPU load, network load.
    pub worst: [Nanos; 3],
}

/// The rows, in their order.
pub const PAPER: [Published; 5] = [
    row(SHORT, Means::Edges, true, [23, 26, 30]),
    row(SHORT, Means::Task, true, [27, 36, 34]),
    row(LONG, Means::Edges, true, [26, 34, 34]),
    row(LONG, Means::Task, true, [38, 39, 40]),
    row(LONG, Means::Edges, false, [260, 1_500, 7_300]),
];

/// The shortest time the transmitter is on.
pub(crate) const SHORT: Nanos = Nanos::from_micros(360);
/// The time of a whole message.
pub(crate) const LONG: Nanos = Nanos::from_millis(35);

/// Xenomai's own test, a task of 1 ms for 15 minutes: least, mean, most.
pub(crate) const XENOMAI_LATENCY: [Nanos; 3] = [Nanos::from_micros(4), Nanos::from_micros(19), Nanos::from_micros(61)];

const fn row(period: Nanos, means: Means, real_time: bool, worst: [u64; 3]) -> Published {
    let [idle, cpu, network] = worst;
    let worst = [Nanos::from_micros(idle), Nanos::from_micros(cpu), Nanos::from_micros(network)];
    Published { period, means, real_time, worst }
}

/// What the paper has for a measurement; `None`: it did not make it.
pub fn published(period: Nanos, means: Means, real_time: bool, column: Column) -> Option<Nanos> {
    let same = |row: &&Published| row.period == period && row.means == means && row.real_time == real_time;
    PAPER.iter().find(same).and_then(|row| row.worst.get(column as usize).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_figures_are_found() {
        let us = |n| Some(Nanos::from_micros(n));
        assert_eq!(published(SHORT, Means::Task, true, Column::Cpu), us(36));
        assert_eq!(published(LONG, Means::Edges, false, Column::Network), us(7_300));
        assert_eq!(published(SHORT, Means::Edges, false, Column::Idle), None);
        assert_eq!(published(Nanos::from_millis(1), Means::Task, true, Column::Idle), None);
        assert_eq!((Column::of_load("loopback"), Column::of_load("memory")), (Some(Column::Network), None));
    }
}
