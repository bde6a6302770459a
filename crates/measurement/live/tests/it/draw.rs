//! Compares the screen with golden files, and draws random snapshots.

use proptest::prelude::*;
use punctual_live::{CpuView, Looks, Machine, Snapshot, Stage, draw};
use punctual_testing::golden;
use punctual_units::{Bin, CpuId, Histogram, Nanos};
use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::terminal::Terminal;

const LOOKS: Looks = Looks { unicode: true, colour: true };

/// Returns a CPU with wakeups around `middle` and a tail up to `worst`.
fn cpu(number: u32, middle: u64, worst: u64, skipped: u64) -> CpuView {
    let mut histogram = Histogram::new();
    for i in 0..2_000u64 {
        histogram.record(middle * 3 / 4 + middle * (i * i % 997) / 2_000);
    }
    for i in 1..12 {
        histogram.record(middle + (worst - middle) / (i * i));
    }
    CpuView {
        cpu: CpuId(number),
        ran: histogram.count(),
        skipped,
        min: histogram.min(),
        median: histogram.quantile(0.5),
        p99: histogram.quantile(0.99),
        worst: histogram.max(),
        steal: Some(0.0004),
        bins: histogram.bins().collect(),
    }
}

fn two_cpus() -> Snapshot {
    Snapshot {
        command: "prove".into(),
        stage: Stage::Measuring,
        load: "memory".into(),
        number: 3,
        of: 8,
        elapsed: Nanos::from_millis(12_300),
        planned: Nanos::from_secs(30),
        deadline: Some(Nanos::from_micros(100)),
        cpus: vec![cpu(0, 4_200, 61_300, 0), cpu(1, 5_100, 1_730_000, 2)],
        context: true,
        machine: Some(Machine {
            hottest: Some(("thermal_zone0 cpu-thermal".into(), 57_400)),
            throttled: Some(0),
            khz: Some((1_500_000, 2_400_000)),
            steps_per_s: Some(3.0),
        }),
        ..Snapshot::default()
    }
}

fn attached() -> Snapshot {
    Snapshot {
        command: "watch of bench-3".into(),
        number: 0,
        of: 0,
        elapsed: Nanos::from_secs(2_580),
        planned: Nanos::from_secs(21_600),
        machine: None,
        context: false,
        attached: true,
        status: vec![
            "watch of bench-3 since 2026-11-20T08:00:00Z, running (pid 812)".into(),
            "worst  CPU 1  1.73 ms late: multipathd (RR 99, pid 195) ran 1.6 ms of it (2026-11-22T03:14:00Z)".into(),
            "new    CPU 1  1.73 ms late: multipathd (RR 99, pid 195) ran 1.6 ms of it (2026-11-22T03:14:00Z)".into(),
        ],
        ..two_cpus()
    }
}

fn with_cause() -> Snapshot {
    let status = vec![
        "Worst explained: Under `cpu`: CPU1 1.73 ms late: multipathd (RR 99, pid 195) ran 1.6 ms of it (93 %)".into(),
        "12 explained wakeups: multipathd 61 %, interrupts off 20 %, leaving idle 4.1 %.".into(),
    ];
    Snapshot { status, ..two_cpus() }
}

fn many_cpus() -> Snapshot {
    let cpus =
        (0..32).map(|n| cpu(n, 3_000 + 100 * u64::from(n), 20_000 + 7_000 * u64::from(n * 7 % 32), u64::from(n == 5)));
    Snapshot { cpus: cpus.collect(), deadline: None, machine: None, context: false, shared: true, ..two_cpus() }
}

fn picture(snapshot: &Snapshot, looks: Looks, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(snapshot, looks, frame.buffer_mut())).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned() + "\n";
    (0..height).map(line).collect()
}

fn compare(name: &str, picture: &str) {
    golden(format!("tests/golden/{name}"), picture);
}

#[test]
fn eighty_by_twenty_four() {
    compare("two-80x24.txt", &picture(&two_cpus(), LOOKS, (80, 24)));
    compare("many-80x24.txt", &picture(&many_cpus(), LOOKS, (80, 24)));
    compare("cause-80x24.txt", &picture(&with_cause(), LOOKS, (80, 24)));
    compare("attached-80x24.txt", &picture(&attached(), LOOKS, (80, 24)));
    compare("attached-help-80x24.txt", &picture(&Snapshot { help: true, ..attached() }, LOOKS, (80, 24)));
}

