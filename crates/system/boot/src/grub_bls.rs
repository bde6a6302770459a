//! GRUB with entries of the Boot Loader Specification (Fedora, RHEL). Edits the entries, and the files from which
//! entries of later kernels are made. RHEL 8 keeps the parameters in `kernelopts` in GRUB's environment block.

use crate::bls::{self, Entry, TRIAL};
use crate::current::Configured;
use crate::plan::{Plan, Refusal, Run, Stop, Trial};
use crate::read::{BootError, hint, required, running, text};
use crate::trial::as_trial;
use crate::words::{rewrite, words};
use crate::{Change, grub, grubenv, kernel_cmdline, length, tuned};
use punctual_machine::Machine;
use punctual_model::{Argv, Back, Edit};

const ENV: &str = "/boot/grub2/grubenv";
const MENU: &str = "/boot/grub2/grub.cfg";
const DEFAULTS: &str = "/etc/default/grub";
const VARIABLE: &str = "$kernelopts";

struct Boot {
    entries: Vec<Entry>,
    /// Index of the default entry. `is_sure` is false if it is a guess.
    default: usize,
    is_sure: bool,
    kernelopts: Option<String>,
    /// Parameters of TuneD; `None` if no entry uses them.
    tuned: Option<String>,
}

fn read(view: &dyn Machine) -> Result<Boot, BootError> {
    let mut entries = bls::entries(view)?;
    // GRUB skips entries that name no kernel (grub-core/commands/blscfg.c, create_entry).
    entries.retain(|entry| entry.field("linux").is_some());
    if entries.is_empty() {
        return Err(BootError::Missing { path: "/boot/loader/entries".to_owned() });
    }
    let env = text(view, ENV)?;
    let saved = env.as_deref().and_then(|env| grubenv::value(env, "saved_entry"));
    let by_saved = saved.and_then(|saved| entries.iter().position(|entry| entry.id == saved));
    let release = hint(view, "/proc/sys/kernel/osrelease");
    let by_release =
        release.and_then(|release| entries.iter().rposition(|entry| entry.field("version") == Some(&release)));
    let newest = entries.iter().rposition(|entry| !entry.is_spare());
    let default = by_saved.or(by_release).or(newest).unwrap_or_default();
    let uses = |variable: &str| entries.iter().any(|entry| entry.words().iter().any(|word| word == variable));
    // TuneD does not set the variable if it has no words, and GRUB treats an unset variable as empty.
    let tuned = env.as_deref().and_then(|env| grubenv::value(env, tuned::NAME)).filter(|_| uses(tuned::VARIABLE));
    let kernelopts = match uses(VARIABLE) {
        true => Some(env.as_deref().and_then(|env| grubenv::value(env, "kernelopts")).ok_or_else(|| {
            crate::read::unclear(ENV, "does not set kernelopts, which the entries reference: grub.cfg fills it in")
        })?),
        false => None,
    };
    Ok(Boot { entries, default, is_sure: by_saved.is_some(), kernelopts, tuned })
}

impl Boot {
    fn line(&self, entry: &Entry) -> String {
        let filled = |word: &str| match (&self.kernelopts, &self.tuned) {
            (Some(value), _) if word == VARIABLE => value.trim().to_owned(),
            (_, Some(value)) if word == tuned::VARIABLE => value.trim().to_owned(),
            _ => word.to_owned(),
        };
        let options = entry.options();
        let all = crate::words::ranges(&options).into_iter().filter_map(|range| options.get(range).map(filled));
        all.collect::<Vec<_>>().join(" ")
    }

    fn chosen(&self) -> Option<&Entry> {
        self.entries.get(self.default)
    }
}

