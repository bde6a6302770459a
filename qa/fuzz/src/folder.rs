//! Fuzzes the readers of untrusted folders: run directories, for which reports are generated, and kernel packages.

use super::Reader;
use super::texts::memory;
use punctual_deploy::{Package, arch_of_image, wrong_modules};
use punctual_judge::judge_with_tails;
use punctual_model::Claim;
use punctual_report::{TextStyle, bench_text, csv, experiment_html, html, json, json_text, suite_text, text};
use punctual_rundir::read;
use std::fs;
use std::path::{Component, Path};
use tempfile::TempDir;

/// Marks the start of a file in an input. The file's path follows.
const FILE: &str = "== ";
const FILES: usize = 24;

pub const WORDS: &[&str] = &[
    "\"",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "null",
    "true",
    "-1",
    "1e308",
    "18446744073709551615",
    "9223372036854775808",
    "\n",
    "\\u001b[2J",
    "<script>",
    "<LAVA_SIGNAL_TESTCASE",
    "\"count\": 18446744073709551615",
    "\"cpu\": 4294967295",
    "== run.json\n",
    "== segments/000001.json\n",
    "== manifest.json\n",
    "== worst.jsonl\n",
    "== findings.jsonl\n",
    "== experiment.json\n",
    "== suite.json\n",
    "== bench.json\n",
    "== hist/1-idle/8191.json\n",
    "vermagic=6.12.0-rt SMP preempt_rt mod_unload aarch64",
];

/// Reads an input as the files of a folder. Panics if an invariant is violated. Returns a number that shows how far the
/// input was processed.
pub fn execute(reader: Reader, input: &[u8]) -> u64 {
    let Some(folder) = made(input) else { return 0 };
    match reader {
        Reader::Package => package(folder.path()),
        _ => run(folder.path(), input.len()),
    }
}

fn made(input: &[u8]) -> Option<TempDir> {
    let folder = memory()?;
    let mut open: Option<(String, Vec<u8>)> = None;
    let mut files = Vec::new();
    for line in input.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_prefix(FILE.as_bytes()) {
            Some(path) => files.extend(open.replace((String::from_utf8_lossy(path).trim_end().to_owned(), Vec::new()))),
            None => open.iter_mut().for_each(|(_, content)| content.extend(line)),
        }
    }
    files.extend(open);
    for (path, content) in files.iter().take(FILES) {
        let inner = Path::new(path);
        let is_inside = inner.components().all(|part| matches!(part, Component::Normal(_)));
        if is_inside && let Some(parent) = inner.parent() {
            // A path that cannot be created is simply missing.
            let _ = fs::create_dir_all(folder.path().join(parent));
            let _ = fs::write(folder.path().join(inner), content);
        }
    }
    Some(folder)
}

/// Checks that, whatever is damaged, the report contains no character that a terminal or a test harness interprets.
fn run(folder: &Path, length: usize) -> u64 {
    let Ok(mut recording) = read(folder) else { return 0 };
    punctual_explain::suspect(&mut recording);
    let shown = match (&recording.suite, &recording.experiment, &recording.bench) {
        (Some(suite), ..) => suite_text(suite),
        (_, Some(experiment), _) => experiment_html(experiment),
        (.., Some(bench)) => bench_text(bench),
        _ => {
            let verdict = judge_with_tails(&recording, &[Claim::none_missed()]);
            match length % 4 {
                0 => html(&recording, &verdict, "run"),
                1 => json_text(&json(&recording, &verdict)),
                2 => csv(&recording),
                _ => text(&recording, &verdict, TextStyle::default()),
            }
        }
    };
    let obeyed = shown.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r'));
    assert_eq!(obeyed, None, "a control character is shown");
    assert!(!shown.contains("<LAVA_SIGNAL"), "a signal is shown");
    4 + recording.events.len() as u64 + recording.worst.len() as u64
}

/// Checks that an accepted package contains its image and its modules. Returns how much of it was understood.
fn package(folder: &Path) -> u64 {
    let staging = folder.join("staging");
    let Ok(package) = Package::open(folder, &staging) else { return 0 };
    assert!(package.image.starts_with(folder) && package.modules.starts_with(folder));
    let magic = wrong_modules(&package.modules, &package.release, Some(true));
    let known = magic.map_or(0, |magic| magic.looked_at as u64);
    4 + known + u64::from(matches!(arch_of_image(&package.image), Ok(Some(_)))) + package.trees.len() as u64
}

pub fn seeds(reader: Reader) -> Vec<Vec<u8>> {
    match reader {
        Reader::Package => vec![kernel()],
        _ => vec![include_bytes!("run.txt").to_vec(), experiment()],
    }
}

fn experiment() -> Vec<u8> {
    let known = include_str!("run.txt").lines().nth(1).unwrap_or_default().replace("\"latency\"", "\"sched\"");
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/output/report/tests/fixtures/experiment.json");
    let experiment = fs::read_to_string(fixture).unwrap_or_default();
    format!("== run.json\n{known}\n== experiment.json\n{experiment}\n").into_bytes()
}

fn kernel() -> Vec<u8> {
    let image = [&[0; 56][..], b"ARM\x64"].concat();
    let mut seed = b"== boot/vmlinuz-6.12.0-rt\n".to_vec();
    seed.extend(image);
    seed.extend(b"\n== boot/config-6.12.0-rt\nCONFIG_PREEMPT_RT=y\n# CONFIG_HZ_100 is not set\nCONFIG_HZ=1000\n");
    seed.extend(
        b"== boot/System.map-6.12.0-rt\nffff T _text\n== usr/lib/linux-image-6.12.0-rt/a.dtb\n\xd0\x0d\xfe\xed\n",
    );
    seed.extend(
        b"== lib/modules/6.12.0-rt/kernel/spi.ko\n\x7fELF\0vermagic=6.12.0-rt SMP preempt_rt mod_unload aarch64\0\n",
    );
    seed
}
