use super::cpu_lists::{adds_up, idle_lists};
use super::kernel::{backports, release};
use super::platform::machine_of;
use super::{CONFIG_READS, Probe, With};
use crate::cmdline::UNKNOWN;
use crate::cmdline::built::{self, Built, asks_nothing};
use crate::cmdline::list::typographic;
use crate::cmdline::{arches, foreign, names, releases, values};
use crate::reading::{Cause, Gap, Known, Many, Reading, Value};
use crate::sight::{Notes, Sight, meaning};
use punctual_machine::{is_omission, is_placeholder, longest_cmdline, may_repeat, parameters, scrub};
use std::collections::{BTreeMap, BTreeSet};

const CMDLINE: &str = "/proc/cmdline";
const LOG: &str = "/dev/kmsg";
const ARCH: &str = "/proc/sys/kernel/arch";
const RELEASE: &str = "/proc/sys/kernel/osrelease";
const POSSIBLE: &str = "/sys/devices/system/cpu/possible";

pub(super) const PROBES: &[Probe] = &[
    // Parameters that the kernel's log calls unknown, if they are from real-time guides or close to the name of a
    // parameter.
    Probe { name: "unknown-parameters", with: &[], reads: &[&[LOG]], run: unknown },
    // Sentences about words that look like mistakes.
    Probe { name: "near-misses", with: &[], reads: &[&[CMDLINE, LOG], CONFIG_READS], run: near_misses },
    // Sentences about parameters that this kernel does not support, or that another parameter disables.
    Probe {
        name: "parameters-of-others",
        with: &[],
        reads: &[&[CMDLINE, LOG, ARCH, POSSIBLE], CONFIG_READS],
        run: of_others,
    },
    // Words with variables, which may stand for any parameters.
    Probe { name: "command-line-unknown", with: &[], reads: &[&[CMDLINE]], run: variables },
    // Tuning parameters for which neither the release nor the configuration shows whether they are supported.
    Probe { name: "undecided-parameters", with: &[], reads: &[&[CMDLINE], CONFIG_READS], run: undecided },
    // `yes` if the kernel's log reports unknown parameters, otherwise `no`, or `unknown` if the release is not given.
    Probe { name: "unknown-parameters-reported", with: &[], reads: &[&[LOG], CONFIG_READS], run: reported },
    // Length in bytes, including the part beyond the kernel's limit.
    Probe { name: "command-line-length", with: &[], reads: &[&[CMDLINE]], run: length },
    // `yes`, `close` or `no`. `far` if words with variables are unknown, but the other words leave three quarters of
    // the space to them. If the limit is unknown, `not-on-some` (32-bit Arm), `not-on-most` or `close-on-some`.
    Probe { name: "command-line-fits", with: &[], reads: &[&[CMDLINE, ARCH, RELEASE], CONFIG_READS], run: fits },
    // Words, or ends of words, beyond the kernel's limit.
    Probe { name: "command-line-cut", with: &[], reads: &[&[CMDLINE, ARCH, RELEASE], CONFIG_READS], run: cut_off },
    // The maximum length of a command line in bytes, by architecture and release.
    Probe { name: "command-line-limit", with: &[], reads: &[&[ARCH, RELEASE], CONFIG_READS], run: limit },
    // Parameters with several different values.
    Probe { name: "repeated-parameters", with: &[], reads: &[&[CMDLINE, POSSIBLE], CONFIG_READS], run: repeated },
];

pub(super) fn words(sight: &Sight, notes: &mut Notes) -> Result<Vec<String>, Gap> {
    let line = sight.cmdline().inspect_err(|gap| notes.add(&gap.source, gap.cause.describe()))?;
    Ok(parameters(&line))
}

pub(super) fn listed(found: Result<Vec<String>, Gap>) -> Reading {
    let mut many = Many::default();
    match found {
        Ok(texts) => texts.into_iter().for_each(|text| many.push("", Ok(Value::Text(text)))),
        Err(gap) => many.missing = Some(gap),
    }
    Reading::Many(many)
}

/// Marks the reading as incomplete if a word of the command line may stand for any parameters.
pub(super) fn with_open(sight: &Sight, reading: Reading) -> Reading {
    match reading {
        Reading::Many(many) => Reading::Many(Many { missing: many.missing.or_else(|| sight.open()), ..many }),
        one => one,
    }
}

