//! Synthetic fleets with known properties.

use super::*;
use punctual_model::history::{KernelId, MachineId, RunSettings, SummaryCell};
use punctual_model::{FleetFactor, Outcome};
use punctual_units::CpuId;

fn run(n: usize, host: &str, kernel: &str, maxima: &[u64]) -> RunSummary {
    let cell = |(cpu, max_ns): (usize, &u64)| SummaryCell {
        phase: "1-cpu".into(),
        load: "cpu".into(),
        cpu: CpuId(cpu as u32),
        samples: 1000,
        skipped: Some(0),
        p50_ns: Some(1),
        p99_ns: None,
        p999_ns: None,
        p9999_ns: None,
        max_ns: Some(*max_ns),
        temperature_max_mc: None,
        cause: None,
        doubt: None,
    };
    RunSummary {
        id: format!("{n:016x}"),
        folder: Some(format!("runs/{n}")),
        started_ns: Some(n as u64),
        host: Some(host.into()),
        tool: "punctual 0.1.0".into(),
        complete: true,
        machine: MachineId { board: Some("a board".into()), ..MachineId::default() },
        virtual_time: None,
        kernel: KernelId { release: Some(kernel.into()), version: None, preemption: Some("rt".into()) },
        settings: RunSettings {
            measured_by: "punctual".into(),
            period_ns: Some(1_000_000),
            scheduling: Some("SCHED_FIFO 90".into()),
            cpus: "0-1".into(),
            loads: vec!["cpu".into()],
            via: Some("nanosleep".into()),
            alignment: None,
            cpu_dma_latency_us: None,
            traced: false,
            duration_ns: Some(60_000_000_000),
        },
        temperature_max_mc: None,
        outcome: Some(Outcome::Pass),
        claims: Vec::new(),
        cells: maxima.iter().enumerate().map(cell).collect(),
    }
}

/// Twelve boards with three runs each and latencies of about 50 µs.
fn alike() -> Vec<RunSummary> {
    (0..36).map(|n| run(n, &format!("b{}", n % 12), "6.12-rt", &[50_000 + 500 * (n as u64 % 11), 40_000])).collect()
}

#[test]
fn boards_that_are_alike_have_no_outlier_and_one_that_is_late_is_first() {
    let mut runs = alike();
    assert!(fleet(&runs).outliers.is_empty());
    runs.push(run(99, "slow", "6.12-rt", &[45_000, 4_000_000]));
    let fleet = fleet(&runs);
    assert_eq!((fleet.runs, fleet.boards.len(), fleet.outlier_tests), (37, 13, 13));
    let worst = fleet.boards[0].worst.as_ref().unwrap();
    assert_eq!((fleet.boards[0].host.as_deref(), worst.ns, worst.cpu), (Some("slow"), 4_000_000, CpuId(1)));
    let [outlier] = fleet.outliers.as_slice() else { panic!("{:?}", fleet.outliers) };
    assert!(outlier.host.as_deref() == Some("slow") && outlier.p < 0.001 && outlier.boards == 13, "{outlier:?}");
    assert!(outlier.median_ns > 45_000.0 && outlier.median_ns < 60_000.0);
}

#[test]
fn fewer_than_ten_boards_are_not_judged_and_that_is_said() {
    let mut runs: Vec<RunSummary> =
        (0..9).map(|n| run(n, &format!("b{n}"), "k", &[if n == 0 { 9_000_000 } else { 50_000 + n as u64 }])).collect();
    let few = fleet(&runs);
    assert!(few.outliers.is_empty() && few.outlier_tests == 0);
    assert_eq!(few.too_few.iter().map(|f| f.boards).collect::<Vec<_>>(), [9]);
    runs.push(run(9, "b9", "k", &[50_009]));
    let enough = fleet(&runs);
    assert!(enough.too_few.is_empty() && enough.outliers.len() == 1, "{:?}", enough.outliers);
}

#[test]
fn a_kernel_that_is_three_times_as_late_is_told_with_its_ratio() {
    let mut runs = alike();
    runs.extend((40..48).map(|n| run(n, &format!("c{n}"), "6.1-stock", &[150_000 + 900 * n as u64])));
    let fleet = fleet(&runs);
    let stock = fleet.contrasts.iter().find(|c| c.level == "6.1-stock").unwrap();
    assert!(
        stock.factor == FleetFactor::Kernel && stock.boards == 8 && stock.others == 12 && stock.p < 0.01,
        "{stock:?}"
    );
    assert!(stock.ratio > 2.5 && stock.ratio < 4.0 && stock.interval.unwrap().0 > 2.0, "{stock:?}");
}

#[test]
fn runs_of_one_board_are_one_sample() {
    let mut runs = alike();
    runs.extend((40..70).map(|n| run(n, "one board", "6.1-stock", &[900_000])));
    assert!(fleet(&runs).contrasts.is_empty(), "one board, however often it ran, shows nothing of a kernel");
}

#[test]
fn doubtful_runs_are_named_and_count_nowhere() {
    let mut runs = alike();
    let mut broken = run(90, "broken", "6.12-rt", &[9_000_000]);
    broken.cells[0].doubt = Some("the load did not run".into());
    runs.push(broken);
    runs.push(run(91, "empty", "6.12-rt", &[]));
    let fleet = fleet(&runs);
    assert_eq!(fleet.doubtful.len(), 2);
    assert!(fleet.outliers.is_empty() && fleet.boards.iter().filter(|b| b.worst.is_none()).count() == 2);
}

#[test]
fn a_line_each_phase_and_cpu_and_it_reads_back() {
    let runs = alike();
    let lines = lines(&runs);
    assert_eq!(lines.len(), 72);
    let text = serde_json::to_string(&lines[0]).unwrap();
    assert_eq!(serde_json::from_str::<punctual_model::FleetLine>(&text).unwrap(), lines[0]);
    assert!(lines[0].settings.contains("SCHED_FIFO 90") && lines[0].outcome.as_deref() == Some("pass"));
}

proptest::proptest! {
    #[test]
    fn any_latencies_are_answered(maxima in proptest::collection::vec(0u64.., 0..40)) {
        let runs: Vec<RunSummary> =
            maxima.iter().enumerate().map(|(n, max)| run(n, &format!("b{}", n % 9), ["a", "b"][n % 2], &[*max])).collect();
        let fleet = fleet(&runs);
        proptest::prop_assert!(fleet.contrasts.iter().all(|c| (0.0..=1.0).contains(&c.p)));
        proptest::prop_assert!(fleet.outliers.iter().all(|o| o.score.is_finite() && o.p <= 0.05));
    }
}
