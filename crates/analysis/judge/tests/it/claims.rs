use crate::common;

use common::*;
use punctual_judge::judge;
use punctual_model::ClusterNote;
use punctual_model::Outcome::{Fail, Held, Inconclusive, Pass};
use punctual_units::{CpuId, Nanos};

fn good() -> punctual_model::Recording {
    recording(&[("idle", &[quiet(10_000, 1), quiet(10_000, 2)]), ("cpu", &[quiet(10_000, 3), quiet(10_000, 4)])])
}

#[test]
fn the_bars() {
    let run = good();
    assert_eq!(outcome(&run, "max < 10s"), Held);
    assert_eq!(outcome(&run, "max < 1us"), Fail);
    assert_eq!(outcome(&run, "P(>1s) < 1e-12"), Inconclusive);
    assert_eq!(outcome(&run, "missed = 0"), Held);
    let all = judge(&run, &claims(&["max < 10s", "max < 1us", "P(>1s) < 1e-12"]));
    assert_eq!(all.outcome, Fail);
    assert_eq!(judge(&run, &claims(&["max < 10s", "P(>1s) < 1e-12"])).outcome, Inconclusive);
    assert_eq!((all.released, all.ran, all.skipped), (Some(40_000), 40_000, Some(0)));
    assert!(all.problems.is_empty());
}

#[test]
fn the_largest_latency_decides_to_the_nanosecond() {
    let run = one(quiet_but(5_000, &[(77, 93_001)]));
    assert_eq!(outcome(&run, "max < 93001ns"), Fail);
    assert_eq!(outcome(&run, "max < 93002ns"), Held);
    let failed = &judged(&run, "max < 93001ns").cells[0];
    assert_eq!((failed.beyond, failed.max_ns, failed.needed), ((1, 1), Some(93_001), None));
}

#[test]
fn a_passed_maximum_says_what_it_supports() {
    let run = one(quiet(10_000, 1));
    let cell = &judged(&run, "max < 1ms").cells[0];
    // The bound for no late release is 3.38 events, in 10,000 releases.
    assert!((cell.p_beyond_max.unwrap() - 3.38e-4).abs() < 1e-6);
    assert_eq!((cell.samples, cell.beyond, cell.estimate, cell.lower), (10_000, (0, 0), Some(0.0), Some(0.0)));
    let needed = cell.needed.unwrap();
    assert!((needed.p - cell.p_beyond_max.unwrap() / 10.0).abs() < 1e-15);
    assert_eq!(cell.bounds.iter().map(|b| b.stall_ns.0 / PERIOD).collect::<Vec<_>>(), [1, 10, 50]);
    let bounds: Vec<f64> = cell.bounds.iter().map(|b| b.upper * 10_000.0).collect();
    // A disturbance of 10 ms makes at most 10 releases late.
    assert!((bounds[1] / bounds[0] - 10.0).abs() < 0.1 && (bounds[2] / bounds[0] - 50.0).abs() < 1.0, "{bounds:?}");
    // A ten times stronger claim needs ten times as long: 100 s at 1 kHz.
    assert!((needed.duration_ns.as_secs_f64() - 100.0).abs() < 0.1, "{}", needed.duration_ns);
}

#[test]
fn the_worst_cell_decides_and_stands_first() {
    let mut cpus = vec![quiet(5_000, 1), quiet(5_000, 2), quiet(5_000, 3)];
    cpus[1][9] = 700_000;
    let run = recording(&[("idle", &[quiet(5_000, 9)]), ("cpu", &cpus)]);
    let judged = judged(&run, "max < 500us");
    assert_eq!(judged.outcome, Fail);
    let first = &judged.cells[0];
    assert_eq!((first.phase.as_str(), first.cpu, first.outcome), ("2-cpu", CpuId(1), Fail));
    // CPUs 1 and 2 should also have been measured under idle.
    assert_eq!(judged.cells.len(), 6);
    assert_eq!(judged.cells.iter().filter(|c| c.outcome == Inconclusive).count(), 2);
    let worst = judge(&run, &claims(&["max < 500us"])).worst.unwrap();
    assert_eq!((worst.phase.as_str(), worst.cpu, worst.max_ns), ("2-cpu", CpuId(1), 700_000));
}