pub(crate) fn current(view: &dyn Machine) -> Result<Configured, BootError> {
    let boot = read(view)?;
    let Some(entry) = boot.chosen() else { return Ok(Configured::default()) };
    let configured = words(&boot.line(entry));
    let mut notes = Vec::new();
    if !boot.is_sure {
        notes.push(format!("{ENV} does not name the default entry: assuming {}", entry.id));
    }
    let differ = boot.entries.iter().filter(|other| !other.is_spare() && words(&boot.line(other)) != configured);
    notes.extend(differ.map(|other| format!("{} has other parameters", other.path)));
    let env = boot.kernelopts.as_ref().or(boot.tuned.as_ref()).map(|_| ENV.to_owned());
    let sources = std::iter::once(entry.path.clone()).chain(env).collect();
    Ok(Configured {
        next: boot.is_sure.then(|| configured.clone()),
        configured,
        running: running(view),
        sources,
        notes,
    })
}

pub(crate) fn change(view: &dyn Machine, change: &Change) -> Result<Plan, Stop> {
    let boot = read(view)?;
    let entry = boot.chosen().ok_or_else(|| Refusal::new("no entry found"))?;
    if let Some(refusal) = entry.spared() {
        return Err(refusal.into());
    }
    if let Some(word) = change.add.iter().find(|word| word.contains(['$', '\\', '\'', '`', ';', '{', '}'])) {
        let why = format!("`{word}` contains a character that is special in GRUB scripts");
        return Err(Refusal::new(why).into());
    }
    if let Some(parted) = boot.entries.iter().find(|entry| entry.is_parted()) {
        return Err(Refusal::new(format!("{}: an `options` line before the last has `--`", parted.path)).into());
    }
    let change = &match &boot.tuned {
        Some(value) => tuned::besides(change, value, ENV)?,
        None => change.clone(),
    };
    let line = boot.line(entry);
    let mut plan = Plan::words(words(&line), words(&rewrite(&line, change)?));
    entries(&mut plan, &boot, change)?;
    sources(view, &mut plan, change)?;
    if plan.edits.is_empty() && plan.commands.is_empty() {
        return Ok(plan);
    }
    plan.notes.extend(length::check(view, &plan.before, &plan.after)?);
    match trial(view, &boot, change) {
        Ok(trial) => plan.trial = Some(trial),
        Err(why) => plan = plan.note(format!("no trial boot: {why}")),
    }
    if hint(view, "/proc/sys/kernel/arch").is_some_and(|arch| arch.starts_with("s390")) {
        plan.refresh.push(Run::new("writes the boot record", Argv::new(["zipl"]), Back::Again, &[]));
    }
    let plan = plan.note(format!("roughly equivalent manual command: {}", grubby(change).line()));
    Ok(plan.note("rescue entries are left unchanged"))
}

fn grubby(change: &Change) -> Argv {
    let list = |option: &str, words: &[String]| (!words.is_empty()).then(|| format!("{option}={}", words.join(" ")));
    let command = ["grubby".to_owned(), "--update-kernel=ALL".to_owned()].into_iter();
    Argv::new(command.chain(list("--remove-args", &change.remove)).chain(list("--args", &change.add)))
}

fn entries(plan: &mut Plan, boot: &Boot, change: &Change) -> Result<(), Stop> {
    for entry in boot.entries.iter().filter(|entry| !entry.is_spare()) {
        let uses = entry.words().iter().any(|word| word == VARIABLE);
        // New words go into the variable; words that are already in it are removed from the entry.
        let part = if uses { without_new(boot, change) } else { change.clone() };
        let text = entry.changed(&part)?;
        if text != entry.text {
            plan.edits.push(Edit::write(&entry.path, text));
        }
    }
    let Some(old) = &boot.kernelopts else { return Ok(()) };
    let uses = boot.entries.iter().filter(|entry| entry.words().iter().any(|word| word == VARIABLE));
    let lines: Vec<String> = uses.map(|entry| boot.line(entry)).collect();
    let is_needed = lines.iter().any(|line| rewrite(line, change).is_ok_and(|new| new != *line));
    let new = rewrite(old, change)?;
    if is_needed && new != *old {
        let set = |value: &str| Argv::new(["grub2-editenv", ENV, "set", &format!("kernelopts={value}")]);
        let what = "sets the variable from which entries take their parameters";
        plan.commands.push(Run::new(what, set(&new), Back::By(set(old)), &[ENV]));
    }
    Ok(())
}

