//! Compares the boot loader's configuration with the running kernel's command line.

use super::cmdline::listed;
use super::{CONFIG_READS, Probe, With};
use crate::cmdline::names::{is_tuning, key};
use crate::cmdline::releases::is_listed;
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::sight::{Notes, Sight};
use punctual_machine::{BootFile, BuiltIn, Given, KernelConfig, boot_file, boot_file_cmdline, parameters, scrub};
use std::collections::BTreeSet;

/// Files that are or contain one command line: of the Raspberry Pi's firmware, of systemd's kernel-install, of U-Boot.
const LINES: &[&str] = &[
    "/boot/firmware/cmdline.txt",
    "/boot/cmdline.txt",
    "/etc/kernel/cmdline",
    "/boot/extlinux/extlinux.conf",
    "/boot/armbianEnv.txt",
    "/boot/uEnv.txt",
];
const GRUB: &str = "/etc/default/grub";
const GRUB_PARTS: &str = "/etc/default/grub.d";
const GRUB_ENV: &[&str] = &["/boot/grub2/grubenv", "/boot/grub/grubenv"];
const ENTRIES: &str = "/boot/loader/entries";

pub(super) const PROBES: &[Probe] = &[
    // Sentences about tuning parameters that are active now but not after the next boot, or vice versa.
    Probe {
        name: "boot-drift",
        with: &[],
        reads: &[
            &[Given::LINES],
            LINES,
            GRUB_ENV,
            CONFIG_READS,
            &[
                "/proc/cmdline",
                GRUB,
                GRUB_PARTS,
                "/etc/default/grub.d/*",
                ENTRIES,
                "/boot/loader/entries/*",
                "/proc/sys/kernel/osrelease",
            ],
        ],
        run: drift,
    },
    // Kernel parameters in lines of their own, which no variable of Armbian's boot script stands for.
    Probe {
        name: "armbian-unread",
        with: &[],
        reads: &[&[Given::ARMBIAN]],
        run: |sight, _, notes| armbian(sight, notes),
    },
    // Number of lines of a given file with a command line, if that is read by an unknown loader.
    Probe { name: "boot-lines", with: &[], reads: &[&[Given::LINES]], run: lines },
];

struct Persisted {
    file: String,
    words: BTreeSet<String>,
    /// Words below the first line of a file, if the boot loader reads only the first line.
    below: Vec<String>,
    /// True if a boot script adds further words.
    is_part: bool,
}

impl Persisted {
    fn new(file: &str, text: &str, line: Option<String>) -> Persisted {
        let words = parameters(&line.unwrap_or_default()).into_iter().collect();
        let is_part = boot_file(text) == Some(BootFile::Environment);
        let below = if is_one_line(file, text) {
            text.trim_start().lines().skip(1).flat_map(parameters).collect()
        } else {
            Vec::new()
        };
        Persisted { file: file.to_owned(), words, below, is_part }
    }
}

/// File of kernel-install, which joins its lines (90-loaderentry.install); the Raspberry Pi's firmware reads only the
/// first line of its file.
const JOINED: &str = "/etc/kernel/cmdline";

fn is_one_line(file: &str, text: &str) -> bool {
    file != JOINED && boot_file(text).is_none() && LINES.contains(&file)
}

/// Returns the command line that a file is or contains.
fn line_of(file: &str, text: &str) -> Option<String> {
    if boot_file(text).is_some() {
        return boot_file_cmdline(text);
    }
    let first = text.trim_start().lines().next().unwrap_or_default();
    Some(if is_one_line(file, text) { first } else { text }.to_owned())
}

/// Variables of Armbian's boot scripts (config/bootscripts of armbian/build) that are called like kernel parameters.
const OF_SCRIPT: &[&str] = &["console", "earlycon", "logo", "rootflags", "rootfstype"];

