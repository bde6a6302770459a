//! Tests `compare`: groups of runs, and experiments over several boots.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn punctual(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_punctual")).args(words).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).replace('\n', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../crates/analysis/import/tests/fixtures")
        .join(name)
        .display()
        .to_string()
}

fn pi() -> [Vec<String>; 2] {
    let of = |kernel: &str, histogram: &str| {
        [
            histogram.to_owned(),
            format!("{kernel}_kernel_4B_multithread_output.csv"),
            format!("{kernel}_kernel_4B_singlethread_output.csv"),
        ]
        .iter()
        .map(|name| fixture(name))
        .collect()
    };
    [of("std", "histogram_stdkernel_4.19.57-v7l+.csv"), of("rt", "histogram_rtkernel_4.19.59-rt23-v7l+.csv")]
}

fn compare_pi(more: &[&str]) -> Output {
    let [standard, rt] = pi();
    let mut words = vec!["compare"];
    words.extend(standard.iter().map(String::as_str));
    words.push("--vs");
    words.extend(rt.iter().map(String::as_str));
    words.extend(["--name", "standard", "--name", "RT"]);
    words.extend(more);
    punctual(&words)
}

#[test]
fn the_published_files_show_that_it_is_heat() {
    let output = compare_pi(&["--full"]);
    assert_eq!(output.status.code(), Some(3), "nothing is judged below four boots: {output:?}");
    let said = text(&output);
    for sentence in [
        "The worst wakeup is 69 % lower with RT than with standard (93 µs instead of 301 µs); no verdict, since the boot of each run is not recorded",
        "is 11 % higher with RT than with standard (24.27 s instead of 21.79 s)",
        "The difference is mostly thermal (87 % of it): from 78 °C on",
        "the ratio of RT (9 of 100) to standard (13 of 100) is 1.016 [1.000, 1.026 at 95 %]",
    ] {
        assert!(said.contains(sentence), "{sentence} is not in {said}");
    }
}

#[test]
fn every_format_into_a_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("comparison.html");
    let output = compare_pi(&["-f", "html", "-o", page.to_str().unwrap()]);
    assert!(output.status.code() == Some(3) && output.stdout.is_empty(), "{output:?}");
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("<svg") && html.matches("<script").count() == 1 && html.contains("78 °C"));
    let again = compare_pi(&["-f", "html", "-o", page.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(4), "{again:?}");
    assert_eq!(fs::read_to_string(&page).unwrap(), html);
    let document: Value = serde_json::from_slice(&compare_pi(&["--json"]).stdout).unwrap();
    assert_eq!(document["schema"], "punctual.compare/1");
    assert_eq!(document["result"]["groups"][1]["name"], "RT");
    assert_eq!(document["result"]["rows"][0]["groups"][1]["values"][0], 93_000.0);
}

/// Each group has four files, which do not state whether each comes from a boot of its own.
#[test]
fn what_is_worse_fails_where_boots_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let files = |kernel: &str, late: u64| -> Vec<String> {
        let write = |n: u64| {
            let path = folder.path().join(format!("{kernel}-{n}.txt"));
            let (max, mean) = (late + 7 * n, late / 3 + n);
            fs::write(
                &path,
                format!("T: 0 ( 1201) P:99 I:1000 C: 100000 Min:      5 Act:   10 Avg:   {mean} Max:     {max}\n"),
            )
            .unwrap();
            path.display().to_string()
        };
        (1..=4).map(write).collect()
    };
    let (a, b) = (files("a", 60), files("b", 900));
    let code = |first: &[String], second: &[String], more: &[&str]| {
        let mut words = vec!["compare", "--fail-if-worse", "-q"];
        words.extend(more);
        words.extend(first.iter().map(String::as_str));
        words.push("--vs");
        words.extend(second.iter().map(String::as_str));
        punctual(&words).status.code()
    };
    assert_eq!(code(&a, &b, &[]), Some(3));
    assert_eq!(code(&a, &b, &["--own-boots"]), Some(1));
    assert_eq!(code(&b, &a, &["--own-boots"]), Some(0));
    assert_eq!(code(&a, &b[..3], &["--own-boots"]), Some(3), "three of one");
    // The same files, given as directories, which name the groups. The text fits on one screen and ends with the
    // decision.
    let folders = ["before", "after"].map(|name| folder.path().join(name));
    for (to, files) in folders.iter().zip([&a, &b]) {
        fs::create_dir(to).unwrap();
        for (n, file) in files.iter().enumerate() {
            fs::copy(file, to.join(format!("boot-{n}.txt"))).unwrap();
        }
    }
    let [before, after] = folders.each_ref().map(|path| path.to_str().unwrap());
    let output = punctual(&["compare", before, after, "--own-boots", "--fail-if-worse"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(said.contains("with after") && said.contains("B  after: 4 boots"), "{said}");
    assert!(said.lines().count() <= 22 && said.lines().last().unwrap().starts_with("WORSE  worst wakeup"), "{said}");
}

#[test]
fn the_newest_runs_are_compared_without_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let last = |n: &str| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_punctual"))
            .args(["compare", "--last", n])
            .current_dir(folder.path())
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert!(last("2").1.contains("./punctual-runs cannot be read"));
    let run = folder.path().join("punctual-runs/20260101T000000Z-host");
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("run.json"), "{}").unwrap();
    let (code, said) = last("2");
    assert!(code == Some(2) && said.contains("./punctual-runs contains only one run"), "{said}");
}

