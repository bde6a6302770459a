//! Machines in memory, and an independent model of how each boot chain interprets its files.
#![allow(dead_code)]

use punctual_boot::{Change, Kind, Plan, detect};
use punctual_machine::{Listing, Machine, Read, parameters};
use punctual_model::Edit;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree(pub BTreeMap<String, Vec<u8>>);

impl Machine for Tree {
    fn read(&self, path: &str) -> Read {
        match self.0.get(path) {
            Some(bytes) => Read::Known(bytes.clone()),
            None if self.0.keys().any(|p| p.starts_with(&format!("{path}/"))) => Read::Failed(21),
            None => Read::Absent,
        }
    }

    fn list(&self, folder: &str) -> Listing {
        let start = format!("{}/", folder.trim_end_matches('/'));
        let inner = self.0.keys().filter_map(|path| path.strip_prefix(&start)?.split('/').next());
        let mut names: Vec<String> = inner.map(str::to_owned).collect();
        names.dedup();
        if names.is_empty() { Listing::Absent } else { Listing::Known(names) }
    }

    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read {
        match self.read(path) {
            Read::Known(bytes) => Read::Known(bytes.into_iter().skip(offset as usize).take(length).collect()),
            other => other,
        }
    }
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/roots")
}

pub fn names() -> Vec<String> {
    let mut all: Vec<String> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    all.sort();
    all
}

