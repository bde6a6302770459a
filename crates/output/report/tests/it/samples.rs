//! Samples of every kind of page.

use crate::{comparison, why};
use punctual_model::history::{Figure, History, HistoryGroup, HistoryPoint, HistorySeries, HistoryShift, LeftOut};
use punctual_model::{
    Bench, BenchLog, BenchParts, BenchPlan, BenchSettings, Beside, BlockMaximum, Event, Experiment, Fleet,
    NetworkSettings, Recording, Series, Suite, Verdict, Watch, WatchBlock, WatchLine, WatchMaximum, Watched, WindowMax,
};
use punctual_report::{
    bench_html, comparison_html, experiment_html, fleet_html, history_html, html, suite_html, watch_html,
};
use punctual_testing::runs;
use punctual_units::{CpuId, Histogram, Nanos};
use serde_json::{Value, json};

const DAY_NS: u64 = 86_400_000_000_000;
/// Start of the sample runs: 2 March 2026, 00:00 UTC, in ns since 1970.
const START_NS: u64 = 1_772_409_600_000_000_000;

/// Returns the name and HTML of each sample page.
pub fn all() -> Vec<(&'static str, String)> {
    let run =
        |(recording, verdict): (Recording, Verdict)| html(&recording, &verdict, "punctual-runs/2026-03-02T03-04-05Z");
    let experiment: Experiment = serde_json::from_str(include_str!("../fixtures/experiment.json")).unwrap();
    vec![
        ("run", run(runs::explained())),
        ("held", run(runs::good())),
        ("failing", run(runs::failing())),
        ("inconclusive", run(runs::inconclusive())),
        ("empty", run(runs::empty())),
        ("damaged", run(runs::damaged())),
        ("crowd", run(runs::crowd())),
        ("hostile", run(runs::hostile_explained(runs::HOSTILE))),
        ("day", run(day())),
        ("explanation", why::explanation_page()),
        ("comparison", comparison_html(&comparison::comparison(), &comparison::drawings())),
        ("history", history_html(&history())),
        ("fleet", fleet_html(&fleet())),
        ("watch", watch_html(&watched())),
        ("experiment", experiment_html(&experiment)),
        ("bench", bench_html(&bench())),
        ("events", suite_html(&suite())),
    ]
}

/// Returns a run of 24 h under two loads with traces, four CPUs, windows of a second and blocks of five minutes.
pub fn day() -> (Recording, Verdict) {
    let (mut recording, verdict) = runs::explained();
    let cpus = [CpuId(0), CpuId(1), CpuId(2), CpuId(3)];
    let start = recording.run.phases[0].start_mono_ns.unwrap();
    let phases = recording.run.phases.len() as u64;
    recording.events.clear();
    for (n, phase) in (0u64..).zip(&mut recording.run.phases) {
        let from = start + n * DAY_NS / phases;
        phase.start_mono_ns = Some(from);
        phase.end_mono_ns = Some(from + DAY_NS / phases);
        for second in 1..=86_400 / phases {
            let max = |cpu: &CpuId| (*cpu, 20_000 + second * 7_919 % 9_000 + u64::from(cpu.0) * 1_500);
            recording.events.push(Event::Window(WindowMax {
                mono_ns: from + second * 1_000_000_000,
                interval_ns: 1_000_000_000,
                phase: phase.id.clone(),
                max_ns: cpus.iter().map(max).collect(),
            }));
        }
        let length = Nanos::from_secs(300);
        recording.run.settings.maxima_block_ns = Some(length);
        recording.maxima.extend((0..288 / phases).flat_map(|block| {
            let (from, phase) = (from + block * length.0, phase.id.clone());
            cpus.map(|cpu| BlockMaximum {
                phase: phase.clone(),
                cpu,
                from_mono_ns: from,
                to_mono_ns: from + length.0,
                max_ns: Some(29_000 + block * 13 % 4_000 + u64::from(cpu.0) * 1_500),
            })
        }));
    }
    (recording, verdict)
}

