use super::*;
use crate::options::{Asked, parse};
use crate::plan::plan;
use crate::stat::Keep;

fn options(words: &str) -> Options {
    let words: Vec<_> = words.split_whitespace().map(Into::into).collect();
    match parse(&words).unwrap() {
        Asked::Run(options) => *options,
        Asked::Help => panic!(),
    }
}

fn stat(bins: usize, tid: i64, latencies: &[u64]) -> Stat {
    let stat = Stat::new(Keep { bins, values: true, spikes: 4 });
    stat.tid.store(tid, Relaxed);
    latencies.iter().for_each(|latency| stat.record(*latency));
    stat
}

#[test]
fn lines_are_cyclictests() {
    let options = options("-q -S -p 95 -i 200");
    let plan = plan(&options, &"0-1".parse().unwrap(), &"0-1".parse().unwrap(), &"".parse().unwrap()).unwrap();
    let stat = stat(0, 22445, &[10, 4952, 52]);
    let wanted = "T: 0 (22445) P:95 I:200 C:      3 Min:     10 Act:   52 Avg: 1671 Max:    4952\n";
    assert_eq!(line(&options, 0, &plan.threads[0], &stat, None), wanted);
    let fresh = Stat::new(Keep::default());
    let wanted = "T: 1 (    0) P:95 I:700 C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0\n";
    assert_eq!(line(&options, 1, &plan.threads[1], &fresh, None), wanted);
}

#[test]
fn histograms_are_cyclictests() {
    let stats = [stat(3, 1, &[1, 1, 2, 9, 9, 9, 9]), stat(3, 2, &[1, 8])];
    let old = "# Histogram\n000000 000000\t000000\t000000\n000001 000002\t000001\t000003\n000002 000001\t000000\t000001\n\
               # Total: 000000003 000000001 000000004\n# Min Latencies: 00001 00001\n# Avg Latencies: 00005 00004\n\
               # Max Latencies: 00009 00008 00009\n# Histogram Overflows: 00004 00001 00005\n\
               # Histogram Overflow at cycle number:\n# Thread 0: 00003 00004 00005 # 00001 others\n# Thread 1: 00001\n\n";
    assert_eq!(histogram(&options("-H 3 -p 1"), &stats), old);
    let new = histogram(&options("-h 3 -p 1 --format-version 2.10"), &stats);
    assert!(new.starts_with("# Histogram\n000001 000002\t000001\n000002 000001\t000000\n# Min Latencies:"), "{new}");
}

#[test]
fn values_and_spikes_are_cyclictests() {
    let stat = stat(0, 1, &[49, 31, 36]);
    let mut out = String::new();
    assert_eq!(values(&mut out, 0, &stat, 0, 1), 3);
    assert_eq!(out, "       0:       0:      49\n       0:       1:      31\n       0:       2:      36\n");
    let mut out = String::new();
    assert_eq!(values(&mut out, 0, &stat, 0, 2), 2);
    assert_eq!(out, "       0:       0:      49\n");
    stat.spike(1_249_672_310, 32);
    assert_eq!(spikes(&[stat], 4), "\nT: 0 Spike:      32: TS:   1249672310\nspikes = 1\n\n");
}

#[test]
fn spikes_come_in_the_order_of_time() {
    let stats = [stat(0, 1, &[50, 60]), stat(0, 2, &[70])];
    stats[0].spike(10, 50);
    stats[1].spike(20, 70);
    stats[0].spike(30, 60);
    let lines =
        |nodes| spikes(&stats, nodes).lines().filter(|l| l.contains("Spike")).map(|l| l[..4].to_owned()).collect();
    let (all, first): (Vec<String>, Vec<String>) = (lines(9), lines(2));
    assert_eq!((all, first), (vec!["T: 0".into(), "T: 1".into(), "T: 0".into()], vec!["T: 0".into(), "T: 1".into()]));
    assert!(spikes(&stats, 2).ends_with("\nspikes = 3\n\n"));
}
