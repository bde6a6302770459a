//! Tests every class of cause on synthetic recordings, and what must not be suspected.

use punctual_explain::{suspect, suspicions};
use punctual_model::{
    Alignment, ContextSample, CpuContext, CpuResult, Event, Kind, Phase, Reading, Recording, Run, Settings, Stamp,
    SuspicionClass, Tool, Worst,
};
use punctual_units::{CpuId, Nanos, Scheduling};

const SECOND: u64 = 1_000_000_000;
const START: u64 = 100 * SECOND;
const ONE: CpuId = CpuId(1);

fn reading(name: &str, value: i64) -> Reading {
    Reading { name: name.into(), value }
}

/// A quiet second of CPU 1: 1,000 timer interrupts, 1.0 ms of ordinary waiting.
fn quiet(second: u64) -> ContextSample {
    let wobble = [0, 20_000, 40_000][second as usize % 3];
    let cpu = CpuContext {
        cpu: ONE,
        irqs: Some(1_060),
        top_irqs: vec![reading("LOC Local timer interrupts", 1_010), reading("virtio0-req.0", 50)],
        softirqs: vec![reading("TIMER", 90)],
        steal_ns: Some(0),
        run_delay_ns: Some(1_000_000 + wobble),
        involuntary_switches: Some(0),
        page_faults: Some(0),
        throttle_events: Some(0),
        migrations: Some(0),
        rt_tasks: vec![],
    };
    ContextSample {
        mono_ns: START + (second + 1) * SECOND,
        interval_ns: SECOND,
        frequency_transitions: Some(0),
        context_switches: Some(2_000),
        page_faults: Some(10),
        major_faults: Some(0),
        cpus: vec![cpu],
        ..ContextSample::default()
    }
}

fn late(latency_ns: u64) -> Worst {
    Worst {
        phase: "1-idle".into(),
        cpu: ONE,
        release_mono_ns: START + 4 * SECOND + 300_000_000,
        latency_ns,
        cycle: 4_300,
        skipped: latency_ns / 1_000_000,
        trace_offset: None,
        suspicions: vec![],
    }
}

fn recording(latency_ns: u64, change: impl Fn(&mut ContextSample)) -> Recording {
    let mut samples: Vec<_> = (0..10).map(quiet).collect();
    change(&mut samples[4]);
    let got = Scheduling::Fifo { priority: 90.try_into().unwrap() };
    let phase = Phase {
        id: "1-idle".into(),
        load: "idle".into(),
        label: None,
        value: None,
        period_ns: None,
        start_mono_ns: Some(START),
        end_mono_ns: Some(START + 10 * SECOND),
        planned_ns: Some(Nanos::from_secs(10)),
        cpus: vec![cpu_result(got)],
        load_report: None,
        busy_with_others: None,
        traced: None,
        rounds: Vec::new(),
        problems: vec![],
    };
    Recording {
        worst: vec![late(latency_ns)],
        events: samples.into_iter().map(Event::Context).collect(),
        ..Recording::new(run(phase))
    }
}

fn cpu_result(got: Scheduling) -> CpuResult {
    CpuResult {
        cpu: ONE,
        tid: Some(77),
        got: Some(got),
        released: Some(10_000),
        ran: 10_000,
        skipped: Some(0),
        min_ns: None,
        max_ns: None,
        mean_ns: None,
        page_faults: None,
        involuntary_switches: None,
        run_delay_ns: None,
        blur: None,
        episodes: Vec::new(),
        blocks: Vec::new(),
    }
}

fn run(phase: Phase) -> Run {
    Run {
        complete: true,
        started: Some(Stamp { mono_ns: START, boot_ns: START, real_ns: 0 }),
        host: Some("host".into()),
        settings: Settings {
            clock: Some("CLOCK_MONOTONIC".into()),
            scheduling: phase.cpus[0].got,
            period_ns: Some(Nanos::from_millis(1)),
            cpus: "1".parse().unwrap(),
            alignment: Some(Alignment::Aligned),
            duration_ns: Some(Nanos::from_secs(10)),
            warmup_ns: Some(Nanos::ZERO),
            loads: vec!["idle".into()],
            context: true,
            worst_kept: 10,
            ..Settings::default()
        },
        phases: vec![phase],
        ..Run::new(Tool { name: "punctual".into(), version: Some("0.0.0".into()) }, Kind::Latency)
    }
}

fn first(recording: &Recording) -> (SuspicionClass, String) {
    let all = suspicions(recording, &recording.worst[0]);
    (all[0].class, all[0].text.clone())
}

#[test]
fn a_rogue_task_is_named_with_its_figures() {
    let recording = recording(14_900_000, |s| {
        s.cpus[0].run_delay_ns = Some(15_950_000);
        s.cpus[0].rt_tasks = vec![
            reading("irq/9-acpi (FIFO 50, pid 60)", 30_000_000),
            reading("rogue99 (FIFO 99, pid 144)", 20_100_000),
        ];
    });
    let (class, text) = first(&recording);
    assert_eq!(class, SuspicionClass::OtherTask);
    assert_eq!(
        text,
        "the thread was runnable but waited 15.9 ms in that second (usually 1.02 ms); another task held CPU 1: rogue99 \
         (FIFO 99, pid 144) ran 20.1 ms in that second"
    );
}

