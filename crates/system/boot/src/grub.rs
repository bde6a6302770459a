//! GRUB on Debian and Ubuntu: grub-mkconfig sources /etc/default/grub and drop-ins, one of which punctual writes.
//!
//! Parameters go into GRUB_CMDLINE_LINUX_DEFAULT, which recovery entries do not use.

use crate::current::Configured;
use crate::dropin::Spec;
use crate::generated::Generated;
use crate::plan::{Plan, Refusal, Run, Stop, Trial};
use crate::read::{BootError, exists, hint, listed, mounted, running, text};
use crate::shell::Shell;
use crate::{Change, grub_menu, grubenv, tuned};
use punctual_machine::Machine;
use punctual_model::{Argv, Back, Draft, Edit};

const DEFAULTS: &str = "/etc/default/grub";
const PARTS: &str = "/etc/default/grub.d";
pub(crate) const MENU: &str = "/boot/grub/grub.cfg";
/// File to which a new menu is written first, because grub-mkconfig(8) overwrites its output file without syncing it.
const DRAFT: &str = "/boot/grub/grub.cfg.punctual";
pub(crate) const ENV: &str = "/boot/grub/grubenv";
pub(crate) const CUSTOM: &str = "/boot/grub/custom.cfg";

const SPEC: Spec = Spec {
    path: "/etc/default/grub.d/60-punctual.cfg",
    variables: &["GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT"],
    default: "",
    refresh: "update-grub",
};
const WANTED: &[&str] = &["GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT", "GRUB_DEFAULT"];

/// Characters that are special in grub.cfg, into which 10_linux copies the words without quotes.
const GRUBS: &[char] = &['$', '`', '\\', '\'', ';', '&', '|', '<', '>', '{', '}', '(', ')', '#', '*', '?'];

/// Returns the files in the order in which grub-mkconfig sources them, without punctual's drop-in.
fn files(view: &dyn Machine) -> Result<Vec<(String, String)>, BootError> {
    let mut found: Vec<(String, String)> = Vec::new();
    let parts = listed(view, PARTS)?.into_iter().filter(|name| name.ends_with(".cfg") && !name.starts_with('.'));
    for path in std::iter::once(DEFAULTS.to_owned()).chain(parts.map(|name| format!("{PARTS}/{name}"))) {
        if path != SPEC.path {
            found.extend(text(view, &path)?.map(|text| (path, text)));
        }
    }
    Ok(found)
}

fn read(view: &dyn Machine) -> Result<Generated<'static>, BootError> {
    let files = files(view)?;
    if files.is_empty() {
        return Err(BootError::Missing { path: DEFAULTS.to_owned() });
    }
    // The shell's `*` sorts by name.
    let before = files.iter().filter(|(path, _)| path == DEFAULTS || path.as_str() < SPEC.path).count();
    Generated::read(view, &SPEC, WANTED, files, before)
}

pub(crate) fn default_entry(view: &dyn Machine) -> Result<grub_menu::Default, String> {
    let read = read(view).map_err(|e| e.to_string())?;
    let shell = read.shell(read.own.as_ref()).map_err(|e| e.to_string())?;
    entry(view, &shell)
}

fn entry(view: &dyn Machine, shell: &Shell) -> Result<grub_menu::Default, String> {
    let menu = text(view, MENU).map_err(|e| e.to_string())?.ok_or(format!("{MENU} does not exist"))?;
    let mut spec = shell.value("GRUB_DEFAULT").to_owned();
    if spec == "saved" {
        let env = text(view, ENV).map_err(|e| e.to_string())?;
        spec = env.and_then(|env| grubenv::value(&env, "saved_entry")).unwrap_or_default();
    }
    grub_menu::default(&menu, &spec).map_err(|why| format!("{MENU}: {why}"))
}

pub(crate) fn current(view: &dyn Machine) -> Result<Configured, BootError> {
    let read = read(view)?;
    let shell = read.shell(read.own.as_ref())?;
    let configured = read.words(&shell);
    let mut notes =
        vec!["grub-mkconfig adds root= and other parameters needed to find the root file system".to_owned()];
    let next = match entry(view, &shell) {
        Ok(entry) => Some(entry.words()),
        Err(why) => {
            notes.push(format!("the parameters of the next boot are unknown: {why}"));
            None
        }
    };
    if let Some(next) = &next {
        let missing = configured.iter().filter(|word| !next.iter().any(|n| crate::words::is_same(n, word)));
        notes.extend(missing.map(|word| format!("`{word}` is configured but not in {MENU}: run update-grub")));
    }
    Ok(Configured { configured, next, running: running(view), sources: read.sources(), notes })
}

