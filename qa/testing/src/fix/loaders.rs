//! The root directories of crates/system/boot as folders, and simulations of boot loader commands as their manuals
//! describe them.

use super::materialise;
use crate::root;
use std::fs;
use std::path::{Path, PathBuf};

fn roots_folder() -> PathBuf {
    root().join("crates/system/boot/tests/roots")
}

/// Returns the names of the roots whose kernel parameters can be changed.
pub fn roots() -> Vec<String> {
    let refused = ["bootc-no-rpm-ostree", "grub-and-systemd-boot", "ubuntu-core-22-signed"];
    let all = fs::read_dir(roots_folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut all: Vec<String> = all.filter(|name| !refused.contains(&name.as_str())).collect();
    all.sort();
    all
}

/// Creates a recorded machine that boots from this root.
pub fn booted_by(name: &str) -> tempfile::TempDir {
    let machine = root().join("machines/laptop-smt-6.8");
    let root = materialise(&machine);
    for path in ["boot", "sys/firmware", "proc/device-tree", "etc/default"] {
        let _ = fs::remove_dir_all(root.path().join(path));
    }
    for path in ["etc/os-release", "usr/lib/os-release", "proc/cmdline", "proc/self/mountinfo", "proc/sys/kernel/arch"]
    {
        let _ = fs::remove_file(root.path().join(path));
    }
    fill(name, root.path());
    root
}

fn fill(name: &str, root: &Path) {
    copy(&roots_folder().join(name), root);
    // snapd writes the file in one piece, without spaces.
    let state = root.join("var/lib/snapd/state.json");
    if let Ok(text) = fs::read_to_string(&state) {
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        fs::write(&state, value.to_string()).unwrap();
    }
}

/// Creates only the root directory, without a recorded machine, which is fast enough for thousands of runs.
pub fn bare(name: &str) -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fill(name, root.path());
    super::make_folders(root.path().join("var/lib")).unwrap();
    root
}

fn copy(from: &Path, to: &Path) {
    super::make_folders(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to)
        } else {
            let _ = fs::copy(&path, &to).unwrap();
        }
    }
}

/// Simulates a command of a boot loader. Other commands do nothing.
pub fn run(root: &Path, words: &[&str]) {
    let at = |path: &str| root.join(path.trim_start_matches('/'));
    match words {
        ["grub-mkconfig", "-o", path] => {
            // Generated elsewhere, then copied here.
            fs::copy(at("/boot/grub/grub.cfg"), at(path)).unwrap();
            generated(root, path.trim_start_matches('/'), "etc/default/grub.d/60-punctual.cfg");
        }
        ["u-boot-update"] => {
            generated(root, "boot/extlinux/extlinux.conf", "etc/u-boot-menu/conf.d/60-punctual.conf");
        }
        ["grub-reboot", id] => set(&at("boot/grub/grubenv"), "next_entry", Some(id)),
        ["grub2-reboot", id] => set(&at("boot/grub2/grubenv"), "next_entry", Some(id)),
        ["grub-editenv" | "grub2-editenv", path, "unset", name] => set(&at(path), name, None),
        ["grub-editenv" | "grub2-editenv", path, "set", word] => {
            let (name, value) = word.split_once('=').unwrap();
            set(&at(path), name, Some(value));
        }
        ["rpm-ostree", "kargs", options @ ..] => kargs(&at("boot/loader/entries/ostree-2.conf"), options),
        ["snap", _, "system", what] => snap(&at("var/lib/snapd/state.json"), what),
        _ => {}
    }
}

/// Simulates an interrupted command: grub-mkconfig leaves its menu in a temporary file, and half of it in the final
/// one.
pub fn run_half(root: &Path, words: &[&str]) {
    let ["grub-mkconfig", "-o", path] = words else { return };
    let path = root.join(path.trim_start_matches('/'));
    fs::write(path.with_file_name("grub.cfg.punctual.new"), "menuentry").unwrap();
    fs::write(path, "menu").unwrap();
}

/// Appends to the generated file what the boot loader's generator makes of the file `from`.
fn generated(root: &Path, path: &str, from: &str) {
    let old = fs::read_to_string(root.join(path)).unwrap_or_default();
    let mut text: String =
        old.lines().filter(|line| !line.starts_with("#= ")).map(|line| format!("{line}\n")).collect();
    for line in fs::read_to_string(root.join(from)).unwrap_or_default().lines() {
        text.push_str(&format!("#= {line}\n"));
    }
    fs::write(root.join(path), text).unwrap();
}

/// Sets a variable in GRUB's environment block, which util/grub-editenv.c pads with `#` to 1024 bytes.
pub fn set(path: &Path, name: &str, value: Option<&str>) {
    let old = fs::read_to_string(path).unwrap_or_else(|_| "# GRUB Environment Block\n".to_owned());
    let start = format!("{name}=");
    let is_padding = |line: &str| line.starts_with("##");
    let lines = old.lines().filter(|line| !line.starts_with(&start) && !is_padding(line));
    let mut text: String = lines.map(|line| format!("{line}\n")).collect();
    text.extend(value.map(|value| format!("{start}{value}\n")));
    let padding = 1024_usize.saturating_sub(text.len());
    fs::write(path, text + &"#".repeat(padding)).unwrap();
}

fn kargs(path: &Path, options: &[&str]) {
    let text = fs::read_to_string(path).unwrap();
    let change = |line: &str| {
        let Some(old) = line.strip_prefix("options ") else { return format!("{line}\n") };
        let mut words: Vec<&str> = old.split(' ').collect();
        for option in options {
            if let Some(word) = option.strip_prefix("--delete-if-present=") {
                words.retain(|other| *other != word);
            } else if let Some(word) = option.strip_prefix("--append-if-missing=")
                && !words.contains(&word)
            {
                words.push(word);
            }
        }
        format!("options {}\n", words.join(" "))
    };
    fs::write(path, text.lines().map(change).collect::<String>()).unwrap();
}

fn snap(path: &Path, what: &str) {
    let mut state: serde_json::Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let (option, value) = what.split_once('=').unwrap_or((what, ""));
    let option = option.strip_prefix("system.kernel.").unwrap();
    let kernel = &mut state["data"]["config"]["core"]["system"]["kernel"];
    if value.is_empty() {
        let _ = kernel.as_object_mut().map(|kernel| kernel.remove(option));
    } else {
        kernel[option] = value.into();
    }
    // Empty branches are removed.
    for depth in [["data", "config", "core", "system"].as_slice(), &["data", "config", "core"], &["data", "config"]] {
        let at = depth.iter().try_fold(&mut state, |at, key| at.get_mut(*key));
        if let Some(object) = at.and_then(|at| at.as_object_mut()) {
            object.retain(|_, inner| !inner.is_null() && inner.as_object().is_none_or(|inner| !inner.is_empty()));
        }
    }
    fs::write(path, state.to_string()).unwrap();
}