/// Returns the words that the kernel's log reports as unknown; `None` if the log has no line about them, or only a
/// truncated one (printk takes 1,024 bytes).
fn logged(sight: &Sight) -> Option<Vec<String>> {
    let lines = &sight.log().lines;
    let of = |start: &str| lines.iter().find_map(|line| line.strip_prefix(start));
    let quoted =
        of(UNKNOWN[0]).map(|rest| rest.rsplit_once("\", will be passed to user space").map(|(listed, _)| listed));
    let listed = quoted.unwrap_or_else(|| of(UNKNOWN[1]).filter(|rest| rest.len() < 900))?;
    Some(parameters(listed))
}

fn unknown(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = logged(sight);
    // If the line was found, it has all of them.
    let missing = if found.is_some() { None } else { sight.log().missing.clone() };
    let mut many = Many { items: Vec::new(), missing };
    let (named, others): (Vec<String>, Vec<String>) = found
        .unwrap_or_default()
        .into_iter()
        .partition(|word| names::is_tuning(word) || names::meant(word, None).is_some());
    named.iter().for_each(|word| many.push("", Ok(Value::Text(scrub(word)))));
    let shown = match &many.missing {
        Some(gap) if many.items.is_empty() => gap.describe(),
        _ if others.is_empty() => Reading::Many(many.clone()).show(),
        _ => {
            let shown = Reading::Many(many.clone()).show();
            let others: Vec<String> = others.iter().map(|word| scrub(word)).collect();
            format!("named in real-time guides or misspelt: {shown}; not named there: {}", others.join(", "))
        }
    };
    notes.add("/dev/kmsg: unknown parameters", shown);
    Reading::Many(many)
}

/// Returns true if the kernel logs unknown parameters: since 5.14, or in an older kernel to which a distributor has
/// backported this.
fn tells(sight: &Sight) -> Result<bool, Gap> {
    if logged(sight).is_some() {
        return Ok(true);
    }
    release(sight, &mut Notes::default()).map(|(major, minor, _)| (major, minor) >= (5, 14))
}

fn reported(sight: &Sight, _: &With, _: &mut Notes) -> Reading {
    match tells(sight) {
        Ok(tells) => Reading::word(if tells { "yes" } else { "no" }),
        Err(gap) if gap.is_not_given() => Reading::word("unknown"),
        Err(gap) => Reading::gap(gap),
    }
}

/// Returns true if the log lists unknown parameters and this one is not among them.
fn is_known(sight: &Sight, word: &str) -> bool {
    let is_given = || sight.cmdline().is_ok_and(|line| parameters(&line).iter().any(|given| given == word));
    let log = sight.log();
    let is_told = match logged(sight) {
        Some(listed) => !listed.iter().any(|other| other == word),
        None => log.missing.is_none() && log.lines.iter().any(|line| line.starts_with("Kernel command line:")),
    };
    is_told && !word.contains('.') && tells(sight).unwrap_or(false) && is_given()
}

fn near_misses(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let release = series(sight);
    let searched = releases::searched(release);
    let found = words(sight, notes).map(|words| {
        let said = words.iter().filter_map(|word| {
            let shown = scrub(word);
            if let Some(what) = typographic(word) {
                return Some(format!("`{shown}` has a typographic {what}, which the kernel treats as a letter"));
            }
            if unsupported(sight, word).is_some() {
                return None;
            }
            if let Some(said) = values::refused(word, release).or_else(|| foreign::config_txt(word)) {
                return Some(said);
            }
            let meant = names::meant(word, release)?;
            (!is_known(sight, word)).then(|| format!("`{shown}` is not a parameter of Linux {searched}; {meant} is"))
        });
        let line = sight.cmdline().unwrap_or_default();
        said.chain(behind_dashes(&line)).chain(no_break_space(&line)).collect::<Vec<_>>()
    });
    let is_clean = matches!(&found, Ok(all) if all.is_empty());
    let reading = listed(found);
    // Only parameters of latency have their values checked.
    let shown = if is_clean { "none found".to_owned() } else { reading.show() };
    notes.add("/proc/cmdline: no parameters or values of Linux", shown);
    reading
}

/// Finds a no-break space. The second byte of U+00A0 in UTF-8 is white space to the kernel, the first is not
/// (lib/ctype.c).
fn no_break_space(line: &str) -> Option<String> {
    let (before, _) = line.split_once('\u{a0}')?;
    let word = before.split_whitespace().next_back().unwrap_or_default();
    Some(format!("a no-break space follows `{}`: the kernel treats half of it as a letter", scrub(word)))
}

