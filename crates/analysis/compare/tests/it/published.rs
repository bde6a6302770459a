//! Tests the conclusions from the published Raspberry Pi 4B files, in particular that temperature causes their
//! difference in speed.

use punctual_compare::{Side, compare, differs, drawings};
use punctual_import::{Options, read, recording};
use punctual_model::{
    Bench, BenchLog, BenchParts, BenchPlan, BenchSettings, Comparison, ComparisonRow, Conclusion, Recording, SampleUnit,
};
use punctual_stats::SplitMix64;
use std::fs::File;
use std::path::PathBuf;

const FILES: [[&str; 3]; 2] = [
    [
        "histogram_stdkernel_4.19.57-v7l+.csv",
        "std_kernel_4B_multithread_output.csv",
        "std_kernel_4B_singlethread_output.csv",
    ],
    [
        "histogram_rtkernel_4.19.59-rt23-v7l+.csv",
        "rt_kernel_4B_multithread_output.csv",
        "rt_kernel_4B_singlethread_output.csv",
    ],
];

fn file(name: &str) -> Recording {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../import/tests/fixtures").join(name);
    recording(vec![read(name, File::open(path).unwrap(), &Options::default()).unwrap()])
}

fn groups() -> Vec<(&'static str, Vec<(String, Recording)>)> {
    let of = |names: [&str; 3]| names.iter().map(|n| ((*n).to_owned(), file(n))).collect();
    vec![("standard", of(FILES[0])), ("RT", of(FILES[1]))]
}

fn sides<'a>(groups: &'a [(&'static str, Vec<(String, Recording)>)]) -> Vec<Side<'a>> {
    let side = |(name, runs): &'a (&'static str, Vec<(String, Recording)>)| Side {
        name: (*name).into(),
        runs: runs.iter().map(|(n, r)| (n.clone(), r)).collect(),
        ..Side::default()
    };
    groups.iter().map(side).collect()
}

fn row<'a>(comparison: &'a Comparison, load: &str, figure: &str) -> &'a ComparisonRow {
    comparison.rows.iter().find(|r| r.load.contains(load) && r.figure == figure).unwrap()
}

#[test]
fn the_published_figures() {
    let groups = groups();
    let sides = sides(&groups);
    let comparison = compare(&sides).unwrap();
    let worst = row(&comparison, "all loads", "max");
    let ratio = worst.against[0].ratio.unwrap();
    assert_eq!((worst.groups[0].values[0], worst.groups[1].values[0]), (301_000.0, 93_000.0));
    assert!((1.0 / ratio.value - 3.23).abs() < 0.01 && ratio.interval.is_none());
    assert_eq!(worst.against[0].conclusion, Conclusion::TooFew);
    assert_eq!([comparison.groups[0].scored, comparison.groups[1].scored], [199_999_114, 199_998_964]);

    let multi = row(&comparison, "4 processes", "time of a batch");
    let means: Vec<f64> = multi.groups.iter().map(|g| g.mean.unwrap()).collect();
    assert!((means[0] - 21.79).abs() < 0.01 && (means[1] - 24.27).abs() < 0.01, "{means:?}");
    assert!(multi.groups.iter().all(|g| g.lag_one.unwrap() > 0.9 && (4.0..7.0).contains(&g.effective.unwrap())));
    assert_eq!((multi.sample, multi.against[0].conclusion), (SampleUnit::Batch, Conclusion::TooFew));
    let heat = multi.against[0].covariate.unwrap();
    assert!(heat.is_most && heat.at == 78.0, "{heat:?}");
    let (low, high) = heat.below.interval.unwrap();
    assert!(
        (heat.below.value - 1.016).abs() < 0.001 && (low - 1.0).abs() < 0.001 && (high - 1.026).abs() < 0.001,
        "{heat:?}"
    );

    let single = row(&comparison, "1 process", "time of a batch");
    let means: Vec<f64> = single.groups.iter().map(|g| g.mean.unwrap()).collect();
    assert!((means[0] - 66.72).abs() < 0.01 && (means[1] - 67.55).abs() < 0.01, "{means:?}");
    assert!(single.against[0].covariate.is_none_or(|c| !c.is_most));

    let drawn = drawings(&sides, &comparison);
    assert_eq!(drawn.histograms.len(), 1);
    assert!(drawn.scatters.iter().any(|s| s.at == Some(78.0) && s.groups.iter().all(|g| g.len() == 100)));
}

/// Batches of the standard kernel below 70 °C, resampled, with 11 % added for the other kernel. This is a true
/// difference between two boots, which proves nothing about other boots.
#[test]
fn a_difference_at_constant_temperature_is_not_called_heat() {
    let mut random = SplitMix64::new(11);
    let mut normal = move || punctual_stats::normal_quantile(random.uniform()).unwrap();
    let header = "time,queen,threads,solutions,seconds,microseconds,cpu_temp,gpu_temp\n";
    let mut text = |factor: f64| {
        let mut text = header.to_owned();
        let mut noise = 0.0;
        for batch in 0..100 {
            noise = 0.3 * noise + 0.004 * normal();
            let (seconds, heat) = (18.0 * factor * f64::exp(noise), 65.0 + 0.4 * normal());
            let micros = (seconds.fract() * 1e6) as u32;
            text += &format!(
                "{}, 12, 4, 14200, {}, {micros}, {heat:.2}, {heat:.2}\n",
                1_566_157_000 + 20 * batch,
                seconds as u32
            );
        }
        text
    };
    let read = |text: String| recording(vec![read("made.csv", text.as_bytes(), &Options::default()).unwrap()]);
    let (a, b) = (read(text(1.0)), read(text(1.11)));
    let side = |name: &str, r| Side { name: name.into(), runs: vec![(name.into(), r)], ..Side::default() };
    let comparison = compare(&[side("a", &a), side("b", &b)]).unwrap();
    let multi = row(&comparison, "4 processes", "time of a batch");
    let against = &multi.against[0];
    assert_eq!(against.conclusion, Conclusion::TooFew);
    assert!((against.ratio.unwrap().value - 1.11).abs() < 0.01, "{against:?}");
    assert!(against.covariate.is_none_or(|c| !c.is_most), "{against:?}");
    assert!(!differs(&comparison));
}

/// A benchmark run by this program with the same values and temperatures gives the same ratio and the same effect of
/// temperature.
#[test]
fn a_benchmark_of_ours_is_compared_as_the_published_one() {
    let groups = groups();
    let wanted = compare(&sides(&groups)).unwrap();
    let mut ours = groups;
    for (_, runs) in &mut ours {
        for (_, recording) in runs {
            let settings = BenchSettings::Memory { threads: 1, bytes: 1 };
            let plan = BenchPlan { settings, repetitions: 0, not_measured: Vec::new(), notes: Vec::new() };
            let empty = Bench::of(BenchLog { plan, repetitions: Vec::new(), parts: BenchParts::default() });
            let series = recording.run.import.as_mut().map(|i| std::mem::take(&mut i.series)).unwrap();
            recording.bench = Some(Bench { series, ..empty });
        }
    }
    let got = compare(&sides(&ours)).unwrap();
    let [wanted, got] = [&wanted, &got].map(|c| row(c, "4 processes", "time of a batch"));
    assert_eq!(wanted, got);
    assert!(got.against[0].covariate.is_some_and(|c| c.is_most), "heat");
}