#[test]
fn a_task_of_lower_priority_is_not_accused() {
    let recording = recording(14_900_000, |s| {
        s.cpus[0].run_delay_ns = Some(15_950_000);
        s.cpus[0].rt_tasks = vec![reading("weak (FIFO 99) (FIFO 50, pid 60)", 30_000_000)];
    });
    let (class, text) = first(&recording);
    assert_eq!(class, SuspicionClass::OtherTask);
    assert!(text.ends_with("something else held CPU 1; the counters do not identify it"), "{text}");
}

#[test]
fn a_task_is_named_with_care_where_the_run_delay_is_not_known() {
    let mut recording = recording(14_900_000, |s| {
        s.cpus[0].rt_tasks = vec![reading("rogue99 (FIFO 99, pid 144)", 20_100_000)];
    });
    for event in &mut recording.events {
        if let Event::Context(sample) = event {
            sample.cpus[0].run_delay_ns = None;
        }
    }
    let (class, text) = first(&recording);
    assert_eq!(class, SuspicionClass::OtherTask);
    assert!(text.contains("it is unknown whether"), "{text}");
}

#[test]
fn ordinary_waits_of_a_second_do_not_explain_one_latency() {
    // A wakeup is 93 µs late in a second in which a thousand wakeups waited 1.04 ms in total, as usual.
    assert_eq!(
        first(&recording(93_000, |_| {})),
        (SuspicionClass::Unknown, "no counter changed unusually in that second, so the cause is unknown".into())
    );
}

#[test]
fn steal_is_told_with_its_resolution() {
    let (class, text) = first(&recording(4_000_000, |s| s.cpus[0].steal_ns = Some(10_000_000)));
    assert_eq!(class, SuspicionClass::Steal);
    assert!(text.contains("10.0 ms in that second (usually 0 ns); steal is counted in steps of 10 ms"), "{text}");
    // Ten milliseconds of steal cannot be a latency of thirty.
    assert_ne!(first(&recording(30_000_000, |s| s.cpus[0].steal_ns = Some(10_000_000))).0, SuspicionClass::Steal);
}

#[test]
fn an_interrupt_burst_is_named() {
    let recording = recording(400_000, |s| {
        s.cpus[0].irqs = Some(10_200);
        s.cpus[0].top_irqs = vec![reading("virtio0-req.0", 9_140), reading("LOC Local timer interrupts", 1_010)];
    });
    let (class, text) = first(&recording);
    assert_eq!(class, SuspicionClass::Irq);
    assert_eq!(text, "interrupt burst on CPU 1: virtio0-req.0, 9,140 times in that second (usually 50)");
}

#[test]
fn what_a_load_does_all_the_time_is_no_burst() {
    // A phase of three seconds is too short to show what is usual under a load that causes interrupts.
    let mut recording = recording(400_000, |s| {
        s.cpus[0].irqs = Some(10_200);
        s.cpus[0].top_irqs = vec![reading("virtio0-req.0", 9_140)];
    });
    let phase = &mut recording.run.phases[0];
    (phase.start_mono_ns, phase.end_mono_ns) = (Some(START + 3 * SECOND), Some(START + 6 * SECOND));
    assert_eq!(first(&recording).0, SuspicionClass::Unknown);
}

#[test]
fn a_rogue_task_is_found_in_a_short_phase_too() {
    let mut recording = recording(14_900_000, |s| {
        s.cpus[0].run_delay_ns = Some(15_950_000);
        s.cpus[0].rt_tasks = vec![reading("rogue99 (FIFO 99, pid 144)", 20_100_000)];
    });
    let phase = &mut recording.run.phases[0];
    (phase.start_mono_ns, phase.end_mono_ns) = (Some(START + 3 * SECOND), Some(START + 6 * SECOND));
    assert!(first(&recording).1.contains("rogue99 (FIFO 99, pid 144) ran 20.1 ms"));
}

#[test]
fn interrupts_together_where_no_source_is_known() {
    let recording = recording(400_000, |s| {
        s.cpus[0].irqs = Some(10_200);
        s.cpus[0].top_irqs = vec![];
    });
    let (class, text) = first(&recording);
    assert_eq!(class, SuspicionClass::Irq);
    assert!(text.contains("all sources together, 10,200 times in that second (usually 1,060)"), "{text}");
}

