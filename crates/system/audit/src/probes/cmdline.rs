use super::kernel::release;
use super::{CONFIG_READS, Probe, With};
use crate::cmdline::UNKNOWN;
use crate::cmdline::list::typographic;
use crate::cmdline::names;
use crate::reading::{Cause, Gap, Known, Many, Reading, Value};
use crate::sight::{Notes, Sight};
use punctual_machine::{may_repeat, parameters, scrub};
use std::collections::BTreeMap;

const CMDLINE: &str = "/proc/cmdline";
const LOG: &str = "/dev/kmsg";

pub(super) const PROBES: &[Probe] = &[
    // Parameters from real-time guides, and near misses of parameters, that the kernel's log calls unknown.
    Probe { name: "unknown-parameters", with: &[], reads: &[&[LOG]], run: unknown },
    // Sentences about words that are no parameter, by their look.
    Probe { name: "near-misses", with: &[], reads: &[&[CMDLINE, LOG], CONFIG_READS], run: near_misses },
    // Sentences about parameters that later or patched kernels know.
    Probe { name: "parameters-of-others", with: &[], reads: &[&[CMDLINE, LOG], CONFIG_READS], run: of_others },
    // Does the kernel's log tell unknown parameters? `yes` or `no`.
    Probe { name: "unknown-parameters-told", with: &[], reads: &[&[LOG], CONFIG_READS], run: told },
    // Bytes.
    Probe { name: "command-line-length", with: &[], reads: &[&[CMDLINE]], run: length },
    // The most bytes of a command line, by the architecture.
    Probe { name: "command-line-limit", with: &[], reads: &[&["/proc/sys/kernel/arch"], CONFIG_READS], run: limit },
    // Parameters with several different values.
    Probe { name: "repeated-parameters", with: &[], reads: &[&[CMDLINE]], run: repeated },
    // Debugging that is switched on, not off.
    Probe { name: "debug-parameters", with: &[], reads: &[&[CMDLINE]], run: debugging },
    // Accounting that is switched on.
    Probe { name: "accounting-parameters", with: &[], reads: &[&[CMDLINE]], run: accounting },
];

fn words(sight: &Sight, notes: &mut Notes) -> Result<Vec<String>, Gap> {
    let line = sight.cmdline().inspect_err(|gap| notes.add(&gap.source, gap.cause.describe()))?;
    Ok(parameters(&line))
}

fn listed(found: Result<Vec<String>, Gap>) -> Reading {
    let mut many = Many::default();
    match found {
        Ok(texts) => texts.into_iter().for_each(|text| many.push("", Ok(Value::Text(text)))),
        Err(gap) => many.missing = Some(gap),
    }
    Reading::Many(many)
}

/// The words that the log calls unknown; `None` where it has no such line.
fn logged(sight: &Sight) -> Option<Vec<String>> {
    let lines = &sight.log().lines;
    let rest = UNKNOWN.iter().find_map(|start| lines.iter().find_map(|line| line.strip_prefix(start)))?;
    let listed = rest.rsplit_once('"').map_or(rest, |(listed, _)| listed);
    Some(parameters(listed))
}

fn unknown(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let mut many = Many { items: Vec::new(), missing: sight.log().missing.clone() };
    let listed = logged(sight).unwrap_or_default();
    for word in listed.iter().filter(|word| names::is_tuning(word) || names::meant(word).is_some()) {
        many.push("", Ok(Value::Text(scrub(word))));
    }
    notes.add("/dev/kmsg: unknown parameters", Reading::Many(many.clone()).show());
    Reading::Many(many)
}

/// Since 5.14, or where a distributor has added it.
fn tells(sight: &Sight) -> Result<bool, Gap> {
    if logged(sight).is_some() {
        return Ok(true);
    }
    release(sight, &mut Notes::default()).map(|(major, minor, _)| (major, minor) >= (5, 14))
}

fn told(sight: &Sight, _: &With, _: &mut Notes) -> Reading {
    tells(sight).map_or_else(Reading::gap, |tells| Reading::word(if tells { "yes" } else { "no" }))
}

/// A whole log that tells unknown words and does not name this one.
fn is_known(sight: &Sight, word: &str) -> bool {
    let log = sight.log();
    let is_whole = log.missing.is_none() && log.lines.iter().any(|line| line.starts_with("Kernel command line:"));
    let is_listed = || logged(sight).is_some_and(|listed| listed.iter().any(|other| other == word));
    is_whole && !word.contains('.') && tells(sight).unwrap_or(false) && !is_listed()
}

fn near_misses(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = words(sight, notes).map(|words| {
        let said = words.iter().filter_map(|word| {
            let shown = scrub(word);
            if let Some(what) = typographic(word) {
                return Some(format!("`{shown}` has a typographic {what}, which is a letter to the kernel"));
            }
            if let Some(values) = names::values_instead(word) {
                return Some(format!("`{shown}` has none of the values that the kernel knows: {values}"));
            }
            let meant = names::meant(word)?;
            (!is_known(sight, word)).then(|| format!("`{shown}` is no parameter of Linux ({meant} is)"))
        });
        let line = sight.cmdline().unwrap_or_default();
        said.chain(behind_dashes(&line)).chain(no_break_space(&line)).collect()
    });
    let reading = listed(found);
    notes.add("/proc/cmdline: no parameters", reading.show());
    reading
}

