//! Tests untrusted names in the output of commands: no character may affect a terminal, and no line may be obeyed by a
//! test harness or look like a message of this program.

use crate::common::{answer, punctual};
use punctual_testing::hostile::NAMES;
use punctual_testing::runs;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Markers that test harnesses obey anywhere in a line.
const COMMANDS: [&str; 4] = ["<LAVA_", "##[", "##vso[", "##teamcity["];

#[track_caller]
fn is_harmless(what: &str, text: &str) {
    let obeyed = text.chars().find(|c| *c != '\n' && punctual_clean::is_obeyed(*c));
    assert_eq!(obeyed, None, "{what}: {text:?}");
    for command in COMMANDS {
        assert!(!text.contains(command), "{what}: {command}: {text:?}");
    }
    for line in text.lines() {
        let commands = line.trim_start().strip_prefix("::").is_some_and(|rest| rest.starts_with(char::is_alphabetic));
        assert!(!commands && !line.starts_with("forged") && !line.starts_with("punctual: forged"), "{what}: {line:?}");
    }
}

/// Runs the program and checks that its output is harmless. Returns exit code and output.
#[track_caller]
fn met<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>, place: &Path) -> (i32, String, String) {
    let mut command = punctual();
    command.args(words).env("PUNCTUAL_HISTORY", place.join("history.db")).current_dir(place);
    // No other program is run: apt-cache alone would take most of the time.
    command.env("PATH", place.join("no-programs"));
    let what = format!("{command:?}");
    let (code, out, err) = answer(command.output().unwrap());
    is_harmless(&what, &out);
    is_harmless(&what, &err);
    assert!((0..=4).contains(&code), "{what}: {code}: {err}");
    (code, out, err)
}

/// Creates an unfinished run in which every string is this name.
fn run_of(name: &str, place: &Path, number: usize) -> PathBuf {
    let out = place.join(format!("run-{number}"));
    fs::create_dir_all(out.join("segments")).unwrap();
    let (recording, _) = runs::hostile(name);
    fs::write(out.join("run.json"), serde_json::to_vec(&recording.run).unwrap()).unwrap();
    let events: Vec<String> = recording.events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    fs::write(out.join("events.jsonl"), format!("{}\n{name}\n", events.join("\n"))).unwrap();
    out
}

/// Creates a file with this name, if the file system allows it.
fn file_of(name: &str, place: &Path, number: usize) -> PathBuf {
    let name: String = name.replace(['/', '\0'], "_").chars().take(60).collect();
    place.join(format!("{number}{name}"))
}

#[test]
fn runs_of_others() {
    let place = tempfile::tempdir().unwrap();
    let runs: Vec<PathBuf> = NAMES.iter().enumerate().map(|(n, name)| run_of(name, place.path(), n)).collect();
    let mut read = 0;
    for run in &runs {
        let run = run.to_str().unwrap();
        let (code, ..) = met(["report", run], place.path());
        read += usize::from(matches!(code, 0 | 1 | 3));
        met(["explain", run], place.path());
    }
    assert!(read > NAMES.len() / 2, "only {read} of them are read at all");
    for format in ["json", "csv", "junit", "tap", "prometheus", "squad-tests", "sarif"] {
        for run in runs.iter().step_by(4) {
            met(["report".as_ref(), run.as_os_str(), "--format".as_ref(), format.as_ref()], place.path());
        }
    }
    let with = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).into());
        met(words.chain(runs.iter().map(|run| run.clone().into_os_string())), place.path())
    };
    with(&["compare"]);
    with(&["compare", "--json"]);
    with(&["report", "--fleet"]);
    with(&["history", "add"]);
    met(["history", "list"], place.path());
}