pub(crate) fn change(view: &dyn Machine, change: &Change) -> Result<Plan, Stop> {
    if let Some(word) = change.add.iter().find(|word| word.contains(GRUBS)) {
        let why = format!("`{word}` contains a character that is special in GRUB's scripts");
        return Err(Refusal::new(why).into());
    }
    if !has_parts(view) {
        let (add, remove) = (change.add.join(" "), change.remove.join(" "));
        let hand = format!(
            "in {DEFAULTS}, GRUB_CMDLINE_LINUX_DEFAULT: add `{add}`, remove `{remove}`; then run grub-mkconfig"
        );
        return Err(Refusal::by_hand(format!("this version of grub-mkconfig does not read {PARTS}"), hand).into());
    }
    let read = read(view)?;
    let uses_tuned = read.words(&read.shell(read.own.as_ref())?).iter().any(|word| word == tuned::VARIABLE);
    let theirs = hint(view, MENU).filter(|_| uses_tuned).and_then(|menu| tuned::of_menu(&menu));
    let change = &match theirs {
        Some(value) => tuned::besides(change, &value, MENU)?,
        None => change.clone(),
    };
    let mut plan = read.change(view, change)?;
    if plan.edits.is_empty() {
        return Ok(plan);
    }
    plan.refresh.push(menu(view));
    if plan.refresh.iter().all(|run| run.command.draft.is_none()) {
        plan =
            plan.note(format!("update-grub is not Debian's: a power cut during its run may leave {MENU} incomplete"));
    }
    match trial(view, change, &read.shell(read.own.as_ref())?) {
        Ok(trial) => plan.trial = Some(trial),
        Err(why) => plan = plan.note(format!("no trial boot: {why}")),
    }
    Ok(plan.note("the recovery entries boot without the added parameters"))
}

/// Returns the command that writes grub.cfg. It does the same as Debian's update-grub, but with another output file; an
/// update-grub that is not Debian's is run instead.
fn menu(view: &dyn Machine) -> Run {
    let what = "writes grub.cfg from these files";
    let is_debians = |script: String| script.contains("grub-mkconfig -o /boot/grub/grub.cfg");
    if !hint(view, "/usr/sbin/update-grub").is_none_or(is_debians) {
        return Run::new(what, Argv::new(["update-grub"]), Back::Again, &[MENU]);
    }
    let draft = Draft {
        path: MENU.into(),
        draft: DRAFT.into(),
        leftovers: vec![format!("{DRAFT}.new").into()],
        // grub-mkconfig also exits with 0 if 10_linux finds nothing to boot (GRUB 2.06: a root file system on a loop
        // device).
        needs: "\tlinux\t".to_owned(),
        // grub-mkconfig checks only the file from which it copies.
        check: Some(Argv::new(["grub-script-check", DRAFT])),
    };
    Run::new(what, Argv::new(["grub-mkconfig", "-o", DRAFT]), Back::Again, &[MENU]).drafted(draft)
}

/// Returns true if grub-mkconfig sources the directory of drop-ins, which only Debian's does.
fn has_parts(view: &dyn Machine) -> bool {
    let script = hint(view, "/usr/sbin/grub-mkconfig");
    script.map_or_else(
        || exists(view, PARTS) || exists(view, "/usr/sbin/update-grub"),
        |script| script.contains("default/grub.d"),
    )
}

fn trial(view: &dyn Machine, change: &Change, shell: &Shell) -> Result<Trial, String> {
    let menu = text(view, MENU).map_err(|e| e.to_string())?.ok_or(format!("{MENU} does not exist"))?;
    writable(view, "/boot/grub")?;
    if !menu.contains("next_entry") || !menu.contains("custom.cfg") {
        return Err(format!("{MENU} does not support next_entry or custom.cfg"));
    }
    if menu.contains("set superusers") {
        return Err("GRUB requires a password".to_owned());
    }
    let (block, words) = entry(view, shell)?.trial(change)?;
    let custom = text(view, CUSTOM).map_err(|e| e.to_string())?.unwrap_or_default();
    let unset = Argv::new(["grub-editenv", ENV, "unset", "next_entry"]);
    let arm = Argv::new(["grub-reboot", grub_menu::TRIAL]);
    Ok(Trial {
        words,
        edits: vec![Edit::write(CUSTOM, grub_menu::with_block(&custom, &block))],
        arm: Some(Run::new("selects that entry for the next boot only", arm, Back::By(unset), &[ENV])),
        reboot: Argv::new(["systemctl", "reboot"]),
        unattended: true,
        fallback:
            "GRUB resets the choice before it boots the entry: any reset boots the default; a panic resets after 10 s \
            (panic=10); a hang needs the hardware watchdog or a power cycle"
                .to_owned(),
        visible: "/proc/cmdline has the new parameters, panic=10 and punctual.trial=".to_owned(),
    })
}

/// Checks that GRUB can clear next_entry by writing to its file, which it can do only on plain partitions. Otherwise
/// every boot would be the trial (00_header of grub-mkconfig and grub-reboot warn of this).
pub(crate) fn writable(view: &dyn Machine, folder: &str) -> Result<(), String> {
    let Some((kind, device)) = mounted(view, folder) else {
        return Err(format!("the file system of {folder} is unknown"));
    };
    let is_mapped = ["/dev/mapper/", "/dev/dm-", "/dev/md"].iter().any(|start| device.starts_with(start))
        || (device.starts_with("/dev/")
            && device.trim_start_matches("/dev/").contains('/')
            && !device.starts_with("/dev/disk/"));
    if is_mapped {
        return Err(format!("{folder} is on {device} (LVM, RAID or encrypted): GRUB could not reset the trial entry"));
    }
    match kind.as_str() {
        "ext2" | "ext3" | "ext4" | "xfs" | "vfat" => Ok(()),
        kind => Err(format!("{folder} is on {kind}: GRUB could not reset the trial entry")),
    }
}