/// Returns a run of ten minutes at 1 kHz, with this number of wakeups later than 100 µs in each of its 120 blocks.
fn in_blocks(late: impl Fn(u64) -> u64) -> punctual_model::Recording {
    let mut run = one(vec![1]);
    let counts: Vec<(u64, u64, u64)> = (0..120).map(|n| (5_000, late(n), late(n))).collect();
    let all: u64 = counts.iter().map(|count| count.1).sum();
    replace_in_bulk(&mut run, &[(20_000, 600_000 - all), (150_000, all)]);
    let blocks = punctual_model::Blocks { limit_ns: Nanos(99_999), counts };
    run.run.phases[0].cpus[0].blocks = vec![blocks];
    run
}

#[test]
fn a_quantile_is_judged_by_blocks_of_time() {
    assert_eq!(outcome(&in_blocks(|n| 38 + n % 5), "p99 < 100us"), Pass);
    assert_eq!(outcome(&in_blocks(|n| 58 + n % 5), "p99 < 100us"), Fail);
    // Latencies below the limit on average, in slow waves of four minutes. Waves of ten seconds would decide the claim.
    assert_eq!(outcome(&in_blocks(|n| if n / 24 % 2 == 0 { 0 } else { 80 }), "p99 < 100us"), Inconclusive);
    assert_eq!(outcome(&in_blocks(|n| if n % 2 == 0 { 0 } else { 80 }), "p99 < 100us"), Pass);
}

#[test]
fn a_quantile_needs_ten_blocks_of_half_a_minute() {
    let mut run = in_blocks(|_| 0);
    assert_eq!(outcome(&run, "p99 < 100us"), Pass);
    // The run lasts 4 minutes 55 seconds.
    run.run.phases[0].cpus[0].blocks[0].counts.truncate(59);
    assert_eq!(outcome(&run, "p99 < 100us"), Inconclusive);
    run.run.phases[0].cpus[0].blocks[0].counts.push((5_000, 0, 0));
    assert_eq!(outcome(&run, "p99 < 100us"), Pass);
}

#[test]
fn without_blocks_a_quantile_holds_or_is_refuted_by_far() {
    let run = one(quiet(20_000, 1));
    let cell = judged(&run, "p99 < 1s").cells.remove(0);
    let (low, estimate, high) = (cell.lower.unwrap(), cell.estimate.unwrap(), cell.upper.unwrap());
    assert!(low < estimate && estimate < high, "{low} {estimate} {high}");
    // For 2 µs plus an exponential tail of 0.5 µs, p99 is 4.30 µs.
    assert!(low < 4_303.0 && 4_303.0 < high, "{low} {high}");
    assert_eq!(outcome(&run, &format!("p99 < {}ns", high as u64 + 1)), Held);
    assert_eq!(outcome(&run, &format!("p99 < {}ns", low as u64)), Inconclusive);
    assert_eq!(outcome(&run, &format!("p99 < {}ns", low as u64 - 1)), Inconclusive);
    assert_eq!(outcome(&run, "p99 < 2100ns"), Fail);
}

#[test]
fn a_quantile_takes_the_worse_edge_of_its_bin() {
    let mut run = one(vec![1]);
    // One bin contains both values: 100,352 to 100,863 ns.
    replace_in_bulk(&mut run, &[(100_400, 50_000), (100_800, 50_000)]);
    let cell = judged(&run, "p50 < 1ms").cells.remove(0);
    assert_eq!((cell.lower, cell.upper), (Some(100_400.0), Some(100_800.0)));
    replace_in_bulk(&mut run, &[(1_000, 10), (100_400, 50_000), (100_800, 50_000), (500_000, 10)]);
    let cell = judged(&run, "p50 < 1ms").cells.remove(0);
    assert_eq!((cell.lower, cell.upper), (Some(100_352.0), Some(100_863.0)));
}

