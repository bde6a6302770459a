//! Runs the real tools on planned files. Run manually: `PUNCTUAL_BOOT_TOOLS=DIR cargo test -p punctual-boot --test it
//! tools -- --ignored`. DIR contains Debian's grub-common and u-boot-menu, unpacked (`apt-get download`, `dpkg -x`).

use crate::common;

use common::tree;
use punctual_boot::{Change, change, detect};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn tools() -> PathBuf {
    PathBuf::from(std::env::var_os("PUNCTUAL_BOOT_TOOLS").expect("PUNCTUAL_BOOT_TOOLS"))
}

/// Writes the files of a machine after a change and the files of its trial boot. Returns their directory.
fn planned(name: &str, add: &str, remove: &str) -> tempfile::TempDir {
    let mut tree = tree(name);
    let plan = change(&tree, &detect(&tree).unwrap(), &Change::parse(add, remove).unwrap());
    tree.apply(&plan);
    plan.trial.iter().flat_map(|trial| &trial.edits).for_each(|edit| tree.edit(edit));
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in tree.0.iter().filter(|(path, _)| !path.starts_with("/proc") && !path.starts_with("/sys")) {
        let path = folder.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn sh(script: &str) -> Output {
    Command::new("/bin/sh").args(["-c", script]).output().unwrap()
}

fn good(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns Debian's script with `root` in front of its paths.
fn moved(script: &Path, root: &Path, folders: &[&str]) -> String {
    let mut text = fs::read_to_string(script).unwrap();
    for folder in folders {
        text = text.replace(folder, &format!("{}{folder}", root.display()));
    }
    text
}

/// Runs the part of grub-mkconfig that sources the files. Compares the words of the ordinary entry and the recovery
/// entry of 10_linux.
#[test]
#[ignore = "needs Debian's grub-common"]
fn grub_mkconfig_takes_the_parameters() {
    for (name, normal, recovery) in [
        ("debian-12-grub", "isolcpus=2-3 x=\"a b\"", ""),
        (
            "ubuntu-24.04-grub",
            "net.ifnames=0 console=tty1 console=ttyS0 isolcpus=2-3 x=\"a b\" crashkernel=2G-4G:320M,4G-32G:512M",
            "net.ifnames=0",
        ),
    ] {
        let root = planned(name, "isolcpus=2-3 x=\"a b\"", "quiet splash");
        let script = fs::read_to_string(tools().join("usr/sbin/grub-mkconfig")).unwrap();
        let (_, rest) = script.split_once("if test -f ${sysconfdir}/default/grub ; then").unwrap();
        let (sourcing, _) = rest.split_once("\ndone\n").unwrap();
        let script = format!(
            "set -e\nsysconfdir={}/etc\nif test -f ${{sysconfdir}}/default/grub ; then{sourcing}\ndone\n\
             echo \"$GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT\"; echo \"$GRUB_CMDLINE_LINUX\"\n",
            root.path().display()
        );
        let shown = good(&sh(&script));
        let lines: Vec<&str> = shown.lines().map(str::trim).collect();
        assert_eq!(lines, [normal, recovery], "{name}");
    }
}

/// GRUB's own parser must accept the menu with the added entry.
#[test]
#[ignore = "needs Debian's grub-common"]
fn grub_script_check_takes_the_trial_entry() {
    let root = planned("debian-12-grub", "isolcpus=2-3 x=\"a b\"", "quiet");
    for file in ["custom.cfg", "grub.cfg"] {
        let path = root.path().join("boot/grub").join(file);
        let output = Command::new(tools().join("usr/bin/grub-script-check")).arg(&path).output().unwrap();
        good(&output);
    }
}

/// Runs u-boot-update with other paths and one kernel.
#[test]
#[ignore = "needs Debian's u-boot-menu"]
fn u_boot_update_takes_the_parameters() {
    for (name, expected) in
        [("debian-12-u-boot-menu", "ro earlycon isolcpus=2-3"), ("debian-13-u-boot-kernel-cmdline", "rw isolcpus=2-3")]
    {
        let root = planned(name, "isolcpus=2-3", "quiet");
        let bin = root.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(root.path().join("etc/fstab"), "UUID=5f6e / ext4 defaults 0 1\n").unwrap();
        for (tool, body) in
            [("id", "echo 0"), ("linux-version", "case $1 in list) echo /boot/vmlinuz-6.1;; *) cat;; esac")]
        {
            fs::write(bin.join(tool), format!("#!/bin/sh\n{body}\n")).unwrap();
            good(&Command::new("chmod").arg("+x").arg(bin.join(tool)).output().unwrap());
        }
        let script = moved(
            &tools().join("usr/sbin/u-boot-update"),
            root.path(),
            &["/boot/extlinux", "/etc/", "/usr/share/u-boot-menu"],
        );
        good(&sh(&format!("PATH={}:$PATH\n{script}", bin.display())));
        let menu = fs::read_to_string(root.path().join("boot/extlinux/extlinux.conf")).unwrap();
        let append = menu.lines().find_map(|line| line.trim().strip_prefix("append ")).unwrap();
        assert!(append.ends_with(expected), "{name}: {append}");
    }
}
