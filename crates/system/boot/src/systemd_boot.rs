//! systemd-boot: entries of the Boot Loader Specification, and unified kernel images, which contain their command line.

use crate::bls::{self, Entry, PARTITIONS, TRIAL};
use crate::current::Configured;
use crate::plan::{Plan, Refusal, Run, Stop, Trial};
use crate::read::{BootError, efi_text, exists, hint, names, running};
use crate::trial::as_trial;
use crate::words::{rewrite, words};
use crate::{Change, kernel_cmdline, length};
use punctual_machine::Machine;
use punctual_model::{Argv, Back, Edit};

struct Boot {
    /// Entries that name a kernel.
    entries: Vec<Entry>,
    /// Index of the default entry. `is_sure` is false if it is a guess.
    default: Option<usize>,
    is_sure: bool,
    images: Vec<String>,
    cmdline: Option<String>,
}

fn read(view: &dyn Machine) -> Result<Boot, BootError> {
    let mut entries = bls::entries(view)?;
    entries.retain(|entry| entry.field("linux").is_some());
    let of = |partition: &&str| -> Vec<String> {
        let folder = format!("{partition}/EFI/Linux");
        names(view, &folder).iter().filter(|n| n.ends_with(".efi")).map(|n| format!("{folder}/{n}")).collect()
    };
    let images: Vec<String> = PARTITIONS.iter().flat_map(of).collect();
    let said = default(view);
    let found = said.as_deref().and_then(|id| entries.iter().position(|entry| fits(id, &entry.id)));
    let usual: Vec<usize> = (0..entries.len()).filter(|&n| entries.get(n).is_some_and(|e| !e.is_spare())).collect();
    let only = if let [one] = usual.as_slice() { Some(*one) } else { None };
    // The default is a unified kernel image instead of an entry.
    let is_image = said.as_deref().is_some_and(|id| id.ends_with(".efi")) || (entries.is_empty() && !images.is_empty());
    let is_sure = found.is_some() || (only.is_some() && images.is_empty());
    let default = if is_image { None } else { found.or(only).or(usual.last().copied()) };
    Ok(Boot { entries, default, is_sure, images, cmdline: kernel_cmdline::read(view)? })
}

/// Returns the name, without `.conf`, of the entry that booted or, if that is unknown, of the default entry in
/// loader.conf.
fn default(view: &dyn Machine) -> Option<String> {
    let selected = efi_text(view, "LoaderEntrySelected").or_else(|| efi_text(view, "LoaderEntryDefault"));
    let conf = || {
        let text = PARTITIONS.iter().find_map(|p| hint(view, &format!("{p}/loader/loader.conf")))?;
        let value =
            text.lines().filter_map(|line| line.strip_prefix("default")).map(|v| v.trim().to_owned()).next_back();
        value.filter(|value| !value.is_empty() && !value.starts_with('@'))
    };
    let id = selected.or_else(conf)?;
    Some(id.strip_suffix(".conf").unwrap_or(&id).to_owned())
}

/// Returns true if a pattern in loader.conf, which may end in `*`, matches an entry's name.
fn fits(pattern: &str, id: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == id, |start| id.starts_with(start))
}

impl Boot {
    fn chosen(&self) -> Option<&Entry> {
        self.entries.get(self.default?)
    }

    fn line(&self) -> Result<(String, String), BootError> {
        if let Some(entry) = self.chosen() {
            return Ok((entry.options(), entry.path.clone()));
        }
        let line = self.cmdline.clone().ok_or_else(|| BootError::Missing { path: kernel_cmdline::PATH.to_owned() })?;
        Ok((line, kernel_cmdline::PATH.to_owned()))
    }
}

pub(crate) fn current(view: &dyn Machine) -> Result<Configured, BootError> {
    let boot = read(view)?;
    let (line, path) = boot.line()?;
    let configured = words(&line);
    let mut notes = Vec::new();
    let is_known = boot.chosen().is_some() && boot.is_sure;
    match boot.chosen() {
        None => notes.push("the command line is inside a unified kernel image, which is not read".to_owned()),
        Some(entry) if !boot.is_sure => notes.push(format!("no default entry is configured: assuming {}", entry.id)),
        Some(_) => {}
    }
    Ok(Configured {
        next: is_known.then(|| configured.clone()),
        configured,
        running: running(view),
        sources: vec![path],
        notes,
    })
}