#[test]
fn an_exceedance_passes_fails_or_stays_open() {
    let run = one(quiet_but(20_000, &[(100, 150_000), (9_000, 150_000), (17_000, 150_000)]));
    let cell = judged(&run, "P(>100us) < 1e-2").cells.remove(0);
    assert_eq!((cell.outcome, cell.beyond, cell.estimate), (Pass, (3, 3), Some(1.5e-4)));
    assert!(cell.lower.unwrap() < 1.5e-4 && 1.5e-4 < cell.upper.unwrap());
    assert_eq!(outcome(&run, "P(>100us) < 2e-4"), Inconclusive);
    assert_eq!(outcome(&run, "P(>100us) < 1e-5"), Fail);
    assert_eq!(outcome(&run, "P(>150us) < 1e-3"), Pass);
    assert_eq!(judged(&run, "P(>150us) < 1e-3").cells[0].beyond, (0, 0));
}

#[test]
fn an_open_exceedance_says_how_long_it_takes() {
    let run = one(quiet(10_000, 1));
    let cell = judged(&run, "P(>1s) < 1e-9").cells.remove(0);
    let needed = cell.needed.unwrap();
    assert!(needed.p == 1e-9 && (needed.samples / 3.38e9 - 1.0).abs() < 1e-2, "{needed:?}");
    assert!((needed.duration_ns.as_secs_f64() / 3.38e6 - 1.0).abs() < 1e-2);
    // With a declared stall of 50 ms, 50 releases count as one event.
    let stall = judged(&run, "P(>1s) < 1e-9 @stall 50ms").cells.remove(0).needed.unwrap();
    assert!((stall.samples / needed.samples - 50.0).abs() < 1e-6);
    let claim = claims(&["P(>1s) < 1e-9 @stall 50ms"]).remove(0);
    assert_eq!(punctual_judge::shortest(&claim, Nanos(PERIOD)), Some(stall.duration_ns));
    assert_eq!(punctual_judge::shortest(&punctual_model::Claim::none_missed(), Nanos(PERIOD)), None);
}

#[test]
fn the_bounds_decide_exactly() {
    let run = one(quiet_but(20_000, &[(100, 150_000), (9_000, 150_000), (17_000, 150_000), (19_000, 1_100_000)]));
    for form in ["P(>100us) < {}", "missed <= {} per 1"] {
        let claim = |p: f64| form.replace("{}", &p.to_string());
        let cell = judged(&run, &claim(0.5)).cells.remove(0);
        let (lower, upper) = (cell.lower.unwrap(), cell.upper.unwrap());
        assert_eq!(outcome(&run, &claim(upper * 1.0001)), Pass, "{form}");
        // A claim about the share of misses is at least held.
        let open = if form.starts_with('P') { Inconclusive } else { Held };
        assert_eq!(outcome(&run, &claim(upper * 0.9999)), open, "{form}");
        assert_eq!(outcome(&run, &claim(lower * 1.0001)), Inconclusive, "{form}");
        assert_eq!(outcome(&run, &claim(lower * 0.9999)), Fail, "{form}");
    }
}

#[test]
fn of_two_failed_maxima_the_larger_stands_first() {
    let (often, once) = (quiet_but(5_000, &[(5, 300_000), (700, 300_000)]), quiet_but(5_000, &[(5, 400_000)]));
    let judged = judged(&recording(&[("idle", &[often, once])]), "max < 200us");
    assert_eq!((judged.cells[0].cpu, judged.cells[1].cpu), (CpuId(1), CpuId(0)));
    assert!(judged.cells[0].upper < judged.cells[1].upper);
}

#[test]
fn time_is_not_asked_for_where_it_would_not_help() {
    // As many samples are beyond the limit as the claim allows, so measuring longer never decides it.
    let run = one(quiet_but(20_000, &[(100, 150_000), (9_000, 150_000), (17_000, 150_000)]));
    let cell = judged(&run, "P(>100us) < 1.4e-4").cells.remove(0);
    assert_eq!((cell.outcome, cell.needed), (Inconclusive, None));
    assert_eq!(judged(&run, "P(>100us) < 1e-5").cells[0].needed, None);
}

