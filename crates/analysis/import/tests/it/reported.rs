//! Public results that earlier versions read incorrectly, with the correct results.

use crate::common;

use common::{import, losses, max_ns, path, problems, total};
use punctual_import::{Error, Options, read};
use punctual_model::{LostKind, Recording};

fn reported(name: &str) -> Recording {
    import(&format!("reported/{name}"))
}

fn refused(name: &str) -> String {
    let name = format!("reported/{name}");
    read(&name, std::fs::File::open(path(&name)).unwrap(), &Options::default()).unwrap_err().to_string()
}

/// Returns the number of samples and largest latency of each phase, µs.
fn phases(run: &Recording) -> Vec<(u64, u64)> {
    let of = |phase: &punctual_model::Phase| {
        let max = phase.cpus.iter().filter_map(|c| c.max_ns).max().unwrap_or(0);
        (phase.cpus.iter().map(|c| c.ran).sum(), max / 1_000)
    };
    run.run.phases.iter().map(of).collect()
}

#[test]
fn nothing_vanishes_from_a_text_with_several_runs() {
    for (name, expected) in [
        ("equals-line.txt", &[(200, 20), (200, 900)][..]),
        ("equals-live.txt", &[(166_934, 39_242)]),
        ("two-runs-live.txt", &[(100_000, 39_242), (100_000, 18)]),
        ("two-runs-hist-no-header.txt", &[(100, 10), (100, 900)]),
        ("hist-then-live.txt", &[(100, 10), (9_000, 1_800)]),
        ("one-line.txt", &[(16_667, 3_400)]),
        ("isolated-line.txt", &[(100_000, 3_400)]),
        ("uptime-line.txt", &[(60_000, 3_400)]),
        ("clock-line.txt", &[(100_000, 3_400)]),
        ("ci-prefix.txt", &[(60_000, 3_400)]),
        ("summary-only.txt", &[(594_416, 985)]),
        ("osadl-histogram.tsv", &[(200, 20)]),
    ] {
        let run = reported(name);
        assert_eq!(phases(&run), expected, "{name}");
        assert_eq!(problems(&run), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn runs_are_named_by_what_stands_before_them() {
    let labels = |name| reported(name).run.phases.iter().filter_map(|p| p.label.clone()).collect::<Vec<_>>();
    assert_eq!(
        labels("equals-line.txt"),
        ["run 1, line 2 (idle): wakeup latency", "run 2, line 15 (load): wakeup latency"]
    );
    assert_eq!(
        labels("two-runs-live.txt"),
        ["run 1, line 2 (Without the patch): wakeup latency", "run 2, line 4 (With the patch): wakeup latency"]
    );
    assert_eq!(labels("uptime-line.txt"), ["wakeup latency"]);
}

#[test]
fn what_is_stated_is_kept() {
    let run = reported("max-dropped.txt");
    let cpu = &run.run.phases[0].cpus[0];
    assert_eq!((cpu.ran, cpu.min_ns, cpu.max_ns), (600_000, Some(2_000), Some(19_000)));
    assert!(problems(&run).iter().any(|p| p.contains("600000") && p.contains("579506")), "{:?}", problems(&run));
    let run = reported("summary-only.txt");
    let cpus = &run.run.phases[0].cpus;
    assert_eq!((cpus[1].min_ns, cpus[1].max_ns, cpus[1].mean_ns), (Some(5_000), Some(985_000), Some(26_000.0)));
    assert_eq!(losses(&run, LostKind::Distribution), 2);
}

#[test]
fn columns_are_known_by_their_names() {
    for (name, expected, cpus) in [
        ("bins-us-header.csv", (1_053, 30), 2),
        ("ms.csv", (503, 2_000), 1),
        ("samples.csv", (4, 900), 1),
        ("osadl-histogram.tsv", (200, 20), 2),
    ] {
        let run = reported(name);
        assert_eq!(
            (total(&run), max_ns(&run) / 1_000, run.run.phases[0].cpus.len()),
            (expected.0, expected.1, cpus),
            "{name}"
        );
    }
}

#[test]
fn a_table_of_something_else_is_refused_with_what_was_seen() {
    let error = refused("send-statistics.csv");
    for part in ["time, iteration, size, seconds, microseconds", "--columns"] {
        assert!(error.contains(part), "{error}");
    }
    let numbers = "0,12\n1,15\n2,900\n3,14\n4,13\n5,12\n";
    let error = read("x.csv", numbers.as_bytes(), &Options::default()).unwrap_err();
    assert!(matches!(error, Error::Unlike { .. }), "{error}");
    let given = Options { columns: Some("skip,sample:us".parse().unwrap()), ..Options::default() };
    assert_eq!(read("x.csv", numbers.as_bytes(), &given).unwrap().figures(), 1);
}

#[test]
fn columns_as_people_write_them() {
    for (text, samples, largest) in [
        ("time;latency (us)\n0,001;12,5\n0,002;13,7\n0,003;980,1\n", 3, 980_100),
        ("seq,latency_s\n0,1.2e-05\n1,1.5e-05\n2,9.0e-04\n", 3, 900_000),
        (",latency_ns\n0,12000\n1,15000\n2,900000\n", 3, 900_000),
        ("| bin (us) | cpu0 |\n|---:|-----|\n| 1 | 10 |\n| 2 | 3 |\n", 13, 2_000),
        ("# bin count\n0 0\n1 5\n2 900\n3 4\n4 0\n5 0\n6 1\n", 910, 6_000),
        ("latency_us\n5\n6\n7\n900\n", 4, 900_000),
        ("wakeup latency (µs)\n5\n900\n", 2, 900_000),
    ] {
        let run = common::from_text(text);
        assert_eq!((total(&run), max_ns(&run)), (samples, largest), "{text}");
    }
    let extremes = common::from_text("| CPU | min (us) | max (us) |\n|---|---|---|\n| 0 | 3 | 120 |\n| 1 | 4 | 90 |\n");
    assert_eq!((max_ns(&extremes), extremes.run.phases[0].cpus.len()), (120_000, 2));
}

const GOOD: &str = "T: 0 ( 1334) P:99 I:1000 C:  10000 Min:      5 Act:   12 Avg:   15 Max:      34\n";
const LATE: &str = "T: 0 ( 1401) P:99 I:1000 C:  10000 Min:      5 Act:   12 Avg:   15 Max:     534\n";
const TOP: &str = "                 Timer Latency\n  0 00:01:00   |  IRQ Timer Latency (us)  |  Thread Timer Latency (us)\nCPU COUNT      |  cur  min  avg  max |  cur  min  avg  max\n";

/// Returns true if the maximum is 534 µs, or if there is a problem.
fn is_known(text: &str) -> bool {
    let Ok(read) = read("x.txt", text.as_bytes(), &Options::default()) else { return true };
    let run = punctual_import::recording(vec![read]);
    max_ns(&run) >= 534_000 || !problems(&run).is_empty()
}

#[test]
fn a_worse_row_behind_any_text_is_read_or_a_problem() {
    let prefixes = [
        "^C",
        "* ",
        "<li>",
        "With load: ",
        "(",
        "`",
        "//",
        "#",
        "+",
        "1: ",
        "[12.3] foo[1]: ",
        "ok 1 - ",
        "root@pi:~# ",
        "```",
        "<div><pre><code>",
        "message repeated 2 times: [ ",
        "{\"log\":\"",
        "Max was below, \\n",
        "{\n",
        "{\n  \"a\": 1,\n",
        "struct { int a;\n",
    ];
    for prefix in prefixes {
        assert!(is_known(&format!("{GOOD}\n{prefix}{LATE}")), "{prefix}");
    }
    let row = LATE.trim_end();
    for text in [
        format!("{}{row}<br/>{row}", GOOD.trim_end()),
        format!("{GOOD}{}", LATE.to_lowercase()),
        format!("{GOOD}* RTD|  4.1|  5.9|  534.8|  0|  0|  4.1|  534.8\n"),
        format!("{GOOD}host-a 1 #120004 | 1 2 3 4 | 5 6 7 534\n"),
        format!("{GOOD}# Max Latencies: 00534 00012\n"),
        format!("{GOOD}# Break value: 534\n"),
        format!("{GOOD}kernel,max_us\nstock,534\n"),
        format!("{GOOD}| load | max |\n|---|---|\n| 1 | 534 |\n| 2 | 30 |\n"),
    ] {
        assert!(is_known(&text), "{text}");
    }
}

#[test]
fn a_second_table_of_rtla_top_is_a_run_of_its_own() {
    let late = format!("{TOP}  0 #10003     |  13  19  50  41 |  34  35  40  534\n");
    let good = format!("{TOP}  0 #20003     |  13  19  50  41 |  34  35  40  45\n");
    for text in [
        format!("## Before\n{late}## After\n{good}"),
        format!("{late}{}", good.replace("  0 #", "  5 #")),
        format!("{late}$ rtla timerlat top -d 20s\n{good}"),
        format!("{good}ALL #20003  e0 |  19  50  41 |  35  40  534\n"),
        format!("{good}    Thread latency:     534.04 us (100%)\n"),
    ] {
        assert!(is_known(&text), "{text}");
    }
}

#[test]
fn a_cell_that_is_no_number_is_a_problem() {
    let rows = (0..50).map(|n| format!("{n},1{}\n", n % 10)).collect::<String>();
    for cell in ["1200us", "~534", ">534", "1'534", "1_534", "534*", "0x4b0", "inf", "1.5e3"] {
        let text = format!("time,latency_us\n{rows}51,{cell}\n{}", rows.replace("0,10\n", "60,10\n"));
        assert!(is_known(&text), "{cell}");
    }
    assert!(is_known("cpu;latency_us\n0;12,5\n1;1,200\n2;13\n"));
    for end in ["max,534\n", "Total: 50 rows, max 534\n"] {
        assert!(is_known(&format!("latency_us\n12\n13\n14\n{end}")), "{end}");
    }
}

#[test]
fn a_summary_that_contradicts_itself_is_a_problem() {
    let table = "# Histogram\n000003 000010\t000010\t000020\n000004 000001\t000001\t000002\n# Total: 000000011 000000011 000000022\n# Min Latencies: 00003 00003\n# Avg Latencies: 00003 00003\n# Max Latencies: 00004 00004 00004\n# Histogram Overflows: 00000 00000 00000\n# Histogram Overflow at cycle number:\n# Thread 0:\n# Thread 1:\n";
    assert!(problems(&common::from_text(table)).is_empty());
    for (from, to) in [
        ("00004 00004 00004", "00004 00004 00534"),
        ("00000 00000 00000", "00000 00000 00003"),
        ("# Thread 0:", "# Thread 0: 00050 00061"),
    ] {
        assert!(is_known(&table.replace(from, to)), "{to}");
    }
    // Output of grep(1).
    let run = common::from_text("# Min Latencies: 00003 00003\n# Max Latencies: 00086 00534\n");
    assert_eq!((max_ns(&run), problems(&run).is_empty()), (534_000, false));
}
