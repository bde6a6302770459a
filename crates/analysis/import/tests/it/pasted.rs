//! Pasted text: prompts, colours, quoting, HTML, wrapped lines, surrounding text, truncated ends; and random input.

use crate::common;

use common::{from_text, import, losses, max_ns, path, problems, total};
use proptest::prelude::*;
use punctual_import::{Format, Options, read, recording};
use punctual_model::LostKind;

fn fixture(name: &str) -> String {
    String::from_utf8_lossy(&std::fs::read(path(name)).unwrap()).into_owned()
}

type Mangling = fn(&str) -> String;

/// Returns changes that do not affect the results, each with its name.
fn manglings() -> Vec<(&'static str, Mangling)> {
    vec![
        ("quoted", |t| t.lines().map(|l| format!("> > {l}\n")).collect()),
        ("text around", |t| format!("Hello,\n\nI ran this:\n\nroot@pi:~# ./run.sh\n{t}\nIs that good?\n-- \nMe\n")),
        ("coloured", |t| t.lines().map(|l| format!("\u{1b}[1;32m{l}\u{1b}[0m\u{1b}[K\r\n")).collect()),
        ("html", |t| {
            let escaped = t.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;").replace('\t', "&#9;");
            format!("<pre>{escaped}</pre>")
        }),
        ("carriage returns", |t| t.replace('\n', "\r\n")),
        ("indented", |t| t.lines().map(|l| format!("    {l}\n")).collect()),
    ]
}

#[test]
fn a_paste_has_the_same_figures() {
    for name in
        ["ct-hist-stdout.txt", "ct-hist-2.10.txt", "ct-nohist.txt", "ct-verbose.txt", "ct-2.4.json", "rtla-7.2-vm2.log"]
    {
        let plain = import(name);
        for (way, paste) in manglings() {
            let run = from_text(&paste(&fixture(name)));
            assert_eq!((total(&run), max_ns(&run)), (total(&plain), max_ns(&plain)), "{name} {way}");
            assert_eq!(problems(&run), problems(&plain), "{name} {way}");
        }
    }
}

#[test]
fn a_prompt_tells_the_command() {
    let text = format!("user@pi:~$ sudo cyclictest -m -S -p95 -i200 -h60 -H60 -q\n{}", fixture("ct-hist-stdout.txt"));
    let run = from_text(&text);
    let cpu = &run.run.phases[0].cpus[0];
    assert_eq!(cpu.got.unwrap().to_string(), "FIFO 95");
    assert_eq!((losses(&run, LostKind::Unit), losses(&run, LostKind::Affinity)), (0, 0));
    assert_eq!(run.run.settings.period_ns.unwrap().0, 200_000);
}

#[test]
fn lines_that_a_mailer_wrapped() {
    let plain = import("ct-hist-stdout.txt");
    let wrapped: String = fixture("ct-hist-stdout.txt")
        .lines()
        .map(|l| if l.starts_with("0000") { l.replacen('\t', "\n\t", 1) + "\n" } else { wrap(l, 30) })
        .collect();
    let run = from_text(&wrapped);
    assert_eq!((total(&run), max_ns(&run)), (total(&plain), max_ns(&plain)));
    assert_eq!(total(&from_text(&wrapped.replace('\n', "\r\n"))), total(&plain));
    let live: String = fixture("ct-nohist.txt").lines().map(|l| wrap(l, 70)).collect();
    assert_eq!(total(&from_text(&live)), 9_878 + 2_803);
}

fn wrap(line: &str, width: usize) -> String {
    let (mut out, mut length) = (String::new(), 0);
    for word in line.split(' ') {
        if length > 0 && length + word.len() >= width {
            out.push('\n');
            length = 0;
        } else if length > 0 {
            out.push(' ');
        }
        out.push_str(word);
        length += word.len() + 1;
    }
    out + "\n"
}

#[test]
fn a_log_redraws_its_rows() {
    let frame = |n: u64| {
        format!(
            "\u{1b}[2AT: 0 ( 77) P:80 I:1000 C:{n:7} Min:      5 Act:   12 Avg:   13 Max:      {}\r\nT: 1 ( 78) P:80 I:1500 C:{n:7} Min:      6 Act:   12 Avg:   13 Max:      30\r\n",
            10 + n
        )
    };
    let run = from_text(&(1..50).map(frame).collect::<String>());
    assert_eq!((total(&run), max_ns(&run), run.run.phases[0].cpus.len()), (98, 59_000, 2));
    // 59 µs is less than both periods.
    assert!(run.run.phases[0].cpus.iter().all(|c| c.skipped == Some(0)));
}

#[test]
fn a_torn_histogram_is_no_whole_one() {
    let text = fixture("ct-hist-stdout.txt");
    let cut = &text[..text.find("# Total").unwrap()];
    let run = from_text(cut);
    // The sum column is recognized by its contents.
    assert_eq!((run.run.phases[0].cpus.len(), total(&run)), (2, 23_381 + 21_988));
    assert_eq!((losses(&run, LostKind::Truncated), run.run.complete), (1, false));
    assert_eq!(run.run.phases[0].cpus[0].blur.unwrap().hidden_from_ns, Some(60_000));
}

#[test]
fn sums_that_do_not_agree_are_a_problem() {
    let text = fixture("ct-hist-stdout.txt").replace("# Total: 000023381", "# Total: 000023380");
    let run = from_text(&text);
    assert!(problems(&run).iter().any(|p| p.contains("24466") && p.contains("24467")), "{:?}", problems(&run));
    let text = fixture("ct-2.4.json").replace("\"cycles\": 24467", "\"cycles\": 7");
    assert!(!problems(&from_text(&text)).is_empty());
    let text = fixture("ct-2.4.json").replace("\"min\": 12", "\"min\": 3");
    assert!(!problems(&from_text(&text)).is_empty());
}