/// The second byte of U+00A0 in UTF-8 is white space to the kernel, the first is not (lib/ctype.c).
fn no_break_space(line: &str) -> Option<String> {
    let (before, _) = line.split_once('\u{a0}')?;
    let word = before.split_whitespace().next_back().unwrap_or_default();
    Some(format!("a no-break space follows `{}`: the kernel takes half of it for a letter", scrub(word)))
}

/// What follows `--` goes to init (init/main.c, start_kernel).
fn behind_dashes(line: &str) -> Vec<String> {
    let behind = line.split_whitespace().skip_while(|word| *word != "--").filter(|word| names::is_tuning(word));
    behind.map(|word| format!("`{}` stands behind `--` and goes to init", scrub(word))).collect()
}

fn of_others(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let release = match release(sight, &mut Notes::default()) {
        Ok((major, minor, _)) => (major, minor),
        Err(gap) => return Reading::Many(Many::unknown(gap)),
    };
    let found = words(sight, notes).map(|words| {
        let new = words.iter().filter(|word| !is_known(sight, word)).filter_map(|word| names::too_new(word, release));
        new.collect()
    });
    listed(found)
}

fn length(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match sight.cmdline() {
        Ok(line) => {
            let length = line.trim_end().len();
            notes.add(CMDLINE, format!("{length} bytes"));
            Reading::One(Ok(number(length)))
        }
        Err(gap) => {
            notes.add(&gap.source, gap.cause.describe());
            Reading::gap(gap)
        }
    }
}

fn number(length: usize) -> Value {
    Value::Number(i64::try_from(length).unwrap_or(i64::MAX))
}

fn limit(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    const ARCH: &str = "/proc/sys/kernel/arch";
    let known: Known = sight.text(ARCH, notes).map_err(Gap::expected).and_then(|arch| {
        let limit = punctual_machine::longest_cmdline(&arch);
        limit.map(number).ok_or_else(|| Gap::new(ARCH, Cause::Garbled("architecture whose limit is known")))
    });
    Reading::One(known)
}

fn repeated(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = words(sight, notes).map(|words| {
        let mut of_key: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let mut order = Vec::new();
        for word in words.iter().filter(|word| !may_repeat(word)) {
            let same = of_key.entry(names::key(word)).or_default();
            if same.is_empty() {
                order.push(names::key(word));
            }
            same.push(word);
        }
        let value = |word: &str| word.split_once('=').map(|(_, value)| value.to_owned());
        let several =
            |all: &&Vec<&str>| all.iter().any(|word| all.first().map(|first| value(first)) != Some(value(word)));
        let all = order.iter().filter_map(|key| of_key.get(key)).filter(several);
        all.map(|all| all.iter().map(|word| scrub(word)).collect::<Vec<_>>().join(" ")).collect()
    });
    let reading = listed(found);
    notes.add(CMDLINE, format!("given with several values: {}", reading.show()));
    reading
}

/// A name that ends in a dot is a prefix.
const DEBUGGING: &[&str] = &[
    "debug",
    "ignore_loglevel",
    "initcall_debug",
    "keep_bootcon",
    "ftrace",
    "ftrace_filter",
    "trace_event",
    "trace_options",
    "tp_printk",
    "stacktrace",
    "slab_debug",
    "slub_debug",
    "page_owner",
    "page_poison",
    "debug_objects",
    "kasan",
    "kasan.",
    "sched_verbose",
    "kgdboc",
    "kgdbwait",
    "delayacct",
    "profile",
    "lockdep.",
    "memtest",
];

const ACCOUNTING: &[&str] = &["kmemleak", "schedstats", "psi"];

fn switched_on(sight: &Sight, names: &[&str], notes: &mut Notes) -> Reading {
    let is_one = |key: &str| {
        let fits = |name: &&str| if name.ends_with('.') { key.starts_with(name) } else { key == *name };
        names.iter().any(fits)
    };
    let found = words(sight, notes).map(|words| {
        let on = words.iter().filter(|word| is_one(&names::key(word)) && !is_off(word));
        on.map(|word| scrub(word)).collect()
    });
    let reading = listed(found);
    notes.add(CMDLINE, format!("of {}: {}", names.join(" "), reading.show()));
    reading
}

/// `slub_debug=-` switches off what the configuration switches on (Documentation/mm/slab.rst).
fn is_off(word: &str) -> bool {
    let value = word.split_once('=').map(|(_, value)| value);
    value.is_some_and(|value| matches!(value, "0" | "n" | "N" | "no" | "off" | "-" | "none" | "disable" | "false"))
}

fn debugging(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    switched_on(sight, DEBUGGING, notes)
}

fn accounting(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    switched_on(sight, ACCOUNTING, notes)
}