#[test]
fn softirq_migration_fault_throttling_and_frequency() {
    use SuspicionClass::*;
    type Case = (SuspicionClass, fn(&mut ContextSample), &'static str);
    let cases: [Case; 6] = [
        (
            Softirq,
            |s| s.cpus[0].softirqs.push(reading("NET_RX", 12_000)),
            "softirq burst on CPU 1: NET_RX, 12,000 times in",
        ),
        (Migration, |s| s.cpus[0].migrations = Some(1), "moved to another CPU 1 time in"),
        (PageFault, |s| s.cpus[0].page_faults = Some(2), "took 2 page faults in that second"),
        (Throttling, |s| s.cpus[0].throttle_events = Some(3), "CPU 1 was throttled 3 times"),
        (Throttling, |s| s.throttling.push(reading("under-voltage", 1)), "the machine throttled: under-voltage"),
        (FrequencyStep, |s| s.frequency_transitions = Some(4), "changed frequency 4 times in that second (usually 0)"),
    ];
    for (class, change, words) in cases {
        let (got, text) = first(&recording(400_000, change));
        assert_eq!(got, class);
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn smi_counts_are_told_with_the_late_wakeup() {
    let mut recording = recording(14_900_000, |_| {});
    let smi = |mono_ns, n| Event::Smi { mono_ns, counts: vec![(ONE, n)] };
    recording.events.push(smi(START - 1, 14));
    recording.events.push(smi(START + 10 * SECOND + 1, 16));
    let all = suspicions(&recording, &recording.worst[0]);
    let classes: Vec<_> = all.iter().map(|s| s.class).collect();
    assert_eq!(classes, [SuspicionClass::Smi, SuspicionClass::LateWakeup]);
    assert!(all[0].text.contains("SMI count 14 → 16"), "{}", all[0].text);
}

#[test]
fn a_late_wakeup_needs_a_known_and_small_run_delay() {
    let (class, text) = first(&recording(14_900_000, |_| {}));
    assert_eq!(class, SuspicionClass::LateWakeup);
    assert!(text.contains("waiting for only 1.02 ms in that second"), "{text}");
    assert_eq!(first(&recording(14_900_000, |s| s.cpus[0].run_delay_ns = None)).0, SuspicionClass::Unknown);
}

#[test]
fn cpus_late_together_are_told() {
    let mut recording = recording(14_900_000, |_| {});
    recording.worst.push(Worst { cpu: CpuId(3), latency_ns: 14_000_000, ..recording.worst[0].clone() });
    recording.worst.push(Worst { cpu: CpuId(2), latency_ns: 4_000, ..recording.worst[0].clone() });
    let (_, text) = first(&recording);
    assert!(text.ends_with("; CPU 3 was late at the same instant"), "{text}");
}

#[test]
fn a_wakeup_across_two_intervals_counts_both() {
    let mut recording = recording(14_900_000, |s| s.cpus[0].run_delay_ns = Some(16_000_000));
    recording.worst[0].release_mono_ns = START + 4 * SECOND - 1_000_000;
    let (class, text) = first(&recording);
    assert_eq!(class, SuspicionClass::OtherTask);
    assert!(text.contains("waited 17.0 ms in those 2.00 s (usually 2.04 ms)"), "{text}");
}

#[test]
fn missing_data_is_never_a_suspicion() {
    let nothing = |s: &mut ContextSample| {
        s.cpus[0] = CpuContext { cpu: ONE, ..CpuContext::default() };
        s.frequency_transitions = None;
    };
    // That second has no counters; the seconds around it have none; no second has any; only another CPU has some.
    let one_missing = recording(14_900_000, nothing);
    let mut others_missing = recording(14_900_000, |s| {
        s.cpus[0].irqs = Some(90_000);
        s.cpus[0].top_irqs = vec![reading("nvme0q1", 80_000)];
        s.cpus[0].softirqs = vec![reading("BLOCK", 80_000)];
        s.frequency_transitions = Some(900);
    });
    for (i, event) in others_missing.events.iter_mut().enumerate() {
        match event {
            Event::Context(sample) if i != 4 => nothing(sample),
            _ => {}
        }
    }
    let mut none = recording(14_900_000, |_| {});
    none.events.clear();
    let mut other_cpu = recording(14_900_000, |_| {});
    other_cpu.worst[0].cpu = CpuId(7);
    for mut recording in [one_missing, others_missing, none, other_cpu] {
        suspect(&mut recording);
        let classes: Vec<_> = recording.worst[0].suspicions.iter().map(|s| s.class).collect();
        // Without the neighbouring seconds, the run delay of that second is still known, and small.
        let allowed = [SuspicionClass::Unknown, SuspicionClass::LateWakeup];
        assert!(classes.len() == 1 && allowed.contains(&classes[0]), "{:?}", recording.worst[0].suspicions);
    }
}

#[test]
fn suspect_fills_in_what_suspicions_says() {
    let mut recording = recording(400_000, |s| s.cpus[0].migrations = Some(1));
    let said = suspicions(&recording, &recording.worst[0]);
    suspect(&mut recording);
    assert_eq!(recording.worst[0].suspicions, said);
}

#[test]
fn absurd_figures_are_answered() {
    let mut recording = recording(u64::MAX, |s| {
        s.cpus[0].run_delay_ns = Some(u64::MAX);
        s.cpus[0].steal_ns = Some(u64::MAX);
        s.cpus[0].top_irqs = vec![reading("x", i64::MAX), reading("y", i64::MIN)];
        s.interval_ns = 0;
    });
    recording.worst[0].release_mono_ns = u64::MAX;
    suspect(&mut recording);
    recording.worst[0].release_mono_ns = 0;
    suspect(&mut recording);
    assert!(!recording.worst[0].suspicions.is_empty());
}
