//! Every sample file is read with exact totals and extremes, and every loss is reported.

use crate::common;

use common::{close, import, losses, max_ns, phase, problems, total, with};
use punctual_import::{Error, Format, Options, Unit};
use punctual_model::{Kind, LostKind};
use punctual_units::Nanos;

#[test]
fn the_published_histograms_of_the_pi_4b() {
    for (name, samples, max) in [
        ("histogram_rtkernel_4.19.59-rt23-v7l+.csv", 199_998_964, 93_000),
        ("histogram_stdkernel_4.19.57-v7l+.csv", 199_999_114, 301_000),
    ] {
        let run = import(name);
        assert_eq!((total(&run), max_ns(&run), run.run.phases[0].cpus.len()), (samples, max, 4), "{name}");
        // The table lacks the count beyond 399 µs, the period, the unit and the CPUs.
        for kind in
            [LostKind::Affinity, LostKind::Unit, LostKind::SkippedPeriods, LostKind::Resolution, LostKind::Order]
        {
            assert!(losses(&run, kind) > 0, "{name}: {kind:?}");
        }
        let cpu = &run.run.phases[0].cpus[0];
        assert_eq!((cpu.skipped, cpu.released, cpu.tid, cpu.got), (None, None, None, None));
        assert_eq!(cpu.blur.unwrap().hidden_from_ns, Some(400_000));
        assert_eq!((run.run.kind, run.run.host.clone(), run.run.started), (Kind::Imported, None, None));
    }
}

#[test]
fn cyclictest_2_4_with_its_histogram() {
    let run = import("ct-hist-stdout.txt");
    assert_eq!((total(&run), max_ns(&run)), (23_381 + 1_086 + 21_988 + 2_294, 25_218_000));
    let cpus = &run.run.phases[0].cpus;
    assert_eq!((cpus.len(), cpus[0].ran, cpus[1].ran), (2, 24_467, 24_282));
    assert_eq!((cpus[0].min_ns, cpus[1].min_ns), (Some(12_000), Some(11_000)));
    let unplaced = cpus[0].blur.unwrap().unplaced.unwrap();
    assert_eq!((unplaced.count, unplaced.from_ns, unplaced.to_ns), (1_085, 60_000, Some(25_218_000)));
    assert!(problems(&run).is_empty(), "{:?}", problems(&run));
    assert_eq!(run.run.settings.cpu_dma_latency_us, Some(0));
}

#[test]
fn cyclictest_2_10_without_total_and_empty_rows() {
    let run = import("ct-hist-2.10.txt");
    let cpus = &run.run.phases[0].cpus;
    assert_eq!((cpus[0].ran, cpus[1].ran, max_ns(&run)), (9_901 + 14, 9_787 + 41, 6_315_000));
    assert!(problems(&run).is_empty(), "{:?}", problems(&run));
}

#[test]
fn a_histogram_of_nothing_but_overflows() {
    let run = import("ct-histfile-overflow.txt");
    let cpus = &run.run.phases[0].cpus;
    assert_eq!((cpus.len(), cpus[0].ran, cpus[1].ran), (2, 9_812, 9_848));
    assert_eq!((cpus[0].min_ns, cpus[1].max_ns), (Some(11_000), Some(15_163_000)));
    assert!(problems(&run).is_empty(), "{:?}", problems(&run));
}

#[test]
fn json_of_both_versions() {
    for (name, counts, max, version) in [
        ("ct-2.4.json", [24_467, 24_282], 25_218_000, "2.40"),
        ("ct-2.10.json", [9_915, 9_828], 6_315_000, "2.10"),
        ("ct-stress30b.json", [common::STRESS_0, 143_957], 47_347_000, "2.40"),
    ] {
        let run = import(name);
        let cpus = &run.run.phases[0].cpus;
        assert_eq!(([cpus[0].ran, cpus[1].ran], max_ns(&run)), (counts, max), "{name}");
        assert_eq!(run.run.tool.version.as_deref(), Some(version));
        assert_eq!((run.run.settings.period_ns, run.run.host.as_deref()), (Some(Nanos(200_000)), Some("vm")));
        assert_eq!(cpus[0].got.unwrap().to_string(), "FIFO 95");
        // Affinity and period are recorded, but skipped periods are not, and the maximum exceeds the period.
        assert_eq!((losses(&run, LostKind::Affinity), cpus[0].skipped), (0, None));
        assert!(cpus[0].blur.unwrap().skipped_at_most.unwrap() > 0);
        assert!(problems(&run).is_empty(), "{name}: {:?}", problems(&run));
    }
    // 24,467 periods of 200 µs ran in 5 s (stated in whole seconds).
    let blur = import("ct-2.4.json").run.phases[0].cpus[0].blur.unwrap();
    assert_eq!(blur.skipped_at_most, Some(6_000_000 / 200 + 1 - 24_467));
    assert!(close(import("ct-2.4.json").run.phases[0].cpus[0].mean_ns, 36_300.0));
}