#[test]
fn wide() {
    compare("two-120x40.txt", &picture(&two_cpus(), LOOKS, (120, 40)));
    compare("many-120x40.txt", &picture(&many_cpus(), LOOKS, (120, 40)));
}

#[test]
fn tiny() {
    compare("two-20x5.txt", &picture(&two_cpus(), LOOKS, (20, 5)));
    compare("many-20x5.txt", &picture(&many_cpus(), LOOKS, (20, 5)));
}

#[test]
fn letters_only() {
    let picture = picture(&two_cpus(), Looks { unicode: false, colour: false }, (80, 24));
    assert!(picture.is_ascii(), "{picture}");
    compare("two-80x24-ascii.txt", &picture);
}

#[test]
fn help_and_pause() {
    compare("help-80x24.txt", &picture(&Snapshot { help: true, shared: true, ..two_cpus() }, LOOKS, (80, 24)));
    let paused = picture(&Snapshot { paused: true, word: Some("mark 1 set".into()), ..two_cpus() }, LOOKS, (80, 24));
    assert!(paused.contains("DISPLAY PAUSED, still measuring") && paused.contains("p resume"), "{paused}");
    assert!(paused.contains("mark 1 set"), "{paused}");
}

#[test]
fn what_is_not_known_is_not_zero() {
    let nothing = Snapshot { context: true, cpus: vec![CpuView::default()], ..Snapshot::default() };
    let picture = picture(&nothing, LOOKS, (80, 24));
    assert_eq!(picture.matches('–').count(), 5, "{picture}");
    assert!(picture.contains("first counters appear after a second"));
}

fn any_cpu() -> impl Strategy<Value = CpuView> {
    let figure = || proptest::option::of(any::<u64>());
    let bins = proptest::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 0..20)
        .prop_map(|bins| bins.into_iter().map(|(low, high, count)| Bin { low, high, count }).collect());
    let figures = (figure(), figure(), figure(), figure(), proptest::option::of(any::<f64>()));
    (any::<u32>(), any::<u64>(), any::<u64>(), figures, bins).prop_map(|(cpu, ran, skipped, figures, bins)| {
        let (min, median, p99, worst, steal) = figures;
        CpuView { cpu: CpuId(cpu), ran, skipped, min, median, p99, worst, steal, bins }
    })
}

fn any_machine() -> impl Strategy<Value = Machine> {
    let hottest = proptest::option::of((any::<String>(), any::<i64>()));
    let khz = proptest::option::of((any::<u64>(), any::<u64>()));
    (hottest, proptest::option::of(any::<i64>()), khz, proptest::option::of(any::<f64>()))
        .prop_map(|(hottest, throttled, khz, steps_per_s)| Machine { hottest, throttled, khz, steps_per_s })
}

fn any_snapshot() -> impl Strategy<Value = Snapshot> {
    let stages = [Stage::Starting, Stage::WarmingUp, Stage::Measuring, Stage::Between, Stage::Finishing];
    let head =
        (any::<String>(), proptest::sample::select(stages.to_vec()), any::<String>(), any::<usize>(), any::<usize>());
    let times = (any::<u64>(), any::<u64>(), proptest::option::of(any::<u64>()));
    let seen = (proptest::collection::vec(any_cpu(), 0..12), any::<bool>(), proptest::option::of(any_machine()));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), proptest::option::of(any::<String>()));
    let attached = (any::<bool>(), proptest::collection::vec(any::<String>(), 0..8));
    (head, times, seen, flags, attached).prop_map(|(head, times, seen, flags, attached)| Snapshot {
        command: head.0,
        stage: head.1,
        load: head.2,
        number: head.3,
        of: head.4,
        elapsed: Nanos(times.0),
        planned: Nanos(times.1),
        deadline: times.2.map(Nanos),
        cpus: seen.0,
        context: seen.1,
        machine: seen.2,
        shared: flags.0,
        paused: flags.1,
        help: flags.2,
        word: flags.3,
        attached: attached.0,
        status: attached.1,
    })
}

proptest! {
    #[test]
    fn any_snapshot_can_be_drawn(
        snapshot in any_snapshot(),
        (width, height) in (0u16..200, 0u16..80),
        (x, y) in (0u16..3, 0u16..3),
        (unicode, colour) in (any::<bool>(), any::<bool>()),
    ) {
        let mut buffer = Buffer::empty(Rect { x, y, width, height });
        draw(&snapshot, Looks { unicode, colour }, &mut buffer);
        prop_assert!(buffer.content.iter().all(|cell| !cell.symbol().chars().any(char::is_control)));
    }
}