/// Returns the words after `--`, which go to init (init/main.c, start_kernel).
fn behind_dashes(line: &str) -> Vec<String> {
    let behind = line.split_whitespace().skip_while(|word| *word != "--").filter(|word| names::is_tuning(word));
    behind.map(|word| format!("`{}` is after `--` and goes to init", scrub(word))).collect()
}

/// Returns the release that determines which parameters exist; `None` if it is unknown, or if the kernel has backports.
fn series(sight: &Sight) -> Option<(u32, u32)> {
    if backports(sight) {
        return None;
    }
    release(sight, &mut Notes::default()).ok().map(|(major, minor, _)| (major, minor))
}

/// Explains, as a sentence, why this kernel does not support a parameter: no kernel supports it, or this kernel's
/// release, architecture or configuration lacks it.
pub(crate) fn unsupported(sight: &Sight, word: &str) -> Option<String> {
    if is_known(sight, word) {
        return None;
    }
    let (release, arch) = (series(sight), machine_of(sight, &mut Notes::default()).ok());
    let folder = arch.as_deref().map(arches::folder);
    let at = || releases::lacks_at(word, self::release(sight, &mut Notes::default()).ok()?, folder);
    foreign::unknown(word)
        .or_else(|| arches::lacks_on(word, release, arch.as_deref()?))
        .or_else(|| releases::lacks(word, release?))
        .or_else(|| releases::ignores(word, release?))
        .or_else(at)
        .or_else(|| match built(sight, word)? {
            (Built::Out, options) if !asks_nothing(word) => Some(format!(
                "{} has an effect only in kernels with {options}, which this kernel lacks",
                names::key(word)
            )),
            _ => None,
        })
}

fn of_others(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = words(sight, notes).map(|words| {
        let mut all: Vec<String> = words.iter().filter_map(|word| unsupported(sight, word)).collect();
        let mut before = BTreeSet::new();
        all.retain(|sentence| before.insert(sentence.clone()));
        let more = sight.cmdline().map(|line| idle_lists(sight, &line)).unwrap_or_default();
        all.extend(more.into_iter().filter(|sentence| !before.contains(sentence)));
        all.extend(overridden_expedition(sight, &words));
        all
    });
    let is_none = matches!(&found, Ok(all) if all.is_empty());
    let reading = listed(found);
    // A value that the kernel rejects has no effect either, and is noted by `near-misses`.
    if !is_none || near_misses(sight, &With::new(), &mut Notes::default()) == listed(Ok(Vec::new())) {
        notes.add("/proc/cmdline: without the intended effect on this kernel", reading.show());
    }
    reading
}

/// rcu_normal overrides rcu_expedited, and a real-time kernel sets it after boot.
fn overridden_expedition(sight: &Sight, words: &[String]) -> Option<String> {
    let word = words.iter().find(|word| names::key(word) == "rcupdate.rcu_expedited" && !asks_nothing(word))?;
    let is_normal = super::rcu::mode(sight, &With::new(), &mut Notes::default()) == Reading::word("normal");
    is_normal.then(|| format!("`{word}` has no effect after boot, as grace periods are normal ones then"))
}

fn variables(sight: &Sight, _: &With, _: &mut Notes) -> Reading {
    let gaps = sight.variables().iter().filter(|word| !word.contains('=')).map(|word| meaning(word).source).collect();
    listed(Ok(gaps))
}

/// Returns whether the kernel was built with the parameter, and the options that decide this.
pub(crate) fn built(sight: &Sight, word: &str) -> Option<(Built, String)> {
    let release = release(sight, &mut Notes::default()).ok().map(|(major, minor, _)| (major, minor));
    built::built(word, release, |option| match sight.option(option, &mut Notes::default()) {
        Ok(Value::Text(value)) => Some(value == "y" || value == "m"),
        _ => None,
    })
}

fn undecided(sight: &Sight, _: &With, _: &mut Notes) -> Reading {
    let release = series(sight);
    let is_open = |word: &&String| match built(sight, word) {
        _ if unsupported(sight, word).is_some() || values::refused(word, release).is_some() => false,
        Some((found, _)) => found == Built::Open && !asks_nothing(word),
        None if release.is_some_and(|release| releases::may_be_backported(word, release)) => true,
        None => names::is_tuning(word) && !release.is_some_and(|release| releases::has(word, release)),
    };
    listed(words(sight, &mut Notes::default()).map(|words| words.iter().filter(is_open).map(|w| scrub(w)).collect()))
}

/// Returns the command line as given, not truncated to the length that the kernel accepts.
fn whole(sight: &Sight) -> Result<String, Gap> {
    let line = known_part(sight)?;
    sight.variables().first().map_or(Ok(line), |word| Err(meaning(word)))
}