/// Finds kernel parameters that armbianEnv.txt sets as variables. The boot script passes rootdev, rootfstype, consoleargs,
/// verbosity, usbstoragequirks, extraargs and extraboardargs to the kernel.
fn armbian(sight: &Sight, notes: &mut Notes) -> Reading {
    let text = match sight.text(Given::ARMBIAN, &mut Notes::default()) {
        Ok(text) => text,
        Err(gap) => return Reading::Many(Many::unknown(gap)),
    };
    let is_unread = |line: &&str| {
        let name = key(line);
        is_tuning(line) || (line.contains('=') && is_listed(&name) && !OF_SCRIPT.contains(&name.as_str()))
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let reading = listed(Ok(lines.filter(is_unread).map(scrub).collect()));
    notes.add(Given::ARMBIAN, format!("kernel parameters as lines of their own: {}", reading.show()));
    reading
}

fn lines(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match sight.text(Given::LINES, &mut Notes::default()) {
        Ok(text) => {
            let count = text.lines().count();
            notes.add(Given::LINES, format!("{count} lines"));
            Reading::One(Ok(Value::Number(i64::try_from(count).unwrap_or(i64::MAX))))
        }
        Err(gap) => Reading::gap(gap),
    }
}

fn drift(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = persisted(sight, notes).and_then(|there| there.ok_or_else(|| Gap::new("boot loader", Cause::Absent)));
    let Persisted { file, words: mut next, below, is_part } = match found {
        Ok(found) => found,
        Err(gap) => return Reading::Many(Many::unknown(gap)),
    };
    let running = match sight.cmdline() {
        Ok(line) => parameters(&line).into_iter().collect::<BTreeSet<String>>(),
        Err(gap) => {
            notes.add(&gap.source, gap.cause.describe());
            return Reading::Many(Many::unknown(gap));
        }
    };
    let mut many = Many::default();
    let built_in = sight.config().as_ref().ok().and_then(KernelConfig::built_in);
    let why = match built_in {
        Some(BuiltIn::Instead(_)) => "ignored: this kernel uses only its built-in command line",
        _ => "not running: reboot",
    };
    for word in next.difference(&running).filter(|word| is_tuning(word)) {
        many.push("", Ok(Value::Text(format!("`{}` is in {file} but {why}", scrub(word)))));
    }
    let added = built_in.and_then(|built_in| built_in.with(Some("")));
    next.extend(added.iter().flat_map(|line| parameters(line)));
    if !below.is_empty() {
        let words = scrub(&below.join(" "));
        many.push("", Ok(Value::Text(format!("only the first line of {file} is read, but `{words}` is below it"))));
    }
    for word in running.difference(&next).filter(|word| is_tuning(word) && !is_part) {
        let word = scrub(word);
        many.push(
            "",
            Ok(Value::Text(format!("`{word}` is active but not in {file}: it will be lost at the next boot"))),
        );
    }
    notes.add(&file, format!("differs in: {}", Reading::Many(many.clone()).show()));
    Reading::Many(many)
}

/// Returns the first configuration that exists, most specific first.
fn persisted(sight: &Sight, notes: &mut Notes) -> Result<Option<Persisted>, Gap> {
    let mut unnoted = Notes::default();
    if let Ok(text) = sight.text(Given::LINES, &mut unnoted) {
        return Ok(Some(Persisted::new(Given::LINES, &text, Some(text.clone()))));
    }
    let mut not_given = None;
    for path in LINES {
        match sight.text(path, &mut unnoted) {
            Ok(text) => return Ok(Some(Persisted::new(path, &text, line_of(path, &text)))),
            Err(gap) if gap.cause == Cause::Absent => {}
            Err(gap) if gap.is_not_given() => not_given = Some(gap.cause),
            Err(gap) => return Err(noted(gap, notes)),
        }
    }
    // It is unknown which of these files the machine has.
    if let Some(cause) = not_given {
        return Err(noted(Gap::new("the boot loader's configuration", cause), notes));
    }
    if let Some(found) = entries(sight)? {
        return Ok(Some(found));
    }
    grub(sight).map_err(|gap| noted(gap, notes))
}

fn noted(gap: Gap, notes: &mut Notes) -> Gap {
    notes.add(&gap.source, gap.cause.describe());
    gap
}

/// Returns the boot entry of the running kernel (Boot Loader Specification, type 1). GRUB expands variables in its
/// options.
fn entries(sight: &Sight) -> Result<Option<Persisted>, Gap> {
    let names = match sight.names(ENTRIES) {
        Ok(names) => names,
        Err(gap) if gap.cause == Cause::Absent => return Ok(None),
        Err(gap) => return Err(gap),
    };
    if !names.iter().any(|name| name.ends_with(".conf")) {
        return Ok(None);
    }
    let release = sight.text("/proc/sys/kernel/osrelease", &mut Notes::default()).map_err(Gap::expected)?;
    for name in names.iter().filter(|name| name.contains(&release) && name.ends_with(".conf")) {
        let text = sight.text(&format!("{ENTRIES}/{name}"), &mut Notes::default())?;
        let found = Persisted::new(ENTRIES, &text, boot_file_cmdline(&text).map(|line| filled(sight, &line)));
        if !found.words.iter().any(|word| word.starts_with('$')) {
            return Ok(Some(found));
        }
    }
    Err(Gap::new(ENTRIES, Cause::Garbled("entry for the running kernel that punctual understands")))
}

/// Expands the variables of GRUB's environment block, `name=value` per line; all others are left unchanged.
fn filled(sight: &Sight, line: &str) -> String {
    let blocks = GRUB_ENV.iter().find_map(|path| sight.text(path, &mut Notes::default()).ok());
    let block = blocks.unwrap_or_default();
    let value = |word: &str| {
        let name = word.strip_prefix('$')?.trim_matches(['{', '}']);
        block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
    };
    let words: Vec<&str> = line.split_whitespace().map(|word| value(word).unwrap_or(word)).collect();
    words.join(" ")
}

/// Reads GRUB_CMDLINE_LINUX and GRUB_CMDLINE_LINUX_DEFAULT from /etc/default/grub and its drop-ins.
fn grub(sight: &Sight) -> Result<Option<Persisted>, Gap> {
    let mut unnoted = Notes::default();
    let mut text = match sight.text(GRUB, &mut unnoted) {
        Ok(text) => text,
        Err(gap) if gap.cause == Cause::Absent => return Ok(None),
        Err(gap) => return Err(gap),
    };
    let parts =
        sight.names(GRUB_PARTS).or_else(|gap| if gap.cause == Cause::Absent { Ok(vec![]) } else { Err(gap) })?;
    for part in parts.iter().filter(|name| name.ends_with(".cfg")) {
        text.push('\n');
        text.push_str(&sight.text(&format!("{GRUB_PARTS}/{part}"), &mut unnoted)?);
    }
    Ok(Some(Persisted::new(GRUB, &text, boot_file_cmdline(&text))))
}
