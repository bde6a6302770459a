//! Runs every command of the tutorial and of the page for stock Debian (docs/guide) in order, in a guest with Debian's
//! PREEMPT_RT kernel and with shorter measurement times, and checks the first line of its output and its exit code.

use super::common::punctual;
use punctual_testing::book;
use std::fmt::Write;
use std::fs;

const PAGES: [&str; 2] = ["docs/guide/debian.md", "docs/guide/tutorial.md"];

const VERDICT: &str = "PASS|HELD|FAIL|INCONCLUSIVE";
const AUDIT: &str = "FAIL |WARN |BLOCKED ";
const NOT_FIXED: &str = "left to you: |mem-";

/// Commands of the pages: the command line, the exit codes accepted in the guest, and text that the first line must
/// contain (alternatives are separated by `|`).
const STEPS: &[(&str, &[i32], &str)] = &[
    ("prove --duration 30s --out before", &[0, 1, 3], VERDICT),
    ("audit", &[1], AUDIT),
    ("audit --dry-run", &[0], "what --fix would do on this machine; nothing is changed"),
    ("audit --fix", &[0, 1], "mem-"),
    ("prove --duration 30s --out after", &[0, 1, 3], VERDICT),
    ("compare before after", &[3], "The worst wakeup over all loads is "),
    ("--version", &[0], "punctual 0."),
    ("prove --duration 30s --out first", &[0, 1, 3], VERDICT),
    ("selftest", &[0, 1], "self-test on CPU "),
    ("audit", &[1], AUDIT),
    ("audit --explain rpi-rt-kernel", &[0], "### Real-time kernel for the Raspberry Pi (rpi-rt-kernel)"),
    ("audit --for dedicated-core --cpus 1", &[1], AUDIT),
    ("audit --plan-cpus", &[0], "isolate CPU 1 on this machine, keep CPU 0 for everything else"),
    ("kernel plan", &[0], "board      pc-amd64"),
    ("audit --dry-run", &[0], "what --fix would do on this machine; nothing is changed"),
    ("audit --fix", &[0, 1], NOT_FIXED),
    ("undo --list", &[0], "   1 mem-"),
    ("audit --dry-run --persist --trial", &[0], "what --fix would do on this machine; nothing is changed"),
    ("audit --fix --persist --trial", &[0, 1], NOT_FIXED),
    ("audit --fix --persist", &[0, 1], NOT_FIXED),
    ("prove --claim max < 100us --claim missed = 0 --duration 15m --out proved", &[0, 1, 3], VERDICT),
    ("report proved", &[0], VERDICT),
    ("report proved --format html --out proved.html", &[0], ""),
    ("prove --claim max < 100us --load idle,cpu,memory,io --duration 8h --out night", &[0, 1, 3], VERDICT),
    ("explain proved --timeline", &[0], " late: |No "),
    ("explain --live --load idle,cpu --duration 60s", &[0], "Run directory: punctual-runs/"),
    ("explain --hardware --duration 60s", &[0, 1, 3], ""),
    ("audit --explain daemon-multipathd", &[0], "### multipathd (daemon-multipathd)"),
    ("audit --explain rogue-rt-task", &[0], "### Other real-time tasks (rogue-rt-task)"),
    ("tune --dry-run", &[0], "what tune would try; nothing is changed or measured"),
    ("tune --claim max < 100us", &[0, 1, 3], VERDICT),
    ("prove --claim max < 100us --claim missed = 0 --duration 15m --out again", &[0, 1, 3], VERDICT),
    ("compare proved again", &[3], "The worst wakeup over all loads is "),
    ("compare --experiment kernels 6.12.57-rt 6.12.57 --pairs 8 -- -D 5m -l idle,cpu", &[0], "0 of 16 boots measured."),
    ("history add first proved again", &[0], "  added: first"),
    ("history", &[0], "No group of comparable runs is large enough to detect a shift."),
    ("prove --history --duration 15m --out monday", &[0, 1, 3], VERDICT),
    // A run whose load got no CPU time from the host is not part of the baseline of three.
    (
        "history gate monday --baseline 40",
        &[3],
        "INCONCLUSIVE  Only 2 runs of the baseline|INCONCLUSIVE  Only 3 runs of the baseline",
    ),
];

/// Returns the command with a short duration and without the disk load, since the guest's files are in memory.
fn shortened(words: &[String]) -> Vec<String> {
    let mut short: Vec<String> = Vec::new();
    for word in words {
        let is_time = |option: &str| short.last().is_some_and(|last| last == option);
        let time = match () {
            () if is_time("--duration") => Some("4s"),
            () if is_time("-D") => Some("1s"),
            () => None,
        };
        short.push(time.map_or_else(|| word.clone(), String::from));
    }
    short.iter_mut().for_each(|word| *word = word.replace(",io", ""));
    if matches!(&*short[0], "prove" | "tune") && !short.iter().any(|word| word == "--load") {
        short.extend(["--load", "idle,cpu"].map(String::from));
    }
    if short[0] == "tune" && !short.contains(&"--dry-run".to_owned()) {
        short.extend(["--time-limit", "20s"].map(String::from));
    }
    short
}

fn quoted(words: &[String]) -> String {
    words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ")
}

#[test]
#[ignore = "live: kvm, qemu-system-x86_64, timing"]
fn the_tutorial_is_walked_in_a_guest() {
    let lines: Vec<book::Line> =
        book::all().into_iter().filter(|line| PAGES.contains(&&*line.page) && !line.inline).collect();
    let mut script = String::from("export HOME=/root; mkdir -p /root; cd /root\n");
    for line in &lines {
        let command = quoted(&shortened(&line.words));
        let _ = writeln!(
            script,
            "echo '@@'; timeout 240 punctual {command} >/tmp/o 2>/tmp/e </dev/null; echo $?; grep -m1 . /tmp/o || grep -m1 . /tmp/e || echo"
        );
    }
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("walk.sh");
    fs::write(&file, script).unwrap();
    let words =
        ["lab", "boot", "--kernel", "rt@6.12", "--cpus", "2", "--memory", "1024", "--timeout", "900s", "--script"];
    let done = punctual().args(words).arg(&file).output().unwrap();
    let shown = String::from_utf8_lossy(&done.stdout).into_owned();
    let answers: Vec<(i32, String)> = shown
        .split("@@\n")
        .skip(1)
        .map(|part| {
            let mut lines = part.lines().map(|line| line.trim_end_matches('\r'));
            let code = lines.next().and_then(|code| code.parse().ok()).unwrap_or(-1);
            (code, lines.next().unwrap_or_default().to_owned())
        })
        .collect();
    assert_eq!(answers.len(), lines.len(), "{shown}\n{}", String::from_utf8_lossy(&done.stderr));
    let mut wrong = Vec::new();
    for (n, (line, (code, first))) in lines.iter().zip(&answers).enumerate() {
        let typed = line.words.join(" ");
        println!("{code} {typed}\n    {first}");
        let step = STEPS.get(n).filter(|(step, ..)| *step == typed);
        if !step
            .is_some_and(|(_, codes, part)| codes.contains(code) && part.split('|').any(|part| first.contains(part)))
        {
            wrong.push(format!("{}\n  {code}: {first}", line.shown()));
        }
    }
    assert!(wrong.is_empty() && STEPS.len() == lines.len(), "{}", wrong.join("\n"));
}