/// Like [`whole`], but without the variables, which may stand for more.
fn known_part(sight: &Sight) -> Result<String, Gap> {
    sight.cmdline()?;
    let line = sight.machine.read(CMDLINE).text().unwrap_or_default().trim_end().to_owned();
    if !line.split_ascii_whitespace().any(is_placeholder) {
        return Ok(line);
    }
    let words: Vec<String> = line.split_ascii_whitespace().map(without_variables).collect();
    Ok(words.iter().filter(|word| !word.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" "))
}

/// Removes `$name`, `${name}` and marks of an omission.
fn without_variables(word: &str) -> String {
    if is_omission(word) {
        return String::new();
    }
    let mut parts = word.split('$');
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let behind = match part.strip_prefix('{') {
            Some(inner) => inner.split_once('}').map_or("", |(_, behind)| behind),
            None => part.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_'),
        };
        all.push_str(behind);
    }
    all
}

fn length(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match known_part(sight) {
        Ok(line) => {
            notes.add(CMDLINE, format!("{} bytes", line.len()));
            Reading::One(Ok(number(line.len())))
        }
        Err(gap) => {
            notes.add(&gap.source, gap.cause.describe());
            Reading::gap(gap)
        }
    }
}

/// Maximum length of the command line in bytes: on x86 and 64-bit Arm, and on 32-bit Arm.
const MAX: (usize, usize) = (2047, 1023);
/// If fewer bytes than this are left, the length counts as close to the limit.
const CLOSE: usize = 147;

fn fits(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let length = match (whole(sight), known_part(sight)) {
        (Ok(line), _) => line.len(),
        (Err(_), Ok(part)) if part.len() <= longest_cmdline(sight.machine).unwrap_or(MAX.1) / 4 => {
            return Reading::word("far");
        }
        (Err(gap), _) => {
            notes.add(&gap.source, gap.cause.describe());
            return Reading::gap(gap);
        }
    };
    Reading::word(match longest_cmdline(sight.machine) {
        Some(longest) if length >= longest => "no",
        Some(longest) if length >= longest - CLOSE => "close",
        None if length >= MAX.0 => "not-on-most",
        None if length >= MAX.1 => "not-on-some",
        None if length >= MAX.1 - CLOSE => "close-on-some",
        _ => "yes",
    })
}

fn cut_off(sight: &Sight, _: &With, _: &mut Notes) -> Reading {
    let longest = longest_cmdline(sight.machine).unwrap_or(MAX.0);
    listed(whole(sight).map(|line| {
        let rest = line.get(longest..).unwrap_or_default();
        rest.split_whitespace().map(scrub).collect()
    }))
}

fn number(length: usize) -> Value {
    Value::Number(i64::try_from(length).unwrap_or(i64::MAX))
}

fn limit(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let known: Known = sight.text(ARCH, notes).map_err(Gap::expected).and_then(|_| {
        let limit = longest_cmdline(sight.machine);
        limit
            .map(number)
            .ok_or_else(|| Gap::new(ARCH, Cause::Garbled("architecture whose command-line limit is known")))
    });
    Reading::One(known)
}

/// Finds hugepages= words of which all but the first are ignored. hugepages= applies to the hugepagesz= before it; a
/// second one for the same size is ignored (hugepages_setup of mm/hugetlb.c).
fn huge_pages_twice(words: &[String]) -> impl Iterator<Item = String> {
    let sizes = words.split(|word| names::key(word) == "hugepagesz");
    let counts = sizes.map(|of| of.iter().filter(|word| names::key(word) == "hugepages").map(|word| scrub(word)));
    let counts = counts.map(|of| of.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
    counts.filter(|of| of.len() > 1).map(|of| of.join(" ")).collect::<Vec<_>>().into_iter()
}

fn repeated(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = words(sight, notes).map(|words| {
        let mut of_key: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let mut order = Vec::new();
        let adds_up = sight.cmdline().is_ok_and(|line| adds_up(sight, &line));
        let may_repeat = |word: &str| may_repeat(word) || (adds_up && names::key(word) == "isolcpus");
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
        let all = all.map(|all| all.iter().map(|word| scrub(word)).collect::<Vec<_>>().join(" "));
        all.chain(huge_pages_twice(&words)).collect()
    });
    let reading = with_open(sight, listed(found));
    notes.add(CMDLINE, format!("given with several values: {}", reading.show()));
    reading
}