pub fn tree(name: &str) -> Tree {
    fn walk(root: &Path, at: &Path, tree: &mut Tree) {
        for entry in fs::read_dir(at).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(root, &path, tree);
            } else {
                let name = format!("/{}", path.strip_prefix(root).unwrap().display());
                tree.0.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let mut tree = Tree::default();
    walk(&folder().join(name), &folder().join(name), &mut tree);
    tree
}

impl Tree {
    pub fn text(&self, path: &str) -> String {
        String::from_utf8_lossy(self.0.get(path).map(Vec::as_slice).unwrap_or_default()).into_owned()
    }

    pub fn edit(&mut self, edit: &Edit) {
        let path = edit.path.to_str().unwrap().to_owned();
        match &edit.new {
            Some(bytes) => self.0.insert(path, bytes.clone()),
            None => self.0.remove(&path),
        };
    }

    /// Executes a plan. Commands have the effects that their manuals describe.
    pub fn apply(&mut self, plan: &Plan) {
        assert!(plan.refused.is_empty(), "{:?}", plan.refused);
        plan.edits.iter().for_each(|edit| self.edit(edit));
        for run in &plan.commands {
            self.command(&run.command.argv.0);
        }
    }

    fn command(&mut self, argv: &[String]) {
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        match argv.as_slice() {
            ["grub2-editenv", path, "set", set] => {
                let (name, _) = set.split_once('=').unwrap();
                let text = self.text(path);
                let lines = text.lines().map(|l| if l.starts_with(&format!("{name}=")) { set } else { l });
                let new = lines.collect::<Vec<_>>().join("\n");
                self.0.insert((*path).to_owned(), new.into_bytes());
            }
            ["rpm-ostree", "kargs", options @ ..] => self.kargs(options),
            ["snap", verb, "system", what] => {
                let (option, value) = what.split_once('=').unwrap_or((what, ""));
                assert_eq!(*verb, if value.is_empty() { "unset" } else { "set" });
                let option = option.strip_prefix("system.kernel.").unwrap();
                let mut state: serde_json::Value =
                    serde_json::from_str(&self.text("/var/lib/snapd/state.json")).unwrap();
                state["data"]["config"]["core"]["system"]["kernel"][option] = value.into();
                self.0.insert("/var/lib/snapd/state.json".to_owned(), state.to_string().into_bytes());
            }
            other => panic!("unknown command {other:?}"),
        }
    }

    /// Creates a deployment with the words of the newest entry, of which some are removed and others appended.
    fn kargs(&mut self, options: &[&str]) {
        let old = self.text("/boot/loader/entries/ostree-2.conf");
        let mut words = options_of(&old);
        for option in options {
            if let Some(word) = option.strip_prefix("--delete-if-present=") {
                words.retain(|w| w != word);
            } else if let Some(word) = option.strip_prefix("--append-if-missing=") {
                if !words.iter().any(|w| w == word) {
                    words.push(word.to_owned());
                }
            } else {
                panic!("{option}");
            }
        }
        let lines = old.lines().map(|l| {
            if l.starts_with("options") { format!("options {}\n", words.join(" ")) } else { format!("{l}\n") }
        });
        let new: String = lines.collect();
        self.0.insert("/boot/loader/entries/ostree-2.conf".to_owned(), new.into_bytes());
    }

    /// Returns the words of the next boot without quotes, determined from the files by independent code.
    pub fn booted(&self, name: &str) -> Vec<String> {
        parameters(&self.line(name))
    }

    fn line(&self, name: &str) -> String {
        let pi = |path: &str| self.text(path).lines().next().unwrap_or_default().to_owned();
        let variable = |path: &str, start: &str| {
            self.text(path).lines().rev().find_map(|l| l.strip_prefix(start).map(str::to_owned)).unwrap_or_default()
        };
        match name {
            "pi-os-bullseye" => pi("/boot/cmdline.txt"),
            "pi-os-prefix-include" => pi("/boot/firmware/rt/rt.txt"),
            name if name.starts_with("pi-") => pi("/boot/firmware/cmdline.txt"),
            "debian-12-grub" | "ubuntu-24.04-grub" => self.sourced(
                "/etc/default/grub /etc/default/grub.d/*.cfg",
                "$GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT",
            ),
            "debian-12-u-boot-menu" => self.sourced(
                "/etc/default/u-boot /usr/share/u-boot-menu/conf.d/*.conf /etc/u-boot-menu/conf.d/*.conf",
                "${U_BOOT_PARAMETERS:-ro quiet}",
            ),
            "debian-13-u-boot-kernel-cmdline" | "arch-uki" => self.text("/etc/kernel/cmdline"),
            "jetson-extlinux" => variable("/boot/extlinux/extlinux.conf", "      APPEND "),
            name if name.starts_with("armbian") => variable("/boot/armbianEnv.txt", "extraargs="),
            name if name.starts_with("ubuntu-core") => self.snapd(),
            "fedora-coreos-ostree" => options_of(&self.text("/boot/loader/entries/ostree-2.conf")).join(" "),
            "arch-systemd-boot" => options_of(&self.text("/boot/loader/entries/arch.conf")).join(" "),
            _ => {
                let newest =
                    self.0.keys().rfind(|p| p.ends_with(".conf") && p.contains("/entries/") && !p.contains("rescue"));
                let kernelopts = variable("/boot/grub2/grubenv", "kernelopts=");
                let tuned = variable("/boot/grub2/grubenv", "tuned_params=");
                let line = options_of(&self.text(newest.unwrap())).join(" ");
                line.replace("$kernelopts", &kernelopts).replace("$tuned_params", &tuned)
            }
        }
    }

    fn snapd(&self) -> String {
        let state: serde_json::Value = serde_json::from_str(&self.text("/var/lib/snapd/state.json")).unwrap();
        let kernel = &state["data"]["config"]["core"]["system"]["kernel"];
        let value = |name: &str| kernel[name].as_str().unwrap_or_default().to_owned();
        format!("{} {}", value("cmdline-append"), value("dangerous-cmdline-append"))
    }

    /// Evaluates files with a real shell.
    fn sourced(&self, files: &str, shown: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().display().to_string();
        for (path, content) in self.0.iter().filter(|(path, _)| path.starts_with("/etc/") || path.starts_with("/usr/"))
        {
            let path = PathBuf::from(format!("{root}{path}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let files: Vec<String> = files.split(' ').map(|file| format!("{root}{file}")).collect();
        let script = format!(
            "set -e; for f in {}; do if [ -e \"$f\" ]; then . \"$f\"; fi; done; printf '%s' \"{shown}\"",
            files.join(" ")
        );
        let output =
            Command::new("/bin/sh").args(["-c", &script]).env_clear().env("PATH", "/usr/bin:/bin").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn options_of(entry: &str) -> Vec<String> {
    let lines = entry.lines().filter_map(|line| line.strip_prefix("options"));
    lines.flat_map(str::split_whitespace).map(str::to_owned).collect()
}

/// Parameters used in the tests of which all values take effect.
const ALL_COUNT: &[&str] = &["console", "rd.lvm.lv", "crashkernel"];

fn key(word: &str) -> String {
    word.split('=').next().unwrap().replace('-', "_")
}

fn folded(word: &str) -> String {
    word.split_once('=').map_or_else(|| key(word), |(_, value)| format!("{}={value}", key(word)))
}

/// Returns the expected result of a change, in any order.
pub fn expected(old: &[String], change: &Change) -> Vec<String> {
    let mut words: Vec<String> = old.iter().map(|word| folded(word)).collect();
    let original = words.clone();
    for pattern in &change.remove {
        words.retain(|w| if pattern.contains('=') { *w != folded(pattern) } else { key(w) != key(pattern) });
    }
    for word in &change.add {
        let word = folded(&word.replace('"', ""));
        if ALL_COUNT.contains(&key(&word).as_str()) {
            if !words.contains(&word) {
                words.push(word);
            }
        } else {
            words.retain(|w| key(w) != key(&word));
            words.push(word);
        }
    }
    let _ = original;
    words.sort();
    words
}

pub fn sorted(words: &[String]) -> Vec<String> {
    let mut words: Vec<String> = words.iter().map(|word| folded(word)).collect();
    words.sort();
    words
}

/// Returns the names of the root directories whose kernel parameters can be changed.
pub fn changeable() -> Vec<String> {
    let refused = ["bootc-no-rpm-ostree", "grub-and-systemd-boot", "rhel-9-tuned", "ubuntu-core-22-signed"];
    names().into_iter().filter(|name| !refused.contains(&name.as_str())).collect()
}

pub fn kind(name: &str) -> Kind {
    detect(&tree(name)).unwrap_or_else(|error| panic!("{name}: {error}")).kind
}