fn sources(view: &dyn Machine, plan: &mut Plan, change: &Change) -> Result<(), Stop> {
    match kernel_cmdline::read(view)? {
        Some(_) => plan.edits.extend(kernel_cmdline::edit(view, change)?),
        None => plan.notes.push(kernel_cmdline::ABSENT.to_owned()),
    }
    match text(view, DEFAULTS)? {
        Some(text) => defaults(plan, &text, change),
        None => Ok(()),
    }
}

fn without_new(boot: &Boot, change: &Change) -> Change {
    let is_there = |word: &&String| {
        let only = Change { add: vec![(*word).clone()], remove: Vec::new() };
        boot.entries.iter().all(|entry| rewrite(&boot.line(entry), &only).is_ok_and(|new| new == boot.line(entry)))
    };
    let new = change.add.iter().filter(|word| !is_there(word) && !crate::words::is_cumulative(word));
    let names = new.map(|word| word.split('=').next().unwrap_or(word).to_owned());
    Change { add: Vec::new(), remove: change.remove.iter().cloned().chain(names).collect() }
}

/// Edits GRUB_CMDLINE_LINUX, from which grub2-mkconfig makes kernelopts (RHEL 8) or the options of entries
/// (`--update-bls-cmdline`).
fn defaults(plan: &mut Plan, old: &str, change: &Change) -> Result<(), Stop> {
    const NAME: &str = "GRUB_CMDLINE_LINUX=";
    let by_hand =
        format!("{DEFAULTS}: GRUB_CMDLINE_LINUX is left unchanged; grub2-mkconfig would restore its parameters");
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let own: Vec<&&str> = lines
        .iter()
        .filter(|line| line.contains("GRUB_CMDLINE_LINUX"))
        .filter(|l| !l.trim_start().starts_with('#'))
        .collect();
    let [line] = own.as_slice() else {
        if !own.is_empty() {
            plan.notes.push(by_hand);
        }
        return Ok(());
    };
    let inner = line.strip_prefix(NAME).and_then(|value| {
        let trimmed = value.trim_end();
        let quote = trimmed.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        trimmed.strip_prefix(quote)?.strip_suffix(quote)
    });
    let is_simple = |inner: &&str| !inner.contains(['"', '\'', '$', '`', '\\']);
    let Some(inner) = inner.filter(is_simple).filter(|_| !change.add.iter().any(|word| word.contains('"'))) else {
        plan.notes.push(by_hand);
        return Ok(());
    };
    let new = rewrite(inner, change)?;
    if new != inner {
        // The value starts after the first quote.
        let start = line.find(['"', '\'']).map_or(line.len(), |quote| quote + 1);
        let (head, tail) = line.split_at_checked(start).unwrap_or((line, ""));
        let changed = format!("{head}{new}{}", tail.strip_prefix(inner).unwrap_or_default());
        let text: String = lines.iter().map(|l| if l == *line { changed.as_str() } else { l }).collect();
        plan.edits.push(Edit::write(DEFAULTS, text));
    }
    Ok(())
}

fn trial(view: &dyn Machine, boot: &Boot, change: &Change) -> Result<Trial, String> {
    let env = required(view, ENV).map_err(|error| error.to_string())?;
    if !boot.is_sure || grubenv::value(&env, "saved_entry").is_none_or(|saved| saved.parse::<u32>().is_ok()) {
        return Err(format!("{ENV} names no default entry, so another entry could become the default"));
    }
    grub::writable(view, "/boot/grub2")?;
    if hint(view, MENU).is_some_and(|menu| !menu.contains("next_entry")) {
        return Err(format!("{MENU} does not support next_entry"));
    }
    let entry = boot.chosen().ok_or("no entry found")?;
    let options = rewrite(&boot.line(entry), &as_trial(change)).map_err(|why| why.word())?;
    let unset = Argv::new(["grub2-editenv", ENV, "unset", "next_entry"]);
    let arm = Argv::new(["grub2-reboot", TRIAL]);
    Ok(Trial {
        words: words(&options),
        edits: vec![Edit::write(entry.trial_path(), entry.trial(options.trim()))],
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
