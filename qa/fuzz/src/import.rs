//! Fuzzes every importer of other tools' files, and checks the resulting runs.

use punctual_import::{Format, Options, read, recording};
use punctual_model::LostKind;
use std::fs;
use std::path::Path;

const JSON: [&str; 4] = [
    r#"{
  "file_version": 1,
  "cmdline:": "cyclictest -q -h 20 -i 200 -p 95 -m -S --json=a"b.json",
  "rt_test_version:": "2.10",
  "start_time": "Fri, 20 Nov 2026 21:04:11 +0000",
  "return_code": 0,
  "sysinfo": {"sysname": "Linux", "nodename": "vm", "release": "6.18", "realtime": 1},
  "num_threads": 2,
  "resolution_in_ns": 0,
  "thread": {
    "0": {"histogram": {"11": 1, "18": 2, "19": 11}, "cycles": 9915, "min": 11, "max": 4986, "avg": 35.05, "cpu": 0, "node": -1},
    "1": {"histogram": {}, "cycles": 0, "min": 1000000, "max": 0, "avg": -nan, "cpu": 1, "node": -1}
  }
}"#,
    r#"{"cmdline:": "oslat -D 2 -c 0", "num_threads": 1, "thread": {"0": {"cpu": 0, "freq": 2298, "min": 1, "avg": 2.27, "max": 1427412,
"histogram": {"1": 1783020, "2": 9, "31.500": 4, "32": 24}}}}"#,
    r#"{"cmdline:": "cyclicdeadline -i 10000", "num_threads": 1, "resolution_in_ns": 1, "thread": {"0": {"cycles": 213, "min": 6, "max": 74,
"avg": 18.32}}}"#,
    r#"{"version": 3, "sysinfo": {"nodename": "vm", "resolution_in_ns": 1000}, "cpu": {"0": {"histogram": {"11": 3, "12": 9, "973": 1},
"count": 17, "min": 10, "max": 8546, "avg": 71.15}}}"#,
];

/// Number of lines that are kept at the start and at the end of a long sample.
const KEPT: usize = 9;

fn sample(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/analysis/import/tests/fixtures");
    fs::read(folder.join(name)).unwrap_or_default()
}

/// Returns the start and the end of a text that is too long for useful mutations.
fn ends(name: &str) -> Vec<u8> {
    let text = sample(name);
    let lines: Vec<&[u8]> = text.split_inclusive(|&b| b == b'\n').collect();
    let middle = lines.len().saturating_sub(KEPT).max(KEPT);
    let chosen = lines.iter().take(KEPT).chain(lines.iter().skip(middle));
    chosen.flat_map(|l| l.iter().take(220).copied().chain((l.len() > 220).then_some(b'\n'))).collect()
}

fn pieces(name: &str, lines: usize) -> Vec<Vec<u8>> {
    let text = sample(name);
    let all: Vec<&[u8]> = text.split_inclusive(|&b| b == b'\n').collect();
    all.chunks(lines).map(<[&[u8]]>::concat).collect()
}

pub fn seeds(format: Format) -> Vec<Vec<u8>> {
    let many = |names: &[&str]| names.iter().map(|name| ends(name)).collect();
    match format {
        Format::Cyclictest => many(&[
            "ct-hist-stdout.txt",
            "ct-hist-2.10.txt",
            "ct-histfile-overflow.txt",
            "ct-nohist.txt",
            "ct-verbose.txt",
            "ct-spike.txt",
            "ct-break.txt",
            "jd-stdout.txt",
            "cyclicdeadline-2.4.txt",
        ]),
        Format::Json => JSON.iter().map(|text| text.as_bytes().to_vec()).collect(),
        Format::Csv => many(&["histogram_rtkernel_4.19.59-rt23-v7l+.csv"]),
        Format::Rtla => pieces("rtla-7.2-vm2.log", 26),
        Format::JitterdebuggerRaw => vec![sample("jd-samples-cut.raw").into_iter().take(28 * 70).collect()],
        Format::NQueens => many(&["rt_kernel_4B_multithread_output.csv"]),
        Format::Text => many(&[
            "tools/oslat-2.4.txt",
            "tools/hwlatdetect-2.4.txt",
            "tools/xenomai-3-histogram.txt",
            "tools/latmus-plot.txt",
            "tools/rtai-kernel.txt",
            "tools/stress-ng-dist.txt",
            "tools/pmqtest.txt",
            "tools/signaltest.txt",
            "tools/performance_test.csv",
            "tools/perf-sched-latency.txt",
            "tools/sysjitter.txt",
            "tools/rteval-3.txt",
            "tools/rteval-3.xml",
            "reported/samples.csv",
            "reported/osadl-histogram.tsv",
            "reported/ci-prefix.txt",
        ]),
    }
}

/// Returns true if the format is text, whose lines and words are mutated.
pub fn is_text(format: Format) -> bool {
    format != Format::JitterdebuggerRaw
}

/// Reads an input in the given format, or detects the format. Panics if an invariant is violated. Returns the number of
/// threads and series.
pub fn execute(format: Format, input: &[u8]) -> u64 {
    let format = (!input.len().is_multiple_of(4)).then_some(format);
    let period = input.len().is_multiple_of(3).then_some(punctual_units::Nanos(200_000));
    let Ok(imported) = read("a/b.txt", input, &Options { format, period, ..Options::default() }) else { return 0 };
    let figures = imported.figures() as u64;
    let recording = recording(vec![imported]);
    let run = &recording.run;
    let mut threads = 0;
    for phase in &run.phases {
        for cpu in &phase.cpus {
            threads += 1;
            let distribution = recording.distribution(&phase.id, cpu.cpu);
            let raw = &distribution.unwrap_or_else(|| panic!("CPU {} has no samples", cpu.cpu)).raw;
            assert_eq!((raw.count(), raw.max()), (cpu.ran, cpu.max_ns));
            assert!(cpu.min_ns.is_none() || cpu.min_ns == raw.min());
            assert!(cpu.skipped.is_none() || cpu.released == Some(cpu.ran));
            let unplaced = cpu.blur.and_then(|b| b.unplaced);
            assert!(unplaced.is_none_or(|u| u.count <= cpu.ran && u.to_ns.is_none_or(|to| to >= u.from_ns)));
        }
    }
    let import = run.import.as_ref();
    assert!(import.is_some_and(|i| i.files.len() == 1 && i.files[0].bytes == input.len() as u64));
    // Unreadable parts are reported.
    let torn = import.is_some_and(|i| i.lost.iter().any(|l| l.kind == LostKind::Truncated));
    assert_eq!(run.complete, !torn);
    assert_eq!(figures, threads + import.map_or(0, |i| i.series.len() as u64));
    figures
}