/// Each file states only the number of samples, the minimum, the mean and the maximum.
#[test]
fn files_without_quantiles_are_not_worse_and_copies_are_no_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, figures: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("T: 0 ( 1201) P:99 I:1000 C: 100000 {figures}\n")).unwrap();
        path.display().to_string()
    };
    let a = file("a.txt", "Min:      5 Act:   10 Avg:   40 Max:     900");
    let b = file("b.txt", "Min:     20 Act:   21 Avg:   22 Max:      60");
    let one = punctual(&["compare", &a, &b, "--fail-if-worse", "--full"]);
    let said = text(&one);
    assert_eq!(one.status.code(), Some(3), "{said}");
    assert!(said.contains("(60 µs instead of 900 µs)") && !said.contains("p99"), "{said}");
    assert!(said.contains("only number, minimum, mean and maximum"), "{said}");
    let copies = punctual(&["compare", &b, &b, &b, &b, "--vs", &a, &a, &a, &a, "--fail-if-worse"]);
    assert_eq!(copies.status.code(), Some(3), "{copies:?}");
    assert!(text(&copies).contains("a copy is not a separate run"), "{copies:?}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_advice() {
    let [standard, _] = pi();
    let one = punctual(&["compare", &standard[0]]);
    assert_eq!(one.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&one.stderr).contains("takes two groups"), "{one:?}");
    let nothing = punctual(&["compare", &standard[0], &standard[1], "--json"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&nothing.stderr).contains("the groups have no load and no series in common"),
        "{nothing:?}"
    );
    let document: Value = serde_json::from_slice(&nothing.stdout).unwrap();
    assert!(document["result"]["error"].is_string());
    let empty = tempfile::tempdir().unwrap();
    let folder = punctual(&["compare", empty.path().to_str().unwrap(), &standard[0]]);
    assert_eq!(folder.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&folder.stderr).contains("neither runs nor files"), "{folder:?}");
    assert_eq!(punctual(&["compare", "/nonexistent", &standard[0]]).status.code(), Some(2));
}

fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap().trim().to_owned()
}

/// Of the two kernels only one can run; the runs of the other are copies.
#[test]
#[ignore = "live: timing"]
fn an_experiment_goes_on_from_boot_to_boot() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("experiment");
    let dir = place.to_str().unwrap();
    let measure = ["--", "-D", "300ms", "--warmup", "0s", "-l", "idle", "--policy", "other"];
    let running = release();
    let begin = [&["compare", "--experiment", dir, &running, "9.9.9-other", "--pairs", "2"][..], &measure[..]].concat();
    let first = punctual(&begin);
    assert!(first.status.success(), "{first:?}");
    assert!(
        text(&first).contains("1 of 4 boots measured. Boot 9.9.9-other, then: punctual compare --experiment"),
        "{first:?}"
    );
    assert_eq!(punctual(&begin).status.code(), Some(2), "a plan is not begun twice");
    let same = punctual(&["compare", "--experiment", dir]);
    assert!(text(&same).contains("1 of 4 boots measured"), "{same:?}");

    let plan = place.join("experiment.json");
    let mut experiment: Value = serde_json::from_slice(&fs::read(&plan).unwrap()).unwrap();
    assert!(place.join("01-a/run.json").exists());
    for (step, run) in [(1, "02-b"), (2, "03-b"), (3, "04-a")] {
        copy(&place.join("01-a"), &place.join(run));
        experiment["steps"][step]["run"] = run.into();
        experiment["steps"][step]["boot_id"] = run.into();
    }
    fs::write(&plan, experiment.to_string()).unwrap();
    let done = punctual(&["compare", "--experiment", dir]);
    assert!(text(&done).contains("2 runs"), "{done:?}");
    assert!(place.join("comparison.html").exists());
}

fn copy(from: &Path, to: &PathBuf) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() { copy(&path, &target) } else { fs::copy(&path, &target).map(drop).unwrap() }
    }
}
