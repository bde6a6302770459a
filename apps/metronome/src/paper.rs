//! Measurements of the paper on which this application is based (README.md): Table 2 and the sentence below it. All are
//! worst cases, measured on a Raspberry Pi Model B with Xenomai 2.6.2.1 on Linux 3.5.7.

use punctual_units::Nanos;

/// A column of the table: the load during the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Idle,
    /// Xenomai's `dohell` load script.
    Cpu,
    /// Load by downloading a 702 MB file.
    Network,
}

impl Column {
    /// Returns the column that corresponds to one of punctual's loads; `None` if there is none.
    pub fn of_load(load: &str) -> Option<Column> {
        match load {
            "idle" => Some(Column::Idle),
            "cpu" => Some(Column::Cpu),
            "network" | "loopback" => Some(Column::Network),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// Measured on the line: in the paper with an oscilloscope, here with the kernel's time stamps of edges on a second
    /// line.
    Edges,
    /// Measured in the task, by reading the clock.
    Task,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    pub period: Nanos,
    pub means: Means,
    /// True for a Xenomai task, false for an ordinary program.
    pub real_time: bool,
    /// Worst latencies when idle, under CPU load and under network load.
    pub worst: [Nanos; 3],
}

pub const PAPER: [Published; 5] = [
    row(SHORT, Means::Edges, true, [23, 26, 30]),
    row(SHORT, Means::Task, true, [27, 36, 34]),
    row(LONG, Means::Edges, true, [26, 34, 34]),
    row(LONG, Means::Task, true, [38, 39, 40]),
    row(LONG, Means::Edges, false, [260, 1_500, 7_300]),
];

/// The shortest time for which the transmitter is on, in the paper.
pub(crate) const SHORT: Nanos = Nanos::from_micros(360);
/// Duration of a whole message, in the paper.
pub(crate) const LONG: Nanos = Nanos::from_millis(35);

/// Minimum, mean and maximum latency in Xenomai's own test, a task with a period of 1 ms, over 15 minutes.
pub(crate) const XENOMAI_LATENCY: [Nanos; 3] = [Nanos::from_micros(4), Nanos::from_micros(19), Nanos::from_micros(61)];

const fn row(period: Nanos, means: Means, real_time: bool, worst: [u64; 3]) -> Published {
    let [idle, cpu, network] = worst;
    let worst = [Nanos::from_micros(idle), Nanos::from_micros(cpu), Nanos::from_micros(network)];
    Published { period, means, real_time, worst }
}

/// Returns the paper's worst latency for a measurement; `None` if the paper has none.
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