#[test]
fn exceedances_of_a_cut_bin_are_counted_exactly_from_the_worst_list() {
    // The bin of the limit has four values, two of which are beyond it.
    let late = [(1, 100_400), (2_000, 100_500), (4_000, 100_700), (6_000, 100_800)];
    let mut run = one(quiet_but(20_000, &late));
    assert_eq!(judged(&run, "P(>100600ns) < 1e-9").cells[0].beyond, (2, 2));
    // Without the list the bin does not decide the claim; only the maximum is known.
    run.worst.clear();
    assert_eq!(judged(&run, "P(>100600ns) < 1e-9").cells[0].beyond, (1, 4));
    // A list that is not full, or does not reach the maximum, is ignored.
    let mut torn = one(quiet_but(20_000, &late));
    torn.worst.pop();
    assert_eq!(judged(&torn, "P(>100600ns) < 1e-9").cells[0].beyond, (1, 4));
    let mut torn = one(quiet_but(20_000, &late));
    torn.worst.remove(0);
    torn.run.settings.worst_kept -= 1;
    assert_eq!(judged(&torn, "P(>100600ns) < 1e-9").cells[0].beyond, (1, 4));
}

#[test]
fn skipped_periods_are_counted_exactly_from_the_worst_list() {
    // A wakeup 60.9 ms late skips 60 periods, late by 59.9 … 0.9 ms. The wakeup and 30 of them are beyond 30.2 ms, in
    // bins 256 µs wide.
    let run = one(quiet_but(20_000, &[(5_000, 60_900_000)]));
    assert_eq!(judged(&run, "P(>30200us) < 1e-9").cells[0].beyond, (31, 31));
    assert_eq!(judged(&run, "P(>30900us) < 1e-9").cells[0].beyond, (30, 30));
}

/// The phase ended while the thread was still late, so later jobs were not released.
#[test]
fn a_stall_at_the_end_skips_only_what_was_released() {
    let mut run = one(quiet_but(20_000, &[(19_999, 60_900_000)]));
    let d = run.distributions.values_mut().next().unwrap();
    d.skipped = punctual_units::Histogram::new();
    d.skipped.record(59_900_000);
    d.skipped.record(58_900_000);
    run.worst[0].skipped = 2;
    let result = &mut run.run.phases[0].cpus[0];
    (result.skipped, result.released) = (Some(2), Some(20_002));
    assert_eq!(judged(&run, "P(>58800us) < 1e-9").cells[0].beyond, (3, 3));
    let cell = judged(&run, "P(>1ms) < 1e-9").cells.remove(0);
    assert_eq!(cell.beyond, (3, 3));
    assert!((cell.effective_samples * 3.0 / 20_002.0 - 1.0).abs() < 1e-9, "one event of three");
    assert!(judge(&run, &[]).problems.is_empty());
}

#[test]
fn a_long_stall_does_not_raise_the_maximum_by_a_bin() {
    // The wakeup is 400 ms late. The last skipped period is 399 ms late, in a bin that ends above 400 ms.
    let mut run = one(quiet_but(20_000, &[(5_000, 400_000_000)]));
    let d = run.distributions.values_mut().next().unwrap();
    let mut bins = vec![0; punctual_units::BINS];
    d.skipped.bins().for_each(|b| bins[punctual_units::bin_index(b.low)] = b.count);
    d.skipped = punctual_units::Histogram::from_bins(bins, 0, u64::MAX, d.skipped.sum());
    assert!(d.skipped.max() > d.raw.max());
    assert_eq!(judged(&run, "max < 400000001ns").outcome, Held);
    assert_eq!(judged(&run, "max < 1s").cells[0].max_ns, Some(400_000_000));
}

