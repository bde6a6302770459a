//! extlinux.conf, which U-Boot (doc/README.distro, boot/pxe_utils.c) and NVIDIA's EFI launcher read. On Debian,
//! u-boot-update generates it from /etc/default/u-boot. Elsewhere its default label is edited.

use crate::current::Configured;
use crate::dropin::Spec;
use crate::generated::Generated;
use crate::plan::{Plan, Refusal, Run, Stop, Trial};
use crate::read::{BootError, exists, hint, listed, required, running, text, unclear};
use crate::trial::as_trial;
use crate::words::{ranges, rewrite, words};
use crate::{Change, kernel_cmdline, length};
use punctual_machine::Machine;
use punctual_model::{Argv, Back, Edit};

const PATHS: &[&str] = &[
    "/boot/extlinux/extlinux.conf",
    "/boot/extlinux.conf",
    "/extlinux/extlinux.conf",
    "/boot/firmware/extlinux/extlinux.conf",
];
const UPDATE: &str = "/usr/sbin/u-boot-update";
const DEFAULTS: &str = "/etc/default/u-boot";
const PARTS: [&str; 2] = ["/usr/share/u-boot-menu/conf.d", "/etc/u-boot-menu/conf.d"];
const WANTED: &[&str] = &["U_BOOT_PARAMETERS", "U_BOOT_UPDATE"];
const TRIAL: &str = "punctual-trial";
const SPEC: Spec = Spec {
    path: "/etc/u-boot-menu/conf.d/60-punctual.conf",
    variables: &["U_BOOT_PARAMETERS"],
    default: "ro quiet",
    refresh: "u-boot-update",
};

pub(crate) fn path(view: &dyn Machine) -> Option<&'static str> {
    PATHS.iter().copied().find(|path| exists(view, path))
}

pub(crate) struct Menu {
    pub(crate) path: &'static str,
    pub(crate) text: String,
    pub(crate) label: String,
    /// Range of the label's lines, including the LABEL line.
    pub(crate) lines: std::ops::Range<usize>,
    append: Option<usize>,
}

pub(crate) fn keyword(line: &str) -> Option<(String, &str)> {
    let trimmed = line.trim();
    let (word, rest) = trimmed.split_once([' ', '\t']).unwrap_or((trimmed, ""));
    (!word.is_empty() && !word.starts_with('#')).then(|| (word.to_ascii_lowercase(), rest.trim()))
}

pub(crate) fn read(view: &dyn Machine) -> Result<Menu, BootError> {
    let path = path(view).ok_or_else(|| BootError::Missing { path: "/boot/extlinux/extlinux.conf".to_owned() })?;
    let text = required(view, path)?;
    let mut labels: Vec<(String, usize)> = Vec::new();
    let mut default = None;
    let lines: Vec<&str> = text.lines().collect();
    for (n, line) in lines.iter().enumerate() {
        match keyword(line) {
            Some((word, rest)) if word == "label" => labels.push((rest.to_owned(), n)),
            Some((word, rest)) if word == "default" && !rest.is_empty() => default = Some(rest.to_owned()),
            Some((word, rest)) if word == "menu" && rest.eq_ignore_ascii_case("default") => {
                default = labels.last().map(|(name, _)| name.clone()).or(default);
            }
            Some((word, _)) if word == "include" => return Err(unclear(path, "includes another file")),
            _ => {}
        }
    }
    let at = match &default {
        Some(name) => labels.iter().position(|(label, _)| label == name),
        None => (!labels.is_empty()).then_some(0),
    };
    let found =
        at.and_then(|at| labels.get(at).map(|label| (label, labels.get(at + 1).map_or(lines.len(), |next| next.1))));
    let Some(((label, start), end)) = found else {
        return Err(unclear(path, format!("has no label {}", default.unwrap_or_default())));
    };
    let is_append = |n: &usize| lines.get(*n).and_then(|line| keyword(line)).is_some_and(|(word, _)| word == "append");
    let appends: Vec<usize> = (*start..end).filter(is_append).collect();
    if appends.len() > 1 {
        return Err(unclear(path, format!("label {label} has several APPEND lines")));
    }
    let (label, start) = (label.clone(), *start);
    Ok(Menu { path, label, lines: start..end, append: appends.first().copied(), text })
}

