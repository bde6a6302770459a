//! Tests `audit --dry-run --persist` on root file systems with every kind of boot loader.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/system/boot/tests/roots").join(name)
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to)
        } else {
            let _ = std::fs::copy(&path, &to).unwrap();
        }
    }
}

/// Creates a root file system, and a rule that recommends a kernel parameter (background scanning of page tables).
fn machine(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy(&root(name), folder.path());
    for (path, text) in [
        ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
        ("sys/kernel/mm/transparent_hugepage/defrag", "[always] defer defer+madvise madvise never\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("proc/sys/kernel/osrelease", "6.12.0\n"),
    ] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn punctual(root: &Path, more: &[&str]) -> Output {
    let changes = root.join("changes");
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.env("PUNCTUAL_CHANGES", changes).args(["audit", "--dry-run", "mem-thp", "--root", root.to_str().unwrap()]);
    command.args(more).output().unwrap()
}

fn shown(name: &str, more: &[&str]) -> Value {
    let folder = machine(name);
    let output = punctual(folder.path(), &[more, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn rule<'v>(document: &'v Value, id: &str) -> &'v Value {
    let rules = document["result"]["rules"].as_array().unwrap();
    rules.iter().find(|rule| rule["id"] == id).unwrap_or_else(|| panic!("{document:#}"))
}

#[test]
fn every_chain_shows_its_files_and_commands() {
    for (name, wanted) in [
        ("pi-os-bookworm", "/boot/firmware/cmdline.txt"),
        ("debian-12-grub", "/etc/default/grub.d/60-punctual.cfg"),
        ("fedora-41-bls", "/boot/loader/entries/"),
        ("arch-systemd-boot", "/loader/entries/arch.conf"),
        ("fedora-coreos-ostree", "rpm-ostree kargs"),
        ("jetson-extlinux", "/boot/extlinux/extlinux.conf"),
        ("armbian-bookworm", "/boot/armbianEnv.txt"),
        ("ubuntu-core-24", "snap set system"),
    ] {
        let document = shown(name, &["--persist"]);
        let steps = rule(&document, "boot-parameters")["steps"].to_string();
        assert!(steps.contains(wanted) && steps.contains("transparent_hugepage=never"), "{name}: {steps}");
        assert!(document["result"]["boot"]["chain"].is_string(), "{name}");
    }
}

#[test]
fn a_trial_shows_its_entry_and_how_it_falls_back() {
    let document = shown("debian-12-grub", &["--persist", "--trial"]);
    let steps = rule(&document, "boot-trial")["steps"].to_string();
    assert!(
        steps.contains("custom.cfg") && steps.contains("grub-reboot") && !steps.contains("60-punctual.cfg"),
        "{steps}"
    );
    let trial = &document["result"]["boot"]["trial"];
    assert!(trial["fallback"].as_str().unwrap().contains("panic"), "{trial}");
    assert!(trial["words"].to_string().contains("punctual.trial="), "{trial}");
    let none = shown("armbian-bookworm", &["--persist", "--trial"]);
    let why = rule(&none, "boot-trial")["manual"][0].as_str().unwrap().to_owned();
    assert!(why.contains("no trial boot") && why.contains("--persist alone"), "{why}");
}

#[test]
fn what_cannot_be_done_is_advice_with_the_reason() {
    let why = |name| rule(&shown(name, &["--persist"]), "boot-parameters")["manual"][0].as_str().unwrap().to_owned();
    let ambiguous = why("grub-and-systemd-boot");
    assert!(ambiguous.contains("transparent_hugepage=never") && ambiguous.contains("is ambiguous"), "{ambiguous}");
    let refused = why("bootc-no-rpm-ostree");
    assert!(refused.contains("manually: "), "{refused}");
}

#[test]
fn a_prepared_trial_is_kept_in_its_boot_and_nowhere_else() {
    let folder = machine("debian-12-grub");
    let trial = folder.path().join("var/lib/punctual/trial");
    std::fs::create_dir_all(trial.parent().unwrap()).unwrap();
    std::fs::write(&trial, "+ skew_tick=1\n").unwrap();
    let output = punctual(folder.path(), &["--persist"]);
    assert_eq!(output.status.code(), Some(4));
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(reported.contains("is not this boot") && reported.contains("punctual undo boot-trial"), "{reported}");
    let change = punctual_boot::Change::parse("skew_tick=1", "").unwrap();
    let cmdline = folder.path().join("proc/cmdline");
    let line = std::fs::read_to_string(&cmdline).unwrap();
    std::fs::write(&cmdline, format!("{} skew_tick=1 {}\n", line.trim(), punctual_boot::trial_word(&change))).unwrap();
    let output = punctual(folder.path(), &["--persist"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("this boot is the trial") && text.contains("skew_tick=1"), "{text}");
    assert!(text.contains("not tried yet"), "{text}");
}

#[test]
fn a_trial_goes_with_persist_only() {
    let folder = machine("debian-12-grub");
    assert_eq!(punctual(folder.path(), &["--trial"]).status.code(), Some(2));
}