#[test]
fn quotes_in_the_command_of_json() {
    let run = import("ct-quotes-in-cmdline.json");
    assert_eq!((total(&run), max_ns(&run)), (10, 237_000));
    assert!(run.run.command.contains(&"--json=a\"b.json".to_owned()), "{:?}", run.run.command);
    // 237 µs is less than the default period, so no period was skipped.
    let cpu = &run.run.phases[0].cpus[0];
    assert_eq!((cpu.skipped, cpu.released), (Some(0), Some(10)));
}

#[test]
fn live_rows_verbose_rows_spikes_and_a_break() {
    let run = import("ct-nohist.txt");
    let cpus = &run.run.phases[0].cpus;
    assert_eq!((cpus[0].ran, cpus[1].ran, max_ns(&run)), (9_878, 2_803, 7_226_000));
    assert_eq!((cpus[0].tid, cpus[0].min_ns, run.run.settings.period_ns), (Some(22_445), Some(10_000), None));
    assert_eq!(losses(&run, LostKind::Distribution), 2);
    let run = import("ct-verbose.txt");
    assert_eq!((total(&run), max_ns(&run), run.run.settings.period_ns), (5, 88_000, Some(Nanos(10_500_000))));
    assert_eq!(run.run.phases[0].cpus[0].skipped, Some(0));
    let run = import("ct-resolution.txt");
    assert_eq!((total(&run), max_ns(&run)), (1, 34_000));
    let run = import("ct-spike.txt");
    assert_eq!((total(&run), run.run.import.as_ref().unwrap().series.len()), (9_925 + 2_848, 2));
    let run = import("ct-break.txt");
    assert_eq!((run.run.phases[0].cpus[0].ran, run.run.phases[0].cpus[1].ran), (1, 0));
    assert!(run.run.notes.iter().any(|n| n.contains("22504") && n.contains("40")), "{:?}", run.run.notes);
}

#[test]
fn jitterdebugger() {
    let run = import("jd-results.json");
    let cpus = &run.run.phases[0].cpus;
    assert_eq!((cpus[1].ran, cpus[1].max_ns, cpus[1].min_ns), (13_987, Some(8_546_000), Some(10_000)));
    // The tool catches up, so every period ran and none is missing.
    assert_eq!((cpus[1].skipped, cpus[1].released), (Some(0), Some(13_987)));
    let run = import("jd-samples-cut.raw");
    assert_eq!(total(&run), 140_014 / 28);
    assert_eq!((losses(&run, LostKind::Truncated), run.run.complete), (1, false));
    assert_eq!((losses(&run, LostKind::Gap), run.run.settings.period_ns), (0, Some(Nanos(200_000))));
    let run = import("jd-stdout.txt");
    assert_eq!(run.run.tool.name, "jitterdebugger");
    assert_eq!((total(&run), max_ns(&run)), (14_465 + 13_628, 11_683_000));
}

#[test]
fn oslat_and_cyclicdeadline() {
    let run = import("oslat-2.4.json");
    let cpu = &run.run.phases[0].cpus[0];
    assert_eq!((cpu.min_ns, cpu.max_ns), (Some(1_000), Some(1_427_412_000)));
    let bins = [1_783_020, 9, 4, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 24];
    assert_eq!((cpu.ran, cpu.blur.unwrap().unplaced.unwrap().count), (bins.iter().sum(), 23));
    let run = import("cyclicdeadline-2.4.json");
    assert_eq!((total(&run), max_ns(&run), run.run.tool.name.as_str()), (213, 74_000, "cyclicdeadline"));
    let run = import("cyclicdeadline-2.4.txt");
    assert_eq!(run.run.tool.name, "cyclicdeadline");
}