pub(crate) fn change(view: &dyn Machine, change: &Change) -> Result<Plan, Stop> {
    let boot = read(view)?;
    let (line, _) = boot.line()?;
    if let Some(refusal) = boot.chosen().and_then(Entry::spared) {
        return Err(refusal.into());
    }
    if let Some(parted) = boot.entries.iter().find(|entry| entry.is_parted()) {
        return Err(Refusal::new(format!("{}: an `options` line before the last has `--`", parted.path)).into());
    }
    let mut plan = Plan::words(words(&line), words(&rewrite(&line, change)?));
    for entry in boot.entries.iter().filter(|entry| !entry.is_spare()) {
        let text = entry.changed(change)?;
        if text != entry.text {
            plan.edits.push(Edit::write(&entry.path, text));
        }
    }
    let source = kernel_cmdline::edit(view, change)?;
    let has_source = source.is_some();
    plan.edits.extend(source);
    if plan.edits.is_empty() {
        return Ok(plan);
    }
    plan.notes.extend(length::check(view, &plan.before, &plan.after)?);
    if boot.cmdline.is_none() {
        plan.notes.push(kernel_cmdline::ABSENT.to_owned());
    }
    if !boot.images.is_empty() {
        plan = images(view, &boot, plan, has_source)?;
    }
    if change.add.iter().any(|word| word == "efi=noruntime") {
        let note = "without EFI runtime services bootctl cannot set a boot entry, so no trial boot is possible later";
        plan.notes.push(note.to_owned());
    }
    match trial(view, &boot, change) {
        Ok(trial) => plan.trial = Some(trial),
        Err(why) => plan = plan.note(format!("no trial boot: {why}")),
    }
    Ok(plan)
}

fn images(view: &dyn Machine, boot: &Boot, mut plan: Plan, has_source: bool) -> Result<Plan, Stop> {
    if !has_source && boot.chosen().is_some() {
        return Ok(plan.note(format!("{} keeps its embedded parameters", boot.images.join(", "))));
    }
    let what = "builds the unified kernel images with the new command line";
    let images: Vec<&str> = boot.images.iter().map(String::as_str).collect();
    let mut run = |argv: Argv| plan.refresh.push(Run::new(what, argv, Back::Again, &images));
    if exists(view, "/etc/mkinitcpio.d") {
        run(Argv::new(["mkinitcpio", "--allpresets"]));
    } else {
        let kernels = kernels(view);
        if kernels.is_empty() {
            let hand = "write /etc/kernel/cmdline and rebuild the images the way they were built";
            return Err(Refusal::by_hand("it is unknown how the unified kernel images are built", hand).into());
        }
        for (version, kernel) in kernels {
            run(Argv::new(["kernel-install".to_owned(), "add".to_owned(), version, kernel]));
        }
    }
    let note = "the command line is inside the unified kernel images: for Secure Boot they must be signed again";
    Ok(plan.note(note))
}

fn kernels(view: &dyn Machine) -> Vec<(String, String)> {
    let of = |version: String| {
        let places = [format!("/usr/lib/modules/{version}/vmlinuz"), format!("/boot/vmlinuz-{version}")];
        places.into_iter().find(|path| exists(view, path)).map(|path| (version, path))
    };
    names(view, "/usr/lib/modules").into_iter().filter_map(of).collect()
}

fn trial(view: &dyn Machine, boot: &Boot, change: &Change) -> Result<Trial, String> {
    let entry = boot
        .chosen()
        .ok_or("a unified kernel image has an embedded command line and accepts no other with Secure Boot")?;
    if !boot.is_sure {
        return Err("the default entry is unknown".to_owned());
    }
    if !exists(view, "/sys/firmware/efi/efivars") {
        return Err("/sys/firmware/efi/efivars, which stores the entry for one boot, does not exist".to_owned());
    }
    let options = rewrite(&entry.options(), &as_trial(change)).map_err(|why| why.word())?;
    let set = |id: &str| Argv::new(["bootctl", "set-oneshot", id]);
    let arm = set(&format!("{TRIAL}.conf"));
    Ok(Trial {
        words: words(&options),
        edits: vec![Edit::write(entry.trial_path(), entry.trial(options.trim()))],
        arm: Some(Run::new("selects that entry for the next boot only", arm, Back::By(set("")), &[])),
        reboot: Argv::new(["systemctl", "reboot"]),
        unattended: true,
        fallback:
            "the loader resets the choice before it boots the entry: any reset boots the default; a panic resets after 10 s \
            (panic=10); a hang needs the hardware watchdog or a power cycle"
                .to_owned(),
        visible: format!("the EFI variable LoaderEntrySelected is {TRIAL}.conf"),
    })
}