#[test]
fn files_of_others() {
    let place = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for (n, name) in NAMES.iter().enumerate() {
        let path = file_of(name, place.path(), n);
        fs::write(&path, format!("{name}\n# Histogram\n{name} 1\n")).unwrap();
        met(["import".as_ref(), path.as_os_str(), "--out".as_ref(), "out".as_ref()], place.path());
        met(["report".as_ref(), path.as_os_str()], place.path());
        let trace = file_of(name, place.path(), 100 + n);
        let line = |task: &str, event: &str| format!("{task}-7 [000] d..2. 1.000001: {event}\n");
        let wakes = format!("sched_waking: comm={name} pid=7 prio=9 target_cpu=000");
        fs::write(&trace, line("<idle>", &wakes) + &line(name, "sched_switch: prev_comm=x") + name).unwrap();
        met(["explain".as_ref(), trace.as_os_str()], place.path());
        files.push(path);
    }
    let words = |first: &[&str]| first.iter().map(|word| (*word).into()).collect::<Vec<std::ffi::OsString>>();
    let all = files.iter().map(|path| path.clone().into_os_string());
    met(words(&["compare"]).into_iter().chain(all.clone()), place.path());
    met(words(&["history", "add"]).into_iter().chain(all), place.path());
}

#[test]
fn words_of_others() {
    let place = tempfile::tempdir().unwrap();
    for (n, name) in NAMES.iter().enumerate().filter(|(_, name)| !name.contains('\0')) {
        let path = file_of(name, place.path(), n);
        fs::write(&path, format!("[variables]\n{name}\n")).unwrap();
        let path = path.to_str().unwrap();
        for words in [
            &["report", name][..],
            &["import", "none", "--out", path],
            &["audit", "--profile", path, "--root", "none"],
            &["audit", "--config", path],
            &["kernel", "plan", "--board", name],
            &["kernel", "status", "--target", name],
            &["kernel", "deploy", path],
            &["lab", "prove", "--kernel", path],
            &["undo", name],
            &["sched", name],
            &[name],
        ] {
            met(words, place.path());
        }
    }
}

#[test]
fn trees_of_others() {
    let place = tempfile::tempdir().unwrap();
    for (n, name) in NAMES.iter().enumerate().step_by(3) {
        let root = place.path().join(format!("root-{n}"));
        for (path, content) in [
            ("proc/cmdline", format!("quiet {name}\n")),
            ("proc/version", format!("Linux version {name}\n")),
            ("proc/cpuinfo", format!("processor : 0\nmodel name : {name}\n")),
            ("proc/device-tree/model", name.to_string()),
            ("etc/os-release", format!("ID={name}\nPRETTY_NAME=\"{name}\"\n")),
            ("etc/default/grub", format!("GRUB_CMDLINE_LINUX=\"{name}\"\n")),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", name.to_string()),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", name.to_string()),
        ] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), content).unwrap();
        }
        let root = root.to_str().unwrap();
        met(["audit", "--root", root], place.path());
        met(["audit", "--root", root, "--fix"], place.path());
        met(["audit", "--root", root, "--json"], place.path());
    }
}

/// Returns the words of each command, taken from the names of the manual pages. cyclictest is omitted, since it parses
/// its own options.
fn commands(place: &Path) -> Vec<Vec<String>> {
    let pages = place.join("pages");
    assert!(punctual().arg("man").arg(&pages).output().unwrap().status.success());
    let names = fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let words = |name: String| name.trim_end_matches(".1").split('-').skip(1).map(String::from).collect::<Vec<_>>();
    let mut all: Vec<Vec<String>> = names.map(words).filter(|words| !words.is_empty()).collect();
    all.sort();
    all
}

