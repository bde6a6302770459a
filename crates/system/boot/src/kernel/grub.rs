//! GRUB with grub-mkconfig: adds an entry to custom.cfg, which grub.cfg reads last.
//!
//! grub.cfg is not regenerated. Its default entry is copied, so that a trial needs no generator, and update-grub
//! neither reads nor removes the copy. An accepted entry becomes the default through custom.cfg alone, except in a boot
//! for which another entry was chosen (`boot_once`, 00_header of grub-mkconfig).

use super::NewKernel;
use crate::Change;
use crate::grub::{CUSTOM, ENV, MENU, default_entry, writable};
use crate::plan::{Refusal, Run, Trial};
use crate::read::text;
use punctual_machine::Machine;
use punctual_model::{Argv, Back, Edit};

const TRIAL: &str = "punctual-trial-kernel";
const KEPT: &str = "punctual-kernel";

fn marks(id: &str) -> (String, String) {
    (format!("### BEGIN {id}: may be deleted ###\n"), format!("### END {id} ###\n"))
}

pub fn trial(view: &dyn Machine, kernel: &NewKernel) -> Result<Trial, Refusal> {
    plan(view, kernel).map_err(Refusal::new)
}

fn plan(view: &dyn Machine, kernel: &NewKernel) -> Result<Trial, String> {
    writable(view, "/boot/grub")?;
    let menu = menu(view)?;
    if !menu.contains("next_entry") {
        return Err(format!("{MENU} does not support next_entry"));
    }
    let (entry, words) = entry(view, kernel, TRIAL, &kernel.once(), &kernel.prelude)?;
    let custom = text(view, CUSTOM).map_err(|e| e.to_string())?.unwrap_or_default();
    let unset = Argv::new(["grub-editenv", ENV, "unset", "next_entry"]);
    let arm = Argv::new(["grub-reboot", TRIAL]);
    Ok(Trial {
        words,
        edits: vec![Edit::write(CUSTOM, with_block(&custom, TRIAL, &entry))],
        arm: Some(Run::new("selects that entry for the next boot only", arm, Back::By(unset), &[ENV])),
        reboot: Argv::new(["systemctl", "reboot"]),
        unattended: true,
        fallback:
            "GRUB resets the choice before it boots the entry: any reset boots the old kernel; a panic resets after 10 s"
                .to_owned(),
        visible: format!("/proc/cmdline has {}", kernel.word()),
    })
}

pub fn kept(view: &dyn Machine, kernel: &NewKernel) -> Result<Vec<Edit>, Refusal> {
    let make = || {
        menu(view)?;
        let (entry, _) = entry(view, kernel, KEPT, &kernel.for_good(), &[])?;
        let block = format!("{entry}if [ -z \"${{boot_once}}\" ]; then\n\tset default={KEPT}\nfi\n");
        let custom = text(view, CUSTOM).map_err(|e| e.to_string())?.unwrap_or_default();
        Ok(vec![Edit::write(CUSTOM, with_block(&without_block(&custom, TRIAL), KEPT, &block))])
    };
    make().map_err(|why: String| Refusal::new(why))
}

fn menu(view: &dyn Machine) -> Result<String, String> {
    let menu = text(view, MENU).map_err(|e| e.to_string())?.ok_or(format!("{MENU} does not exist"))?;
    if !menu.contains("custom.cfg") {
        return Err(format!("{MENU} does not read custom.cfg"));
    }
    match menu.contains("set superusers") {
        true => Err("GRUB requires a password".to_owned()),
        false => Ok(menu),
    }
}

fn entry(
    view: &dyn Machine,
    kernel: &NewKernel,
    id: &str,
    change: &Change,
    prelude: &[String],
) -> Result<(String, Vec<String>), String> {
    let old = default_entry(view)?;
    let image = old.image().to_owned();
    let Some((folder, name)) = image.rsplit_once('/') else { return Err(format!("{MENU}: `{image}` has no folder")) };
    // The new files are in the directory of the old image, so GRUB uses the same path prefix for them.
    if !crate::read::exists(view, &format!("/boot/{name}")) {
        return Err(format!("{MENU}: the default's image {image} is not /boot/{name}"));
    }
    let at = format!("{folder}/{}", kernel.folder);
    let (line, words) = old.line_for(&format!("{at}/{}", kernel.image), change)?;
    let mut body: Vec<String> = prelude.iter().map(|line| format!("\t{line}")).collect();
    for (n, text) in old.body().iter().enumerate() {
        let first = text.split_whitespace().next().unwrap_or_default();
        match first {
            _ if n == old.linux() => {
                body.push(line.clone());
                body.extend(kernel.initrd.iter().map(|name| format!("\tinitrd\t{at}/{name}")));
            }
            "initrd" | "initrd16" | "initrdefi" | "echo" | "devicetree" => {}
            _ => body.push(text.clone()),
        }
    }
    let title = format!("Linux {} (punctual)", kernel.release);
    Ok((format!("menuentry '{title}' --class os --id {id} {{\n{}\n}}\n", body.join("\n")), words))
}

fn with_block(custom: &str, id: &str, content: &str) -> String {
    let (begin, end) = marks(id);
    let rest = without_block(custom, id);
    let gap = if rest.is_empty() || rest.ends_with('\n') { "" } else { "\n" };
    format!("{rest}{gap}{begin}{content}{end}")
}

fn without_block(custom: &str, id: &str) -> String {
    let (begin, end) = marks(id);
    let cut = || {
        let from = custom.find(&begin)?;
        let to = custom.get(from..)?.find(&end)? + from + end.len();
        Some(format!("{}{}", custom.get(..from)?, custom.get(to..)?))
    };
    cut().unwrap_or_else(|| custom.to_owned())
}
