//! Tests `punctual kernel fetch | configure | build | package` on a small tree, also if a command is killed.

use crate::common;

use common::punctual;
use punctual_testing::kbuild::{CONFIG, Tree, has};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

const TOOLS: [&str; 3] = ["make", "gzip", "sed"];

fn ran(words: &[&str]) -> (i32, String, String) {
    let output = punctual()
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .arg("kernel")
        .args(words)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
#[ignore = "live: make, gzip"]
fn from_a_tree_to_a_package() {
    if !has(&TOOLS) {
        return;
    }
    let tree = Tree::default();
    let path = |name: &str| tree.0.path().join(name).display().to_string();
    let (code, text, errors) = ran(&["fetch", "--tree", &path("source"), "--out", &path("fetched")]);
    assert!(code == 0 && text.contains("6.12.9 from the tree"), "{text}{errors}");
    fs::write(path("rt.config"), CONFIG.replace("CONFIG_SYSTEM_TRUSTED_KEYS=\"debian/certs/x.pem\"\n", "")).unwrap();
    let (source, out) = (path("fetched"), path("out"));
    let configure =
        ["configure", "--tree", &source, "--out", &out, "--arch", "arm64", "--fragment", &path("rt.config")];
    let (code, text, errors) = ran(&configure);
    assert!(code == 0 && text.contains("requested options are set"), "{text}{errors}");
    let (code, _, errors) = ran(&["build", "--tree", &source, "--out", &out, "--cross", ""]);
    assert!(code == 0 && errors.contains("12 objects to compile"), "{errors}");
    let (again, fragment) = (["build", "--tree", &source, "--out", &out, "--cross", ""], path("rt.config"));
    let elsewhere = path("elsewhere");
    let configure = ["configure", "--tree", &source, "--out", &elsewhere, "--arch", "arm64", "--fragment", &fragment];
    for words in [&configure[..], &["fetch", "--tree", &path("source"), "--out", &path("refetched")], &again] {
        let (code, text, errors) = ran(&[words, &["--json"]].concat());
        assert_eq!(code, 0, "{words:?}: {errors}");
        punctual_testing::schema::holds(&serde_json::from_str(&text).unwrap());
    }
    let package = ["package", "--build", &out, "--board", "raspberry-pi-3-64", "--out", &path("into"), "--json"];
    let (code, text, errors) = ran(&package);
    let json: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{errors}"));
    punctual_testing::schema::holds(&json);
    assert_eq!((code, json["schema"].as_str()), (0, Some("punctual.kernel-package/1")), "{text}");
    assert_eq!(
        json["result"]["version"],
        "#1 SMP PREEMPT_RT ".to_owned() + &json["result"]["version"].as_str().unwrap()[18..]
    );
    let manifest: Value = serde_json::from_slice(&fs::read(path("into/manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["release"], "6.12.9-punctual-rt");
    // The kernel is not a real-time kernel: this is reported, and nothing is packaged.
    fs::write(path("out/real-time"), "PREEMPT").unwrap();
    fs::remove_file(path("out/arch/arm64/boot/Image.gz")).unwrap();
    assert_eq!(ran(&["build", "--tree", &source, "--out", &out, "--cross", "", "--quiet"]).0, 0);
    let other = path("other");
    let (code, text, _) = ran(&["package", "--build", &out, "--board", "raspberry-pi-3-64", "--out", &other]);
    assert!(code == 1 && text.contains("FAIL    preempt-rt") && text.contains("nothing was packaged"), "{text}");
}

#[test]
fn wrong_words_say_what_to_type() {
    let tree = Tree::default();
    let path = |name: &str| tree.0.path().join(name).display().to_string();
    let (source, out) = (path("source"), path("out"));
    let branch = ["fetch", "--git", "file:///nowhere", "--branch=--x", "--out", &out];
    let menu =
        ["configure", "--tree", &source, "--out", &out, "--arch", "arm64", "--fragment", "/dev/null", "--menuconfig"];
    for (words, said) in [
        (&["fetch", "--out", &out][..], "--url"),
        (&["fetch", "--url", "/nowhere.tar.xz", "--out", &out], "--keyring"),
        (&branch, "--branch"),
        (&menu, "--menuconfig needs a terminal"),
        (&["build", "--tree", &source, "--out", &out], "has no .config: run punctual kernel configure"),
        (&["package", "--build", &out, "--board", "pi", "--out", &out], "choose one of raspberry-pi-1"),
        (&["package", "--build", &out, "--board", "pc-amd64", "--out", &out], "punctual kernel build"),
    ] {
        let (code, _, errors) = ran(words);
        assert!(code == 2 && errors.contains(said), "{words:?}: {code} {errors}");
    }
    let config = tree.configured("hot");
    let words = ["build", "--tree", &source, "--out", &config.display().to_string(), "--pause-at", "5"];
    assert!(ran(&words).2.contains("30 to 110"));
}

fn image(out: &Path) -> Vec<u8> {
    fs::read(out.join("arch/arm64/boot/Image.gz")).unwrap()
}

#[test]
#[ignore = "live: make, gzip"]
fn a_build_that_was_killed_at_any_instant_comes_to_the_same() {
    if !has(&TOOLS) {
        return;
    }
    let tree = Tree::default();
    let source = tree.source().display().to_string();
    let build = |out: &Path| {
        let mut command = punctual();
        command.args(["kernel", "build", "--quiet", "--cross", "", "--jobs", "1", "--tree", &source, "--out"]).arg(out);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let plain = tree.configured("plain");
    assert!(build(&plain).status().unwrap().success());
    let makefile = tree.source().join("Makefile");
    let date = makefile.metadata().unwrap().modified().unwrap();
    fs::write(&makefile, fs::read_to_string(&makefile).unwrap().replace("SLOW ?= 0", "SLOW ?= 0.1")).unwrap();
    fs::File::options().write(true).open(&makefile).unwrap().set_modified(date).unwrap();
    let killed = tree.configured("killed");
    // Some kills happen before make starts, some between its objects.
    for instant in [20, 90, 250, 400, 550, 700] {
        let mut child = build(&killed).spawn().unwrap();
        sleep(Duration::from_millis(instant));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(build(&killed).status().unwrap().success());
    assert_eq!(image(&plain), image(&killed));
}