#[test]
fn rtla_with_five_outputs_in_one_log() {
    let run = import("rtla-7.2-vm2.log");
    let labels: Vec<_> = run.run.phases.iter().filter_map(|p| p.label.as_deref()).collect();
    let three = ["IRQ latency", "thread latency", "return-to-user latency"];
    let runs = [(1, 12), (2, 38), (3, 49)].map(|(n, line)| format!("run {n}, line {line} ("));
    let named = labels.iter().zip(runs.iter().flat_map(|run| three.map(|label| (run, label))));
    assert!(
        labels.len() == 9 && named.into_iter().all(|(l, (run, label))| l.starts_with(run) && l.ends_with(label)),
        "{labels:?}"
    );
    let irq = phase(&run, 0);
    assert_eq!((irq.cpus[0].ran, irq.cpus[1].ran), (295, 293));
    assert_eq!((irq.cpus[0].min_ns, irq.cpus[0].max_ns), (Some(38_000), Some(16_828_000)));
    assert_eq!((phase(&run, 2).cpus[1].max_ns, phase(&run, 2).cpus[1].min_ns), (Some(16_537_000), Some(123_000)));
    assert_eq!((phase(&run, 3).cpus[0].ran, phase(&run, 3).cpus[0].max_ns), (294, Some(25_162_000)));
    // The thread of CPU 1 never ran in the second screen. Dashes mean no value, not zero.
    assert_eq!((phase(&run, 6).cpus.len(), phase(&run, 7).cpus.len()), (2, 1));
    let series = &run.run.import.as_ref().unwrap().series;
    let single = series.iter().find(|s| s.name == "longest single noise").unwrap();
    assert_eq!((single.points.as_slice(), single.labels.len()), (&[60_167.0, 60_024.0][..], 2));
    assert!(series.iter().any(|s| s.of.starts_with("hardware noise") && s.max == 637_279.0));
    assert!(problems(&run).is_empty(), "{:?}", problems(&run));
}

#[test]
fn n_queens() {
    for (name, count, mean) in [
        ("rt_kernel_4B_multithread_output.csv", 100, common::RT_MULTI),
        ("std_kernel_4B_multithread_output.csv", 100, common::STD_MULTI),
        ("rt_kernel_4B_singlethread_output.csv", 45, common::RT_SINGLE),
        ("std_kernel_4B_singlethread_output.csv", 45, common::STD_SINGLE),
    ] {
        let run = import(name);
        let series = &run.run.import.as_ref().unwrap().series;
        assert_eq!((series.len(), series[0].count, series[0].unit.as_str()), (3, count, "s"), "{name}");
        assert!((series[0].mean - mean).abs() < 0.005, "{name}: {}", series[0].mean);
        assert!(run.run.phases.is_empty() && run.run.import.as_ref().unwrap().started_real_ns.is_some());
    }
}

#[test]
fn what_the_user_knows_counts() {
    let ns = with("ct-hist-2.10.txt", &Options { unit: Some(Unit::Nanos), ..Options::default() });
    assert_eq!((max_ns(&ns), losses(&ns, LostKind::Unit)), (6_315, 0));
    let slow = with("ct-hist-2.10.txt", &Options { period: Some(Nanos(10_000_000)), ..Options::default() });
    assert_eq!(slow.run.phases[0].cpus[0].skipped, Some(0));
    assert_eq!(slow.run.settings.period_ns, Some(Nanos(10_000_000)));
}

#[test]
fn errors_say_what_to_do() {
    let fail = |bytes: &[u8], options: &Options| punctual_import::read("dir/x.txt", bytes, options).unwrap_err();
    assert!(fail(b"hello\n", &Options::default()).to_string().contains("--columns"));
    assert!(matches!(fail(b"", &Options::default()), Error::Empty { .. }));
    let forced = |format| Options { format: Some(format), ..Options::default() };
    for format in Format::ALL {
        let error = fail(b"nothing of it\n", &forced(format)).to_string();
        assert!(error.starts_with("x.txt"), "{error}");
    }
    let torn = std::fs::read(common::path("ct-2.4.json")).unwrap();
    let error = fail(&torn[..1_000], &Options::default()).to_string();
    assert!(error.contains("ends too early") && error.contains("complete output"), "{error}");
}