fn history() -> History {
    let kernels = ["6.6.74-rt", "6.12.34-rt"];
    let point = |n: u64| HistoryPoint {
        run: format!("{:016x}", (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        started_ns: START_NS + n * DAY_NS,
        kernel: Some(kernels[usize::from(n >= 25)].into()),
        ns: if n < 25 { 41_000 } else { 66_000 } + n * 7_919 % 5_000,
    };
    let shift = HistoryShift {
        at: 25,
        run: point(25).run,
        started_ns: point(25).started_ns,
        kernel_before: Some(kernels[0].into()),
        kernel: Some(kernels[1].into()),
        before_ns: 43_000.0,
        after_ns: 68_000.0,
        ratio: 1.58,
        interval: Some((1.5, 1.7)),
        seen: point(28).run,
        runs_to_see: 4,
        differs: Vec::new(),
    };
    let series = |figure: Figure, points: Vec<HistoryPoint>, shifts: Vec<HistoryShift>| HistorySeries {
        load: "all".into(),
        figure,
        length: None,
        points,
        left_out: LeftOut { undated: 2, ..LeftOut::default() },
        least_runs: 10,
        shifts,
        level: None,
        bounds: None,
    };
    let minutes = |n: u64| HistoryPoint { started_ns: START_NS + n * 47_000_000_000, ..point(n) };
    let group = |machine: &str, series: Vec<HistorySeries>| HistoryGroup {
        machine: machine.into(),
        virtual_time: None,
        settings: vec![("period", "1.00 ms".into()), ("scheduling", "FIFO 90".into()), ("loads", "idle, all".into())],
        runs: Vec::new(),
        hosts: vec!["pi4-press-07".into()],
        series,
    };
    let long = series(Figure::P9999, (0..40).map(point).collect(), vec![shift]);
    History {
        figures: vec![Figure::P9999, Figure::Max],
        alarms_per_year: 1.0,
        watched: 1,
        groups: vec![
            group("Raspberry Pi 4 Model B, CPUs 0-3", vec![long]),
            group("QEMU, CPUs 0-1", vec![series(Figure::Max, (0..7).map(minutes).collect(), Vec::new())]),
        ],
    }
}

fn fleet() -> Fleet {
    let board = |n: u64| {
        json!({
            "host": format!("pi4-press-{n:02}.line-3.example.org"), "board": "Raspberry Pi 4 Model B Rev 1.4",
            "kernels": ["6.12.34+rpt-rpi-v8-rt"], "settings": ["period 1.00 ms; FIFO 90; loads idle, all"], "runs": 12,
            "incomplete": 0, "failed": u64::from(n == 0), "inconclusive": n % 2, "typical_ns": 61_000 + n * 700,
            "worst": {
                "ns": 412_000 - n * 9_000, "load": "scheduler", "cpu": 3, "run": "0123456789abcdef",
                "cause": "multipathd (RT 99, pid 195): higher priority"
            }
        })
    };
    read(json!({
        "runs": 144, "boards": (0..12).map(board).collect::<Vec<Value>>(), "outlier_tests": 24,
        "outliers": [{
            "run": "0123456789abcdef", "host": "pi4-press-00", "kernel": "6.12.34-rt", "load": "all", "settings": "x",
            "ns": 412_000, "median_ns": 61_000.0, "score": 7.1, "p": 1e-6, "boards": 12
        }],
        "too_few": [], "doubtful": [["0123456789abcdef", "the load did not run"]],
        "contrasts": [{
            "factor": "kernel", "level": "6.12.34-rt", "within": "period 1.00 ms", "load": "all", "boards": 6, "others": 6,
            "ratio": 0.75, "interval": [0.7, 0.81], "p": 0.002
        }]
    }))
}

fn watched() -> Watched {
    let stamp =
        |days: u64| json!({ "mono_ns": days * DAY_NS, "boot_ns": days * DAY_NS, "real_ns": START_NS + days * DAY_NS });
    let maximum = |cpu: u32| {
        json!({
            "cpu": cpu, "real_ns": START_NS + 3 * DAY_NS, "mono_ns": 3 * DAY_NS, "latency_ns": 93_000 + cpu * 1_000,
            "verdict": "CPU 1 93.0 µs late: multipathd (RT 99, pid 195) ran 71.0 µs of it (76 %)"
        })
    };
    let cpu = |n: u32| {
        json!({
            "cpu": n, "ever": maximum(n), "since_start_ns": 93_000, "released": 1_209_600_000u64,
            "ran": 1_209_599_990u64, "skipped": 10, "release_mono_ns": null
        })
    };
    let watch: Watch = read(json!({
        "schema": punctual_model::WATCH_SCHEMA, "schema_version": "1.0",
        "tool": { "name": "punctual", "version": "0.1.0" }, "host": "pi4-press-07", "kernel": "6.12.34-rt",
        "boot_id": null, "series_started_real_ns": START_NS, "started": stamp(0), "updated": stamp(14), "ended_by": null,
        "pid": 1, "segment": null, "block": null, "cpus": [cpu(0), cpu(1)], "untraced": null,
        "settings": {
            "period_ns": 1_000_000, "scheduling": runs::good().0.run.settings.scheduling, "cpus": "0-1",
            "segment_ns": DAY_NS, "block_ns": 300_000_000_000u64, "trace_above_ns": 50_000, "bytes_a_cpu_and_day": 10_000_000
        },
        "maxima": { "seen": 3, "explained": 3, "too_many": 0, "failed": 0, "traces_deleted": 0 },
        "disk": { "failures": 0, "failing": null, "lines_lost": 0, "segments_deleted": 0 },
        "cost": { "cpu_ns": null, "rss_bytes": null }, "upsets": { "clock_steps": 0, "suspends": 0, "cpus_lost": 0 }
    }));
    let block = |n: u64| {
        WatchLine::Block(WatchBlock {
            from_real_ns: START_NS + n * 300_000_000_000,
            lasts_ns: 300_000_000_000,
            max_ns: (0..2).map(|cpu| (CpuId(cpu), Some(40_000 + n * 7_919 % 53_000))).collect(),
        })
    };
    let mut lines: Vec<WatchLine> = (0..4_032).filter(|n| !(900..1_000).contains(n)).map(block).collect();
    lines.push(WatchLine::Maximum(read::<WatchMaximum>(maximum(1))));
    lines.push(WatchLine::Gap {
        from_real_ns: START_NS + 3 * DAY_NS,
        to_real_ns: START_NS + 4 * DAY_NS,
        why: "the machine was suspended".into(),
    });
    Watched { watch, lines, segments: Vec::new(), bytes: 9_000_000, running: true, damage: Vec::new() }
}

fn bench() -> Bench {
    let network = NetworkSettings {
        to: Some("192.0.2.7:7777".into()),
        secret_file: None,
        folder: None,
        bytes: 64,
        duration_ns: Nanos(1),
        beside: Beside::Nothing,
    };
    let plan = BenchPlan {
        settings: BenchSettings::Network(network),
        repetitions: 40,
        not_measured: vec!["the way back".into()],
        notes: vec!["One repetition is one sample.".into()],
    };
    let mut bench = Bench::of(BenchLog { plan, repetitions: Vec::new(), parts: BenchParts::default() });
    for name in ["median of a round trip", "p99 of a round trip"] {
        let mut series = Series::new("UDP, 64 bytes", name, "µs");
        (0..40u64).for_each(|n| series.push(61.0 + (n * 7_919 % 100) as f64 / 20.0));
        bench.series.push(series);
    }
    bench
}

fn suite() -> Suite {
    let mut lateness = Histogram::new();
    (0..10_000u64).for_each(|n| lateness.record(3_000 + n * n % 9_001));
    let ran = |lost: u64| {
        let counts = json!({
            "sent": 10_000, "received": 10_000 - lost, "coalesced": 0, "overflowed": 0, "lost": lost, "doubled": 0, "late": 3,
            "reordered": 0, "strays": 0
        });
        let broken: &[&str] = if lost > 0 { &["3 of 10,000 events were lost"] } else { &[] };
        json!({
            "how": "ran", "counts": counts, "lateness": lateness, "page_faults": 0, "mode_switches": null,
            "class": if lost > 0 { "firm" } else { "hard" }, "broken": broken, "inconclusive": [], "notes": []
        })
    };
    let result = |test: &str, ended: Value| json!({ "test": test, "promise": "each", "interval_ns": 1_000_000, "deadline_ns": 500_000, "ended": ended });
    let unsupported =
        json!({ "how": "unsupported", "why": "this machine has no GPIO lines: connect two, and name them" });
    read(json!({
        "schema": punctual_model::SUITE_SCHEMA, "backend": "posix",
        "environment": { "kernel": "6.12.34+rpt-rpi-v8-rt", "policy": "FIFO 90", "libc": "glibc 2.41" },
        "duration_ns": 60_000_000_000u64, "under": [], "interrupted": false,
        "results": [
            result("timerfd", ran(0)), result("signalfd", ran(3)), result("mq", ran(0)), result("gpio", unsupported)
        ]
    }))
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

#[test]
fn an_experiment_of_an_earlier_version_has_no_predictions_from_the_charged_time() {
    let text = include_str!("../fixtures/experiment.json");
    let read = |text: &str| serde_json::from_str::<Experiment>(text).unwrap().comparable();
    let (new, old) = (read(text), read(&text.replace(punctual_model::EXPERIMENT_SCHEMA, "punctual.sched/1")));
    let explained = |one: &Experiment| one.repetitions[0].threads.iter().any(|ran| ran.is_explained().is_some());
    assert!(explained(&new) && !explained(&old));
    assert_eq!(old.notes.len(), new.notes.len() + 1);
}

#[test]
fn how_often_and_when_an_application_was_late_is_said_for_each_reason() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let late = |after: u64, name: &str, completes: bool| {
        read(json!({
            "line": "late", "real_ns": START_NS + after, "late": {
                "by": "program", "at_mono_ns": 1, "thread": "control", "tid": 7, "name": name, "claim": null,
                "value_ns": null, "release_mono_ns": null, "is_open": false, "completes": completes
            }
        }))
    };
    let hours =
        |n: u64| WatchLine::Block(WatchBlock { from_real_ns: START_NS, lasts_ns: n * HOUR_NS, max_ns: Vec::new() });
    let mut series = watched();
    series.lines = vec![
        late(0, "axis", false),
        late(HOUR_NS, "bus", false),
        hours(25),
        late(25 * HOUR_NS, "axis", false),
        late(25 * HOUR_NS, "axis", true),
        hours(2),
    ];
    let text = punctual_report::watch_text(&series);
    let at = |after: u64| punctual_report::utc(START_NS + after);
    for said in [
        format!(
            "control said it is late (axis): 2 moments from {} to {}, 1 within a day before the last update, 0 within an hour\n",
            at(0),
            at(25 * HOUR_NS)
        ),
        format!("control said it is late (bus): 1 moment from {0} to {0}, 0 within a day", at(HOUR_NS)),
    ] {
        assert!(text.contains(&said), "{said}: {text}");
    }
}
