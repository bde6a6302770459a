use punctual_kbuild::build::{Heat, Job, LOG, Progress, State};
use punctual_kbuild::{KbuildError, build};
use punctual_testing::kbuild::{Tree, has};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn built(job: &Job) -> Result<punctual_kbuild::build::Built, KbuildError> {
    build(job, &mut |_| {}, &mut |_| {})
}

fn image(out: &Path) -> Vec<u8> {
    fs::read(out.join("arch/arm64/boot/Image.gz")).unwrap()
}

#[test]
#[ignore = "live: make"]
fn a_build_is_of_its_own_name_and_without_foreign_certificates() {
    if !has(&["make", "gzip", "sed"]) {
        return;
    }
    let tree = Tree::default();
    let out = tree.configured("out");
    let config = punctual_testing::kbuild::CONFIG.replace("-punctual-rt", "-v8-rt");
    fs::write(out.join(".config"), config).unwrap();
    let mut said = Vec::new();
    let done = build(&tree.job(&out), &mut |line| said.push(line.to_owned()), &mut |_| {}).unwrap();
    assert_eq!(done.release, "6.12.9-v8-rt-punctual");
    assert_eq!(done.objects, Some(12));
    let config = fs::read_to_string(out.join(".config")).unwrap();
    assert!(config.ends_with("CONFIG_LOCALVERSION=\"-v8-rt-punctual\"\nCONFIG_SYSTEM_TRUSTED_KEYS=\"\"\n"), "{config}");
    assert!(said.iter().any(|line| line.contains("-v8-rt-punctual")), "{said:?}");
    let state = State::read(&out).unwrap().unwrap();
    assert!(state.done && state.running.is_none() && state.release.as_deref() == Some("6.12.9-v8-rt-punctual"));
}

#[test]
#[ignore = "live: make"]
fn an_error_names_the_first_file_and_line_and_fixed_it_continues() {
    if !has(&["make", "gzip"]) {
        return;
    }
    let tree = Tree::default();
    let out = tree.configured("out");
    fs::write(tree.source().join("7.c"), "BROKEN\n").unwrap();
    let error = built(&tree.job(&out)).unwrap_err();
    assert!(error.is_verdict() && error.to_string().contains("7.c line 3: error: expected ';'"), "{error}");
    assert!(!State::read(&out).unwrap().unwrap().done);
    fs::write(tree.source().join("7.c"), "int f7;\n").unwrap();
    let done = built(&tree.job(&out)).unwrap();
    // Compiled objects are not compiled again.
    assert_eq!(done.objects, Some(6));
    assert!(fs::read_to_string(out.join(LOG)).unwrap().matches("  CC      1.o").count() == 1);
}

#[test]
#[ignore = "live: make"]
fn the_folder_of_another_tree_and_one_within_the_source_are_refused() {
    if !has(&["make", "gzip"]) {
        return;
    }
    let (tree, other) = (Tree::default(), Tree::default());
    let out = tree.configured("out");
    built(&tree.job(&out)).unwrap();
    let error = built(&Job { tree: other.source(), ..tree.job(&out) }).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("give a new folder with --out"), "{error}");
    let within = tree.source().join("out");
    fs::create_dir(&within).unwrap();
    fs::write(within.join(".config"), punctual_testing::kbuild::CONFIG).unwrap();
    assert!(built(&tree.job(&within)).unwrap_err().is_usage());
    let none = built(&tree.job(&tree.0.path().join("none"))).unwrap_err().to_string();
    assert!(none.contains("has no .config: run punctual kernel configure"), "{none}");
}

#[test]
#[ignore = "live: make"]
fn a_hot_board_waits_until_it_is_cooler_and_comes_to_the_same() {
    if !has(&["make", "gzip"]) {
        return;
    }
    let tree = Tree::default();
    let plain = tree.configured("plain");
    built(&tree.job(&plain)).unwrap();
    let zone = tree.0.path().join("thermal/thermal_zone0");
    fs::create_dir_all(&zone).unwrap();
    fs::write(zone.join("temp"), "80000\n").unwrap();
    // Each object takes a while, so that the build is still running when the temperature is read.
    let makefile = tree.source().join("Makefile");
    fs::write(&makefile, fs::read_to_string(&makefile).unwrap().replace("SLOW ?= 0", "SLOW ?= 0.5")).unwrap();
    let out = tree.configured("hot");
    let heat = Heat::at(75, &tree.0.path().join("thermal")).unwrap();
    let was_paused = AtomicBool::new(false);
    let mut said = Vec::new();
    let mut show = |progress: &Progress| {
        if progress.paused_at == Some(80_000) {
            was_paused.store(true, Ordering::Relaxed);
            fs::write(zone.join("temp"), "60000\n").unwrap();
        }
    };
    let job = Job { heat: Some(heat), ..tree.job(&out) };
    let done = build(&job, &mut |line| said.push(line.to_owned()), &mut show).unwrap();
    assert!(was_paused.load(Ordering::Relaxed) && done.paused > Duration::ZERO);
    assert!(said.iter().any(|line| line == "paused at 80.0 °C: resumes below 67 °C"), "{said:?}");
    assert!(said.iter().any(|line| line == "60.0 °C: resumed"), "{said:?}");
    assert_eq!(image(&plain), image(&out));
}

#[test]
#[ignore = "live: make"]
fn a_diagnostic_build_has_a_name_of_its_own_and_all_its_options_or_changes_nothing() {
    if !has(&["make", "gzip", "sed"]) {
        return;
    }
    let tree = Tree::default();
    let out = tree.configured("out");
    let job = Job { diagnostic: true, ..tree.job(&out) };
    for _ in 0..2 {
        assert_eq!(built(&job).unwrap().release, "6.12.9-punctual-rt-diagnostic");
    }
    let config = fs::read_to_string(out.join(".config")).unwrap();
    for line in ["CONFIG_IRQSOFF_TRACER=y", "CONFIG_PREEMPTIRQ_TRACEPOINTS=y", "CONFIG_TIMERLAT_TRACER=y"] {
        assert_eq!(config.lines().filter(|other| *other == line).count(), 1, "{line}");
    }
    let asked = fs::read_to_string(out.join(punctual_kernel::config::make::REQUESTED)).unwrap();
    assert!(
        asked.contains("CONFIG_PREEMPT_TRACER=y\n") && asked.contains("# CONFIG_PROVE_LOCKING is not set\n"),
        "{asked}"
    );
    assert!(asked.contains("CONFIG_LOCALVERSION=\"-punctual-rt-diagnostic\"\n"), "{asked}");
    // The directory of a plain build stays a plain build.
    let plain = tree.configured("plain");
    built(&tree.job(&plain)).unwrap();
    let error = built(&Job { out: plain.clone(), ..job.clone() }).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("give a new folder with --out"), "{error}");
    assert!(!fs::read_to_string(plain.join(".config")).unwrap().contains("IRQSOFF"));
    // Here kconfig drops an option.
    let makefile = tree.source().join("Makefile");
    let text = fs::read_to_string(&makefile).unwrap().replace("/CONFIG_DROPPED/d", "/CONFIG_IRQSOFF_TRACER/d");
    fs::write(&makefile, text).unwrap();
    let out = tree.configured("dropped");
    let before = fs::read(out.join(".config")).unwrap();
    let error = built(&Job { out: out.clone(), ..job }).unwrap_err().to_string();
    assert!(error.contains("CONFIG_IRQSOFF_TRACER: requested y, is off"), "{error}");
    assert_eq!(fs::read(out.join(".config")).unwrap(), before);
    assert!(!out.join(punctual_kernel::config::make::REQUESTED).exists());
}
