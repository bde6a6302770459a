//! Tests `punctual kernel` as a user types it.

use crate::common;

use common::punctual;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn fixture(name: &str) -> String {
    root().join("crates/linux/kernel/tests/fixtures").join(name).display().to_string()
}

fn ran(words: &[&str]) -> (i32, String, String) {
    let output = punctual().arg("kernel").args(words).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn document(words: &[&str]) -> (i32, Value) {
    let (code, out, errors) = ran(&[words, &["--json"]].concat());
    let value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{errors}"));
    punctual_testing::schema::holds(&value);
    (code, value)
}

fn has(programs: &[&str]) -> bool {
    let missing: Vec<&&str> = programs.iter().filter(|p| Command::new(p).arg("--version").output().is_err()).collect();
    if !missing.is_empty() {
        eprintln!("not tested: {missing:?} not installed");
    }
    missing.is_empty()
}

#[test]
fn a_plan_for_a_board_is_text_and_json() {
    let (code, text, _) =
        ran(&["plan", "--board", "raspberry-pi-4-64", "--hz", "1000", "--tracer", "timerlat,osnoise"]);
    assert_eq!(code, 0);
    assert!(text.contains("bcm2711_defconfig") && text.contains("CONFIG_TIMERLAT_TRACER=y"), "{text}");
    let (code, json) = document(&["plan", "--board", "raspberry-pi-4-64"]);
    assert_eq!((code, json["schema"].as_str()), (0, Some("punctual.kernel-plan/1")));
    assert_eq!(json["result"]["source"]["kind"], "pi-tree");
    assert!(
        json["result"]["steps"].as_array().unwrap().iter().all(|s| s["why"].as_str().is_some_and(|w| !w.is_empty()))
    );
}

#[test]
fn a_request_that_cannot_be_met_is_a_usage_error_with_what_to_type() {
    for (words, said) in [
        (&["plan", "--board", "pi"][..], "choose one of raspberry-pi-1"),
        (&["plan", "--board", "raspberry-pi-4-64", "--hz", "123"], "--hz"),
        (&["plan", "--board", "raspberry-pi-4-64", "--series", "6.7"], "--series"),
        (&["plan", "--series", "six"], "write it as 6.12"),
        (&["plan", "--root", "/nowhere"], "is not a directory"),
        (&["plan", "--board", "pc-amd64", "--fragment", "/nowhere"], "cannot read /nowhere"),
        (&["plan", "--board", "pc-amd64", "--index", "/dev/null"], "save the page"),
        (&["patch", "--tree", "/nowhere"], "required"),
        (
            &["configure", "--tree", "/", "--out", "/nowhere", "--arch", "arm64", "--fragment", "/dev/null"],
            "no Kconfig",
        ),
    ] {
        let (code, out, errors) = ran(words);
        assert_eq!(code, 2, "{words:?}: {errors}");
        assert!(errors.contains(said) && out.is_empty(), "{words:?}: {errors}");
    }
}

#[test]
fn a_preflight_shows_each_check_and_its_fix() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join(".config");
    std::fs::write(&config, "CONFIG_HZ=250\nCONFIG_SYSTEM_TRUSTED_KEYS=\"debian/certs/x.pem\"\n").unwrap();
    let config = config.display().to_string();
    let words = ["preflight", "--board", "raspberry-pi-1", "--series", "6.12", "--out", "build", "--config", &config];
    let (code, text, errors) = ran(&words);
    assert_eq!(code, 1, "{errors}");
    for said in [
        "6.12 has no PREEMPT_RT on arm",
        "build is relative",
        "PREEMPT_RT is off, EXPERT is off",
        "scripts/config --set-str",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let (_, json) = document(&words);
    let checks = json["result"]["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 20);
    // A board other than this machine is not examined.
    let usb = checks.iter().find(|c| c["id"] == "dwc-otg-fiq").unwrap();
    assert_eq!(usb["outcome"], "unknown");
    let (code, _, errors) = ran(&["preflight", "--board", "pc-amd64", "--tree", "/nowhere"]);
    assert!(code == 2 && errors.contains("/nowhere/Makefile"), "{errors}");
}

#[test]
fn a_mounted_card_is_looked_at() {
    let card = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = card.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("boot/firmware/cmdline.txt", "rootwait dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=0\n");
    put("boot/firmware/config.txt", "auto_initramfs=1\n");
    let root = card.path().display().to_string();
    let (_, json) = document(&["preflight", "--board", "raspberry-pi-3-64", "--root", &root]);
    let outcome = |id: &str| {
        json["result"]["checks"].as_array().unwrap().iter().find(|c| c["id"] == id).unwrap()["outcome"].clone()
    };
    assert_eq!((outcome("dwc-otg-fiq"), outcome("initramfs")), ("pass".into(), "warn".into()));
}

#[test]
fn the_newest_patch_of_a_saved_index_enters_the_plan() {
    let index = fixture("rt-6.6.html");
    let (code, text, errors) = ran(&["plan", "--board", "arm64-board", "--series", "6.6", "--index", &index]);
    assert!(code == 0 && text.contains("patch-6.6.147-rt77.patch"), "{errors}");
}

#[test]
fn a_patch_is_found_for_exactly_one_release() {
    let (page, older) = (fixture("rt-6.6.html"), fixture("rt-6.6-older.html"));
    let (code, text, _) = ran(&["patch", "--release", "6.6.78", "--index", &page, "--older", &older]);
    assert!(code == 0 && text.contains("projects/rt/6.6/older/patch-6.6.78-rt51.patch.xz"), "{text}");
    let (code, _, errors) = ran(&["patch", "--release", "6.6.78", "--index", &page]);
    assert!(code == 2 && errors.contains("(--older)"), "{errors}");
    let (code, json) = document(&["patch", "--release", "6.6.79", "--index", &page, "--older", &older]);
    assert!(code == 1 && json["result"]["error"].as_str().unwrap().contains("no published patch fits 6.6.79"));
}

#[test]
#[ignore = "live: xz, gpgv, patch"]
fn a_patch_is_checked_before_it_is_used() {
    if !has(&["gpgv", "patch", "xz", "sha256sum"]) {
        return;
    }
    let tree = tempfile::tempdir().unwrap();
    let makefile = |sublevel: u32| format!("VERSION = 6\nPATCHLEVEL = 6\nSUBLEVEL = {sublevel}\nEXTRAVERSION =\n");
    std::fs::create_dir(tree.path().join("kernel")).unwrap();
    std::fs::copy(fixture("patch/softirq.c"), tree.path().join("kernel/softirq.c")).unwrap();
    std::fs::write(tree.path().join("Makefile"), makefile(147)).unwrap();
    let (file, sums) = (fixture("patch/patch-6.6.147-rt77.patch.xz"), fixture("patch/sha256sums.asc"));
    let folder = tree.path().display().to_string();
    let check = |keyring: &str| {
        let keyring = fixture(keyring);
        ran(&["patch", "--tree", &folder, "--file", &file, "--sums", &sums, "--keyring", &keyring])
    };
    let (code, text, errors) = check("patch/keyring.gpg");
    assert!(
        code == 0 && text.contains("2 files change") && text.contains("its SHA-256 matches the list"),
        "{text}{errors}"
    );
    let (code, text, errors) = check("patch/stranger.gpg");
    assert!(code == 1 && text.is_empty() && errors.contains("not in the keyring"), "{errors}");
    std::fs::write(tree.path().join("Makefile"), makefile(146)).unwrap();
    let (code, _, errors) = check("patch/keyring.gpg");
    assert!(code == 1 && errors.contains("fits 6.6.147 exactly, but the tree is 6.6.146"), "{errors}");
}

/// Creates a tree whose `make` writes a configuration as kconfig does, with two targets; one option is always dropped.
fn small_tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    std::fs::copy(fixture("Kconfig"), tree.path().join("Kconfig")).unwrap();
    let makefile = "defconfig:\n\techo CONFIG_GPIOLIB=y > $(O)/.config\nolddefconfig:\n\tsed -i /PREEMPT_RT/d $(O)/.config\nbadconfig:\n\techo CONFIG_A=y > $(O)/.config; false\n";
    std::fs::write(tree.path().join("Makefile"), makefile).unwrap();
    tree
}

fn configured(tree: &str, out: &str, target: &str, fragment: &str) -> (i32, String, String) {
    let target = format!("--defconfig={target}");
    ran(&["configure", "--tree", tree, "--out", out, "--arch", "arm64", &target, "--fragment", fragment])
}

#[test]
#[ignore = "live: make"]
fn a_dropped_option_fails_and_names_what_it_depends_on() {
    if !has(&["make"]) {
        return;
    }
    let tree = small_tree();
    let path = |name: &str| tree.path().join(name).display().to_string();
    std::fs::write(path("rt.config"), "CONFIG_PREEMPT_RT=y\nCONFIG_SPI=y\n").unwrap();
    let run = |target: &str, out: &str| configured(&path(""), &path(out), target, &path("rt.config"));
    let (code, text, errors) = run("defconfig", "out");
    assert_eq!(code, 1, "{errors}");
    assert!(text.contains("4 of 5 requested options are set"), "{text}");
    assert!(
        text.contains("DROPPED CONFIG_PREEMPT_RT: requested y, is off: it depends on EXPERT (EXPERT is off)"),
        "{text}"
    );
    let (code, _, errors) = run("defconfig", "out");
    assert!(code == 2 && errors.contains("already has a .config"), "{errors}");
    let (code, _, errors) = run("badconfig", "bad");
    assert!(code == 4 && errors.contains("make badconfig failed"), "{errors}");
    assert!(!tree.path().join("bad/.config").exists());
    let (code, _, errors) = run("-f/etc/config", "other");
    assert!(code == 2 && !tree.path().join("other").exists(), "{errors}");
}

#[test]
#[ignore = "live: make"]
fn a_configuration_is_what_the_options_are_added_to() {
    if !has(&["make"]) {
        return;
    }
    let tree = small_tree();
    let path = |name: &str| tree.path().join(name).display().to_string();
    std::fs::write(path("rt.config"), "CONFIG_SPI=y\n").unwrap();
    std::fs::write(path("running"), "CONFIG_BLK_DEV_NVME=m\nCONFIG_SPI=m").unwrap();
    let run = |config: &str, out: &str| {
        let words = ["configure", "--tree", &path(""), "--out", &path(out), "--arch", "x86_64"];
        ran(&[&words[..], &["--config", &path(config), "--fragment", &path("rt.config")]].concat())
    };
    let (code, text, errors) = run("running", "out");
    assert!(text.contains("requested options are set"), "{code} {text}{errors}");
    let made = std::fs::read_to_string(path("out/.config")).unwrap();
    assert!(made.starts_with("CONFIG_BLK_DEV_NVME=m\nCONFIG_SPI=m\n") && made.contains("\nCONFIG_SPI=y\n"), "{made}");
    let (code, _, errors) = run("Makefile", "other");
    assert!(code == 2 && errors.contains("has no line such as CONFIG_HZ=250"), "{errors}");
    assert!(!tree.path().join("other").exists());
}

/// Only reads the state. This machine normally has no deployment; if the state cannot be read, the document says so.
#[test]
fn where_a_deployment_stands_is_a_document_too() {
    let (code, document) = document(&["status"]);
    let result = &document["result"];
    assert_eq!(document["exit_code"], code);
    assert_ne!(result["state"].is_null(), result["error"].is_null(), "{document}");
}
