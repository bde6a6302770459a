//! Adds a label to extlinux.conf. U-Boot cannot boot an entry once, so the user has to choose the trial at the console.

use super::NewKernel;
use crate::extlinux::{Menu, is_generated, keyword, read};
use crate::plan::{Refusal, Trial};
use crate::words::words;
use crate::{BootError, Change};
use punctual_machine::Machine;
use punctual_model::{Argv, Edit};

const LABEL: &str = "punctual-kernel";

pub fn trial(view: &dyn Machine, kernel: &NewKernel) -> Result<Trial, Refusal> {
    let menu = menu(view)?;
    let (label, words) = label(&menu, kernel, &kernel.once())?;
    Ok(Trial {
        words,
        edits: vec![Edit::write(menu.path, with_label(&menu.text, &label))],
        arm: None,
        reboot: Argv::new(["systemctl", "reboot"]),
        unattended: false,
        fallback: format!(
            "U-Boot cannot boot an entry once: choose {LABEL} in its menu on the console; any later boot starts {}",
            menu.label
        ),
        visible: format!("/proc/cmdline has {}", kernel.word()),
    })
}

pub fn kept(view: &dyn Machine, kernel: &NewKernel) -> Result<Vec<Edit>, Refusal> {
    let menu = menu(view)?;
    let (label, _) = label(&menu, kernel, &kernel.for_good())?;
    let text = with_label(&menu.text, &label);
    let is_default = |line: &&str| keyword(line).is_some_and(|(word, _)| word == "default");
    let lines: Vec<String> =
        text.lines().map(|line| if is_default(&line) { format!("DEFAULT {LABEL}") } else { line.to_owned() }).collect();
    let head = if text.lines().any(|line| is_default(&line)) { String::new() } else { format!("DEFAULT {LABEL}\n") };
    Ok(vec![Edit::write(menu.path, format!("{head}{}\n", lines.join("\n")))])
}

fn menu(view: &dyn Machine) -> Result<Menu, Refusal> {
    if is_generated(view) {
        return Err(Refusal::by_hand(
            "u-boot-update writes extlinux.conf and would drop the added label",
            "install the kernel as a package and run u-boot-update",
        ));
    }
    read(view).map_err(|error: BootError| Refusal::new(error.to_string()))
}

/// Returns the lines of the default label with the new kernel's files, and the new parameters. Lines for overlays and
/// other files are unchanged.
fn label(menu: &Menu, kernel: &NewKernel, change: &Change) -> Result<(String, Vec<String>), Refusal> {
    let append = menu.appended(change).map_err(|stop| stop.0)?;
    let mut text = format!("LABEL {LABEL}\n      MENU LABEL Linux {} (punctual)\n", kernel.release);
    let mut folder = None;
    for n in menu.lines.clone().skip(1) {
        let line = menu.line(n).trim_end_matches(['\n', '\r']);
        let Some((word, rest)) = keyword(line) else { continue };
        match word.as_str() {
            "linux" | "kernel" | "fdtdir" | "devicetreedir" | "fdt" | "devicetree" => {
                let old = rest.rsplit_once('/').map_or("", |(folder, _)| folder);
                if matches!(word.as_str(), "linux" | "kernel") {
                    let at = format!("{old}/{}", kernel.folder);
                    text += &format!("      LINUX {at}/{}\n", kernel.image);
                    text += &kernel.initrd.iter().map(|name| format!("      INITRD {at}/{name}\n")).collect::<String>();
                    text += &kernel.trees.iter().map(|name| format!("      FDTDIR {at}/{name}\n")).collect::<String>();
                    folder = Some(at);
                } else if kernel.trees.is_none() {
                    text += &format!("{line}\n");
                }
            }
            "initrd" | "menu" => {}
            "append" => text += &format!("{}\n", append.trim_end_matches(['\n', '\r'])),
            _ => text += &format!("{line}\n"),
        }
    }
    let tail = append.trim_start().split_once([' ', '\t']).map_or("", |(_, tail)| tail);
    match folder {
        Some(_) => Ok((text, words(tail))),
        None => Err(Refusal::new(format!("{}: label {} names no kernel", menu.path, menu.label))),
    }
}

fn with_label(text: &str, label: &str) -> String {
    let mut out = String::new();
    let mut is_ours = false;
    for line in text.split_inclusive('\n') {
        if let Some((word, rest)) = keyword(line).filter(|(word, _)| word == "label") {
            is_ours = word == "label" && rest == LABEL;
        }
        if !is_ours {
            out.push_str(line);
        }
    }
    let gap = if out.is_empty() || out.ends_with("\n\n") {
        ""
    } else if out.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    format!("{out}{gap}{label}")
}
