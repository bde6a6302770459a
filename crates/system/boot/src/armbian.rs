//! Armbian: a U-Boot script reads /boot/armbianEnv.txt and appends its `extraargs` to the command line.

use crate::current::Configured;
use crate::plan::{Plan, Refusal, Stop};
use crate::read::{BootError, hint, needed, required, running, unclear};
use crate::words::{key, means, rewrite, words};
use crate::{Change, length};
use punctual_machine::Machine;
use punctual_model::Edit;

pub(crate) const ENV: &str = "/boot/armbianEnv.txt";
const SCRIPT: &str = "/boot/boot.cmd";

/// Parameters that the boot script builds from other variables of the file.
const VARIABLES: &[(&str, &str)] = &[
    ("loglevel", "verbosity"),
    ("console", "console"),
    ("splash", "bootlogo"),
    ("quiet", "bootlogo"),
    ("docker_optimizations", "cgroup_enable"),
];

struct Boot {
    text: String,
    place: Option<std::ops::Range<usize>>,
}

impl Boot {
    fn line(&self) -> &str {
        self.place.clone().and_then(|place| self.text.get(place)).unwrap_or_default()
    }
}

fn read(view: &dyn Machine) -> Result<Boot, BootError> {
    let text = required(view, ENV)?;
    if hint(view, SCRIPT).is_some_and(|script| !script.contains("extraargs")) {
        return Err(unclear(SCRIPT, "does not use extraargs"));
    }
    let mut places = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(value) = line.strip_prefix("extraargs=") {
            let start = at + line.len() - value.len();
            places.push(start..start + value.trim_end_matches(['\n', '\r']).len());
        }
        at += line.len();
    }
    if places.len() > 1 {
        return Err(unclear(
            ENV,
            "has several extraargs= lines, of which U-Boot uses the last: join them manually first",
        ));
    }
    Ok(Boot { text, place: places.pop() })
}

pub(crate) fn current(view: &dyn Machine) -> Result<Configured, BootError> {
    let boot = read(view)?;
    let note = "the boot script puts other parameters before these (root=, console=, loglevel=)";
    Ok(Configured {
        configured: words(boot.line()),
        next: None,
        running: running(view),
        sources: vec![ENV.to_owned()],
        notes: vec![note.to_owned()],
    })
}

pub(crate) fn change(view: &dyn Machine, change: &Change) -> Result<Plan, Stop> {
    let boot = read(view)?;
    if let Some(word) = change.add.iter().find(|word| word.contains(['$', '\\', ';', '"', '\''])) {
        return Err(Refusal::new(format!("`{word}` contains a character that is special in U-Boot's shell")).into());
    }
    scripts(view, &boot, change)?;
    let new = rewrite(boot.line(), change)?;
    let mut plan = Plan::words(words(boot.line()), words(&new));
    if new == boot.line() {
        return Ok(plan);
    }
    plan.notes.extend(length::check(view, &plan.before, &plan.after)?);
    let text = match &boot.place {
        Some(place) => {
            let (before, after) = (boot.text.get(..place.start), boot.text.get(place.end..));
            format!("{}{new}{}", before.unwrap_or_default(), after.unwrap_or_default())
        }
        None => {
            let end = if boot.text.is_empty() || boot.text.ends_with('\n') { "" } else { "\n" };
            format!("{}{end}extraargs={}\n", boot.text, new.trim())
        }
    };
    plan.edits.push(Edit::write(ENV, text));
    if hint(view, ENV).is_some_and(|env| env.lines().any(|line| line.starts_with("extraboardargs="))) {
        plan = plan.note("extraboardargs follows extraargs, and the last value counts");
    }
    Ok(plan.note("no trial boot: the boot script cannot boot an entry once; if the machine does not start, edit the file on another machine"))
}

/// Refuses to remove a word that the boot script adds, because extraargs does not contain it.
fn scripts(view: &dyn Machine, boot: &Boot, change: &Change) -> Result<(), Refusal> {
    let own = words(boot.line());
    // After a word is removed from extraargs, the boot script's own value takes effect again.
    let is_foreign = |pattern: &&String| {
        let is_replaced = change.add.iter().any(|add| key(add) == key(pattern));
        !is_replaced && !own.iter().any(|word| means(pattern, word))
    };
    for pattern in change.remove.iter().filter(is_foreign) {
        let all = needed(view, &format!("if the boot script adds `{pattern}`"))?;
        let is_meant = |word: &&String| means(pattern, word) && !own.contains(word);
        let Some(word) = all.iter().find(is_meant) else { continue };
        let name = VARIABLES.iter().find(|(name, _)| *name == key(word)).map(|(_, variable)| *variable);
        let hand = name.map_or(format!("{SCRIPT}, then mkimage"), |variable| format!("{ENV}: {variable}="));
        return Err(Refusal::by_hand(format!("`{word}` is not in extraargs: the boot script adds it"), hand));
    }
    Ok(())
}