impl Menu {
    pub(crate) fn line(&self, n: usize) -> &str {
        self.text.split_inclusive('\n').nth(n).unwrap_or_default()
    }

    /// Splits the APPEND line after its keyword; `None` if there is none.
    fn parts(&self) -> Option<(&str, &str)> {
        let line = self.line(self.append?);
        let end = ranges(line).first()?.end;
        line.split_at_checked(end)
    }

    fn words(&self) -> Vec<String> {
        self.parts().map_or_else(Vec::new, |(_, tail)| words(tail))
    }

    pub(crate) fn appended(&self, change: &Change) -> Result<String, Stop> {
        let no_append = || unclear(self.path, format!("label {} has no APPEND line", self.label));
        let (head, tail) = self.parts().ok_or_else(no_append)?;
        let tail = rewrite(tail, change)?;
        // A space is added, because otherwise the first word would join the keyword of an empty APPEND line.
        let gap = if tail.is_empty() || tail.starts_with(|c: char| c.is_ascii_whitespace()) { "" } else { " " };
        Ok(format!("{head}{gap}{tail}"))
    }

    fn with(&self, append: &str) -> String {
        let lines = self.text.split_inclusive('\n').enumerate();
        lines.map(|(n, line)| if Some(n) == self.append { append } else { line }).collect()
    }

    fn trial(&self, change: &Change) -> Result<Trial, String> {
        if self.text.lines().filter_map(keyword).any(|(word, rest)| word == "label" && rest == TRIAL) {
            return Err(format!("{} already has a label {TRIAL}", self.path));
        }
        let append = self.appended(&as_trial(change)).map_err(|stop| stop.0.why)?;
        let end = if self.text.ends_with('\n') { "" } else { "\n" };
        let mut text = format!("{}{end}\nLABEL {TRIAL}\n      MENU LABEL punctual: one trial boot\n", self.text);
        for n in self.lines.clone().skip(1) {
            let line = if Some(n) == self.append { append.as_str() } else { self.line(n) };
            let is_menu = keyword(line).is_some_and(|(word, _)| word == "menu");
            if !line.trim().is_empty() && !is_menu && !line.trim_start().starts_with('#') {
                text.push_str(line.trim_end_matches(['\n', '\r']));
                text.push('\n');
            }
        }
        Ok(Trial {
            words: ranges(&append).into_iter().skip(1).filter_map(|r| append.get(r).map(str::to_owned)).collect(),
            edits: vec![Edit::write(self.path, text)],
            arm: None,
            reboot: Argv::new(["systemctl", "reboot"]),
            unattended: false,
            fallback: format!(
                "U-Boot cannot boot an entry once: choose {TRIAL} in its menu on the console; any later boot takes the \
                 default label {}",
                self.label
            ),
            visible: "/proc/cmdline has the new parameters, panic=10 and punctual.trial=".to_owned(),
        })
    }
}

pub(crate) fn is_generated(view: &dyn Machine) -> bool {
    let says = |text: String| text.lines().any(|line| line.starts_with('#') && line.contains("u-boot-update"));
    path(view).and_then(|path| hint(view, path)).is_some_and(says)
}

fn generated(view: &dyn Machine) -> Result<Generated<'static>, BootError> {
    let mut files: Vec<(String, String)> =
        text(view, DEFAULTS)?.map(|text| (DEFAULTS.to_owned(), text)).into_iter().collect();
    let mut before = files.len();
    for folder in PARTS {
        for name in listed(view, folder)?.into_iter().filter(|name| name.ends_with(".conf") && !name.starts_with('.')) {
            let path = format!("{folder}/{name}");
            if path == SPEC.path {
                continue;
            }
            let Some(text) = text(view, &path)? else { continue };
            let is_before = folder == PARTS[0] || path.as_str() < SPEC.path;
            files.push((path, text));
            before = if is_before { files.len() } else { before };
        }
    }
    Generated::read(view, &SPEC, WANTED, files, before)
}