#[test]
fn a_skipped_period_is_a_miss() {
    let run = one(quiet_but(20_000, &[(5_000, 3_100_000)]));
    let cell = judged(&run, "missed = 0").cells.remove(0);
    assert_eq!((cell.outcome, cell.beyond, cell.samples), (Fail, (3, 3), 20_003));
    assert_eq!(outcome(&run, "max < 5ms"), Held);
    let verdict = judge(&run, &claims(&["missed = 0"]));
    assert_eq!((verdict.released, verdict.ran, verdict.skipped), (Some(20_003), 20_000, Some(3)));
}

#[test]
fn a_deadline_makes_late_wakeups_misses() {
    let mut run = one(quiet_but(20_000, &[(5_000, 120_000), (9_000, 100_000)]));
    assert_eq!(outcome(&run, "missed = 0"), Held);
    run.run.settings.deadline_ns = Some(Nanos::from_micros(100));
    assert_eq!(judged(&run, "missed = 0").cells[0].beyond, (1, 1));
    assert_eq!(outcome(&run, "missed = 0"), Fail);
    run.run.settings.deadline_ns = Some(Nanos::from_micros(120));
    assert_eq!(outcome(&run, "missed = 0"), Held);
    run.run.settings.deadline_ns = Some(Nanos::from_micros(110));
    assert_eq!(outcome(&run, "missed <= 1 per 1000"), Pass);
    // One miss in 20,000 does not exceed the claim, but shows no more than that.
    assert_eq!(outcome(&run, "missed <= 50 per 1e6"), Held);
    assert_eq!(outcome(&run, "missed <= 1 per 1e6"), Inconclusive);
}

#[test]
fn a_share_of_misses() {
    let run = one(quiet_but(20_000, &[(3_000, 1_100_000), (9_000, 1_100_000), (15_000, 1_100_000)]));
    assert_eq!(judged(&run, "soft").cells[0].beyond, (3, 3));
    assert_eq!(outcome(&run, "soft"), Pass);
    assert_eq!(outcome(&run, "missed <= 200 per 1e6"), Held);
    assert_eq!(outcome(&run, "missed <= 100 per 1e6"), Inconclusive);
    assert_eq!(outcome(&run, "firm"), Fail);
    // No miss in 20,000 releases does not yet prove a share below 3 in a million.
    let cell = judged(&one(quiet(20_000, 1)), "firm").cells.remove(0);
    assert_eq!(cell.outcome, Held);
    assert_eq!(cell.bounds.first().unwrap().upper, cell.upper.unwrap());
}

#[test]
fn confidence_costs_samples() {
    let run = one(quiet(10_000, 1));
    let bound = |claim| judged(&run, claim).cells[0].upper.unwrap();
    assert!(bound("P(>1ms) < 1e-3 @99%") > bound("P(>1ms) < 1e-3 @95%"));
    assert!(bound("P(>1ms) < 1e-3 @95%") > bound("P(>1ms) < 1e-3 @50%"));
}

#[test]
fn rare_events_may_have_been_missed() {
    let mut run = recording(&[("idle", &[vec![2_000]]), ("cpu", &[vec![2_000]])]);
    run.run.phases[0].cpus[0].released = Some(600_000);
    run.run.phases[1].cpus[0].released = Some(1_200_000);
    let coverage = judge(&run, &[]).coverage;
    let every: Vec<String> = coverage.iter().map(|c| c.every_ns.to_string()).collect();
    assert_eq!(every, ["60.0 s", "14 min", "60 min", "24 h"]);
    assert_eq!((coverage[1].p_one_phase * 100.0).round(), 51.0);
    assert_eq!((coverage[1].p_run * 100.0).round(), 88.0);
}

#[test]
fn a_handful_of_samples_says_nothing_about_clusters() {
    let cell = judged(&one(quiet(50, 1)), "missed = 0").cells.remove(0);
    assert!(matches!(cell.clustering, ClusterNote::TooFew { from } if from < 10), "{:?}", cell.clustering);
    assert_eq!(cell.effective_samples, 50.0);
}
