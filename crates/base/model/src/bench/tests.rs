use super::*;

fn plan(repetitions: u64) -> BenchRecord {
    let settings = BenchSettings::Memory { threads: 1, bytes: 1 << 20 };
    BenchRecord::Plan(Box::new(BenchPlan { settings, repetitions, not_measured: Vec::new(), notes: Vec::new() }))
}

fn repetition(number: u64, resumed: u32, milli: Option<i64>) -> BenchRepetition {
    let heat = milli.map(|value| Reading { name: "thermal_zone0 cpu-thermal".into(), value });
    let mut histogram = Histogram::new();
    histogram.record(number);
    BenchRepetition {
        number,
        ended_mono_ns: number,
        ended_real_ns: number,
        elapsed_ns: 5,
        cpu_ns: None,
        resumed,
        figures: vec![BenchFigure { of: "a".into(), name: "b".into(), unit: "s".into(), value: number as f64 }],
        checks: vec![BenchCheck { what: "c".into(), got: number, expected: Some(1) }],
        distributions: vec![BenchDistribution { of: "a".into(), name: "step".into(), histogram }],
        notes: Vec::new(),
        conditions: Conditions { temperatures: heat.into_iter().collect(), ..Conditions::default() },
    }
}

fn ended(number: u64) -> BenchRecord {
    BenchRecord::Repetition(Box::new(repetition(number, 0, None)))
}

fn parts(repetition: u64, done: &[(u64, u64)]) -> BenchRecord {
    BenchRecord::Parts(BenchParts { repetition, done: done.to_vec(), elapsed_ns: 9, cpu_ns: None, resumed: 0 })
}

#[test]
fn nothing_in_a_log_is_taken_twice() {
    let records = [
        plan(3),
        parts(1, &[(0, 7), (2, 8)]),
        parts(1, &[(2, 8)]),
        ended(1),
        ended(1),
        parts(1, &[(5, 5)]),
        parts(2, &[(0, 7)]),
        parts(2, &[(1, 9)]),
    ];
    let log = BenchLog::of(records).unwrap();
    assert_eq!((log.repetitions.len(), log.next()), (1, 2));
    assert_eq!(log.parts.done, [(0, 7), (1, 9)]);
    assert_eq!(log.parts.elapsed_ns, 9);
    let bench = Bench::of(log);
    assert!(bench.interrupted);
    assert_eq!(bench.wrong().count(), 0);
}

#[test]
fn a_log_without_a_plan_is_none() {
    assert_eq!(BenchLog::of([]), None);
    assert_eq!(BenchLog::of([ended(1)]), None);
}

#[test]
fn a_repetition_that_was_resumed_is_marked_but_not_a_point_of_a_series() {
    let log = BenchLog::of([plan(3), ended(1)]).unwrap();
    let all = vec![repetition(1, 0, Some(50_000)), repetition(2, 1, Some(51_000)), repetition(3, 0, Some(52_500))];
    let bench = Bench::of(BenchLog { repetitions: all, ..log });
    assert!(!bench.interrupted);
    let points: Vec<(&str, &[f64])> = bench.series.iter().map(|s| (s.name.as_str(), &s.points[..])).collect();
    assert_eq!(points, [("b", &[1.0, 3.0][..]), ("CPU temperature after it", &[50.0, 52.5][..])]);
    assert_eq!(bench.distributions[0].histogram.count(), 3);
    assert_eq!(bench.wrong().map(|(n, _)| n).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(bench.events().len(), 3);
}

#[test]
fn the_sensor_of_the_cpu_is_found_among_others() {
    let reading = |name: &str, value| Reading { name: name.into(), value };
    let temperatures = vec![reading("thermal_zone0 acpitz", 1000), reading("thermal_zone1 x86_pkg_temp", 2000)];
    let pi = vec![reading("GPU (firmware)", 3000), reading("thermal_zone0 cpu-thermal", 4000)];
    let of = |temperatures| Conditions { temperatures, ..Conditions::default() };
    assert_eq!(of(temperatures).cpu_celsius(), Some(2.0));
    assert_eq!((of(pi.clone()).cpu_celsius(), of(pi).gpu_celsius()), (Some(4.0), Some(3.0)));
    assert_eq!(of(Vec::new()).cpu_celsius(), None);
}

#[test]
fn every_record_survives_its_line() {
    let beside = Beside::Nqueens { n: 12, threads: 4 };
    let (to, folder) = (None, Some(PathBuf::from("/x")));
    let network = NetworkSettings { to, secret_file: None, folder, bytes: 1, duration_ns: Nanos(5), beside };
    let settings = BenchSettings::Network(network);
    let plan = BenchPlan { settings, repetitions: 1, not_measured: vec!["x".into()], notes: Vec::new() };
    for record in [BenchRecord::Plan(Box::new(plan)), parts(1, &[(3, u64::MAX)]), ended(1)] {
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<BenchRecord>(&text).unwrap(), record, "{text}");
    }
}