pub(crate) fn current(view: &dyn Machine) -> Result<Configured, BootError> {
    let menu = read(view)?;
    let next = Some(menu.words());
    if !is_generated(view) {
        let sources = vec![menu.path.to_owned()];
        return Ok(Configured { configured: menu.words(), next, running: running(view), sources, notes: Vec::new() });
    }
    let read = generated(view)?;
    let shell = read.shell(read.own.as_ref())?;
    let (configured, sources) = match by_kernel_cmdline(view, &read)? {
        Some(line) => (words(&line), vec![kernel_cmdline::PATH.to_owned()]),
        None => (read.words(&shell), read.sources()),
    };
    let missing = configured.iter().filter(|word| !menu.words().iter().any(|other| crate::words::is_same(word, other)));
    let notes =
        missing.map(|word| format!("`{word}` is configured but not in {}: run u-boot-update", menu.path)).collect();
    Ok(Configured { configured, next, running: running(view), sources, notes })
}

/// Returns the parameters in /etc/kernel/cmdline if u-boot-update reads that file, which it does if U_BOOT_PARAMETERS
/// is empty; otherwise `None`.
fn by_kernel_cmdline(view: &dyn Machine, read: &Generated) -> Result<Option<String>, BootError> {
    let is_empty = read.own.is_none() && read.shell(None)?.value("U_BOOT_PARAMETERS").is_empty();
    let knows = hint(view, UPDATE).is_none_or(|script| script.contains(kernel_cmdline::PATH));
    if is_empty && knows { kernel_cmdline::read(view) } else { Ok(None) }
}

pub(crate) fn change(view: &dyn Machine, change: &Change) -> Result<Plan, Stop> {
    if let Some(word) = change.add.iter().find(|word| word.contains(['$', '\\', '`', ';'])) {
        return Err(Refusal::new(format!("`{word}` contains a character that is special in U-Boot")).into());
    }
    let menu = read(view)?;
    let mut plan = if is_generated(view) { by_update(view, change, &menu)? } else { by_append(view, change, &menu)? };
    if plan.edits.is_empty() {
        return Ok(plan);
    }
    match menu.trial(change) {
        Ok(trial) => plan.trial = Some(trial),
        Err(why) => plan = plan.note(format!("no trial boot: {why}")),
    }
    Ok(plan)
}

fn by_append(view: &dyn Machine, change: &Change, menu: &Menu) -> Result<Plan, Stop> {
    let append = menu.appended(change)?;
    let text = menu.with(&append);
    let after = ranges(&append).first().and_then(|range| append.get(range.end..)).map_or_else(Vec::new, words);
    let mut plan = Plan::words(menu.words(), after);
    if text != menu.text {
        plan.notes.extend(length::check(view, &plan.before, &plan.after)?);
        plan.edits.push(Edit::write(menu.path, text));
        plan = plan.note(format!("only label {}, the default, is changed", menu.label));
    }
    Ok(plan)
}

fn by_update(view: &dyn Machine, change: &Change, menu: &Menu) -> Result<Plan, Stop> {
    let read = generated(view)?;
    let switch = read.shell(None)?.value("U_BOOT_UPDATE").to_owned();
    if !matches!(switch.as_str(), "" | "true") {
        return Err(Refusal::by_hand("u-boot-update is disabled", format!("{DEFAULTS}: U_BOOT_UPDATE={switch}")).into());
    }
    let mut plan = match by_kernel_cmdline(view, &read)? {
        Some(line) => {
            let mut plan = Plan::words(words(&line), words(&rewrite(&line, change)?));
            plan.edits.extend(kernel_cmdline::edit(view, change)?);
            plan.notes.extend(length::check(view, &plan.before, &plan.after)?);
            plan
        }
        None if has_parts(view) => read.change(view, change)?,
        None => {
            let hand = format!(
                "{DEFAULTS}: U_BOOT_PARAMETERS: add `{}`, remove `{}`; then run u-boot-update",
                change.add.join(" "),
                change.remove.join(" ")
            );
            return Err(
                Refusal::by_hand(format!("this version of u-boot-update does not read {}", PARTS[1]), hand).into()
            );
        }
    };
    if !plan.edits.is_empty() {
        let what = "writes extlinux.conf from these files";
        plan.refresh.push(Run::new(what, Argv::new(["u-boot-update"]), Back::Again, &[menu.path]));
        plan = plan.note("the recovery labels get the parameters too");
    }
    Ok(plan)
}

fn has_parts(view: &dyn Machine) -> bool {
    hint(view, UPDATE).map_or_else(|| PARTS.iter().any(|part| exists(view, part)), |script| script.contains(PARTS[1]))
}