#[test]
fn several_files_are_one_run() {
    let all = ["ct-2.4.json", "ct-2.10.json", "rt_kernel_4B_singlethread_output.csv"]
        .map(|n| read(n, std::fs::File::open(path(n)).unwrap(), &Options::default()).unwrap());
    let run = recording(all.into());
    assert_eq!((run.run.phases.len(), run.run.import.as_ref().unwrap().files.len()), (2, 3));
    assert!(run.run.phases[1].label.as_deref().unwrap().starts_with("ct-2.10"));
    // Two different versions result in none.
    assert_eq!((run.run.tool.version.as_deref(), run.run.host.as_deref()), (None, None));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Any histogram that cyclictest could print is read with its counts, extremes and quantiles.
    #[test]
    fn a_printed_histogram_comes_back(
        samples in proptest::collection::vec(0u64..3_000, 1..400),
        bins in 1u64..2_000,
        sum in any::<bool>(),
    ) {
        let text = printed(&[samples.clone(), samples.iter().map(|v| v + 1).collect()], bins, sum);
        let run = from_text(&text);
        let cpu = &run.run.phases[0].cpus[0];
        let (min, max) = (*samples.iter().min().unwrap(), *samples.iter().max().unwrap());
        prop_assert_eq!(run.run.phases[0].cpus.len(), 2);
        prop_assert_eq!((cpu.ran, cpu.min_ns, cpu.max_ns), (samples.len() as u64, Some(min * 1_000), Some(max * 1_000)));
        prop_assert!(problems(&run).is_empty(), "{:?}\n{text}", problems(&run));
        let histogram = &run.distributions[&(run.run.phases[0].id.clone(), cpu.cpu)].raw;
        let mut sorted = samples.clone();
        sorted.sort_unstable();
        let middle = sorted[(sorted.len() - 1) / 2] * 1_000;
        if middle < bins * 1_000 {
            let got = histogram.quantile(0.5).unwrap();
            prop_assert!(got >= middle && got <= middle + 1_000 + middle / 100, "{got} {middle}");
        }
    }

    #[test]
    fn anything_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..2_000), cut in 0usize..6_000, n in 0usize..6) {
        let names = ["ct-hist-stdout.txt", "ct-2.10.json", "rtla-7.2-vm2.log", "ct-spike.txt", "jd-samples-cut.raw", "histogram_rtkernel_4.19.59-rt23-v7l+.csv"];
        let whole = std::fs::read(path(names[n])).unwrap();
        let torn = [&whole[..cut.min(whole.len())], &bytes[..], &whole[cut.min(whole.len())..][..500.min(whole.len().saturating_sub(cut))]].concat();
        for format in [None].into_iter().chain(Format::ALL.map(Some)) {
            if let Ok(imported) = read("x", torn.as_slice(), &Options { format, ..Options::default() }) {
                let run = recording(vec![imported]);
                for (phase, cpu) in run.distributions.keys() {
                    let result = run.run.phases.iter().find(|p| p.id == *phase).unwrap().cpus.iter().find(|c| c.cpu == *cpu).unwrap();
                    prop_assert_eq!(run.distributions[&(phase.clone(), *cpu)].raw.count(), result.ran);
                }
            }
        }
    }
}

fn printed(threads: &[Vec<u64>], bins: u64, sum: bool) -> String {
    use std::fmt::Write;
    let mut out = String::from("# /dev/cpu_dma_latency set to 0us\n# Histogram\n");
    let counts = |bin: u64| threads.iter().map(move |t| t.iter().filter(|&&v| v == bin).count());
    for bin in 0..bins {
        let row: Vec<String> = counts(bin).map(|n| format!("{n:06}")).collect();
        write!(out, "{bin:06} {}", row.join("\t")).unwrap();
        if sum {
            write!(out, "\t{:06}", counts(bin).sum::<usize>()).unwrap();
        }
        out.push('\n');
    }
    let line = |name: &str, values: Vec<u64>, total: Option<u64>| {
        let all: Vec<String> = values.into_iter().chain(total).map(|v| format!("{v:05}")).collect();
        format!("# {name}: {}\n", all.join(" "))
    };
    let of = |f: fn(&Vec<u64>, u64) -> u64| threads.iter().map(|t| f(t, bins)).collect::<Vec<u64>>();
    let with = |total: u64| sum.then_some(total);
    let inside = of(|t, bins| t.iter().filter(|&&v| v < bins).count() as u64);
    let over = of(|t, bins| t.iter().filter(|&&v| v >= bins).count() as u64);
    out += &line("Total", inside.clone(), with(inside.iter().sum()));
    out += &line("Min Latencies", of(|t, _| *t.iter().min().unwrap()), None);
    out += &line("Avg Latencies", of(|t, _| t.iter().sum::<u64>() / t.len() as u64), None);
    out += &line(
        "Max Latencies",
        of(|t, _| *t.iter().max().unwrap()),
        with(of(|t, _| *t.iter().max().unwrap()).into_iter().max().unwrap()),
    );
    out += &line("Histogram Overflows", over.clone(), with(over.iter().sum()));
    out += "# Histogram Overflow at cycle number:\n";
    for (thread, over) in over.iter().enumerate() {
        let cycles: String = (1..=(*over).min(2)).map(|cycle| format!(" {cycle:05}")).collect();
        writeln!(out, "# Thread {thread}:{cycles} # 00003 others").unwrap();
    }
    out + "\n"
}