/// Tests each option value and argument of each command. Each command line also contains an error, so that nothing
/// starts.
fn every_command(names: impl Fn(usize) -> Vec<&'static str>) {
    let place = tempfile::tempdir().unwrap();
    let mut tried = 0;
    for words in commands(place.path()) {
        let (_, help, _) = met(words.iter().map(String::as_str).chain(["--help"]), place.path());
        let options = help.lines().filter(|line| line.contains('<')).filter_map(|line| {
            line.split_whitespace()
                .find(|word| word.starts_with("--"))
                .map(|word| vec![word.trim_end_matches(',').to_owned()])
        });
        for option in options.chain([vec![]]) {
            for name in names(tried).into_iter().filter(|name| !name.contains('\0')) {
                // Words after the options of `lab boot` are a command for the guest, so the error has to come before
                // them.
                let (before, after): (&[&str], &[&str]) = match words == ["lab", "boot"] {
                    true => (&["--kernel", "none"], &[]),
                    false => (&[], &["--no-such-option"]),
                };
                let start = words.iter().map(String::as_str).chain(before.iter().copied());
                let wrong = start.chain(option.iter().map(String::as_str)).chain([name]).chain(after.iter().copied());
                let (code, _, err) = met(wrong, place.path());
                // cyclictest exits with 1 for a usage error.
                assert!(matches!(code, 1 | 2 | 4) && !err.is_empty(), "{words:?} {option:?} {name:?}: {code}");
            }
            tried += 1;
        }
    }
    assert!(tried > 250, "only {tried} options and arguments");
}

/// Tests every second option, each with a different name.
#[test]
fn options_of_every_command() {
    every_command(|n| if n % 2 == 0 { vec![NAMES[n / 2 % NAMES.len()]] } else { Vec::new() });
}

#[test]
#[ignore = "takes minutes: 18,000 processes"]
fn every_option_of_every_command_with_every_name() {
    every_command(|_| NAMES.to_vec());
}

/// Tests every command that takes a file, a name or an identifier as its argument.
#[test]
fn arguments_of_others() {
    let place = tempfile::tempdir().unwrap();
    let takes: [&[&str]; 22] = [
        &["bench"],
        &["compare"],
        &["completions"],
        &["cyclictest"],
        &["events"],
        &["explain"],
        &["history", "add"],
        &["history", "baseline", "remove"],
        &["history", "baseline", "set", "x"],
        &["history", "gate"],
        &["history", "remove"],
        &["import", "--out", "new"],
        &["kernel", "build", "--out", "new", "--tree"],
        &["kernel", "configure", "--out", "new", "--arch", "arm64", "--fragment", "none", "--tree"],
        &["kernel", "fetch", "--out", "new", "--tree"],
        &["kernel", "package", "--board", "x", "--out", "new", "--build"],
        &["kernel", "patch", "--file"],
        &["lab", "bisect", "--good", "a", "--bad", "b", "--config"],
        &["lab", "boot", "--kernel"],
        &["snapshot", "--root", "none"],
        &["tune"],
        &["serve", "--bind"],
    ];
    for (n, name) in NAMES.iter().enumerate().filter(|(_, name)| !name.contains('\0')) {
        for words in takes.iter().skip(n % 3).step_by(3) {
            met(words.iter().chain([name]).copied(), place.path());
        }
    }
}

/// Tests the names that a target returns. A fake `ssh` program, found before the real one, answers for the target.
#[test]
fn boards() {
    let place = tempfile::tempdir().unwrap();
    let ssh = place.path().join("ssh");
    fs::write(&ssh, "#!/bin/sh\ncat \"$SAID\"\ncat \"$SAID\" >&2\nexit $CODE\n").unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap());
    for (n, name) in NAMES.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        let said = place.path().join(format!("said-{n}"));
        fs::write(&said, format!("{name}\n0\nnone\n{name}\n")).unwrap();
        for words in [&["kernel", "status"][..], &["measure", "--out", "out"]] {
            let mut command = punctual();
            command.args(words).args(["--target", "ssh://board"]).current_dir(place.path());
            let code = if n % 2 == 0 { "3" } else { "0" };
            let done = command.env("PATH", &path).env("SAID", &said).env("CODE", code).output().unwrap();
            let (code, out, err) = answer(done);
            is_harmless("standard output", &out);
            is_harmless("standard error", &err);
            assert!(code != 0 && !err.is_empty(), "{name:?}: {out}");
        }
    }
}
